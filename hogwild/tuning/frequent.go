package tuning

import (
	"slices"

	"hogwild/hogwild/data"
)

// A merge of all weights takes as long as hundreds of steps on sparse rows, though most of what they change are the
// weights of few features: of words a sixteenth of the cache lines has nearly nine tenths of the nonzeros. What limits
// the local steps between two merges is the largest eigenvalue of the inputs (see limit.go), and the other lines'
// features have a fraction of it: their weights may stay unmerged for as many times as long.

const (
	LineWeights   = 16 // of a cache line
	frequentShare = 16 // one line in this many is merged every time
	frequentRows  = 500
	mostRare      = 16 // merges between two of the other lines, at most

	// leastRare is how many weights a model has, at least, whose rare features are merged less often: all of a
	// smaller one take no longer than some steps.
	leastRare = 1 << 12
)

// Frequent returns the first weights of the cache lines, of a linear model with one output, that have the largest part
// of the inputs' squares, the bias's included, and how many times as long the others may stay unmerged; 1: no longer.
// Lambda is the largest eigenvalue of all inputs.
func Frequent(set *data.Set, lambda float64) (lines []int, times int) {
	rows := firstRows(set, frequentRows).Rows
	squares := make([]float32, set.Features/LineWeights+1)
	for _, x := range rows {
		for k, j := range x.Idx {
			squares[j/LineWeights] += x.Val[k] * x.Val[k]
		}
	}
	sorted := slices.Sorted(slices.Values(squares))
	least := sorted[len(sorted)-1-len(sorted)/frequentShare]
	rest := make([]data.Row, len(rows))
	for i, x := range rows {
		rest[i].Idx = []uint32{} // without numbers it is sparse all the same
		for k, j := range x.Idx {
			if squares[j/LineWeights] <= least {
				rest[i].Idx, rest[i].Val = append(rest[i].Idx, j), append(rest[i].Val, x.Val[k])
			}
		}
	}
	in := inputs{rows: rest}
	in.rows, in.d = occurring(rest, set.Features)
	of := in.eigenvalue(in.direction(1))
	if times = mostRare; of > 0 {
		times = int(min(mostRare, lambda/of))
	}
	for l, square := range squares {
		if square > least || l == set.Features/LineWeights {
			lines = append(lines, l*LineWeights)
		}
	}
	return lines, max(1, times)
}
