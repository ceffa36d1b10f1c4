package run

import (
	"errors"
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// evaluator finds how good the weights are, and what follows from that.
type evaluator struct {
	*core.Run
	snapshots *snapshotter
	final     *finalSaver
}

// evaluate starts the evaluation of the copy, and its saving. The channel is closed when
// the first is done, and the copy is kept if it is the best.
func (r *evaluator) evaluate(e rundir.EpochResult, save bool) <-chan struct{} {
	r.Mem.Busy = true
	scored, saveCopy, counts := make(chan struct{}), r.snapshots.saving(), r.snapshots.wantsCounts(save)
	with := &core.Evaluates{Epoch: &e}
	_ = r.Notify(with)
	go func() {
		is := evaluation{saves: save}
		fault := r.Task.Train.Guard(func() { is.weights, is.err = r.score(&e, counts) })
		is.err = errors.Join(is.err, fault)
		if is.result = e; is.err == nil {
			r.Copy.Pos.History = append(r.Copy.Pos.History, e)
			is.err = r.keepBest(&e)
		} else if errors.Is(is.err, config.ErrDiverged) {
			is.saves = false
		} else { // the copy is good: the epoch was trained, only not evaluated
			is.result.Judge(rundir.Scores{Set: r.Task.Judge.Name, Loss: math.NaN()})
			r.Copy.Pos.History = append(r.Copy.Pos.History, is.result)
		}
		close(scored)
		if with.Beside != nil && is.err == nil {
			with.Beside()
		}
		if is.saves {
			is.unsaved = saveCopy()
		}
		r.snapshots.evaluated <- is
	}()
	return scored
}

// keepBest brings the copy to host memory if it is of the best epoch so far.
func (r *evaluator) keepBest(e *rundir.EpochResult) error {
	best := rundir.Best(r.Copy.Pos.History)
	if best == nil || best.Epoch != e.Epoch || r.Task.Spec.Family().Chunks {
		return nil
	}
	w, err := core.CallDevice(r.Mem, r.Mem.DeviceTimeout, r.Mem.Owner.Kept)
	if err == nil {
		if len(r.Task.Params) == len(r.Task.Trained) {
			w = append(r.Copy.Best[:0], w...) // else the run centres, and w is one more copy already
		}
		r.Copy.Best = w
	}
	return err
}

// score evaluates the copy on the validation set, or without one on the test set. With counts it tells how the
// weights of each tensor are distributed. A copy that diverged is not good, and not to be saved.
func (r *evaluator) score(e *rundir.EpochResult, counts bool) (weights []rundir.Histogram, err error) {
	s, err := r.survey(e, counts)
	for i := range s.Counts {
		weights = append(weights, rundir.WeightHistogram(r.Task.Params[i].Name, &s.Counts[i]))
	}
	if err != nil || r.Job.Asked.Sample > 0 { // a short run is not tested
		return weights, err
	}
	if best := r.Task.Judge.Constant(); r.Options.Unscored && !(best != nil && e.TrainLoss > score.Far*best.Loss) {
		e.TestLoss = math.NaN()
		return weights, nil
	}
	return weights, r.addScores(e)
}

// addScores adds the scores of the copy to an epoch.
func (r *evaluator) addScores(e *rundir.EpochResult) error {
	w, epoch := []float32(nil), 0 // the copy where it is
	if r.Hooks.Program != nil {
		w = r.Copy.Plain(r.Task.Trained)
	}
	if e.Kind != "" { // else the run ends within it
		epoch = e.Epoch
	}
	sum, metrics, err := r.scoreOn(w, r.Task.Judge.Set, epoch)
	if err != nil {
		return err
	}
	e.TestLoss = math.NaN()
	if score.NoPairs(sum, r.Task.Judge.Set) {
		e.Judge(rundir.Scores{Set: r.Task.Judge.Name, Loss: math.NaN()})
	} else if sum.N > 0 {
		e.Judge(score.Of(r.Task.Judge.Name, sum, len(r.Task.Judge.Set.Classes) > 0 && r.Hooks.Program == nil))
		err = r.checkLoss(e)
	}
	for name, v := range metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue // JSON has no such numbers
		}
		if e.Metrics == nil {
			e.Metrics = map[string]float64{}
		}
		e.Metrics[name] = v
	}
	return err
}

// scoreOn evaluates plain weights on a set, by the device if nothing else does. Of several nodes each evaluates its
// share of the rows.
func (r *evaluator) scoreOn(w []float32, set *data.Set, epoch int) (s model.Score, metrics map[string]float64,
	err error) {
	if r.Hooks.Program != nil {
		return r.Hooks.Program.Score(w, set, epoch)
	}
	s, err = r.Peers.Score(func() (model.Score, error) {
		return core.CallDevice(r.Mem, core.Evaluations*r.Mem.DeviceTimeout,
			func() (model.Score, error) { return r.Mem.Owner.Score(w, set) })
	})
	return s, nil, err
}

// checkLoss returns the error of an epoch whose losses are far above the constant predictor's and the first weights'.
func (r *evaluator) checkLoss(e *rundir.EpochResult) error {
	if !r.Task.Judge.TooLarge(e) || r.Job.Asked.Ascends() { // which comes back from what it has lost
		return nil
	}
	on := e.Judged()
	if begin, err := r.scoreFirst(); err != nil || on.Loss <= score.Far*begin {
		return err
	}
	return core.Divergence{What: fmt.Errorf("%s loss %s after epoch %d, a constant prediction has %s; learning rate %g",
		on.Set, human.Loss(on.Loss), e.Epoch, human.Loss(r.Task.Judge.Constant().Loss), r.Job.Used.LR),
		Cure: "try a lower --lr, or --scale standard (" + r.LastGood() + ")"}
}

// scoreFirst returns the loss, on the rows that epochs are judged by, of a new run's first weights. Of one that began
// with given ones it is the loss of its first epoch: they may be as wrong for this data as any.
func (r *evaluator) scoreFirst() (float64, error) {
	if r.Position.Init != nil {
		if past := r.Copy.Pos.History; len(past) > 0 {
			return past[0].Judged().Loss, nil
		}
		return math.Inf(1), nil
	}
	plain, err := model.New(r.Job.Asked.ModelOptions(), r.Task.Train.Meta)
	if err != nil {
		return 0, err
	}
	w := make([]float32, model.Size(r.Task.Params))
	r.FirstWeights(plain, w)
	s, _, err := r.scoreOn(w, r.Task.Judge.Set, 0)
	if err != nil || s.N == 0 || math.IsNaN(s.Loss) {
		return 0, err
	}
	return s.Loss / float64(s.N), nil
}

// survey looks at the copy. Weights that are not finite are an error.
func (r *evaluator) survey(e *rundir.EpochResult, counts bool) (device.Survey, error) {
	s, err := core.CallDevice(r.Mem, core.Evaluations*r.Mem.DeviceTimeout,
		func() (device.Survey, error) { return r.Mem.Owner.Survey(counts) })
	if err != nil {
		return s, err
	}
	return s, r.snapshots.errNotFinite(s.NotFinite, s.Value, e)
}

// checkFinite returns the error of a copy, taken within an epoch, whose numbers have diverged. Whether finite ones
// have takes an evaluation to see, which is worth its time where a rollback would continue from them.
func (r *evaluator) checkFinite(e rundir.EpochResult) error {
	if r.Job.Asked.OnDivergence == config.Rollback {
		_, err := r.score(&e, false)
		return err
	}
	_, err := r.survey(&e, false)
	return err
}

// awaitCopy waits until the copy of the weights is no longer in use: for the last evaluation, or the save after it. So
// do other nodes, which then all know whether the job ends, and that their weights are the same.
func (r *evaluator) awaitCopy() error {
	if end := r.awaitTogether(); end != nil {
		return end
	}
	differ, err := r.Rounds.Align()
	if differ > 0 {
		r.Report.Event("after epoch %d, %s had other weights than node 0: all take over node 0's", r.Position.Epoch,
			human.Plural(differ, "node"))
	}
	if errors.As(err, new(core.DeviceError)) {
		r.snapshots.endJobOnPeers(err)
	}
	return r.snapshots.lostPeers(err)
}

// awaitTogether waits for the evaluation that runs, and the save after it, on all nodes.
func (r *evaluator) awaitTogether() (end error) {
	err := r.Peers.Together(func() error {
		if end = r.awaitEvaluation(); errors.Is(end, core.ErrDone) {
			return nil
		}
		return end
	})
	if end == nil {
		end = r.snapshots.lostPeers(err)
	}
	return end
}

// awaitEvaluation waits for the evaluation that runs, if there is one, and returns why the run ends by it.
func (r *evaluator) awaitEvaluation() error {
	if !r.Mem.Busy {
		return nil
	}
	r.Mem.Owner.Await()
	return r.record(<-r.snapshots.evaluated)
}

// record takes an evaluation in, and returns why the run ends by it: an error, or that a target is reached.
func (r *evaluator) record(e evaluation) error {
	r.Mem.Busy = false
	if e.saves {
		r.snapshots.noteSave(e.unsaved)
	}
	end := r.snapshots.lostPeers(e.err)
	if e.result.Kind == "" || errors.Is(e.err, config.ErrDiverged) { // of a save within an epoch there is no result
		return end
	}
	r.Last = &e.result
	r.Position.History = append(r.Position.History, e.result)
	if told := r.Notify(&core.Evaluated{Epoch: r.Last, Weights: e.weights, Err: e.err}); told != nil {
		end = told
	}
	if r.Options.OnEpoch != nil {
		r.Options.OnEpoch(e.result)
	}
	return end
}

// savePaused copies the run, lets the workers go on, and saves the copy.
func (r *evaluator) savePaused() error {
	switch {
	case r.Mem.Complete() || r.Mem.Busy: // since the pause an epoch has come to its end
		r.snapshots.savePending = true
	default:
		r.Within()
		if err := r.snapshots.snapshot(); err != nil {
			return err
		}
		r.Mem.Busy = true
		saveCopy := r.snapshots.saving()
		e := rundir.EpochResult{Epoch: int(r.Position.Epoch), LR: r.Job.Used.LR}
		if _, done, _, loss := r.Progress(); done > 0 {
			e.TrainLoss = loss / float64(done)
		}
		go func() {
			is := evaluation{err: r.checkFinite(e)}
			if is.saves = !errors.Is(is.err, config.ErrDiverged); is.saves {
				is.unsaved = saveCopy()
			}
			r.snapshots.evaluated <- is
		}()
	}
	_ = fault.Point("pause.end")
	r.Resume(core.ToSave)
	return nil
}

// saveWithin saves a run that was stopped within an epoch, from the host copy if need be.
func (r *evaluator) saveWithin() error {
	_, done, lost, loss := r.Progress()
	defer func() { // only then: a resumed run counts the epoch's chunks again
		r.Position.Examples += int64(done)
		r.Position.Lost += int64(lost)
	}()
	if err := r.snapshots.snapshotMidEpoch(); err != nil {
		r.Failed(err)
		return r.final.saveHostCopy()
	}
	e := rundir.EpochResult{Epoch: int(r.Position.Epoch), Seconds: r.Position.Seconds}
	if e.TrainLoss = loss / float64(done); done == 0 && r.Last != nil { // of no examples it is not a number
		e.TrainLoss = r.Last.TrainLoss
	}
	r.Mem.Owner.Await()
	_, scored := r.score(&e, false)
	if r.Failed(scored); errors.Is(scored, config.ErrDiverged) {
		return nil
	}
	if scored == nil {
		r.Last = &e
	}
	r.final.finalCopy = true
	return r.final.keep(r.snapshots.saveCopy)
}
