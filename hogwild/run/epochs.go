package run

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/fault"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// endEpoch is the boundary between two epochs, a quiet moment: all chunks are done and nobody has
// one. The weights are copied where they are, the next epoch opens, and while it trains the copy is evaluated. On cores
// that takes one which no worker has; where workers have all, those evaluate it first. To host memory the weights
// come only to be saved, or where a program or another node needs them there. It returns why the run ends.
func (r *coordinator) endEpoch() (end error) {
	_ = fault.Point("epoch.end")
	r.epochs.position.Seconds = r.seconds(r.lastDone())
	if end = r.train.Changed(); end == nil && r.several() {
		end = r.download()
	}
	if end != nil {
		r.tell(end)
		return end // the epoch stays open, to be saved as one within which the run ended
	}
	r.epochs.secondHalf = r.secondHalfLoss()
	if end = r.awaitCopy(); end != nil && r.several() {
		return end // as one within which the job ended
	}
	last := int(r.epochs.position.Epoch) >= r.job.Epochs
	if !last {
		r.recount(fewSamples)
	}
	save := last || r.wantsSave(int(r.epochs.position.Epoch))
	whole := save || r.several() || r.evaluator != nil
	if end == nil {
		if end = r.keepCopy(whole && !r.several()); end != nil {
			r.tell(end)
			return end // the epoch stays open
		}
	}
	r.epochs.opened = 0
	_, done, lost, loss := r.progressOfAll()
	r.epochs.position.Examples += int64(done)
	r.epochs.position.Lost += int64(lost)
	if end != nil {
		return end
	}
	rate := plan.NewSchedule(&r.job.Config, r.job.Tuning.LR, r.train.Rows)
	e := rundir.EpochResult{Kind: "epoch", Epoch: int(r.epochs.position.Epoch), Seconds: r.epochs.position.Seconds, Examples: r.epochs.position.Examples,
		LR: rate.At(int64(r.epochs.position.Epoch) * int64(r.block.Plan.N)), TrainLoss: loss / float64(max(done, 1)), TrainMetrics: r.trainMetrics()}
	for _, m := range r.mem.Measures {
		m.Clear()
	}
	r.epochs.position.Epoch++
	r.epochs.position.Round, r.epochs.position.Within = 0, false
	r.epochs.position.Base, r.epochs.position.BaseDone, r.epochs.position.BaseLoss = 0, 0, 0
	if done > 0 {
		r.tellUnused()
	}
	r.capture(whole)
	scored := r.evaluate(e, save)
	r.saver.due = false
	if r.several() || r.evaluator != nil || r.job.GPU == "" && r.job.Workers >= machine.Cores() {
		r.owner.Await()
		<-scored // it speaks with other nodes, and nobody else may meanwhile; or there is no core for it beside the workers
	}
	if last || score.StopSetting(&r.job.Config) != "" || r.scaling != nil {
		end = r.awaitTogether() // whether to go on depends on it, or it reads the settings that are to change
	}
	switch {
	case end != nil:
		return end
	case last && r.late: // the last score is still to come, when the run is resumed
		return r.cause()
	case last:
		return errDone
	}
	return r.openNext()
}

// openNext opens the next epoch.
func (r *coordinator) openNext() error {
	_ = fault.Point("epoch.open")
	if r.scaling != nil {
		epoch := r.epochs.position.Epoch
		if err := r.rescale(control.Start{Epoch: epoch, Rounds: r.block.Before(epoch)}); err != nil {
			return err
		}
	}
	at := control.Monotonic() // before workers can be done with it
	r.block.Open(r.epochs.position.Epoch)
	for rank := range r.workers.Most() {
		if r.workers.Gone(rank) {
			r.block.GiveUp(rank)
		}
	}
	r.epochs.opened = at
	r.rounds.Open(r.epochs.position.Epoch)
	_ = fault.Point("epoch.opened")
	r.halted.opened(at)
	return nil
}

// lastDone is when the last chunk of the open epoch was done. In barrier mode an average comes after
// it, between nodes a round: just now.
func (r *coordinator) lastDone() (at uint64) {
	if r.block.Plan.Barrier || r.several() {
		return control.Monotonic()
	}
	for rank := range r.workers.Most() {
		at = max(at, r.block.Rank(rank, control.RankDone))
	}
	return at
}

// seconds is the time spent training until now, boundaries left out.
func (r *coordinator) seconds(now uint64) float64 {
	if r.epochs.opened == 0 {
		return r.epochs.position.Seconds
	}
	from := max(r.epochs.opened, r.began()) + r.halted.lasted // the first epoch begins when a worker does
	if since := r.halted.since; since != 0 {
		now = min(now, max(since, from)) // nobody trains
	}
	if from > now {
		return r.epochs.position.Seconds
	}
	return r.epochs.position.Seconds + float64(now-from)/1e9
}

// began is when the first worker was ready to train; at the end of time if none is yet.
func (r *task) began() uint64 {
	first := uint64(math.MaxUint64)
	for rank := range r.job.Workers {
		if t := r.block.Rank(rank, control.RankBegan); t != 0 {
			first = min(first, t)
		}
	}
	return first
}

// wall is the time since then, boundaries and pauses included, and that of the runs which this one resumes.
func (r *coordinator) wall() float64 {
	now := control.Monotonic()
	return r.epochs.before + float64(now-min(now, r.began()))/1e9
}

// evaluate starts the evaluation of the copy, and its saving. The channel is closed when
// the first is done.
func (r *coordinator) evaluate(e rundir.EpochResult, save bool) <-chan struct{} {
	r.saver.busy = true
	scored, saveCopy, counts, measures := make(chan struct{}), r.saving(), r.wantsCounts(save), r.measures(&e)
	go func() {
		is := evaluation{saves: save}
		fault := r.train.Guard(func() { is.weights, is.err = r.score(&e, counts) })
		is.err = errors.Join(is.err, fault)
		close(scored)
		if measures && is.err == nil {
			is.newton = r.curvature()
		}
		if is.result = e; is.err == nil {
			r.saver.copy.Pos.History = append(r.saver.copy.Pos.History, e)
			is.err = r.keepBest(&e)
		} else if errors.Is(is.err, config.ErrDiverged) {
			is.saves = false
		} else { // the copy is good: the epoch was trained, only not evaluated
			is.result.Judge(rundir.Scores{Set: r.judge.Name, Loss: math.NaN()})
			r.saver.copy.Pos.History = append(r.saver.copy.Pos.History, is.result)
		}
		if is.saves {
			is.unsaved = saveCopy()
		}
		r.saver.evaluated <- is
	}()
	return scored
}

// keepBest brings the copy to host memory if it is of the best epoch so far.
func (r *coordinator) keepBest(e *rundir.EpochResult) error {
	if best := rundir.Best(r.saver.copy.Pos.History); best == nil || best.Epoch != e.Epoch {
		return nil
	}
	w, err := askFor(r, r.patience, r.owner.Kept)
	if err == nil {
		r.saver.copy.Best = slices.Clone(w)
	}
	return onDevice(err)
}

// score evaluates the copy on the validation set, or without one on the test set. With counts it tells how the
// weights of each tensor are distributed. A copy that diverged is not good, and not to be saved.
func (r *coordinator) score(e *rundir.EpochResult, counts bool) (weights []rundir.Histogram, err error) {
	s, err := r.survey(e, counts)
	for i := range s.Counts {
		weights = append(weights, rundir.WeightHistogram(r.params[i].Name, &s.Counts[i]))
	}
	if err != nil || r.job.Sample > 0 { // a short run is not tested
		return weights, err
	}
	return weights, r.addScores(e)
}

// addScores adds the scores of the copy to an epoch.
func (r *coordinator) addScores(e *rundir.EpochResult) error {
	if r.evaluator != nil {
		return r.judgeByProgram(e)
	}
	sum, err := r.scoreOn(nil, r.judge.Set) // the copy where it is
	if err != nil {
		return err
	}
	e.Judge(score.Of(r.judge.Name, sum, len(r.judge.Set.Classes) > 0))
	return r.overflown(e)
}

// survey looks at the copy. Weights that are not finite are an error.
func (r *coordinator) survey(e *rundir.EpochResult, counts bool) (device.Survey, error) {
	s, err := askFor(r, evaluations*r.patience, func() (device.Survey, error) { return r.owner.Survey(counts) })
	if err != nil {
		return s, onDevice(err)
	}
	return s, r.finite(s.NotFinite, s.Value, e)
}

// finite is the error of a weight i that is not; i is -1 if all are.
func (r *coordinator) finite(i int, value float32, e *rundir.EpochResult) error {
	if i < 0 {
		return nil
	}
	return divergence{fmt.Errorf("weight %d is %v after epoch %d, learning rate %g", i, value, e.Epoch, e.LR), r.lowerRate()}
}

// awaitCopy waits until the copy of the weights is no longer in use: for the last evaluation, or the save after it. So
// do other nodes, which then all know whether the job ends, and that their weights are the same.
func (r *coordinator) awaitCopy() error {
	if end := r.awaitTogether(); end != nil {
		return end
	}
	differ, err := r.rounds.Align()
	if differ > 0 {
		r.report.event("after epoch %d, %s had other weights than node 0: all take over node 0's", r.epochs.position.Epoch, human.Plural(differ, "node"))
	}
	if errors.As(err, new(deviceError)) {
		r.tell(err)
	}
	return r.lostPeers(err)
}

// awaitTogether waits for the evaluation that runs, and the save after it, on all nodes.
func (r *coordinator) awaitTogether() (end error) {
	err := r.peers.Together(func() error {
		if end = r.awaitEvaluation(); errors.Is(end, errDone) {
			return nil
		}
		return end
	})
	if end == nil {
		end = r.lostPeers(err)
	}
	return end
}

// awaitEvaluation waits for the evaluation that runs, if there is one, and returns why the run ends by it.
func (r *coordinator) awaitEvaluation() error {
	if !r.saver.busy {
		return nil
	}
	r.owner.Await()
	return r.record(<-r.saver.evaluated)
}

// record takes an evaluation in, and returns why the run ends by it: an error, or that a target is reached.
func (r *coordinator) record(e evaluation) error {
	r.saver.busy = false
	if e.saves {
		r.saved(e.unsaved)
	}
	end := r.lostPeers(e.err)
	if e.result.Kind == "" || errors.Is(e.err, config.ErrDiverged) { // of a save within an epoch there is no result
		return end
	}
	r.epochs.last = &e.result
	r.epochs.position.History = append(r.epochs.position.History, e.result)
	r.report.display.epoch(e.result)
	if e.newton > 0 {
		r.measured(e.newton, &e.result)
	}
	if r.options.OnEpoch != nil {
		r.options.OnEpoch(e.result)
	}
	r.report.wrote(r.folder.Epoch(e.result, r.instruments(), e.weights))
	if why := score.Stop(&r.job.Config, r.epochs.position.History); why != "" && e.err == nil { // then what was not saved is, at the end
		r.epochs.stopped, end = why, errDone
	}
	return end
}

// secondHalfLoss returns the mean loss of the second half of the open epoch, all of which is done;
// of an epoch of one chunk it is that of the whole.
func (r *task) secondHalfLoss() float64 {
	p, epoch := &r.block.Plan, int(r.block.Get(control.WordEpoch))-1
	sum, n := 0.0, 0
	for i := range p.Chunks() {
		c := p.At(epoch, i)
		state, loss := r.block.Chunk(i)
		if state == control.ChunkDone && (p.Chunks() == 1 || c.Seen-int64(epoch)*int64(p.N) >= int64(p.N/2)) {
			sum, n = sum+loss, n+c.Count
		}
	}
	return sum / float64(n)
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
