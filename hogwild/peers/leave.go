package peers

import (
	"errors"
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// A job ends on all nodes together. One that wants to end it says why in a meeting, and the others end too. After a
// signal they take a last round, so that nothing is lost; a launcher that kills them before that finds the round before
// saved. When the connection is lost no node can be asked: node 0 saves the last round, and every node ends by itself.

// Ended takes in what Closed has said: it returns why the job ends, nil if an epoch is complete, and a note of another
// node's end for people.
func (r *rounds) Ended(err error, folder, lastGood string) (why error, note string) {
	r.active = false
	another := config.Reported{}
	if why = r.group.Lost(err, folder); !r.group.First() || !errors.As(err, &another) {
		return why, ""
	}
	switch {
	case config.Interruption(err) != nil:
		return another.Err, "" // every node was interrupted, and node 0 reports it
	case errors.Is(err, config.ErrDiverged):
		return why, fmt.Sprintf("%v (%s)", another.Err, lastGood)
	}
	return why, fmt.Sprintf("%v; to continue, start the job again with --run %s --resume %[2]s", another.Err,
		human.ShellPath(folder))
}

// Stopping reports whether meetings go on, in which this node has to say that it ends the job.
func (p *rounds) Stopping() bool { return p.active }

// Stop ends the job on the other nodes, before the workers of this one stop. It reports whether all nodes have
// completed the epoch just then: so does this node, and ends the job after it.
func (r *rounds) Stop(why error) (complete bool) {
	if !r.active {
		return false
	}
	r.group.stop.Store(reasonOf(why))
	r.Called()
	err := <-r.met
	r.active = false
	if err != nil {
		r.group.over = r.group.over || errors.Is(err, nodes.ErrLost)
		return false
	}
	r.group.stop.Store(reasonNone)
	return true
}

// Break ends the meetings without a word, and returns when none is under way.
func (r *rounds) Break() {
	r.group.Abandon()
	if r.active {
		r.Called()
		<-r.met
		r.active = false
	}
}

// Last takes a last round, once the workers of all nodes have stopped. In barrier mode a round that has
// begun cannot be averaged: the one before it counts.
func (r *rounds) Last(epoch uint64, diverged error) error {
	block := r.run.Block
	if r.group.over || !r.final.interrupted() || block.Plan.Barrier {
		return nil
	}
	r.group.stop.Store(reasonNone) // all know it
	if err := r.group.Together(func() error { return diverged }); err != nil {
		if diverged != nil {
			return nil // it is known already
		}
		return err
	}
	_, done, lost, loss := block.Progress()
	mine := message{sayNew: float64(done - r.counted), sayDone: float64(done), sayLoss: loss, sayLost: float64(lost)}
	all, err := r.group.exchange(mine)
	if err != nil {
		return err
	}
	r.record(&all)
	return r.round(roundAt{epoch: epoch, quiet: true}, &mine, &all)
}

// Capture adds the momentum of the outer step to a snapshot. Of the last round: it makes it one of what all nodes have
// come to then.
func (r *rounds) Capture(s *rundir.Snapshot, ofLastRound bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Outer = slices.Clone(r.outer.Velocity)
	if l := &r.last; ofLastRound {
		s.CaptureNodes(r.run.Weights, r.run.Block,
			&rundir.NodesRound{Weights: r.outer.Anchor, Round: l.at.round, Done: l.done,
				Examples: int(l.examples), Loss: l.examples * l.loss})
	}
}

// Progress returns what all nodes have trained of the open epoch, as far as the last meeting knows.
func (r *rounds) Progress() (done, lost int, loss float64, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.latest[sayDone]), int(r.latest[sayLost]), r.latest[sayLoss], true
}

// Result returns what the report says of the nodes.
func (r *rounds) Result() *rundir.Nodes {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := r.total
	return &total
}
