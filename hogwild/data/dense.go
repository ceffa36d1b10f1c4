package data

import (
	"math"

	"hogwild/internal/vec"
)

// The passes over the dense rows of a Room. Rows are cut into pieces in the same way on all machines, and what is found
// in them is added up in their order: the bits do not depend on the number of processors.

const (
	leastPiece, mostPieces = 1000, 64 // rows, and how many: what is kept of them takes a hundredth of the rows' memory
	cachedValues           = 1 << 12  // a block of a piece: it stays in the cache while columns go down it
)

// spread is how the values of one feature lie.
type spread struct {
	min, max, mean, std float64
	stored              int // values seen; the others are zeros of a sparse table
}

// isConstant says whether the values differ by no more than the rounding of float32:
// divided by so small a deviation they would be noise.
func (s *spread) isConstant() bool { return s.std <= 1e-7*max(-s.min, s.max) }

// deviation returns the standard deviation of n values by the sum of squares about their mean.
func deviation(squares, n float64) float64 { return math.Sqrt(squares / n) }

// blocks calls do for the rows from to to-1 of x, d numbers each, a block at a time, and asks for the next one: columns
// would wait for memory at each row.
func blocks(x []float32, d, from, to int, do func(x []float32)) {
	step := max(1, cachedValues/d)
	for ; from < to; from += step {
		end := min(from+step, to)
		if next := min(end+step, to); end < next {
			vec.PrefetchFloats(x[end*d : next*d])
		}
		do(x[from*d : end*d])
	}
}

// inPieces calls do for pieces of n rows, on all processors, and returns what it returned, in their order.
func inPieces[T any](n int, do func(from, to int) T) []T {
	rows := max(leastPiece, (n+mostPieces-1)/mostPieces)
	found := make([]T, (n+rows-1)/rows)
	parallel(0, len(found), func(from, to int) {
		for i := from; i < to; i++ {
			found[i] = do(i*rows, min((i+1)*rows, n))
		}
	})
	return found
}

// denseSpreads measures every feature over n rows, as spreads does. Where one value is not finite, the mean is not.
func denseSpreads(v []float32, n, d int) []spread {
	var all []spread
	for _, c := range inPieces(n, func(from, to int) *vec.Columns {
		c := vec.NewColumns(v[from*d : (from+1)*d])
		blocks(v, d, from, to, c.Add)
		return c
	}) {
		all = joined(all, c)
	}
	for j := range all {
		all[j].std = deviation(all[j].std, float64(n))
	}
	return all
}

// joined adds what more rows have to the spreads of others, nil of none; std is the sum of squares about the mean
// (Chan, Golub, LeVeque 1983). The square of the first value, from which differences were taken, is itself part of that
// sum, so what cancels is small against it.
func joined(s []spread, c *vec.Columns) []spread {
	m := float64(c.Rows)
	s = append(s, make([]spread, len(c.Sum)-len(s))...)
	for j := range s {
		a, n := &s[j], float64(s[j].stored)
		least, most, mean := float64(c.Least[j]), float64(c.Most[j]), float64(c.From[j])+c.Sum[j]/m
		if n == 0 {
			*a = spread{min: least, max: most, mean: mean}
		}
		apart := mean - a.mean
		a.min, a.max, a.stored = min(a.min, least), max(a.max, most), a.stored+c.Rows
		a.mean += apart * m / (n + m)
		a.std += max(0, c.Squares[j]-c.Sum[j]*c.Sum[j]/m) + apart*apart*n*m/(n+m)
	}
	return s
}

// scaleDense brings the rows to the scale of the set, in place, and does what valued.count and project do: the means of
// what was found before are scaled too.
func scaleDense(s *Set, found []spread) {
	d := s.Features
	mul, add := make([]float64, d), make([]float64, d)
	for j, f := range found {
		m, a := s.scaling(j)
		mul[j], add[j] = float64(m), float64(a)
		s.Mean[j] = float32(f.mean*mul[j] + add[j])
	}
	all := make([]int32, d)
	for _, seen := range inPieces(s.Rows, func(from, to int) []int32 {
		scaling := vec.NewScaling(mul, add)
		blocks(s.X, d, from, to, func(x []float32) {
			scaling.Apply(x)
			for ; len(x) > 0; x = x[d:] {
				s.M[from] = vec.Dot(x[:d], s.Mean)
				from++
			}
		})
		return scaling.Seen
	}) {
		for j, n := range seen {
			all[j] += n
		}
	}
	s.setCounts(all)
}
