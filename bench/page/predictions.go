package page

import (
	"fmt"
	"math"

	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// predictions adds, of each run that has ended, what is known of its predictions for the test set:
// of classes the figures of each and the confusion matrix, of values the residuals.
func (p *Page) predictions(all []*run) {
	for _, r := range all {
		if r.Result == nil || r.Result.Detail == nil {
			continue
		}
		of := ""
		if r.legend != "" {
			of = ", " + r.legend
		}
		d := r.Result.Detail
		if d.Residuals != nil {
			p.section(Section{Title: "Residuals" + of, Table: residualTable(d.Residuals), Figures: shown(residuals(d.Residuals, r.color, of))})
			continue
		}
		p.section(Section{Title: "Classes" + of, Table: table(d.Classes,
			column[rundir.ClassFigures]{"class", func(c rundir.ClassFigures) string { return c.Class }},
			column[rundir.ClassFigures]{"precision", func(c rundir.ClassFigures) string { return human.Accuracy(c.Precision) }},
			column[rundir.ClassFigures]{"recall", func(c rundir.ClassFigures) string { return human.Accuracy(c.Recall) }},
			column[rundir.ClassFigures]{"F1", func(c rundir.ClassFigures) string { return human.Accuracy(c.F1) }},
			column[rundir.ClassFigures]{"test rows", func(c rundir.ClassFigures) string { return human.Count(int64(c.Rows)) }})})
		if d.Confusion != nil {
			p.section(Section{Title: "Confusion matrix" + of, Table: confusion(d),
				Text: "Rows: true class. Columns: predicted class. Cells: number of test rows; shading: share of the true class."})
		}
	}
}

// confusion is the matrix as a heat map.
func confusion(d *rundir.Detail) *Table {
	t := &Table{Heads: []string{"class"}}
	for i, c := range d.Classes {
		t.Heads = append(t.Heads, c.Class)
		cells, heat := []string{c.Class}, []float64{0}
		for _, n := range d.Confusion[i] {
			cells = append(cells, fmt.Sprint(n))
			heat = append(heat, float64(n)/float64(max(c.Rows, 1)))
		}
		t.Rows, t.Heat = append(t.Rows, cells), append(t.Heat, heat)
	}
	return t
}

// residualTable is the figures of residuals as names and values.
func residualTable(r *rundir.Residuals) *Table {
	t := &Table{}
	for _, f := range []struct {
		name  string
		value float64
	}{{"mean", r.Mean}, {"std. deviation", r.SD}, {"MAE", r.MAE}, {"RMSE", r.RMSE}, {"R²", value(r.R2)},
		{"minimum", r.Min}, {"5%", r.P5}, {"25%", r.P25}, {"median", r.Median}, {"75%", r.P75}, {"95%", r.P95}, {"maximum", r.Max}} {
		if finite(f.value) {
			text := fmt.Sprintf("%.4g", f.value)
			if size := math.Abs(f.value); size >= 1e4 && size < 1e9 {
				text = fmt.Sprintf("%.0f", f.value) // no exponent for prices
			}
			t.Rows = append(t.Rows, []string{f.name, text})
		}
	}
	return t
}

// residuals is how far targets lie from predictions.
func residuals(r *rundir.Residuals, color int, of string) figure.Figure {
	f := chart("", "residuals"+of, "Residuals against predictions"+of,
		"Test rows in equal-sized bins by prediction. Line: median residual of the bin. Band: 10th to 90th percentile.",
		"prediction, in units of the target", "target minus prediction, in units of the target")
	line := figure.Series{Name: "median, 10% to 90%", Color: color, Kind: figure.Curve}
	for _, b := range r.Bands {
		line.Points = append(line.Points, figure.Point{X: b.Prediction, Y: b.Median, Low: b.P10, High: b.P90})
	}
	f.Y.Zero = true
	f.Series = []figure.Series{line}
	return f
}
