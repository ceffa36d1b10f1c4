// Package elastic carries out what users ask of a run while it goes on: pause, continue, stop, another number of
// workers. That takes place by requests over a socket in the run folder.
//
//	elastic.go    the ability: what it hears, and what other processes ask of a run
//	inflight.go   the steps in flight as they are
//	scale.go      another number of workers
//	socket.go     the socket for requests
package elastic

import (
	"errors"
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// The number of workers may change while a run goes on. The coordinator writes another header,
// with the settings that a new run with this many workers would choose, and workers take it over before their next
// chunk: none waits. New ranks are started into the same shared memory; ranks beyond the number end.
//
// Some changes need a moment at which no worker has a chunk: see occasion.

// change is another form of the job that is still to come.
type change struct {
	job tuning.Job
	at  occasion
}

// occasion is when the number of workers may change.
type occasion int

const (
	atOnce  occasion = iota // async: all workers take chunks of one list
	paused                  // async: the shared weights change their form, while workers wait before their next chunk
	atRound                 // sync: the rest of the epoch is cut anew, after a round
	atEpoch                 // the cut of the epoch belongs to the number of workers
)

// says returns when that is, for people.
func (at occasion) says() string {
	switch at {
	case atRound:
		return "after this round"
	case atEpoch:
		return "when this epoch ends"
	}
	return "now"
}

// scale asks for another number of workers, and says what will be done.
func scale(r *core.Run, n int) (string, error) {
	c, err := scaled(r, n)
	if err != nil {
		return "", fmt.Errorf("scale to %s: %w", human.Plural(n, "worker"), err)
	}
	if n == r.Job.Asked.Workers && r.Hooks.Change == nil {
		return fmt.Sprintf("the run has %s already", human.Plural(n, "worker")), nil
	}
	when := occasionFor(r, c)
	if when == atRound && r.Paused(core.ToPause) {
		return "", errors.New("the run is paused within a round: continue it first")
	}
	r.Hooks.Change = &change{*c, when}
	text := fmt.Sprintf("from %s to %d, %s", human.Plural(r.Job.Asked.Workers, "worker"), n, when.says())
	if when == atRound {
		r.Mem.Block.Hold()
	}
	r.Resume(core.ToChange) // a change that this one replaces may have them wait
	return text, nil
}

// scaled returns the job with n workers: with all that a run with n would choose.
func scaled(r *core.Run, n int) (*tuning.Job, error) {
	c := r.Job
	if c.Asked.Workers = n; n < 1 {
		return nil, config.Usage("give 1 or more")
	}
	if err := c.Asked.MayScale(); err != nil {
		return nil, err
	}
	if r.Mem.Traits.Inside {
		return nil, config.Usage("processes cannot share GPU memory here: the one worker trains in the coordinator's " +
			"process")
	}
	if err := c.Asked.Validate(); err != nil {
		return nil, err
	}
	if n > r.Mem.Weights.Ranks {
		return nil, config.Usage("a live run has room for %d; stop it, and continue it with hogwild train --resume "+
			"%s --workers %d", r.Mem.Weights.Ranks, human.ShellPath(r.Dir), n)
	}
	if n > r.Task.Train.Rows {
		return nil, config.Usage("%s has only %s", c.Asked.Data, human.Plural(r.Task.Train.Rows, "training row"))
	}
	t, err := r.Choose(&c.Asked, machine.Cores())
	if err != nil {
		return nil, err
	}
	if t.Center != r.Job.Used.Center {
		return nil, config.Usage("the run centres its inputs, which several workers cannot do with merge-every 1; " +
			"leave merge-every at auto")
	}
	c.Used = t
	return &c, nil
}

// occasionFor returns when this job may become the job c.
func occasionFor(r *core.Run, c *tuning.Job) occasion {
	p := &r.Mem.Block.Plan
	switch {
	case p.Shares:
		return atEpoch
	case p.Barrier && c.Asked.Steps() == 0: // a round is an epoch
		return atEpoch
	case p.Barrier:
		return atRound
	case c.Used.Batch != r.Job.Used.Batch:
		return atEpoch
	case c.Used.MergesCentered() != r.Job.Used.MergesCentered():
		return paused
	}
	return atOnce
}

// Apply changes the job if that may be done now: an evaluation reads the settings, so it ends first, while workers
// train.
func (c *change) Apply(r *core.Run) error {
	if epoch := r.Position.Epoch; r.Opened == 0 {
		return c.carryOut(r, control.Start{Epoch: epoch, Rounds: r.Mem.Block.Before(epoch)})
	}
	if r.Mem.Busy {
		return nil
	}
	epoch := r.Mem.Block.Get(control.WordEpoch)
	start := r.Mem.Block.Start()
	switch c.at {
	case atEpoch:
		return nil
	case paused:
		r.Pause(core.ToChange)
		if !r.Mem.Quiet() {
			return nil
		}
	case atRound:
		round, named := r.Mem.Block.HeldAfter(epoch)
		if !named || !r.Mem.RoundDone(round) || r.Mem.Complete() {
			return nil // at the end of an epoch the next one is cut anew: see openNext
		}
		cut(r, round+1)
		start = control.Start{Epoch: epoch, Base: r.Position.Base, Rounds: r.Mem.Block.Before(epoch) + round + 1}
	}
	return c.carryOut(r, start)
}

// cut takes note of the open epoch's examples and loss after this many rounds, before the rest is cut anew.
func cut(r *core.Run, rounds int) {
	p := &r.Position
	_, done, _, loss := r.Mem.Block.Progress()
	p.Base, p.BaseDone, p.BaseLoss = r.Mem.Block.Plan.Covered(rounds), p.BaseDone+done, p.BaseLoss+loss
}

// carryOut carries out the change to come.
func (c *change) carryOut(r *core.Run, start control.Start) error {
	from, was, changes := r.Job.Asked.Workers, r.Job.Used, r.Job.Changes()
	to := c.job
	r.Hooks.Change = nil
	if center, ok := model.CenteredOf(r.Task.Trained); ok && was.MergesCentered() != to.Used.MergesCentered() {
		if was.MergesCentered() {
			center.ToLocal(r.Mem.Weights.W, r.Task.Train.Mean)
		} else {
			center.ToMerged(r.Mem.Weights.W, r.Task.Train.Mean)
		}
	}
	if err := r.Crew.Change(to, start); err != nil {
		return err
	}
	tellChange(r, from, &was, changes)
	if err := r.Folder.WriteConfig(r.Job.Asked); err != nil { // snapshots hold the settings too
		r.Report.Event("the new number of workers could not be written to %s: %v", rundir.ConfigFile, err)
	}
	return nil
}

// tellChange tells people of a change, and of the settings that it has changed.
func tellChange(r *core.Run, from int, was *tuning.Tuning, changes []string) {
	s, lines := r.Status(true), []string(nil)
	if from != r.Job.Asked.Workers {
		at := rundir.Scale{Epoch: int(r.Position.Epoch), Seconds: r.Seconds(control.Monotonic()), From: from,
			To: r.Job.Asked.Workers}
		r.Position.Scales = append(r.Position.Scales, at)
		s.Scale, lines = &at, []string{at.String()}
	}
	is := &r.Job.Used
	if text := r.Job.MergeText(); text != "" && (is.MergeEvery != was.MergeEvery ||
		is.BiasMergeEvery != was.BiasMergeEvery) {
		lines = append(lines, text)
	}
	for _, line := range r.Job.Changes() {
		if !slices.Contains(changes, line) {
			lines = append(lines, line)
		}
	}
	if is.LR == r.Job.Asked.LR && was.LR != is.LR {
		lines = append(lines, fmt.Sprintf("lr %.3g again, as it was asked for", is.LR))
	}
	for _, line := range lines {
		r.Report.Tell(line)
	}
	if s.Scale != nil {
		r.Report.Wrote(r.Folder.Metrics.Second(s))
	}
}
