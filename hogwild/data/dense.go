package data

// The passes over the dense rows of a Room. Rows are cut into pieces in the same way on all machines, and what is found
// in them is added up in their order: the bits do not depend on the number of processors.

const (
	leastPiece, mostPieces = 1000, 64 // rows, and how many: what is kept of them takes a hundredth of the rows' memory
	cachedValues           = 1 << 13  // a block of a piece, which is still in the cache when it is looked at again
)

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

// denseSpreads measures every feature over all rows, as spreads does.
func (t *table) denseSpreads() []spread {
	n, d := t.Rows, t.Features
	var all []spread
	for _, piece := range inPieces(n, func(from, to int) (found []spread) {
		step := max(1, cachedValues/d)
		block := make([]spread, d)
		for ; from < to; from += step {
			spreadsOf(t.x[from*d:min(from+step, to)*d], block)
			found = joined(found, block)
		}
		return found
	}) {
		all = joined(all, piece)
	}
	for j := range all {
		all[j].std = deviation(all[j].std, float64(n))
	}
	return all
}

// spreadsOf measures rows of as many features as there are in s; std is the sum of squares about the mean.
func spreadsOf(x []float32, s []spread) {
	d := len(s)
	for j, v := range x[:d] {
		s[j] = spread{min: float64(v), max: float64(v), stored: len(x) / d}
	}
	for row := x; len(row) > 0; row = row[d:] {
		for j, v := range row[:d] {
			f, v := &s[j], float64(v)
			if f.mean += v; v < f.min {
				f.min = v
			} else if v > f.max {
				f.max = v
			}
		}
	}
	for j := range s {
		s[j].mean /= float64(len(x) / d)
	}
	for row := x; len(row) > 0; row = row[d:] {
		for j, v := range row[:d] {
			f := &s[j]
			f.std += (float64(v) - f.mean) * (float64(v) - f.mean)
		}
	}
}

// joined adds what more rows have to the spreads of others, nil of none; std is the sum of squares about the mean (Chan,
// Golub, LeVeque 1983).
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

// scaleDense brings the rows to the scale of the set, in place, and counts them as valued.count does.
func (s *Set) scaleDense() {
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
		for ; from < to; from++ {
			row := s.X[from*d : (from+1)*d]
			for j, v := range row {
				v = float32(float64(v)*mul[j] + add[j])
				row[j] = v
				if c.sum[j] += float64(v); v != 0 {
					c.seen[j]++
				}
			}
		}
		return c
	}) {
		for j, v := range piece.sum {
			all.sum[j] += v
			all.seen[j] += piece.seen[j]
		}
	}
	s.setCounts(all.seen)
	s.setMeans(all.sum)
}
