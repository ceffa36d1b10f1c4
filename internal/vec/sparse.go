package vec

import (
	"fmt"
	"math"
)

// The products of a matrix and a vector whose zeros are left out: val[i] is element
// idx[i], the indices increasing. Matrices are as in matrix.go.

// SparseGemv is z[c] += val[i]*w[idx[i]*k+c]: Gemv with the zeros of x left out.
// val has at least the length of idx.
func SparseGemv(idx []uint32, val, w, z []float32) {
	val = val[:len(idx):len(val)]
	k := len(z)
	if k == 1 {
		z[0] += SparseDot(idx, val, w)
		return
	}
	checkRows(idx, w, k)
	sparseGemv(idx, val, math.MaxUint32, w, z)
}

// SparseGer is w[idx[i]*k+c] += a*val[i]*d[c]: Ger with the zeros of x left out.
// val has at least the length of idx.
func SparseGer(a float32, idx []uint32, val, d, w []float32) {
	val = val[:len(idx):len(val)]
	if len(d) == 1 {
		SparseAxpy(a*d[0], idx, val, w)
		return
	}
	checkRows(idx, w, len(d))
	sparseGer(a, idx, val, d, w)
}

// checkRows panics if w, of width k, lacks a row that idx names.
func checkRows(idx []uint32, w []float32, k int) {
	if len(idx) == 0 || k == 0 {
		return
	}
	if j, rows := Largest(idx), len(w)/k; int(j) >= rows {
		panic(fmt.Sprintf("vec: row %d of a matrix of %d rows of %d", j, rows, k))
	}
}

// Largest is the largest of idx, which is not empty.
func Largest(idx []uint32) uint32 {
	if use[LoopLargest] != Plain {
		return largestFast(idx)
	}
	most := idx[0]
	for _, j := range idx {
		most = max(most, j)
	}
	return most
}

// sparseGemv is SparseGemv of checked slices, with the rows of W before end. It returns
// how many of idx name one.
func sparseGemv(idx []uint32, val []float32, end uint32, w, z []float32) int {
	switch {
	case len(idx) == 0 || len(z) == 0:
		return 0
	case use[LoopSparseGemv] == Plain:
		return sparseGemvGo(idx, val, end, w, z)
	}
	return sparseGemvFast(idx, val, end, w, z)
}

// sparseGemvGo takes four rows at a time, so that z is loaded and stored once for
// four products.
func sparseGemvGo(idx []uint32, val []float32, end uint32, w, z []float32) int {
	k, i := len(z), 0
	for ; i <= len(idx)-4 && idx[i+3] < end; i += 4 {
		x0, x1, x2, x3 := val[i], val[i+1], val[i+2], val[i+3]
		w0, w1 := row(w, int(idx[i]), k), row(w, int(idx[i+1]), k)
		w2, w3 := row(w, int(idx[i+2]), k), row(w, int(idx[i+3]), k)
		w0, w1, w2, w3 = w0[:len(z)], w1[:len(z)], w2[:len(z)], w3[:len(z)]
		for c := range z {
			z[c] += (x0*w0[c] + x1*w1[c]) + (x2*w2[c] + x3*w3[c])
		}
	}
	for ; i < len(idx) && idx[i] < end; i++ {
		x, r := val[i], row(w, int(idx[i]), k)[:len(z)]
		for c := range z {
			z[c] += x * r[c]
		}
	}
	return i
}

// sparseGer is SparseGer of checked slices.
func sparseGer(a float32, idx []uint32, val, d, w []float32) {
	switch {
	case len(idx) == 0 || len(d) == 0:
	case use[LoopSparseGer] == Plain:
		sparseGerGo(a, idx, val, d, w)
	default:
		sparseGerFast(a, idx, val, d, w)
	}
}

func sparseGerGo(a float32, idx []uint32, val, d, w []float32) {
	for i, j := range idx {
		v, r := a*val[i], row(w, int(j), len(d))[:len(d)]
		for c := range d {
			r[c] += v * d[c]
		}
	}
}
