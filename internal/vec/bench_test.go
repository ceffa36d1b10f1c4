package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func random(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rand.Float32() - 1
	}
	return x
}

func BenchmarkDense(b *testing.B) {
	for _, n := range []int{10, 128, 1000} {
		x, y := random(n), random(n)
		b.Run(fmt.Sprint("Dot/", n), func(b *testing.B) {
			for b.Loop() {
				Dot(x, y)
			}
		})
		b.Run(fmt.Sprint("Axpy/", n), func(b *testing.B) {
			for b.Loop() {
				Axpy(1e-9, x, y)
			}
		})
	}
	z := random(10)
	b.Run("Softmax/10", func(b *testing.B) {
		for b.Loop() {
			Softmax(z)
		}
	})
}

// BenchmarkSparse has a9a's 14 non-zeros a row and MNIST's 150.
func BenchmarkSparse(b *testing.B) {
	const d = 784
	for _, n := range []int{14, 150} {
		idx, val := someOf(n, d), random(n)
		for _, k := range []int{1, 10, 128} {
			w, z := random(d*k), random(k)
			b.Run(fmt.Sprintf("Gemv/%dx%d", n, k), func(b *testing.B) {
				for b.Loop() {
					clear(z)
					SparseGemv(idx, val, w, z)
				}
			})
			b.Run(fmt.Sprintf("Ger/%dx%d", n, k), func(b *testing.B) {
				for b.Loop() {
					SparseGer(1e-9, idx, val, z, w)
				}
			})
		}
	}
}
