//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/cu"
)

// TestAverage wants the bits of the plain loops: no fused multiply-add, ranks in order.
func TestAverage(t *testing.T) { onEach(t, testAverage) }

func testAverage(t *testing.T, g *gpuUnderTest) {
	const p, ranks, stride, from, count = 1000, 3, 1024, 17, 701
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	share := []float32{.3, 0, .7}
	src := random(ranks * stride)
	src[stride+from] = float32(math.NaN()) // of the rank whose share is 0
	for _, mu := range []float32{0, .9} {
		for _, kernel := range []string{"average_weights", "average_gradients"} {
			w, v, lr := random(p), random(p), float32(.07)
			m := mean{Dst: put(g, w), Src: put(g, src), Share: put(g, share), From: from, Count: count, Ranks: ranks,
				Stride: stride, LR: .07, Momentum: float64(mu)}
			if mu != 0 {
				m.Velocity = put(g, v)
			}
			if err := g.kernels[kernel].run(2, cu.DevicePtr(put(g, encode(m)))); err != nil {
				t.Fatal(err)
			}
			for i := from; i < from+count; i++ {
				a := float32(0)
				for k, s := range share {
					if s != 0 {
						a += float32(s * src[k*stride+i])
					}
				}
				if kernel == "average_weights" {
					w[i] = a
					continue
				}
				if mu != 0 {
					v[i] = float32(mu*v[i]) + a
					a = v[i]
				}
				w[i] -= float32(lr * a)
			}
			if !slices.Equal(get[float32](g, p, m.Dst), w) {
				t.Errorf("%s with momentum %g: the bits differ", kernel, mu)
			}
			if mu != 0 && !slices.Equal(get[float32](g, p, m.Velocity), v) {
				t.Errorf("%s: the bits of the velocity differ", kernel)
			}
		}
	}
}
