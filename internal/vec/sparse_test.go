package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// widths are numbers of columns: of each panel, and of some together.
var widths = []int{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 15, 16, 17, 26, 31, 32, 33, 64, 100, 127, 128, 129, 256, 300}

func TestSparseMatrix(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 9, 33} {
			for _, k := range widths {
				checkSparse(t, n, k)
			}
		}
	})
}

// checkSparse checks one product and one update with n nonzeros and k columns.
func checkSparse(t *testing.T, n, k int) {
	d := 2*n + 3
	idx, val := someOf(n, d), fresh(t, n)
	w, z, a := fresh(t, d*k), fresh(t, k), 2*rand.Float32()-1
	product, update := make([]float64, k), make([]float64, d*k)
	for i, v := range w {
		update[i] = float64(v)
	}
	for c := range k {
		product[c] = float64(z[c])
		for i, j := range idx {
			at := int(j)*k + c
			product[c] += float64(val[i]) * float64(w[at])
			update[at] += float64(a) * float64(val[i]) * float64(z[c])
		}
	}
	delta := slices.Clone(z)
	SparseGemv(idx, val, w, z)
	for c, want := range product {
		near(t, fmt.Sprintf("SparseGemv to %d", k), n, z[c], want)
	}
	SparseGer(a, idx, val, delta, w)
	for i, want := range update {
		near(t, fmt.Sprintf("SparseGer of %d", k), 1, w[i], want)
	}
}

// TestSparseBatch has batches that go through in bands, and that do not, that are listed by
// features, in one block and in several, and that are not, and with only some rows sparse, or
// without a nonzero.
func TestSparseBatch(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, c := range []struct{ b, d, k, nonzeros, dense int }{
			{7, 501, 128, 180, 0}, {3, 1040, 64, 999, 0}, {64, 784, 128, 150, 0}, {64, 500, 128, 3, 0},
			{70, 101, 300, 60, 0}, {9, 31, 97, 20, 0}, {90, 33, 129, 30, 0},
			{1, 501, 128, 180, 0}, {5, 40, 10, 12, 0}, {5, 40, 1, 12, 0}, {4, 40, 3, 0, 0}, {6, 40, 10, 12, 2},
			{0, 40, 10, 0, 0},
		} {
			checkSparseBatch(t, c.b, c.d, c.k, c.nonzeros, c.dense)
		}
	})
}

// checkSparseBatch has b rows, the first dense ones of them dense, the next without
// a nonzero, the others with up to as many as it says.
func checkSparseBatch(t *testing.T, b, d, k, nonzeros, dense int) {
	var s Workspace
	x, in := make([]Row, b), make([][]float32, b)
	for i := range x {
		n := nonzeros * min(i-dense, 2) / 2
		idx := someOf(max(n, 0), d)
		val := fresh(t, len(idx))
		x[i], in[i] = Row{Idx: idx, Val: val}, scatter(idx, val, d)
		if i < dense {
			in[i] = fresh(t, d)
			x[i] = Row{Val: in[i]}
		}
	}
	w, z, delta, a := fresh(t, d*k), fresh(t, b*k), fresh(t, b*k), 2*rand.Float32()-1
	before := slices.Clone(z)
	s.Mul(x, w, k, z)
	for i := range b {
		for c := range k {
			want := float64(before[i*k+c])
			for j, v := range in[i] {
				want += float64(v) * float64(w[j*k+c])
			}
			near(t, fmt.Sprintf("Mul of %d to %d", b, k), 4*len(x[i].Val), z[i*k+c], want)
		}
	}
	before = slices.Clone(w)
	s.AddOuter(a, x, delta, k, w)
	for j := range d {
		for c := range k {
			want := float64(before[j*k+c])
			for i := range b {
				want += float64(a) * float64(in[i][j]) * float64(delta[i*k+c])
			}
			near(t, fmt.Sprintf("AddOuter of %d to %d", b, k), 4*b, w[j*k+c], want)
		}
	}
}

// TestSparseOutside gives the last nonzero of all a row beyond w, with room behind it in
// the capacity: nothing may have been written when that is noticed.
func TestSparseOutside(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		const d = 21
		for _, k := range []int{2, 10, 128} {
			for _, bad := range []uint32{d, d + 1, 1 << 31, 1<<32 - 1} {
				idx, val := append(someOf(20, d), bad), fresh(t, 21)
				w, z := fresh(t, (d+2)*k)[:d*k], fresh(t, 2*k)
				rows := []Row{{Idx: idx[:20], Val: val[:20]}, {Idx: idx, Val: val}}
				before, was := slices.Clone(w), slices.Clone(z)
				var s Workspace
				panics(t, "SparseGemv", func() { SparseGemv(idx, val, w, z[:k]) })
				panics(t, "SparseGer", func() { SparseGer(1, idx, val, z[:k], w) })
				panics(t, "Mul", func() { s.Mul(rows, w, k, z) })
				panics(t, "AddOuter", func() { s.AddOuter(1, rows, z, k, w) })
				panics(t, "short val", func() { SparseGer(1, idx[:20], val[:19:19], z[:k], w) })
				if !slices.Equal(before, w) || !slices.Equal(was, z) {
					t.Errorf("row %d of %d: something was written first", bad, d)
				}
			}
		}
	})
}
