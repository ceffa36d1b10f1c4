package model

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// TestFirstWeights: they are what rand draws one after the other, however many cores draw, and the rest is zero. Runs
// that are resumed or repeated rely on it.
func TestFirstWeights(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	bound := func(in int) float32 { return float32(1 / math.Sqrt(float64(in))) }
	type drawn struct {
		n     int
		bound float32 // 0: zeros
	}
	matrix := data.Meta{Name: "t", Kind: data.Pairs, Features: 90_001, Shape: []int{60_000, 30_001},
		Targets: data.Spread{Deviation: 1}}
	rows := data.Meta{Name: "t", Kind: data.Floats, Features: 3000, Classes: make([]string, 3)}
	for _, c := range []struct {
		o    Options
		m    data.Meta
		want []drawn
	}{
		{Options{Name: "factor:4", Biases: true}, matrix,
			[]drawn{{90_001 * 4, float32(0.1 * math.Sqrt(1.0/4))}, {90_002, 0}}},
		{Options{Name: "mlp:101,7"}, rows,
			[]drawn{{3000 * 101, bound(3000)}, {101 * 7, bound(101)}, {7 * 3, bound(7)}}},
		{Options{Name: "mlp:101", Bias: true, Center: true, Mean: make([]float32, 3000)}, rows,
			[]drawn{{3001 * 101, bound(3000)}, {101, 0}, {102 * 3, bound(101)}}},
		{Options{Name: "softmax", Bias: true}, rows, []drawn{{3001 * 3, 0}}},
	} {
		var want []float32
		for r, i := rand.New(rand.NewPCG(7, 0)), 0; i < len(c.want); i++ {
			for range c.want[i].n {
				v := float32(0)
				if b := c.want[i].bound; b != 0 {
					v = (2*r.Float32() - 1) * b
				}
				want = append(want, v)
			}
		}
		m, err := New(c.o, c.m)
		if err != nil {
			t.Fatal(err)
		}
		for _, cores := range []int{1, 3} {
			runtime.GOMAXPROCS(cores)
			w := slices.Repeat([]float32{5}, Size(m.Params()))
			if m.Init(w, 7); !slices.Equal(w, want) {
				t.Errorf("%s on %d cores: %d weights, which are not the %d that are drawn one by one", c.o.Name, cores,
					len(w), len(want))
			}
		}
	}
}
