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

// denseSpreads measures every feature over n rows, as spreads does.
func denseSpreads(v []float32, n, d int) []spread {
	var all []spread
	for _, piece := range inPieces(n, func(from, to int) (found []spread) {
		block := make([]spread, d)
		blocks(v, d, from, to, func(x []float32) {
			spreadsOf(x, block)
			found = joined(found, block)
		})
		return found
	}) {
		all = joined(all, piece)
	}
	for j := range all {
		all[j].std = deviation(all[j].std, float64(n))
	}
	return all
}

// spreadsOf measures rows of as many features as there are in s; std is the sum of squares about the mean, and min and
// max are of the blocks before, too. Two columns go down the block together, whose sums stay in registers. Differences
// are taken from the first value: its own square about the mean is part of the sum, so what cancels is small against
// it.
func spreadsOf(x []float32, s []spread) {
	d := len(s)
	n := float64(len(x) / d)
	for j := 0; j < d; j += 2 {
		k := min(j+1, d-1)
		a, b := x[j], x[k]
		a0, b0, leastA, mostA, leastB, mostB := float64(a), float64(b), a, a, b, b
		if s[j].stored > 0 { // the last block's: a branch that is seldom taken is foreseen
			leastA, mostA = float32(s[j].min), float32(s[j].max)
			leastB, mostB = float32(s[k].min), float32(s[k].max)
		}
		var sumA, sumB, squaresA, squaresB float64
		for at := 0; at < len(x); at += d {
			a, b = x[at+j], x[at+k]
			if a < leastA {
				leastA = a
			} else if a > mostA {
				mostA = a
			}
			if b < leastB {
				leastB = b
			} else if b > mostB {
				mostB = b
			}
			overA, overB := float64(a)-a0, float64(b)-b0
			sumA, sumB = sumA+overA, sumB+overB
			squaresA, squaresB = squaresA+overA*overA, squaresB+overB*overB
		}
		s[j] = spread{float64(leastA), float64(mostA), a0 + sumA/n, max(0, squaresA-sumA*sumA/n), int(n)}
		s[k] = spread{float64(leastB), float64(mostB), b0 + sumB/n, max(0, squaresB-sumB*sumB/n), int(n)}
	}
}

// joined adds what more rows have to the spreads of others, nil of none; std is the sum of squares about the mean
// (Chan, Golub, LeVeque 1983).
func joined(s, more []spread) []spread {
	if s == nil {
		return append(s, more...)
	}
	for j := range s {
		a, b := &s[j], &more[j]
		n, m, apart := float64(a.stored), float64(b.stored), b.mean-a.mean
		a.min, a.max, a.stored = min(a.min, b.min), max(a.max, b.max), a.stored+b.stored
		a.mean += apart * m / (n + m)
		a.std += b.std + apart*apart*n*m/(n+m)
	}
	return s
}

// scaleDense brings the rows to the scale of the set, in place, and does what valued.count and project do.
func scaleDense(s *Set) {
	d := s.Features
	mul, add := make([]float64, d), make([]float64, d)
	for j := range mul {
		m, a := s.scaling(j)
		mul[j], add[j] = float64(m), float64(a)
	}
	type counts struct {
		seen []int32
		sum  []float64
	}
	all := counts{make([]int32, d), make([]float64, d)}
	for _, piece := range inPieces(s.Rows, func(from, to int) counts {
		c := counts{make([]int32, d), make([]float64, d)}
		blocks(s.X, d, from, to, func(x []float32) {
			for j := 0; j < d; j += 2 { // two columns at a time, whose sums do not wait for each other
				k := min(j+1, d-1)
				mA, aA, sumA, seenA := mul[j], add[j], c.sum[j], c.seen[j]
				mB, aB, sumB, seenB := mul[k], add[k], c.sum[k], c.seen[k]
				for at := 0; at < len(x); at += d {
					v := float32(float64(x[at+j])*mA + aA)
					w := float32(float64(x[at+k])*mB + aB)
					x[at+j], x[at+k] = v, w
					sumA, sumB = sumA+float64(v), sumB+float64(w)
					if v != 0 {
						seenA++
					}
					if w != 0 {
						seenB++
					}
				}
				c.sum[j], c.seen[j], c.sum[k], c.seen[k] = sumA, seenA, sumB, seenB
			}
		})
		return c
	}) {
		for j, v := range piece.sum {
			all.sum[j] += v
			all.seen[j] += piece.seen[j]
		}
	}
	s.setCounts(all.seen)
	s.setMeans(all.sum)
	parallel(0, s.Rows, func(from, to int) {
		for i := from; i < to; i++ {
			s.M[i] = vec.Dot(s.X[i*d:(i+1)*d], s.Mean)
		}
	})
}
