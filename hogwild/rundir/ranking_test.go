package rundir

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRanking compares with the definitions: pairs of rows, one of each class, counted one by one; and the precision at
// each threshold, weighted by what it adds to the recall.
func TestRanking(t *testing.T) {
	for trial := range 200 {
		n := 2 + trial
		y, odds := make([]float32, n), make([]float64, n)
		for i := range y {
			y[i], odds[i] = float32(rand.IntN(2)), float64(rand.IntN(1+trial/2)) // with many that are equal
		}
		y[0], y[1] = 0, 1
		pairs, above := 0.0, 0.0
		for i := range y {
			for j := range y {
				if y[i] == 1 && y[j] == 0 {
					pairs++
					above += [3]float64{0, 0.5, 1}[1+compare(odds[i], odds[j])]
				}
			}
		}
		want := Ranking{AUC: above / pairs,
			AveragePrecision: [2]float64{precisions(y, odds, 0), precisions(y, odds, 1)}}
		got := RankingOf(y, odds)
		for i, v := range []float64{got.AUC - want.AUC, got.AveragePrecision[0] - want.AveragePrecision[0],
			got.AveragePrecision[1] - want.AveragePrecision[1]} {
			if !(math.Abs(v) < 1e-12) {
				t.Fatalf("%d rows: figure %d of %+v, want %+v", n, i, *got, want)
			}
		}
	}
	for _, odds := range [][]float64{{1, math.NaN()}, {math.NaN(), 1}} {
		if r := RankingOf([]float32{0, 1}, odds); r != nil {
			t.Errorf("of %v: %+v", odds, *r)
		}
	}
	if r := RankingOf([]float32{1, 1}, []float64{1, 2}); r != nil {
		t.Errorf("of one class: %+v", *r)
	}
	if r := RankingOf([]float32{0, 1}, []float64{math.Inf(-1), math.Inf(1)}); r == nil || r.AUC != 1 {
		t.Errorf("of infinite odds: %+v", r)
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// precisions returns the average precision by its definition: over each threshold among the odds.
func precisions(y []float32, odds []float64, class float32) (sum float64) {
	sign := float64(2*class - 1)
	total := 0.0
	for _, v := range y {
		if v == class {
			total++
		}
	}
	for i, v := range y {
		if v != class {
			continue
		}
		right, all := 0.0, 0.0
		for j := range y {
			if sign*odds[j] >= sign*odds[i] {
				all++
				if y[j] == class {
					right++
				}
			}
		}
		sum += right / all / total
	}
	return sum
}

// TestUneven: where most rows are of one class the lines say what its shares alone would score.
func TestUneven(t *testing.T) {
	loss := 0.2
	d := DetailOf([]string{"no", "yes"}, []float32{0, 0, 0, 1}, []float32{0, 0, 1, 1})
	d.LogLoss = &loss
	if text := d.ScoreLines(); !strings.Contains(text,
		`always predicting "no" has accuracy 75.00%; log loss 0.2000, of the shares of classes alone 0.5623`) {
		t.Errorf("3 of 4: %q", text)
	}
	if text := DetailOf([]string{"no", "yes"}, []float32{0, 0, 1, 1}, []float32{0, 0, 1, 1}).ScoreLines(); text != "" {
		t.Errorf("2 of 4: %q", text)
	}
}
