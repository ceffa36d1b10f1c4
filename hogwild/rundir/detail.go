package rundir

import (
	"cmp"
	"math"
	"slices"
)

// Detail is what is known of the predictions for a set besides loss and accuracy: of each class, or of the residuals.
type Detail struct {
	Classes   []ClassFigures `json:"classes,omitempty"`
	Confusion [][]int        `json:"confusion,omitempty"` // examples of the class i that were taken for the class j
	Ranking   *Ranking       `json:"ranking,omitempty"`   // of two classes, by a model with probabilities or a margin
	LogLoss   *float64       `json:"log_loss,omitempty"`  // of a model whose loss is that
	Residuals *Residuals     `json:"residuals,omitempty"`
	Ranked    *Ranked        `json:"ranked,omitempty"` // by a model that ranks
}

// With returns the detail with a ranking, if there is one.
func (d *Detail) With(r *Ranked) *Detail {
	switch {
	case r == nil:
		return d
	case d == nil:
		return &Detail{Ranked: r}
	}
	d.Ranked = r
	return d
}

// complete reports whether the confusion matrix, if there is one, has a row and a column for each class.
func (d *Detail) complete() bool {
	if d == nil || d.Confusion == nil {
		return true
	}
	k := len(d.Classes)
	return len(d.Confusion) == k && !slices.ContainsFunc(d.Confusion, func(row []int) bool { return len(row) != k })
}

const (
	MaxConfusion = 100  // the most classes for a confusion matrix in a result
	maxListed    = 1000 // the most that it lists
)

// ClassFigures says how well the examples of one class were told from the others. A figure
// whose denominator is zero is 0: of a class that was never predicted, the precision.
type ClassFigures struct {
	Class     string  `json:"class"`     // as the data have it
	Rows      int     `json:"rows"`      // examples of it: the support
	Precision float64 `json:"precision"` // of those that were taken for it, the share that are of it
	Recall    float64 `json:"recall"`    // of those that are of it, the share that were taken for it
	F1        float64 `json:"f1"`        // harmonic mean of the two
}

// Residuals are the targets minus the predictions.
type Residuals struct {
	Mean   float64  `json:"mean"`
	SD     float64  `json:"sd"`
	MAE    float64  `json:"mae"` // mean absolute error
	RMSE   float64  `json:"rmse"`
	R2     *float64 `json:"r2,omitempty"` // none where all targets are equal
	Min    float64  `json:"min"`
	P5     float64  `json:"p5"`
	P25    float64  `json:"p25"`
	Median float64  `json:"median"`
	P75    float64  `json:"p75"`
	P95    float64  `json:"p95"`
	Max    float64  `json:"max"`
	Bands  []Band   `json:"bands"` // of groups of examples, from the least predictions to the greatest
}

// Band is the residuals of examples with predictions near each other.
type Band struct {
	Prediction float64 `json:"prediction"` // mean of the group
	P10        float64 `json:"p10"`
	Median     float64 `json:"median"`
	P90        float64 `json:"p90"`
}

// DetailOf compares targets with predictions: numbers of classes, or values if there are no
// classes. It is nil for predictions that are not finite, or no class.
func DetailOf(classes []string, y, predicted []float32) *Detail {
	for _, v := range predicted {
		if v-v != 0 || classes != nil && !(v >= 0 && int(v) < len(classes)) {
			return nil
		}
	}
	switch {
	case len(y) == 0:
		return nil
	case classes == nil:
		return &Detail{Residuals: residualsOf(y, predicted)}
	}
	return classified(classes, y, predicted)
}

func classified(classes []string, y, predicted []float32) *Detail {
	k := len(classes)
	rows, taken, right := make([]int, k), make([]int, k), make([]int, k)
	d := &Detail{}
	if k <= MaxConfusion {
		d.Confusion = make([][]int, k)
		for i := range d.Confusion {
			d.Confusion[i] = make([]int, k)
		}
	}
	for i, v := range y {
		is, was := int(v), int(predicted[i])
		rows[is]++
		taken[was]++
		if is == was {
			right[is]++
		}
		if d.Confusion != nil {
			d.Confusion[is][was]++
		}
	}
	for c, name := range classes[:min(k, maxListed)] {
		n := float64(right[c])
		d.Classes = append(d.Classes, ClassFigures{Class: name, Rows: rows[c], Precision: n / float64(max(taken[c], 1)),
			Recall: n / float64(max(rows[c], 1)), F1: 2 * n / float64(max(rows[c]+taken[c], 1))})
	}
	return d
}

func residualsOf(y, predicted []float32) *Residuals {
	n, sorted := len(y), make([]float64, len(y))
	var sum, sumAbs, squares, target float64
	for i := range y {
		e := float64(y[i]) - float64(predicted[i])
		sorted[i] = e
		sum, sumAbs, squares, target = sum+e, sumAbs+math.Abs(e), squares+e*e, target+float64(y[i])
	}
	r := &Residuals{Mean: sum / float64(n), MAE: sumAbs / float64(n), RMSE: math.Sqrt(squares / float64(n))}
	var variance, spread float64
	for i, e := range sorted {
		variance += (e - r.Mean) * (e - r.Mean)
		d := float64(y[i]) - target/float64(n)
		spread += d * d
	}
	r.SD = math.Sqrt(variance / float64(n))
	if spread > 0 {
		r2 := 1 - squares/spread
		r.R2 = &r2
	}
	slices.Sort(sorted)
	for _, q := range []struct {
		share float64
		to    *float64
	}{{0, &r.Min}, {.05, &r.P5}, {.25, &r.P25}, {.5, &r.Median}, {.75, &r.P75}, {.95, &r.P95}, {1, &r.Max}} {
		*q.to = quantile(sorted, q.share)
	}
	r.Bands = bandsOf(y, predicted)
	return r
}

// bandsOf has the residuals of at most 20 groups, of ten examples or more each.
func bandsOf(y, predicted []float32) (bands []Band) {
	n := len(y)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(predicted[a], predicted[b]) })
	groups := min(20, max(1, n/10))
	for g := range groups {
		group := order[g*n/groups : (g+1)*n/groups]
		residuals, mean := make([]float64, len(group)), 0.0
		for j, i := range group {
			residuals[j] = float64(y[i]) - float64(predicted[i])
			mean += float64(predicted[i]) / float64(len(group))
		}
		slices.Sort(residuals)
		bands = append(bands, Band{mean, quantile(residuals, .1), quantile(residuals, .5), quantile(residuals, .9)})
	}
	return bands
}

// quantile returns a quantile of sorted numbers, interpolated between two of them.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
