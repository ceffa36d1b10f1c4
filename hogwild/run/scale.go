package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/fault"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// The number of workers may change while a run goes on. The coordinator writes another header,
// with the settings that a new run with so many workers would choose, and workers take it over
// before their next chunk: nobody waits. New ranks are started into the same shared memory;
// those that are too many end.
//
// Some changes need a moment at which no worker has a chunk: see occasion.

// elastic is what users ask of a run while it goes on.
type elastic struct {
	*crew
	recounted bool                    // the steps in flight: see inflight.go
	cancel    context.CancelCauseFunc // has the run end
}

// scale asks for another number of workers, and says what will be done.
func (r *elastic) scale(n int) (string, error) {
	c, err := r.scaled(n)
	if err != nil {
		return "", fmt.Errorf("scale to %s: %w", human.Plural(n, "worker"), err)
	}
	if n == r.job.Asked.Workers && r.scaling == nil {
		return fmt.Sprintf("the run has %s already", human.Plural(n, "worker")), nil
	}
	when := r.occasionFor(c)
	if when == atRound && r.halted.asked {
		return "", errors.New("the run is paused within a round: continue it first")
	}
	r.scaling = &scaling{*c, when}
	text := fmt.Sprintf("from %s to %d, %s", human.Plural(r.job.Asked.Workers, "worker"), n, when.says())
	if when == atRound {
		r.block.Hold()
	}
	r.letGo() // a change that this one replaces may have them wait
	return text, nil
}

// scaled is the job with n workers: with all that a run with so many would choose.
func (r *elastic) scaled(n int) (*tuning.Job, error) {
	c := r.job
	if c.Asked.Workers = n; n < 1 {
		return nil, config.Usage("give 1 or more")
	}
	if err := c.Asked.MayScale(); err != nil {
		return nil, err
	}
	if r.startsInside() {
		return nil, config.Usage("processes cannot share GPU memory here: the one worker trains in the coordinator's process")
	}
	if err := c.Asked.Validate(); err != nil {
		return nil, err
	}
	if n > r.mem.Ranks {
		return nil, config.Usage("a live run has room for %d; stop it, and continue it with hogwild train --resume %s --workers %d", r.mem.Ranks, human.ShellWord(r.dir), n)
	}
	if n > r.train.Rows {
		return nil, config.Usage("%s has only %s", c.Asked.Data, human.Plural(r.train.Rows, "training row"))
	}
	t, err := tuning.Choose(&c.Asked, r.spec, r.facts, tuning.Machine{Cores: machine.Cores(), Held: r.held})
	if err != nil {
		return nil, err
	}
	if t.Center != r.job.Used.Center {
		return nil, config.Usage("the run centres its inputs, which several workers cannot do with merge-every 1; leave merge-every at auto")
	}
	t.Auto = c.Used.Auto
	c.Used = t
	return &c, nil
}

// occasionFor is when this job may become the job c.
func (r *elastic) occasionFor(c *tuning.Job) occasion {
	p := &r.block.Plan
	switch {
	case p.Shares:
		return atEpoch
	case p.Barrier && c.Asked.Steps() == 0: // a round is an epoch
		return atEpoch
	case p.Barrier:
		return atRound
	case c.Used.Batch != r.job.Used.Batch:
		return atEpoch
	case c.Used.MergesCentered() != r.job.Used.MergesCentered():
		return paused
	}
	return atOnce
}

// mayRescale changes the number of workers if there is a change to come and it may be made now. An
// evaluation reads the settings: it comes to its end first, while workers train.
func (r *elastic) mayRescale() error {
	if r.scaling == nil || r.busy || r.opened == 0 {
		return nil
	}
	epoch := r.block.Get(control.WordEpoch)
	start := r.block.Start()
	switch r.scaling.at {
	case atEpoch:
		return nil
	case paused:
		if r.block.Get(control.WordPause) == 0 {
			r.hold()
		}
		if !r.quiet() {
			return nil
		}
	case atRound:
		round, named := r.block.HeldAfter(epoch)
		if !named || !r.roundDone(round) || r.complete() {
			return nil // at the end of an epoch the next one is cut anew: see openNext
		}
		r.cut(round + 1)
		start = control.Start{Epoch: epoch, Base: r.position.Base, Rounds: r.block.Before(epoch) + round + 1}
	}
	return r.rescale(start)
}

// rescale carries out the change to come.
func (r *elastic) rescale(start control.Start) error {
	from, was, changes := r.job.Asked.Workers, r.job.Used, r.job.Changes()
	to := r.scaling.job
	r.scaling = nil
	if center, ok := model.CenteredOf(r.trained); ok && was.MergesCentered() != to.Used.MergesCentered() {
		if was.MergesCentered() {
			center.ToLocal(r.mem.W, r.train.Mean)
		} else {
			center.ToMerged(r.mem.W, r.train.Mean)
		}
	}
	r.job = to
	if err := r.renewSetup(); err != nil {
		return err
	}
	r.startStates(from)
	_ = fault.Point("scale.announce")
	r.announced.Job, r.announced.Start = r.job, start
	if err := r.block.Announce(r.announced); err != nil {
		return err
	}
	r.letGo()
	if err := fault.Point("scale.announced"); err != nil {
		return err
	}
	if from != r.job.Asked.Workers {
		for _, rank := range r.workers.Scale(r.job.Asked.Workers) {
			if err := r.add(rank); err != nil {
				return err
			}
		}
	}
	r.toldScaled(from, &was, changes)
	if err := r.folder.WriteConfig(r.job.Asked); err != nil { // snapshots hold the settings too
		r.report.Event("the new number of workers could not be written to %s: %v", rundir.ConfigFile, err)
	}
	return nil
}

// toldScaled tells people of a change, and of the settings that it has changed.
func (r *elastic) toldScaled(from int, was *tuning.Tuning, changes []string) {
	s, lines := r.status(), []string(nil)
	if from != r.job.Asked.Workers {
		at := rundir.Scale{Epoch: int(r.position.Epoch), Seconds: r.seconds(control.Monotonic()), From: from, To: r.job.Asked.Workers}
		r.position.Scales = append(r.position.Scales, at)
		s.Scale, lines = &at, []string{at.String()}
	}
	is := &r.job.Used
	if text := r.job.MergeText(); text != "" && (is.MergeEvery != was.MergeEvery || is.BiasMergeEvery != was.BiasMergeEvery) {
		lines = append(lines, text)
	}
	for _, line := range r.job.Changes() {
		if !slices.Contains(changes, line) {
			lines = append(lines, line)
		}
	}
	if is.LR == r.job.Asked.LR && was.LR != is.LR {
		lines = append(lines, fmt.Sprintf("lr %.3g again, as it was asked for", is.LR))
	}
	for _, line := range lines {
		r.report.Tell(line)
	}
	if s.Scale != nil {
		r.report.Wrote(r.folder.Metrics.Second(s))
	}
}
