package page

import (
	"fmt"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// results is the table of what runs came to: a line each, or of one run a line for each
// figure.
func results(all []*run) Section {
	t := &Table{Heads: []string{"run"}}
	for _, r := range all {
		t.Rows = append(t.Rows, []string{r.name})
	}
	for _, c := range outcomes {
		t.add(c.head, func(i int) string { return c.cell(all[i]) })
	}
	if len(all) == 1 {
		t = t.upright()
	}
	return Section{Title: "Results", Table: t}
}

// upright is a table of one row as names and values.
func (t *Table) upright() *Table {
	u := &Table{}
	for i, head := range t.Heads[1:] {
		if cell := t.Rows[0][i+1]; cell != absent {
			u.Rows = append(u.Rows, []string{head, cell})
		}
	}
	return u
}

// outcomes are the columns of results. A run that has not ended is shown as far as it got.
var outcomes = []struct {
	head string
	cell func(*run) string
}{
	{"state", (*run).state},
	{"mode", func(r *run) string { return r.Config.Mode }},
	{"workers", func(r *run) string { return fmt.Sprint(r.Config.Workers) }},
	{"model", modelOf},
	{"data", func(r *run) string { return r.Config.Data }},
	{"batch", func(r *run) string { return fmt.Sprint(r.Config.Batch) }},
	{"learning rate", func(r *run) string {
		if r.Result != nil {
			return fmt.Sprintf("%g", r.Result.LRUsed)
		}
		return fmt.Sprintf("%g", r.Config.LR)
	}},
	{"epochs", func(r *run) string { return fmt.Sprint(r.last().Epoch) }},
	{"examples", func(r *run) string { return human.Count(max(r.last().Examples, r.now().Examples)) }},
	{"training, s", func(r *run) string { return human.Short(max(r.last().Seconds, r.now().Seconds)) }},
	{"examples/s", func(r *run) string {
		seconds := max(r.last().Seconds, r.now().Seconds)
		return numberText(float64(max(r.last().Examples, r.now().Examples))/seconds, human.Rate)
	}},
	{"start-up, s", ofResult(func(r *rundir.Result) string { return human.Short(r.StartupSeconds) })},
	{"train loss", func(r *run) string { return numberText(r.last().TrainLoss, human.Loss) }},
	{"test loss", func(r *run) string { return numberText(r.last().TestLoss, human.Loss) }},
	{"accuracy", func(r *run) string { return numberText(value(r.last().TestAccuracy), human.Accuracy) }},
	{"RMSE", func(r *run) string { return numberText(value(r.last().TestRMSE), human.Loss) }},
	{"R²", func(r *run) string { return numberText(value(r.last().TestR2), human.Loss) }},
	{"staleness, mean", sampled(func(in *control.Instruments) string { return human.Short(in.StalenessMean) })},
	{"staleness, p99", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessP99) })},
	{"staleness, max", sampled(func(in *control.Instruments) string { return human.Count(in.StalenessMax) })},
	{"in conflict", sampled(func(in *control.Instruments) string { return human.Share(in.Conflicts) })},
	{"lost updates", sampled(func(in *control.Instruments) string { return human.Share(in.LostUpdates) })},
	{"weights", ofResult(func(r *rundir.Result) string {
		if r.Parameters == 0 {
			return absent
		}
		return human.Count(r.Parameters)
	})},
}

// ofResult is a cell that only a run has that has ended.
func ofResult(text func(*rundir.Result) string) func(*run) string {
	return func(r *run) string {
		if r.Result == nil {
			return absent
		}
		return text(r.Result)
	}
}

// sampled is a cell of what the instruments of a run have seen.
func sampled(text func(*control.Instruments) string) func(*run) string {
	return ofResult(func(r *rundir.Result) string {
		if r.Instruments == nil || r.StalenessSamples == 0 {
			return absent
		}
		return text(r.Instruments)
	})
}

// workersOf is the workers of a run at its last moment; of several runs none.
func workersOf(all []*run) *Table {
	if len(all) != 1 {
		return nil
	}
	list := all[0].now().Workers
	if r := all[0].Result; r != nil && len(r.PerWorker) > 0 {
		list = r.PerWorker
	}
	if len(list) == 0 {
		return nil
	}
	seconds := max(all[0].last().Seconds, all[0].now().Seconds)
	t := &Table{Heads: []string{"worker", "examples", "examples/s", "restarts"}}
	for _, w := range list {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(w.Rank), human.Count(w.Examples), numberText(float64(w.Examples)/seconds, human.Rate), fmt.Sprint(w.Restarts),
		})
	}
	if all[0].Result == nil { // else they are gone
		t.Heads = append(t.Heads, "state")
		for i, w := range list {
			t.Rows[i] = append(t.Rows[i], w.State)
		}
	}
	return t
}
