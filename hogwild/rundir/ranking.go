package rundir

import (
	"cmp"
	"math"
	"slices"
)

// Ranking is how well the log odds of the second of two classes tell its rows from the first one's, whatever the
// threshold. Both figures are scikit-learn's.
type Ranking struct {
	// area under the ROC curve: how often a row of the second class is above one of the first
	AUC              float64    `json:"auc"`
	AveragePrecision [2]float64 `json:"average_precision"` // of either class as the one that is looked for
}

// RankingOf returns nil where a class has no rows, or odds are not numbers.
func RankingOf(y []float32, odds []float64) *Ranking {
	order := make([]int, len(y))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(odds[a], odds[b]) })
	if len(y) == 0 || math.IsNaN(odds[order[0]]) { // the least of all
		return nil
	}
	r := &Ranking{}
	_, r.AveragePrecision[0] = curves(order, 0, y, odds)
	slices.Reverse(order)
	r.AUC, r.AveragePrecision[1] = curves(order, 1, y, odds)
	if math.IsNaN(r.AUC) {
		return nil
	}
	return r
}

// curves returns the area under the ROC curve and the average precision of an order that should have a class in front.
// Rows of equal odds come at once.
func curves(order []int, class float32, y []float32, odds []float64) (area, precision float64) {
	var found, others, before float64
	for i := 0; i < len(order); {
		was, first := found, odds[order[i]]
		for before = others; i < len(order) && odds[order[i]] == first; i++ {
			if y[order[i]] == class {
				found++
			} else {
				others++
			}
		}
		area += (others - before) * (found + was) / 2
		precision += (found - was) * found / (found + others)
	}
	return area / (found * others), precision / found
}
