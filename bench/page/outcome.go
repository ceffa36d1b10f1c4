package page

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// results is the table of what runs came to: a line for each figure, a column for each run.
func results(all []*run, c *comparison) Section {
	t, text := outcomesOf(all, outcomes), ""
	if slices.ContainsFunc(all, func(r *run) bool { return r.best.Epoch > 0 }) {
		text = "Validation and test figures are those of the best epoch, whose weights are saved too. Training loss " +
			"is that of the last one."
	}
	if len(all) > 1 {
		t.Rows = append(t.Rows, c.rows()...)
		if c.SecondsToLoss != nil {
			text += fmt.Sprintf(" The lowest %s loss that all of them reached is %s.", c.LossOf,
				human.Loss(c.Loss))
		}
		if len(c.Settings) == 0 {
			text += " All settings are the same."
		}
	}
	return Section{Title: "Results", Text: strings.TrimSpace(text), Table: t}
}

// outcomesOf is the table of some of what runs came to; nil if they have none of it.
func outcomesOf(all []*run, of []human.Column[*run]) *human.Table {
	t := &human.Table{}
	for _, f := range of {
		row := []string{f.Head}
		for _, r := range all {
			row = append(row, f.Cell(r))
		}
		if slices.ContainsFunc(row[1:], func(s string) bool { return s != "" }) {
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Rows == nil {
		return nil
	}
	if len(all) > 1 {
		t.Heads = heads("run", all)
	}
	return t
}

// outcomes are the columns of results. A run that has not ended is shown as far as it got.
var outcomes = []human.Column[*run]{
	human.Col("state", (*run).state),
	human.Col("mode", func(r *run) string { return r.Config.Mode.String() }),
	human.Col("workers", func(r *run) string { return fmt.Sprint(r.Config.Workers) }),
	human.Col("best epoch", ifAny(func(r *run) string { return human.Count(int64(r.best.Epoch)) })),
	human.Col("validation loss",
		func(r *run) string { return human.IfFinite(value(r.best.ValidationLoss), human.Loss) }),
	human.Col("validation accuracy",
		func(r *run) string { return human.IfFinite(value(r.best.ValidationAccuracy), human.Accuracy) }),
	human.Col("validation RMSE",
		func(r *run) string { return human.IfFinite(value(r.best.ValidationRMSE), human.Loss) }),
	human.Col("validation R²", func(r *run) string { return human.IfFinite(value(r.best.ValidationR2), human.Loss) }),
	human.Col("test loss", func(r *run) string { return human.IfFinite(r.got.TestLoss, human.Loss) }),
	human.Col("accuracy", func(r *run) string { return human.IfFinite(value(r.got.TestAccuracy), human.Accuracy) }),
	human.Col("RMSE", func(r *run) string { return human.IfFinite(value(r.got.TestRMSE), human.Loss) }),
	human.Col("R²", func(r *run) string { return human.IfFinite(value(r.got.TestR2), human.Loss) }),
	human.Col("train loss, last epoch", func(r *run) string { return human.IfFinite(r.got.TrainLoss, human.Loss) }),
	human.Col("examples/s", func(r *run) string { return r.rate(r.got.Examples) }),
	human.Col("model", modelOf),
	human.Col("data", func(r *run) string { return r.Config.Data }),
	// else the run has chosen it, and says so when it ends
	human.Col("batch", ifAny(func(r *run) string { return human.Count(int64(r.got.Batch)) })),
	human.Col("learning rate", func(r *run) string {
		switch n := len(r.Epochs); {
		case r.got.LRUsed == 0:
			return "auto"
		case n > 0 && r.Epochs[0].LR != r.Epochs[n-1].LR:
			return fmt.Sprintf("%g to %g", r.Epochs[0].LR, r.got.LRUsed)
		}
		return fmt.Sprintf("%g", r.got.LRUsed)
	}),
	human.Col("epochs done", func(r *run) string { return fmt.Sprint(r.got.Epochs) }),
	human.Col("examples", func(r *run) string { return human.Count(r.got.Examples) }),
	human.Col("training, s", func(r *run) string { return human.Short(r.got.Seconds) }),
	human.Col("examples/s, wall", ifAny(func(r *run) string { return human.Rate(r.got.WallRate) })),
	human.Col("start-up, s", ifAny(func(r *run) string { return human.Short(r.got.StartupSeconds) })),
	human.Col("weights", ifAny(func(r *run) string { return human.Count(r.got.Parameters) })),
}

// asynchrony is what workers met of each other's updates.
var asynchrony = []human.Column[*run]{
	human.Col("staleness, mean",
		sampled(func(in *control.Instruments) string { return human.Short(in.StalenessMean) })),
	human.Col("staleness, p99", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessP99) })),
	human.Col("staleness, max", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessMax) })),
	human.Col("steps at once", ifAny(func(r *run) string { return human.Short(r.got.InFlightSeen) })),
	human.Col("expected", ifAny(func(r *run) string { return fmt.Sprint(r.got.InFlight) })),
	human.Col("conflicts", sampled(func(in *control.Instruments) string { return human.Share(in.Conflicts) })),
	human.Col("lost updates", sampled(func(in *control.Instruments) string { return human.Share(in.LostUpdates) })),
	human.Col("lost at most", sampled(func(in *control.Instruments) string { return human.Share(in.LostBelow) })),
}

// ifAny is a cell of a number, which has nothing to say where that is 0.
func ifAny(text func(*run) string) func(*run) string {
	return func(r *run) string {
		if text := text(r); text != "0" {
			return text
		}
		return ""
	}
}

// sampled is a cell of what the instruments of a run have seen.
func sampled(text func(*control.Instruments) string) func(*run) string {
	return func(r *run) string {
		if in := r.got.Instruments; in != nil && in.StalenessSamples > 0 {
			return text(in)
		}
		return ""
	}
}

// workersOf is the workers of a run at its last moment; of several runs none.
func workersOf(all []*run) *human.Table {
	if len(all) != 1 {
		return nil
	}
	r := all[0]
	workers := r.got.PerWorker
	if len(workers) == 0 {
		workers = r.now.Workers
	}
	type worker = rundir.WorkerStatus
	return human.TableOf(workers,
		human.Col("worker", func(w worker) string { return fmt.Sprint(w.Rank) }),
		human.Col("examples", func(w worker) string { return human.Count(w.Examples) }),
		human.Col("trained, s", func(w worker) string { return human.Short(r.lived(w)) }),
		human.Col("examples/s",
			func(w worker) string { return human.IfFinite(float64(w.Examples)/r.lived(w), human.Rate) }),
		human.Col("restarts", func(w worker) string { return fmt.Sprint(w.Restarts) }),
		human.Col("state", func(w worker) string {
			if r.Result != nil {
				return "" // they are gone
			}
			return w.State
		}))
}

// lived is for how much of the run's time a worker has trained, as far as the run's moments tell: some join or leave
// on the way.
func (r *run) lived(w rundir.WorkerStatus) float64 {
	const near = 1.5 // seconds, of an end of the run
	from, to, before, examples := 0.0, 0.0, 0.0, int64(0)
	for _, at := range r.Seconds {
		for _, o := range at.Workers {
			if o.Rank != w.Rank || o.Examples == examples {
				continue
			}
			if examples == 0 && before > near {
				from = before
			}
			examples, to = o.Examples, at.Seconds
		}
		before = at.Seconds
	}
	if w.Examples > examples || r.got.Seconds-to < near {
		to = r.got.Seconds
	}
	return to - from
}
