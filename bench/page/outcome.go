package page

import (
	"fmt"
	"slices"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// results is the table of what runs came to: a line for each figure, a column for each run.
func results(all []*run) Section {
	t := &Table{}
	for _, f := range outcomes {
		row := []string{f.head}
		for _, r := range all {
			row = append(row, f.cell(r))
		}
		if slices.ContainsFunc(row[1:], func(s string) bool { return s != absent }) {
			t.Rows = append(t.Rows, row)
		}
	}
	text := ""
	for _, r := range all {
		if r.best.Epoch > 0 {
			text = "Validation and test figures are those of the best epoch, whose weights are saved too. Training loss is that of the last one."
		}
		if len(all) > 1 {
			t.Heads = append(t.Heads, r.name)
		}
	}
	if len(all) > 1 {
		t.Heads = append([]string{"run"}, t.Heads...)
	}
	return Section{Title: "Results", Text: text, Table: t}
}

var runName = column[*run]{"run", func(r *run) string { return r.name }}

// outcomes are the columns of results. A run that has not ended is shown as far as it got.
var outcomes = []column[*run]{
	{"state", (*run).state},
	{"mode", func(r *run) string { return r.Config.Mode.String() }},
	{"workers", func(r *run) string { return fmt.Sprint(r.Config.Workers) }},
	{"best epoch", ifAny(func(r *run) string { return human.Count(int64(r.best.Epoch)) })},
	{"validation loss", func(r *run) string { return numberText(value(r.best.ValidationLoss), human.Loss) }},
	{"validation accuracy", func(r *run) string { return numberText(value(r.best.ValidationAccuracy), human.Accuracy) }},
	{"validation RMSE", func(r *run) string { return numberText(value(r.best.ValidationRMSE), human.Loss) }},
	{"validation R²", func(r *run) string { return numberText(value(r.best.ValidationR2), human.Loss) }},
	{"test loss", func(r *run) string { return numberText(r.got.TestLoss, human.Loss) }},
	{"accuracy", func(r *run) string { return numberText(value(r.got.TestAccuracy), human.Accuracy) }},
	{"RMSE", func(r *run) string { return numberText(value(r.got.TestRMSE), human.Loss) }},
	{"R²", func(r *run) string { return numberText(value(r.got.TestR2), human.Loss) }},
	{"train loss, last epoch", func(r *run) string { return numberText(r.got.TrainLoss, human.Loss) }},
	{"examples/s", func(r *run) string { return r.rate(r.got.Examples) }},
	{"model", modelOf},
	{"data", func(r *run) string { return r.Config.Data }},
	{"batch", ifAny(func(r *run) string { return human.Count(int64(r.got.Batch)) })}, // else the run has chosen it, and says so when it ends
	{"learning rate", func(r *run) string {
		switch n := len(r.Epochs); {
		case r.got.LRUsed == 0:
			return "auto"
		case n > 0 && r.Epochs[0].LR != r.Epochs[n-1].LR:
			return fmt.Sprintf("%g to %g", r.Epochs[0].LR, r.got.LRUsed)
		}
		return fmt.Sprintf("%g", r.got.LRUsed)
	}},
	{"epochs done", func(r *run) string { return fmt.Sprint(r.got.Epochs) }},
	{"examples", func(r *run) string { return human.Count(r.got.Examples) }},
	{"training, s", func(r *run) string { return human.Short(r.got.Seconds) }},
	{"examples/s, wall", ifAny(func(r *run) string { return human.Rate(r.got.WallRate) })},
	{"start-up, s", ifAny(func(r *run) string { return human.Short(r.got.StartupSeconds) })},
	{"staleness, mean", sampled(func(in *control.Instruments) string { return human.Short(in.StalenessMean) })},
	{"staleness, p99", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessP99) })},
	{"staleness, max", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessMax) })},
	{"steps at once", ifAny(func(r *run) string { return human.Short(r.got.InFlightSeen) })},
	{"expected", ifAny(func(r *run) string { return fmt.Sprint(r.got.InFlight) })},
	{"conflicts", sampled(func(in *control.Instruments) string { return human.Share(in.Conflicts) })},
	{"lost updates", sampled(func(in *control.Instruments) string { return human.Share(in.LostUpdates) })},
	{"lost at most", sampled(func(in *control.Instruments) string { return human.Share(in.LostBelow) })},
	{"weights", ifAny(func(r *run) string { return human.Count(r.got.Parameters) })},
}

// ifAny is a cell of a number, which has nothing to say where that is 0.
func ifAny(text func(*run) string) func(*run) string {
	return func(r *run) string {
		if text := text(r); text != "0" {
			return text
		}
		return absent
	}
}

// sampled is a cell of what the instruments of a run have seen.
func sampled(text func(*control.Instruments) string) func(*run) string {
	return func(r *run) string {
		if in := r.got.Instruments; in != nil && in.StalenessSamples > 0 {
			return text(in)
		}
		return absent
	}
}

// workersOf is the workers of a run at its last moment; of several runs none.
func workersOf(all []*run) *Table {
	if len(all) != 1 {
		return nil
	}
	r := all[0]
	workers := r.got.PerWorker
	if len(workers) == 0 {
		workers = r.now.Workers
	}
	type worker = rundir.WorkerStatus
	return table(workers,
		column[worker]{"worker", func(w worker) string { return fmt.Sprint(w.Rank) }},
		column[worker]{"examples", func(w worker) string { return human.Count(w.Examples) }},
		column[worker]{"trained, s", func(w worker) string { return human.Short(r.lived(w)) }},
		column[worker]{"examples/s", func(w worker) string { return numberText(float64(w.Examples)/r.lived(w), human.Rate) }},
		column[worker]{"restarts", func(w worker) string { return fmt.Sprint(w.Restarts) }},
		column[worker]{"state", func(w worker) string {
			if r.Result != nil {
				return absent // they are gone
			}
			return w.State
		}})
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
