package run

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// scorer is how good the weights are: evaluations by the device or by a program, and what follows from them.
type scorer struct {
	*saver
	limit     limit              // of steps in flight, as the run trains
	evaluator *program.Evaluator // nil: the model is computed here
	scoreless bool               // it could not answer
	late      bool               // the run was interrupted, and did not wait for its answer
	prints    *workers.Log       // of the evaluator
	watching  *hang.ProgramWatch // the evaluator
}

// evaluate starts the evaluation of the copy, and its saving. The channel is closed when
// the first is done.
func (r *scorer) evaluate(e rundir.EpochResult, save bool) <-chan struct{} {
	r.busy = true
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
			r.copy.Pos.History = append(r.copy.Pos.History, e)
			is.err = r.keepBest(&e)
		} else if errors.Is(is.err, config.ErrDiverged) {
			is.saves = false
		} else { // the copy is good: the epoch was trained, only not evaluated
			is.result.Judge(rundir.Scores{Set: r.judge.Name, Loss: math.NaN()})
			r.copy.Pos.History = append(r.copy.Pos.History, is.result)
		}
		if is.saves {
			is.unsaved = saveCopy()
		}
		r.evaluated <- is
	}()
	return scored
}

// keepBest brings the copy to host memory if it is of the best epoch so far.
func (r *scorer) keepBest(e *rundir.EpochResult) error {
	if best := rundir.Best(r.copy.Pos.History); best == nil || best.Epoch != e.Epoch {
		return nil
	}
	w, err := askFor(r.shared, r.patience, r.owner.Kept)
	if err == nil {
		if r.copy.Best = w; r.job.Asked.GPU != "" || len(r.params) == len(r.trained) { // else the run centres, and w is one more copy already
			r.copy.Best = slices.Clone(w)
		}
	}
	return onDevice(err)
}

// score evaluates the copy on the validation set, or without one on the test set. With counts it tells how the
// weights of each tensor are distributed. A copy that diverged is not good, and not to be saved.
func (r *scorer) score(e *rundir.EpochResult, counts bool) (weights []rundir.Histogram, err error) {
	s, err := r.survey(e, counts)
	for i := range s.Counts {
		weights = append(weights, rundir.WeightHistogram(r.params[i].Name, &s.Counts[i]))
	}
	if err != nil || r.job.Asked.Sample > 0 { // a short run is not tested
		return weights, err
	}
	return weights, r.addScores(e)
}

// addScores adds the scores of the copy to an epoch.
func (r *scorer) addScores(e *rundir.EpochResult) error {
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

// scoreOn has the device evaluate plain weights on a set. Of several nodes each evaluates its share of the rows.
func (r *scorer) scoreOn(w []float32, set *data.Set) (model.Score, error) {
	if r.evaluator != nil {
		s, _, err := r.scoredByProgram(w, set, 0)
		return s, err
	}
	own := func() (model.Score, error) {
		s, err := askFor(r.shared, evaluations*r.patience, func() (model.Score, error) { return r.owner.Score(w, set) })
		return s, onDevice(err)
	}
	return r.peers.Score(own)
}

// overflown returns the error of an epoch whose losses are far above those of the constant predictor, and of the first weights.
func (r *scorer) overflown(e *rundir.EpochResult) error {
	if !r.judge.TooLarge(e) {
		return nil
	}
	on := e.Judged()
	if begin, err := r.scoreFirst(); err != nil || on.Loss <= score.Far*begin {
		return err
	}
	return divergence{fmt.Errorf("%s loss %s after epoch %d, a constant prediction has %s; learning rate %g",
		on.Set, human.Loss(on.Loss), e.Epoch, human.Loss(r.judge.Constant().Loss), r.job.Used.LR), "try a lower --lr, or --scale standard (" + r.lastGood() + ")"}
}

// scoreFirst returns the loss, on the rows that epochs are judged by, of a new run's first weights.
func (r *scorer) scoreFirst() (float64, error) {
	plain, err := model.New(r.job.Asked.ModelOptions(), r.train.Meta)
	if err != nil {
		return 0, err
	}
	w := make([]float32, model.Size(r.params))
	r.firstWeights(plain, w)
	s, err := r.scoreOn(w, r.judge.Set)
	if err != nil || s.N == 0 || math.IsNaN(s.Loss) {
		return 0, err
	}
	return s.Loss / float64(s.N), nil
}

// survey looks at the copy. Weights that are not finite are an error.
func (r *scorer) survey(e *rundir.EpochResult, counts bool) (device.Survey, error) {
	s, err := askFor(r.shared, evaluations*r.patience, func() (device.Survey, error) { return r.owner.Survey(counts) })
	if err != nil {
		return s, onDevice(err)
	}
	return s, r.finite(s.NotFinite, s.Value, e)
}

// stillGood is the error of a copy, taken within an epoch, whose numbers have diverged. Whether finite ones
// have takes an evaluation to see, which is worth its time where a rollback would continue from them.
func (r *scorer) stillGood(e rundir.EpochResult) error {
	if r.job.Asked.OnDivergence == config.Rollback {
		_, err := r.score(&e, false)
		return err
	}
	_, err := r.survey(&e, false)
	return err
}

// awaitCopy waits until the copy of the weights is no longer in use: for the last evaluation, or the save after it. So
// do other nodes, which then all know whether the job ends, and that their weights are the same.
func (r *scorer) awaitCopy() error {
	if end := r.awaitTogether(); end != nil {
		return end
	}
	differ, err := r.rounds.Align()
	if differ > 0 {
		r.report.Event("after epoch %d, %s had other weights than node 0: all take over node 0's", r.position.Epoch, human.Plural(differ, "node"))
	}
	if errors.As(err, new(deviceError)) {
		r.tell(err)
	}
	return r.lostPeers(err)
}

// awaitTogether waits for the evaluation that runs, and the save after it, on all nodes.
func (r *scorer) awaitTogether() (end error) {
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
func (r *scorer) awaitEvaluation() error {
	if !r.busy {
		return nil
	}
	r.owner.Await()
	return r.record(<-r.evaluated)
}

// record takes an evaluation in, and returns why the run ends by it: an error, or that a target is reached.
func (r *scorer) record(e evaluation) error {
	r.busy = false
	if e.saves {
		r.noteSave(e.unsaved)
	}
	end := r.lostPeers(e.err)
	if e.result.Kind == "" || errors.Is(e.err, config.ErrDiverged) { // of a save within an epoch there is no result
		return end
	}
	r.last = &e.result
	r.position.History = append(r.position.History, e.result)
	r.report.Epoch(e.result)
	if e.newton > 0 {
		r.measured(e.newton, &e.result)
	}
	if r.options.OnEpoch != nil {
		r.options.OnEpoch(e.result)
	}
	r.report.Wrote(r.folder.Epoch(e.result, r.instruments(), e.weights))
	if why := score.Stop(&r.job.Asked, r.position.History); why != "" && e.err == nil { // then what was not saved is, at the end
		r.stopped, end = why, errDone
	}
	return end
}

// savePaused copies the run, lets the workers go on, and saves the copy.
func (r *scorer) savePaused() error {
	switch {
	case r.complete() || r.busy: // since the pause an epoch has come to its end
		r.due = true
	default:
		r.within()
		if err := r.copyRun(); err != nil {
			return err
		}
		r.busy = true
		saveCopy := r.saving()
		e := rundir.EpochResult{Epoch: int(r.position.Epoch), LR: r.job.Used.LR}
		if _, done, _, loss := r.progress(); done > 0 {
			e.TrainLoss = loss / float64(done)
		}
		go func() {
			is := evaluation{err: r.stillGood(e)}
			if is.saves = !errors.Is(is.err, config.ErrDiverged); is.saves {
				is.unsaved = saveCopy()
			}
			r.evaluated <- is
		}()
	}
	_ = fault.Point("pause.end")
	r.pausing = false
	r.letGo()
	return nil
}

// saveWithin saves a run that was stopped within an epoch, from the host copy if need be.
func (r *scorer) saveWithin() error {
	_, done, lost, loss := r.progress()
	defer func() { // only then: a resumed run counts the epoch's chunks again
		r.position.Examples += int64(done)
		r.position.Lost += int64(lost)
	}()
	if err := r.copyWithin(); err != nil {
		r.failed(err)
		return r.saveHostCopy()
	}
	e := rundir.EpochResult{Epoch: int(r.position.Epoch), Seconds: r.position.Seconds}
	if e.TrainLoss = loss / float64(done); done == 0 && r.last != nil { // of no examples it is not a number
		e.TrainLoss = r.last.TrainLoss
	}
	r.owner.Await()
	_, scored := r.score(&e, false)
	if r.failed(scored); errors.Is(scored, config.ErrDiverged) {
		return nil
	}
	if scored == nil {
		r.last = &e
	}
	r.good = true
	return r.keep(r.saveCopy)
}

// judgeByProgram is addScores where a program scores.
func (r *scorer) judgeByProgram(e *rundir.EpochResult) error {
	epoch := e.Epoch
	if e.Kind == "" { // the run ends within it
		epoch = 0
	}
	sum, metrics, err := r.scoredByProgram(r.copy.Plain(r.trained), r.judge.Set, epoch)
	if err != nil {
		return err
	}
	e.TestLoss = math.NaN()
	if sum.N > 0 {
		e.Judge(score.Of(r.judge.Name, sum, false))
		err = r.overflown(e)
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
