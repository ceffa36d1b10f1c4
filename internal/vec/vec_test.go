package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every loop is compared with the plain one in float64, on fresh random numbers,
// at each length from 0 to 40 and at some larger ones. The vectors lie between
// guard words, which must survive.

const guard = float32(-12345.5)

var lengths = func() []int {
	var ns []int
	for n := range 41 {
		ns = append(ns, n)
	}
	return append(ns, 127, 128, 129, 1000)
}()

// fresh is n random numbers in [-1, 1) with a guard word on either side, beyond
// the slice's length but, at the far end, within its capacity.
func fresh(t *testing.T, n int) []float32 {
	block := make([]float32, n+2)
	block[0], block[n+1] = guard, guard
	for i := range n {
		block[i+1] = 2*rand.Float32() - 1
	}
	t.Cleanup(func() {
		if block[0] != guard || block[n+1] != guard {
			t.Errorf("length %d: a guard word was overwritten: %v, %v", n, block[0], block[n+1])
		}
	})
	return block[1 : n+1]
}

// someOf is n different numbers below d, increasing.
func someOf(n, d int) []uint32 {
	idx := make([]uint32, n)
	for i, j := range rand.Perm(d)[:n] {
		idx[i] = uint32(j)
	}
	slices.Sort(idx)
	return idx
}

// near fails unless got is want within the rounding of n float32 operations on
// numbers of size one.
func near(t *testing.T, what string, n int, got float32, want float64) {
	t.Helper()
	if e := math.Abs(float64(got) - want); !(e <= 1e-7*float64(n+4)) {
		t.Errorf("%s of length %d: got %v, want %v", what, n, got, want)
	}
}

func TestSparse(t *testing.T) {
	for _, n := range lengths {
		d := 2*n + 1
		idx, val, w, a := someOf(n, d), fresh(t, n), fresh(t, d), 2*rand.Float32()-1
		var dot float64
		want := make([]float64, d)
		for j := range w {
			want[j] = float64(w[j])
		}
		for i, j := range idx {
			dot += float64(val[i]) * float64(w[j])
			want[j] += float64(a) * float64(val[i])
		}
		near(t, "SparseDot", n, SparseDot(idx, val, w), dot)
		SparseAxpy(a, idx, val, w)
		for j := range w {
			near(t, "SparseAxpy", 0, w[j], want[j])
		}
	}
}

// scatter is the dense vector of length d that idx and val stand for.
func scatter(idx []uint32, val []float32, d int) []float32 {
	x := make([]float32, d)
	for i, j := range idx {
		x[j] = val[i]
	}
	return x
}

func TestMatrix(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 13, 33} {
		for _, k := range []int{1, 2, 3, 4, 5, 10, 17, 128} {
			d := 2*n + 3
			idx, val := someOf(n, d), fresh(t, n)
			x := scatter(idx, val, d)
			w, z, a := fresh(t, d*k), fresh(t, k), 2*rand.Float32()-1

			product := make([]float64, k)
			update := make([]float64, d*k)
			for c := range k {
				product[c] = float64(z[c])
				for j := range d {
					product[c] += float64(x[j]) * float64(w[j*k+c])
					update[j*k+c] = float64(w[j*k+c]) + float64(a)*float64(x[j])*float64(z[c])
				}
			}
			dense, sparse := slices.Clone(w), slices.Clone(w)
			Ger(a, x, z, dense)
			SparseGer(a, idx, val, z, sparse)
			for i, want := range update {
				near(t, "Ger", 0, dense[i], want)
				near(t, "SparseGer", 0, sparse[i], want)
			}
			again := slices.Clone(z)
			Gemv(x, w, z)
			SparseGemv(idx, val, w, again)
			for c, want := range product {
				near(t, "Gemv", d, z[c], want)
				near(t, "SparseGemv", d, again[c], want)
			}
		}
	}
}

// TestOutside gives every loop an index or a length that is one too large, with
// room behind it in the capacity, so that only the loop's own check can stop it.
func TestOutside(t *testing.T) {
	const d = 9
	for _, k := range []int{1, 3} {
		idx, val := []uint32{0, 2, 3, 5, 7, d}, fresh(t, 6)
		w, x, z := fresh(t, d*k), fresh(t, d+1), fresh(t, k)
		for name, f := range map[string]func(){
			"Dot":        func() { Dot(x, w[:d]) },
			"Axpy":       func() { Axpy(1, x, w[:d]) },
			"SparseDot":  func() { SparseDot(idx, val, w[:d]) },
			"SparseAxpy": func() { SparseAxpy(1, idx, val, w[:d]) },
			"short val":  func() { SparseDot(idx[:5], val[:4], w) },
			"Gemv":       func() { Gemv(x, w, z) },
			"SparseGemv": func() { SparseGemv(idx, val, w, z) },
			"Ger":        func() { Ger(1, x, z, w) },
			"SparseGer":  func() { SparseGer(1, idx, val, z, w) },
			"huge index": func() { SparseGer(1, []uint32{math.MaxUint32}, val, z, w) },
		} {
			t.Run(fmt.Sprintf("%s/%d", name, k), func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				f()
			})
		}
	}
}
