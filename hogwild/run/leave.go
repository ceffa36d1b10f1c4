package run

import (
	"errors"
	"fmt"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// A job ends on all nodes together. One that wants to end it says why in a meeting, and the others
// end too. After a signal they take a last round, so that nothing is lost; a launcher that kills them before that finds the
// round before saved. When the connection is lost nobody can be asked: node 0 saves the last round, and
// every node ends by itself.

// metAll takes in how the meetings of the open epoch have ended.
func (r *coordinator) metAll(m meeting) {
	r.peers.active = false
	if m.err == nil {
		r.endEpoch()
		return
	}
	r.epochs.ended = r.lostPeers(m.err)
	if another := (byAnother{}); r.peers.first() && errors.As(m.err, &another) {
		switch {
		case config.Interruption(m.err) != nil:
			r.epochs.ended = another.error // every node was interrupted, and node 0 reports it
		case errors.Is(m.err, config.ErrDiverged):
			r.report.event("%v (%s)", another.error, r.lastGood())
		default:
			r.report.event("%v; to continue, start the job again with --run %s --resume %[2]s", another.error, human.ShellWord(r.dir))
		}
	}
	r.peers.final = m.said
}

// lostPeers says of an error that the connection is lost what to do.
func (r *coordinator) lostPeers(err error) error {
	if !errors.Is(err, nodes.ErrLost) || r.peers.over {
		return err
	}
	r.peers.over = true
	what := "the job has ended, and is continued from its last snapshot"
	if r.folder != nil {
		what = fmt.Sprintf("to continue, start the job again with --run %s --resume %[1]s", human.ShellWord(r.dir))
	}
	return fmt.Errorf("%v: %w; %s", r.peers.place, err, what)
}

// tellPeers ends the job on the other nodes, if it has not ended there: before the workers of this one stop.
func (r *coordinator) tellPeers() {
	p := r.peers
	if p == nil || !p.active {
		return
	}
	if config.Interruption(r.epochs.ended) != nil && !r.saver.busy {
		r.saved(r.saveRound((*rundir.Snapshot).SaveAtOnce)) // the launcher may not leave time for more
	}
	reason := reasonOf(r.epochs.ended)
	for {
		p.stop.Store(reason)
		p.called()
		m := <-p.met
		p.active, p.final = false, m.said
		if m.err != nil {
			p.over = p.over || errors.Is(m.err, nodes.ErrLost)
			return
		}
		// All nodes have finished the epoch just then. So does this one, and ends the job after it.
		p.stop.Store(reasonNone)
		ended := r.epochs.ended
		r.epochs.ended = nil
		if r.endEpoch(); r.epochs.ended != nil {
			return
		}
		r.epochs.ended = ended
	}
}

// tell ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (p *peers) tell(err error) {
	if p != nil {
		_ = p.together(func() error { return err })
	}
}

// desert leaves without a word, and returns when no meeting is under way.
func (p *peers) desert() {
	if p == nil {
		return
	}
	p.engine.Abandon()
	p.over = true
	if p.active {
		p.called()
		<-p.met
		p.active = false
	}
}

// ended tells whether somebody ends the job.
func (s *message) ended() bool { return s.stops() != nil }

// interrupted tells whether the job ends because of a signal, and of nothing else.
func (s *message) interrupted() bool {
	return s.ended() && s[sayStop+reasonDiverged] == 0 && s[sayStop+reasonFailed] == 0
}

// finalRound takes a last one, once the workers of all nodes have stopped. In barrier mode a round that has
// begun cannot be averaged: the one before it counts.
func (r *coordinator) finalRound() error {
	p := r.peers
	if p == nil || p.over || !p.final.interrupted() || r.block.Plan.Barrier {
		return nil
	}
	p.stop.Store(reasonNone) // all know it
	var diverged error       // while its workers stopped
	if errors.Is(r.epochs.ended, config.ErrDiverged) {
		diverged = r.epochs.ended
	}
	if err := p.together(func() error { return diverged }); err != nil {
		if diverged != nil {
			return nil // it is known already
		}
		return err
	}
	_, done, lost, loss := r.block.Progress()
	mine := message{sayNew: float64(done - p.counted), sayDone: float64(done), sayLoss: loss, sayLost: float64(lost)}
	all, err := p.say(mine)
	if err != nil {
		return err
	}
	p.hear(&all)
	return r.nodeRound(roundAt{epoch: r.epochs.position.Epoch, quiet: true}, &mine, &all)
}

// saveLast saves the run as of the last round, when the job ends within an epoch.
func (r *coordinator) saveLast() {
	_, done, lost, _ := r.progressOfAll()
	r.saver.good = true
	r.epochs.failed(r.keep(func() error { return r.saveRound((*rundir.Snapshot).Save) }))
	r.epochs.position.Examples += int64(done)
	r.epochs.position.Lost += int64(lost)
}

// leave returns when this node has nothing left to do, and the others neither: a launcher may end all processes when
// the first of them ends with an error.
func (p *peers) leave(rest func()) {
	if p == nil || p.over {
		rest()
		if p != nil && !p.first() {
			time.Sleep(2 * p.beat) // MPICH's launcher kills all processes when the first one fails: node 0 saves meanwhile
		}
		return
	}
	p.stop.Store(reasonNone)
	p.inOrder = p.together(func() error { rest(); return nil }) == nil
}

// captureRound copies the last round into the snapshot.
func (r *coordinator) captureRound() {
	p, s := r.peers, &r.saver.copy
	r.capture(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.last
	s.CaptureNodes(r.mem, r.block, &rundir.NodesRound{Weights: p.outer.Anchor, Round: l.at.round, Done: l.done,
		Examples: int(l.examples), Loss: l.examples * l.loss})
}

// saveRound saves the last round, on node 0.
func (r *coordinator) saveRound(save func(s *rundir.Snapshot, dir string, params, trained []model.Param) error) error {
	if !r.peers.first() {
		return nil
	}
	if err := r.mend(); err != nil {
		return err
	}
	r.captureRound()
	if i := device.NotFiniteAt(r.saver.copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the last round is %v: it is not saved (%s)", i, r.saver.copy.W[i], r.lastGood())
	}
	return save(&r.saver.copy, r.dir, r.params, r.trained)
}

// saveSoon saves the last round while training continues.
func (r *coordinator) saveSoon() {
	if !r.peers.first() || r.saver.busy || r.epochs.opened == 0 {
		return
	}
	save := r.saving()
	r.captureRound()
	r.saver.busy = true
	go func() {
		i, w := device.NotFiniteAt(r.saver.copy.W), r.saver.copy.W
		is := evaluation{err: r.finite(i, w[max(i, 0)], &rundir.EpochResult{Epoch: int(r.epochs.position.Epoch), LR: r.job.Tuning.LR})}
		if is.saves = is.err == nil; is.saves {
			is.unsaved = save()
		}
		r.saver.evaluated <- is
	}()
}

// progressOfAll is progress of all nodes.
func (r *coordinator) progressOfAll() (left, done, lost int, loss float64) {
	p := r.peers
	if p == nil {
		return r.progress()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &r.epochs.position
	return 0, int(p.heard[sayDone]) + at.BaseDone, int(p.heard[sayLost]) + at.Base - at.BaseDone, p.heard[sayLoss] + at.BaseLoss
}

// result is what the report says of the nodes; nil if the run is alone.
func (p *peers) result() *rundir.Nodes {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	total := p.total
	return &total
}
