package vec

// The products of a batch of sparse rows and a matrix that is too large for the first
// level of cache go through it in bands of rows: all examples meet one band before the
// next, so that a band comes from afar once a batch, not once an example (MNIST, a
// layer of 128, batch 64: 0.93 instead of 1.34 us an example, both products together).
//
// Sums run in the order of the indices either way.

// bandSize is how many weights a band has. From 12 to 50 thousand are alike.
const bandSize = 1 << 15

// Fewer nonzeros of an example in a band than these are not worth a pass over the examples.
const fewNonzeros = 16

// sparse tells whether the rows are all sparse.
func sparse(x []Row) bool {
	for i := range x {
		if x[i].Idx == nil {
			return false
		}
	}
	return len(x) > 0
}

// mulSparse is Mul of sparse rows.
func (s *Workspace) mulSparse(x []Row, w []float32, k int, z []float32) {
	if k == 1 {
		for i, r := range x {
			z[i] += SparseDot(r.Idx, r.Val, w)
		}
		return
	}
	checkBatch(x, w, k)
	rows, band := len(w)/k, s.bands(x, len(w), k)
	for end := band; ; end += band {
		for i, r := range x {
			r = s.upTo(end, rows, i, r)
			sparseGemv(r.Idx, r.Val, w, z[i*k:(i+1)*k])
		}
		if end >= rows {
			return
		}
	}
}

// addOuterSparse is AddOuter of sparse rows.
func (s *Workspace) addOuterSparse(a float32, x []Row, d []float32, k int, w []float32) {
	if k == 1 {
		for i, r := range x {
			if d[i] != 0 { // as of a hinge that is satisfied
				SparseAxpy(a*d[i], r.Idx, r.Val, w)
			}
		}
		return
	}
	checkBatch(x, w, k)
	rows, band := len(w)/k, s.bands(x, len(w), k)
	for end := band; ; end += band {
		for i, r := range x {
			r = s.upTo(end, rows, i, r)
			sparseGer(a, r.Idx, r.Val, d[i*k:(i+1)*k], w)
		}
		if end >= rows {
			return
		}
	}
}

// checkBatch panics, before any product, if w, of width k, lacks a row of x.
func checkBatch(x []Row, w []float32, k int) {
	for _, r := range x {
		_ = r.Val[:len(r.Idx):len(r.Val)]
		checkRows(r.Idx, w, k)
	}
}

// bands is how many rows a band of n weights has, and starts the pass over them.
func (s *Workspace) bands(x []Row, n, k int) int {
	nonzeros, bands := 0, max(1, n/bandSize)
	for _, r := range x {
		nonzeros += len(r.Idx)
	}
	if len(x) == 1 || nonzeros < fewNonzeros*len(x)*bands {
		bands = 1
	}
	if len(s.passed) < len(x) {
		s.passed = make([]int, len(x))
	}
	clear(s.passed)
	return (n/k + bands - 1) / bands
}

// upTo is what r, the i-th of the batch, has below row end that was not passed yet;
// with end at or behind the matrix's rows, all of that.
func (s *Workspace) upTo(end, rows, i int, r Row) Row {
	from, to := s.passed[i], len(r.Idx)
	if end < rows {
		for to = from; to < len(r.Idx) && int(r.Idx[to]) < end; to++ {
		}
	}
	s.passed[i] = to
	return Row{Idx: r.Idx[from:to], Val: r.Val[from:to]}
}
