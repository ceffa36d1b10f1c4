package vec

import (
	"math"
	"slices"
	"testing"
)

// TestOneOutput: the products of dense rows and one vector against float64, of all lengths and numbers of rows, some of
// them with no part in the sum. What is left out of a sum is not read: NaN would stay.
func TestOneOutput(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		var work Workspace
		for _, n := range slices.Concat(lengths, []int{31, 33, 47, 49, 95, 100}) {
			if n == 0 {
				continue
			}
			for b := range 23 {
				x, d, z, w, a := make([]Row, b), fresh(t, b), fresh(t, b), fresh(t, n), float32(0.7)
				wantZ, wantW := make([]float64, b), make([]float64, n)
				for j := range w {
					wantW[j] = float64(w[j])
				}
				for i := range x {
					x[i].Val, wantZ[i] = fresh(t, n), float64(z[i])
					for j, v := range x[i].Val {
						wantZ[i] += float64(v) * float64(w[j])
					}
				}
				work.Mul(x, w, 1, z)
				for i := range x {
					near(t, "Mul", n, z[i], wantZ[i])
					if i/4 == 1 {
						d[i], x[i].Val[0] = 0, float32(math.NaN())
						continue
					}
					for j, v := range x[i].Val {
						wantW[j] += float64(a) * float64(d[i]) * float64(v)
					}
				}
				work.AddOuter(a, x, d, 1, w)
				for j := range w {
					near(t, "AddOuter", b, w[j], wantW[j])
				}
			}
		}
	})
}

// BenchmarkOneOutput is a batch of 64 rows of 100 numbers.
func BenchmarkOneOutput(b *testing.B) {
	const d, n = 100, 64
	x, w, z := make([]Row, n), random(d), random(n)
	for i := range x {
		x[i].Val = random(d)
	}
	b.Run("Mul", func(b *testing.B) {
		for b.Loop() {
			mulOne(x, w, z)
		}
	})
	b.Run("AddOuter", func(b *testing.B) {
		for b.Loop() {
			addOuterOne(1e-9, x, z, w)
		}
	})
}
