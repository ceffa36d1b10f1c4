package run

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
)

// evaluation is what came of a snapshot: its test loss, and the saving of it.
type evaluation struct {
	result  rundir.EpochResult
	weights []rundir.Histogram // how those of each tensor lie, for TensorBoard
	err     error
}

// brief, in seconds, is an epoch no longer than the evaluation of it may be: the next
// one would have to wait for it at its end all the same.
const brief = 0.05

// apart tells whether an epoch that took so long is evaluated before the next one opens,
// and not while it trains: when workers have all cores, of which the evaluation would take
// one for a time that depends on chance. It takes all of them, while the workers wait.
func (r *coordinator) apart(seconds float64) bool {
	return seconds < brief || r.cfg.GPU == "" && r.cfg.Workers >= runtime.NumCPU()
}

// gate is the quiet moment between two epochs: all chunks are done and nobody has
// one. The weights are copied and evaluated, the next epoch opens, and the copy is saved
// while it trains. With cores to spare it is evaluated then too.
func (r *coordinator) gate() {
	before := r.pos.Seconds
	r.pos.Seconds = r.seconds(r.lastDone())
	if r.ended = r.download(); r.ended != nil {
		return // the epoch stays open, to be saved as one within which the run ended
	}
	r.opened = 0
	_, done, lost, loss := r.world.Progress()
	r.late = r.lateLoss()
	r.pos.Examples += int64(done)
	r.pos.Lost += int64(lost)
	r.settle() // the copy is still in use until the last evaluation is done
	if r.ended != nil {
		return
	}
	rate := plan.NewSchedule(&r.cfg.Config, r.cfg.Tuning.LR, r.train.Rows)
	e := rundir.EpochResult{Kind: "epoch", Epoch: int(r.pos.Epoch), Seconds: r.pos.Seconds, Examples: r.pos.Examples,
		LR: rate.At(int64(r.pos.Epoch) * int64(r.world.Plan.N)), TrainLoss: loss / float64(max(done, 1))}
	r.pos.Epoch++
	r.pos.Round, r.pos.Within = 0, false
	last := int(r.pos.Epoch) > r.cfg.Epochs
	r.capture()
	every, _, _ := r.cfg.SavePeriod()
	scored := r.evaluate(e, last || r.due || every > 0 && e.Epoch%every == 0)
	r.due = false
	if last || r.cfg.TargetLoss > 0 || r.cfg.TargetAccuracy > 0 {
		r.settle() // whether to go on depends on it
	} else if r.apart(r.pos.Seconds - before) {
		<-scored
	}
	if last && r.ended == nil {
		r.ended = errDone
	}
	if r.ended == nil {
		r.openNext()
	}
}

func (r *coordinator) openNext() {
	r.world.Open(r.pos.Epoch)
	for rank, gone := range r.gone {
		if gone {
			r.world.GiveUp(rank)
		}
	}
	r.opened = control.Monotonic()
}

// lastDone is when the last chunk of the open epoch was done; in barrier mode an
// average comes after it, and just now.
func (r *coordinator) lastDone() (at uint64) {
	if r.world.Plan.Barrier {
		return control.Monotonic()
	}
	for rank := range r.cfg.Workers {
		at = max(at, r.world.Rank(rank, control.RankDone))
	}
	return at
}

// seconds is the time spent training until now, gates left out.
func (r *coordinator) seconds(now uint64) float64 {
	if r.opened == 0 {
		return r.pos.Seconds
	}
	from := r.opened
	first := uint64(math.MaxUint64)
	for rank := range r.cfg.Workers {
		if t := r.world.Rank(rank, control.RankBegan); t != 0 {
			first = min(first, t)
		}
	}
	from = max(from, first) // the first epoch begins when a worker does
	if from > now {
		return r.pos.Seconds
	}
	return r.pos.Seconds + float64(now-from)/1e9
}

// copyRun copies weights and state into the snapshot.
func (r *coordinator) copyRun() error {
	if err := r.download(); err != nil {
		return err
	}
	r.capture()
	return nil
}

// capture copies the mirror into the snapshot.
func (r *coordinator) capture() {
	r.snap.Config, r.snap.Meta, r.snap.Mean, r.snap.Pos = r.cfg, r.train.Meta, r.train.Mean, r.pos
	r.snap.Pos.Seconds = r.seconds(control.Monotonic())
	r.snap.Pos.History = slices.Clone(r.pos.History)
	r.snap.Capture(r.mem, r.world)
}

// evaluate starts the evaluation of the copy, and its saving. The channel is closed when
// the first is done.
func (r *coordinator) evaluate(e rundir.EpochResult, save bool) <-chan struct{} {
	r.busy = true
	scored := make(chan struct{})
	go func() {
		err := r.score(&e)
		close(scored)
		if err != nil {
			if !errors.Is(err, config.ErrDiverged) { // the copy is good
				err = errors.Join(err, r.snap.Save(r.dir, r.params, r.trained))
			}
			r.evaluated <- evaluation{result: e, err: err}
			return
		}
		weights := rundir.WeightHistograms(r.params, r.snap.Plain(r.trained))
		r.snap.Pos.History = append(r.snap.Pos.History, e)
		if save || r.reached(e) != "" {
			err = r.snap.Save(r.dir, r.params, r.trained)
		}
		r.evaluated <- evaluation{e, weights, err}
	}()
	return scored
}

// score evaluates the copy on the test set. A copy with a number that is not finite
// is not good, and not to be saved.
func (r *coordinator) score(e *rundir.EpochResult) error {
	w := r.snap.Plain(r.trained)
	if i := notFiniteAt(w); i >= 0 {
		return fmt.Errorf("%w: weight %d is %v after epoch %d, learning rate %g; try a lower --lr (%s)",
			config.ErrDiverged, i, w[i], e.Epoch, e.LR, r.lastGood())
	}
	if r.cfg.Sample > 0 {
		return nil // a short run is not judged by the test set
	}
	sum, err := r.owner.Score(w, r.test)
	if err != nil {
		return onDevice(err)
	}
	s := scoreOf(sum, len(r.test.Classes) > 0)
	e.TestLoss, e.TestAccuracy, e.TestRMSE, e.TestR2 = s.loss, s.accuracy, s.rmse, s.r2
	return nil
}

// settle waits for the evaluation under way, if there is one.
func (r *coordinator) settle() {
	if r.busy {
		r.record(<-r.evaluated)
	}
}

// record takes an evaluation in: display, metrics, and whether a target is reached.
func (r *coordinator) record(e evaluation) {
	r.busy = false
	if e.err != nil {
		r.ended = e.err
		return
	}
	if e.result.Kind == "" { // a save within an epoch
		return
	}
	r.last = &e.result
	r.pos.History = append(r.pos.History, e.result)
	r.display.epoch(e.result)
	if err := errors.Join(r.metrics.Epoch(e.result), r.board.Epoch(e.result, r.instruments(), e.weights)); err != nil {
		r.ended = err
	}
	if why := r.reached(e.result); why != "" {
		r.stopped, r.ended = why, errDone
	}
}

// reached names the target that an epoch has reached.
func (r *coordinator) reached(e rundir.EpochResult) string {
	if t := r.cfg.TargetLoss; t > 0 && e.TestLoss <= t {
		return fmt.Sprintf("target loss %g", t)
	}
	if t := r.cfg.TargetAccuracy; t > 0 && e.TestAccuracy != nil && *e.TestAccuracy >= t {
		return fmt.Sprintf("target accuracy %g", t)
	}
	return ""
}

// hold asks the workers to wait before their next chunk, so that the run can be
// copied within an epoch.
func (r *coordinator) hold() {
	if r.opened == 0 || r.holding {
		return
	}
	if r.busy {
		r.due = true
		return
	}
	r.holding = true
	r.world.Set(control.WordHold, 1)
	r.world.Tick()
	r.world.Call() // they may all be waiting already
}

// quiet tells whether nobody is within a chunk. One who is held keeps the others
// from getting beyond their barrier, so waiting there is quiet too.
func (r *coordinator) quiet() bool {
	held := false
	for rank := range r.cfg.Workers {
		switch r.world.Rank(rank, control.RankState) {
		case control.StateHeld:
			held = true
		case control.StateWaiting, control.StateGone:
		default:
			return false
		}
	}
	return held
}

// saveHeld copies the run, lets the workers go on, and saves the copy.
func (r *coordinator) saveHeld() {
	switch {
	case r.complete() || r.busy: // since hold an epoch has come to its end
		r.due = true
	default:
		r.within()
		if r.ended = r.copyRun(); r.ended != nil {
			return
		}
		r.busy = true
		go func() { r.evaluated <- evaluation{err: r.snap.Save(r.dir, r.params, r.trained)} }()
	}
	r.holding = false
	r.world.Set(control.WordHold, 0)
	r.world.Tick()
}

// within sets the position to where the open epoch is.
func (r *coordinator) within() {
	p := &r.world.Plan
	r.pos.Within, r.pos.Round = true, 0
	for r.pos.Round < p.Rounds && r.roundDone(r.pos.Round) {
		r.pos.Round++
	}
}

// roundDone tells whether all chunks of a round are done, and it is averaged.
func (r *coordinator) roundDone(round int) bool {
	_, averaged := r.world.Tickets(r.world.Get(control.WordEpoch), round)
	if round < int(r.world.Get(control.WordRound)) {
		return true // before this run resumed
	}
	for rank := range r.cfg.Workers {
		if r.world.Barrier.Arrived(rank) < averaged {
			return false
		}
	}
	return true
}
