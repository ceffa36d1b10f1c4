package model

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
)

// BenchmarkConvNet has MNIST's shape, all pixels non-zero as after scaling by mean and
// deviation.
func BenchmarkConvNet(b *testing.B) {
	for _, n := range []int{64, 16, 1} {
		b.Run(fmt.Sprint("b=", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			meta := data.Meta{Features: 784, Shape: []int{28, 28}, Classes: make([]string, 10)}
			m, err := New(Options{Name: "convnet", Bias: true}, meta)
			if err != nil {
				b.Fatal(err)
			}
			w := make([]float32, Size(m.Params()))
			m.Init(w, 1)
			batch, _ := randomBatch(r, n, 784, 10, "dense")
			var g Gradient
			for b.Loop() {
				m.Grad(w, batch, &g)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}
