package page

import (
	"fmt"
	"slices"

	"hogwild/bench"
	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

const epochEnds = "At the end of each epoch."

// panelOf is runs as cases of one repeat each.
func panelOf(all []*run) (p panel) {
	for _, r := range all {
		p.cases = append(p.cases, entry{r.legend, r.color,
			&bench.Measured{Runs: []bench.Run{{Result: r.got, History: r.Epochs}}}})
	}
	return p
}

// speeds is how fast runs went over time. A single moment says nothing of that.
func speeds(all []*run) figure.Figure {
	f := chart("", "rate against time", "Throughput", "All workers, smoothed over about two seconds.", overTime.label,
		"throughput, examples/s")
	f.X.Zero, f.Y.Zero = true, true
	if !slices.ContainsFunc(all, func(r *run) bool { return len(r.Seconds) > 1 }) {
		return f
	}
	for _, r := range all {
		s := figure.Series{Name: r.legend, Color: r.color, Kind: figure.Curve}
		if len(r.Seconds) == 2 {
			s.Kind = figure.Marks
		}
		for _, at := range r.Seconds {
			s.Points = append(s.Points, figure.Point{X: at.Seconds, Y: at.Rate})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// details adds what is known of a run that has ended: what each of several devices has trained, and of its predictions
// for the test set the figures of each class and the confusion matrix, or the residuals.
func (p *Page) details(r *run) {
	of := ""
	if r.legend != "" {
		of = ", " + r.legend
	}
	if d := r.Result.Detail; d != nil {
		p.section(Section{Title: "Classes" + of, Table: human.TableOf(d.Classes,
			human.Col("class", func(c rundir.ClassFigures) string { return c.Class }),
			human.Col("precision", func(c rundir.ClassFigures) string { return human.Accuracy(c.Precision) }),
			human.Col("recall", func(c rundir.ClassFigures) string { return human.Accuracy(c.Recall) }),
			human.Col("F1", func(c rundir.ClassFigures) string { return human.Accuracy(c.F1) }),
			human.Col("test rows", func(c rundir.ClassFigures) string { return human.Count(int64(c.Rows)) }))})
		if d.Confusion != nil {
			p.section(Section{Title: "Confusion matrix" + of, Table: confusion(d),
				Text: "Rows: true class. Columns: predicted class. Cells: number of test rows."})
		}
		if d.Residuals != nil {
			p.residuals(d.Residuals, of)
		}
		if d.Ranked != nil {
			p.ranked(d.Ranked, of)
		}
	}
	p.section(Section{Title: "Devices" + of, Table: human.TableOf(r.Result.Shares,
		human.Col("device", func(s rundir.Share) string { return s.Device }),
		human.Col("examples", func(s rundir.Share) string { return human.Count(s.Examples) }),
		human.Col("examples/s", func(s rundir.Share) string { return r.rate(s.Examples) }),
		human.Col("share of the examples", func(s rundir.Share) string { return human.Share(s.Share) }))})
}

func confusion(d *rundir.Detail) *human.Table {
	t := &human.Table{Heads: []string{"class"}}
	for i, c := range d.Classes {
		t.Heads = append(t.Heads, c.Class)
		cells := []string{c.Class}
		for _, n := range d.Confusion[i] {
			cells = append(cells, fmt.Sprint(n))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// ranked adds the figures of a ranking of all candidates.
func (p *Page) ranked(r *rundir.Ranked, of string) {
	t := &human.Table{}
	for _, f := range r.Figures() {
		t.Rows = append(t.Rows, []string{f.Name, human.Plain(f.Value)})
	}
	p.section(Section{Title: "Ranking" + of, Text: r.About() + ".", Table: t})
}

// residuals adds how far targets lie from predictions, of all and by prediction.
func (p *Page) residuals(r *rundir.Residuals, of string) {
	t := &human.Table{}
	for _, f := range []struct {
		name  string
		value float64
	}{{"mean", r.Mean}, {"std. deviation", r.SD}, {"MAE", r.MAE}, {"RMSE", r.RMSE}, {"R²", value(r.R2)},
		{"minimum", r.Min}, {"5%", r.P5}, {"25%", r.P25}, {"median", r.Median}, {"75%", r.P75}, {"95%", r.P95},
		{"maximum", r.Max}} {
		if human.Finite(f.value) {
			t.Rows = append(t.Rows, []string{f.name, human.Plain(f.value)})
		}
	}
	p.section(Section{Title: "Residuals" + of, Text: "Target minus prediction, of the test rows.", Table: t})
	p.section(Section{Title: "Residuals by prediction" + of,
		Text: "Test rows in equal-sized groups by their prediction.", Table: human.TableOf(r.Bands,
			human.Col("prediction, mean", func(b rundir.Band) string { return human.Plain(b.Prediction) }),
			human.Col("residual, 10%", func(b rundir.Band) string { return human.Plain(b.P10) }),
			human.Col("median", func(b rundir.Band) string { return human.Plain(b.Median) }),
			human.Col("90%", func(b rundir.Band) string { return human.Plain(b.P90) }))})
}
