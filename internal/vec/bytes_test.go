package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// image is n bytes, a share of them not zero.
func image(n int, share float64) []uint8 {
	x := make([]uint8, n)
	for i := range x {
		if rand.Float64() < share {
			x[i] = uint8(1 + rand.IntN(255))
		}
	}
	return x
}

func TestBytes(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range append(lengths, 63, 64, 65, 784) {
			for _, share := range []float64{0, 0.2, 0.6, 1} {
				x, mul := image(n, share), rand.Float32()
				idx, val := make([]uint32, n+Spare+1), fresh(t, n+Spare)
				idx[n+Spare] = 77
				k := Nonzeros(x, mul, idx, val)
				var where []uint32
				for j, v := range x {
					if v != 0 {
						where = append(where, uint32(j))
					}
				}
				if !slices.Equal(idx[:k], where) || idx[n+Spare] != 77 {
					t.Fatalf("%d bytes: indices %v, want %v", n, idx[:k], where)
				}
				for i, j := range where {
					if val[i] != float32(x[j])*mul {
						t.Fatalf("%d bytes: value of %d is %v, want %v", n, j, val[i], float32(x[j])*mul)
					}
				}
			}
			x, y := image(n, 0.9), fresh(t, n+n%2)
			muls, adds, before := fresh(t, n), fresh(t, n+n%3), slices.Clone(y)
			Widen(x, muls, adds, y)
			for j, v := range x {
				near(t, "Widen", 300, y[j], float64(v)*float64(muls[j])+float64(adds[j]))
			}
			if !slices.Equal(y[n:], before[n:]) {
				t.Errorf("%d bytes: written beyond the end", n)
			}
		}
		x, f := image(20, 1), fresh(t, 20)
		panics(t, "no spare room", func() { Nonzeros(x, 1, make([]uint32, 20+Spare), fresh(t, 19+Spare)) })
		panics(t, "short factors", func() { Widen(x, f[:19:19], f, f) })
		panics(t, "short result", func() { Widen(x, f, f, f[:19:19]) })
	})
}

// BenchmarkNonzeros is an image of MNIST's share of zeros, in runs as strokes make them.
func BenchmarkNonzeros(b *testing.B) {
	x, idx, val := make([]uint8, 784), make([]uint32, 784+Spare), make([]float32, 784+Spare)
	r := rand.New(rand.NewPCG(1, 1))
	images := make([][]uint8, 64)
	for i := range images {
		images[i] = make([]uint8, 784)
		for row := 4; row < 24; row++ {
			from := 28*row + 6 + r.IntN(8)
			for j := range 5 + r.IntN(6) {
				images[i][from+j] = uint8(1 + r.IntN(255))
			}
		}
	}
	for n := 0; b.Loop(); n++ {
		x = images[n%64]
		Nonzeros(x, 1, idx, val)
	}
}
