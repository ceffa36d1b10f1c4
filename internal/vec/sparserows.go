package vec

import "math"

// The product of a batch of sparse rows and a matrix that is too large for the first
// level of cache goes through it in bands of rows: all examples meet one band before the
// next, so that a band comes from afar once a batch, not once an example. By itself the
// product gains nothing by it, as W stays in the second level; with two workers, each
// taking lines from the other, training perceptrons on MNIST is a tenth faster.
//
// Sums run in the order of the indices either way.

// bandSize is how many weights a band has. Smaller bands lose in calls what they gain in
// the cache.
const bandSize = 1 << 14

// Fewer nonzeros of an example in a band than these are not worth a pass over the examples.
const fewNonzeros = 8

// sparse reports whether the rows are all sparse.
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
		last := end >= rows
		if last {
			end = math.MaxUint32
		}
		for i, r := range x {
			from := s.passed[i]
			s.passed[i] += sparseGemv(r.Idx[from:], r.Val[from:], uint32(end), w, z[i*k:(i+1)*k])
		}
		if last {
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
	rows, block := len(w)/k, max(1, blockSize/k)
	if !pays(x, rows, block, k) {
		for i, r := range x {
			sparseGer(a, r.Idx, r.Val, d[i*k:(i+1)*k], w)
		}
		return
	}
	for i := 0; i < len(x); i += block {
		end := min(len(x), i+block)
		s.lists.fill(x[i:end], rows, k)
		s.lists.addOuter(a, d[i*k:end*k], k, w)
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
	bands := max(1, n/bandSize)
	if len(x) == 1 || nonzeros(x) < fewNonzeros*len(x)*bands {
		bands = 1
	}
	if len(s.passed) < len(x) {
		s.passed = make([]int, len(x))
	}
	clear(s.passed)
	return (n/k + bands - 1) / bands
}

// nonzeros is how many the rows have together.
func nonzeros(x []Row) (n int) {
	for _, r := range x {
		n += len(r.Idx)
	}
	return n
}
