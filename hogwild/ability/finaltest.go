package ability

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/machine"
)

// FinalTest evaluates a run that has come to its end in detail, on test rows.
func FinalTest() core.Ability { return finalTest{} }

type finalTest struct{}

// Handle completes the report.
func (finalTest) Handle(r *core.Run, e core.Event) error {
	if e, ok := e.(*core.Reported); ok {
		return testFinal(r, e.Result)
	}
	return nil
}

// testFinal evaluates the weights of a run that has reached its end in detail: with a validation set the best epoch's
// weights. Test rows are used for them here and nowhere else. It computes on the host, wherever the weights were
// trained. An interrupted run is not kept waiting by it.
func testFinal(r *core.Run, res *rundir.Result) error {
	if r.End.Err != nil || r.Job.Asked.Sample > 0 || r.Options.Unscored {
		return nil
	}
	if r.Hooks.Program != nil {
		return testProgram(r, res)
	}
	models := make([]model.Model, machine.Cores())
	for i := range models {
		var err error
		if models[i], err = model.New(r.Job.Asked.ModelOptions(), r.Task.Train.Meta); err != nil {
			return err
		}
	}
	w := r.Copy.Plain(r.Task.Trained)
	if r.Copy.Best != nil || r.Task.Validation != nil && r.Task.Spec.Family().Chunks {
		if r.Copy.Best != nil {
			w = r.Copy.Best
		}
		s, err := score.Evaluate(models, w, r.Task.Test)
		if err != nil {
			return err
		}
		res.Tested = rundir.Tested{TestLoss: s.Loss, TestAccuracy: s.Accuracy, TestRMSE: s.RMSE, TestR2: s.R2}
	}
	var err error
	if res.Detail, err = score.Detail(models, w, r.Task.Test, r.Task.Spec.Loss, res.TestLoss); err != nil {
		return err
	}
	res.Detail = res.Detail.With(score.RankSet(models, w, r.Task.Test, &r.Job.Asked, r.Task.Train, r.Task.Validation))
	return nil
}

// testBest has a program test the weights of the best epoch, where a validation set has chosen it; and the last ones,
// where they have no score, since the run was interrupted before.
func testProgram(r *core.Run, res *rundir.Result) error {
	w := r.Copy.Best
	if w == nil && math.IsNaN(res.TestLoss) {
		w = r.Copy.Plain(r.Task.Trained)
	}
	if w == nil {
		return nil
	}
	sum, _, err := r.Hooks.Program.Score(w, r.Task.Test, 0)
	switch {
	case err == nil && r.End.ScoreSkipped:
		err = r.End.Cause()
		res.Stopped = config.Interruption(err).Error()
	case err == nil && sum.N > 0:
		s := score.Of("test", sum, false)
		res.TestLoss, res.TestAccuracy, res.Metrics = s.Loss, s.Accuracy, s.Metrics
	}
	return err
}
