package run

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// brief, in seconds, is an epoch no longer than the evaluation of it may be: the next
// one would have to wait for it at its end all the same.
const brief = 0.05

// apart tells whether an epoch that took so long is evaluated before the next one opens,
// and not while it trains: when workers have all cores, of which the evaluation would take
// one for a time that depends on chance. It takes all of them, while the workers wait.
func (r *task) apart(seconds float64) bool {
	all := r.job.Workers >= runtime.NumCPU() || r.evaluator != nil // programs share all cores
	return seconds < brief || r.job.GPU == "" && all
}

// endEpoch is the boundary between two epochs, a quiet moment: all chunks are done and nobody has
// one. The weights are copied and evaluated, the next epoch opens, and the copy is saved
// while it trains. With cores to spare it is evaluated then too.
func (r *coordinator) endEpoch() {
	_ = fault.Point("epoch.end")
	before := r.epochs.position.Seconds
	r.epochs.position.Seconds = r.seconds(r.lastDone())
	if r.epochs.ended = r.train.Changed(); r.epochs.ended == nil {
		r.epochs.ended = r.download()
	}
	if r.epochs.ended != nil {
		r.peers.tell(r.epochs.ended)
		return // the epoch stays open, to be saved as one within which the run ended
	}
	r.epochs.secondHalf = r.secondHalfLoss()
	if r.awaitCopy(); r.epochs.ended != nil && r.peers != nil {
		return // as one within which the job ended
	}
	r.epochs.opened = 0
	_, done, lost, loss := r.progressOfAll()
	r.epochs.position.Examples += int64(done)
	r.epochs.position.Lost += int64(lost)
	if r.epochs.ended != nil {
		return
	}
	rate := plan.NewSchedule(&r.job.Config, r.job.Tuning.LR, r.train.Rows)
	e := rundir.EpochResult{Kind: "epoch", Epoch: int(r.epochs.position.Epoch), Seconds: r.epochs.position.Seconds, Examples: r.epochs.position.Examples,
		LR: rate.At(int64(r.epochs.position.Epoch) * int64(r.block.Plan.N)), TrainLoss: loss / float64(max(done, 1))}
	r.epochs.position.Epoch++
	r.epochs.position.Round, r.epochs.position.Within = 0, false
	r.epochs.position.Base, r.epochs.position.BaseDone, r.epochs.position.BaseLoss = 0, 0, 0
	last := int(r.epochs.position.Epoch) > r.job.Epochs
	if done > 0 {
		r.tellUnused()
	}
	r.capture()
	every, _, _ := r.job.SavePeriod()
	scored := r.evaluate(e, last || r.saver.due || every > 0 && e.Epoch%every == 0)
	r.saver.due = false
	if r.peers != nil || r.apart(r.epochs.position.Seconds-before) {
		<-scored // of several nodes: the evaluation speaks with the others, and nobody else may meanwhile
	}
	if last || r.job.TargetLoss > 0 || r.job.TargetAccuracy > 0 || r.job.Patience > 0 || r.scaling != nil {
		r.awaitTogether() // whether to go on depends on it, or it reads the settings that are to change
	}
	if last && r.epochs.ended == nil {
		r.epochs.ended = errDone
	}
	if r.epochs.ended == nil {
		r.openNext()
	}
}

func (r *coordinator) openNext() {
	_ = fault.Point("epoch.open")
	if r.scaling != nil {
		epoch := r.epochs.position.Epoch
		if err := r.rescale(control.Start{Epoch: epoch, Rounds: r.block.Before(epoch)}); err != nil {
			r.epochs.ended = err
			return
		}
	}
	at := control.Monotonic() // before workers can be done with it
	r.block.Open(r.epochs.position.Epoch)
	for rank, gone := range r.workers.gone {
		if gone {
			r.block.GiveUp(rank)
		}
	}
	r.epochs.opened = at
	r.openMeetings(r.epochs.position.Epoch)
	_ = fault.Point("epoch.opened")
	r.halted.opened(at)
}

// lastDone is when the last chunk of the open epoch was done. In barrier mode an average comes after
// it, between nodes a round: just now.
func (r *coordinator) lastDone() (at uint64) {
	if r.block.Plan.Barrier || r.peers != nil {
		return control.Monotonic()
	}
	for rank := range r.workers.most {
		at = max(at, r.block.Rank(rank, control.RankDone))
	}
	return at
}

// seconds is the time spent training until now, boundaries left out.
func (r *coordinator) seconds(now uint64) float64 {
	if r.epochs.opened == 0 {
		return r.epochs.position.Seconds
	}
	from := r.epochs.opened
	first := uint64(math.MaxUint64)
	for rank := range r.job.Workers {
		if t := r.block.Rank(rank, control.RankBegan); t != 0 {
			first = min(first, t)
		}
	}
	from = max(from, first) + r.halted.lasted // the first epoch begins when a worker does
	if since := r.halted.since; since != 0 {
		now = min(now, max(since, from)) // nobody trains
	}
	if from > now {
		return r.epochs.position.Seconds
	}
	return r.epochs.position.Seconds + float64(now-from)/1e9
}

// evaluate starts the evaluation of the copy, and its saving. The channel is closed when
// the first is done.
func (r *coordinator) evaluate(e rundir.EpochResult, save bool) <-chan struct{} {
	r.saver.busy = true
	scored, saveCopy := make(chan struct{}), r.saving()
	go func() {
		var err error
		fault := r.train.Guard(func() { err = r.score(&e) })
		err = errors.Join(err, fault)
		close(scored)
		if err != nil {
			is := evaluation{result: e, err: err, saves: !errors.Is(err, config.ErrDiverged)}
			if is.saves { // the copy is good: the epoch was trained, only not evaluated
				name, _ := r.judges()
				is.result.Judge(rundir.Scores{Set: name, Loss: math.NaN()})
				r.saver.copy.Pos.History = append(r.saver.copy.Pos.History, is.result)
				is.unsaved = saveCopy()
			}
			r.saver.evaluated <- is
			return
		}
		weights := rundir.WeightHistograms(r.params, r.saver.copy.Plain(r.trained))
		r.saver.copy.Pos.History = append(r.saver.copy.Pos.History, e)
		if best := rundir.Best(r.saver.copy.Pos.History); best != nil && best.Epoch == e.Epoch {
			r.saver.copy.Best = slices.Clone(r.saver.copy.Plain(r.trained))
		}
		is := evaluation{result: e, weights: weights, saves: save || r.stops(r.saver.copy.Pos.History) != ""}
		if is.saves {
			is.unsaved = saveCopy()
		}
		r.saver.evaluated <- is
	}()
	return scored
}

// score evaluates the copy on the validation set, or without one on the test set. A copy that
// diverged is not good, and not to be saved.
func (r *coordinator) score(e *rundir.EpochResult) error {
	w := r.saver.copy.Plain(r.trained)
	if err := r.finite(w, e); err != nil {
		return err
	}
	if r.job.Sample > 0 {
		return nil // a short run is not tested
	}
	name, set := r.judges()
	sum, err := r.scoreOn(w, set)
	if err != nil {
		return err
	}
	if sum.N == 0 { // a program that does not evaluate
		e.TestLoss = math.NaN()
		return nil
	}
	e.Judge(scoresOf(name, sum, len(set.Classes) > 0 && r.evaluator == nil))
	return r.overflown(e)
}

// finite is the error of weights that are not.
func (r *coordinator) finite(w []float32, e *rundir.EpochResult) error {
	if i := notFiniteAt(w); i >= 0 {
		return divergence{fmt.Errorf("weight %d is %v after epoch %d, learning rate %g", i, w[i], e.Epoch, e.LR), r.lowerRate()}
	}
	return nil
}

// judges is the set by which epochs are judged, and its name.
func (r *task) judges() (string, *data.Set) {
	if r.validation != nil {
		return "validation", r.validation
	}
	return "test", r.test
}

// awaitCopy waits until the copy of the weights is no longer in use: for the last evaluation, or the save after it. So
// do other nodes, which then all know whether the job ends, and that their weights are the same.
func (r *coordinator) awaitCopy() {
	if r.awaitTogether(); r.peers == nil || r.epochs.ended != nil {
		return
	}
	differ, err := r.alignAnchors()
	if differ > 0 {
		r.report.event("after epoch %d, %s had other weights than node 0: all take over node 0's", r.epochs.position.Epoch, human.Plural(differ, "node"))
	}
	if r.epochs.ended = r.lostPeers(err); errors.As(err, new(deviceError)) {
		r.peers.tell(err)
	}
}

// awaitTogether waits for the evaluation that runs, and the save after it, on all nodes.
func (r *coordinator) awaitTogether() {
	if r.peers == nil {
		r.awaitEvaluation()
		return
	}
	err := r.peers.together(func() error {
		if r.awaitEvaluation(); errors.Is(r.epochs.ended, errDone) {
			return nil
		}
		return r.epochs.ended
	})
	if r.epochs.ended == nil {
		r.epochs.ended = r.lostPeers(err)
	}
}

// awaitEvaluation waits for the evaluation that runs, if there is one.
func (r *coordinator) awaitEvaluation() {
	if r.saver.busy {
		r.record(<-r.saver.evaluated)
	}
}

// record takes an evaluation in: display, metrics, and whether a target is reached.
func (r *coordinator) record(e evaluation) {
	r.saver.busy = false
	if e.saves {
		r.saved(e.unsaved)
	}
	if e.err != nil {
		r.epochs.ended = r.lostPeers(e.err)
	}
	if e.result.Kind == "" || !e.saves && e.err != nil { // a save within an epoch, or it diverged
		return
	}
	r.epochs.last = &e.result
	r.epochs.position.History = append(r.epochs.position.History, e.result)
	r.report.display.epoch(e.result)
	if r.options.OnEpoch != nil {
		r.options.OnEpoch(e.result)
	}
	r.report.wrote(r.folder.Epoch(e.result, r.instruments(), e.weights))
	if why := r.stops(r.epochs.position.History); why != "" && e.err == nil {
		r.epochs.stopped, r.epochs.ended = why, errDone
	}
}

// stops says why a run ends after the epochs so far: a target that the last one has reached, or
// patience that is over. "": it does not.
func (r *task) stops(history []rundir.EpochResult) string {
	s := history[len(history)-1].Judged()
	if t := r.job.TargetLoss; t > 0 && s.Loss <= t {
		return fmt.Sprintf("target loss %g", t)
	}
	if t := r.job.TargetAccuracy; t > 0 && s.Accuracy != nil && *s.Accuracy >= t {
		return fmt.Sprintf("target accuracy %g", t)
	}
	why, _ := impatient(history, r.job.Patience)
	return why
}

// within sets the position to where the open epoch is.
func (r *coordinator) within() {
	p := &r.block.Plan
	r.epochs.position.Within, r.epochs.position.Round = true, 0
	for r.epochs.position.Round < p.Rounds && r.roundDone(r.epochs.position.Round) {
		r.epochs.position.Round++
	}
}

// roundDone tells whether all chunks of a round are done, and it is averaged.
func (r *task) roundDone(round int) bool {
	_, averaged := r.block.Tickets(r.block.Get(control.WordEpoch), round)
	if round < r.block.First(r.block.Get(control.WordEpoch)) {
		return true // before this run resumed
	}
	for rank := range r.job.Workers {
		if r.block.Barrier.Arrived(rank) < averaged {
			return false
		}
	}
	return true
}
