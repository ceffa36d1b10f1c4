package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// apply does w -= lr*g for factored parts, as a trainer does it.
func apply(work *vec.Workspace, lr float32, w []float32, g *Gradient) {
	for _, p := range g.Parts {
		work.AddOuter(-lr, p.X, p.D, p.Out, w[p.Offset:p.Offset+p.In*p.Out])
		for i := range p.X {
			if p.Bias >= 0 {
				vec.Axpy(-lr, p.D[i*p.Out:(i+1)*p.Out], w[p.Bias:])
			}
		}
	}
}

// sparseBatches returns n batches of b rows, each with z of d features, and labels
// below classes.
func sparseBatches(r *rand.Rand, n, b, z, d, classes int) []data.Batch {
	batches := make([]data.Batch, n)
	for i := range batches {
		batches[i].Features = d
		for range b {
			row := data.Row{Idx: make([]uint32, z), Val: make([]float32, z)}
			for j, f := range r.Perm(d)[:z] {
				row.Idx[j], row.Val[j] = uint32(f), r.Float32()
			}
			slices.Sort(row.Idx)
			batches[i].Rows = append(batches[i].Rows, row)
			batches[i].Y = append(batches[i].Y, float32(r.IntN(classes)))
		}
	}
	return batches
}

// BenchmarkModel has the shapes of MNIST (150 non-zeros of 784) and of a9a (14 of
// 123): the gradient alone, and with a plain application of it.
func BenchmarkModel(b *testing.B) {
	for _, c := range []struct {
		name                     string
		batch, z, d, classes, of int
	}{
		{"softmax", 64, 150, 784, 10, 20},
		{"softmax", 1, 150, 784, 10, 1000},
		{"mlp:128", 64, 150, 784, 10, 20},
		{"mlp:256,128", 64, 150, 784, 10, 20},
		{"logistic", 1, 14, 123, 2, 1000},
		{"hinge", 1, 14, 123, 2, 1000},
		{"logistic", 64, 14, 123, 2, 20},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		meta := data.Meta{Features: c.d, Classes: make([]string, c.classes)}
		m, err := New(Options{Name: c.name, Bias: true}, meta)
		if err != nil {
			b.Fatal(err)
		}
		w := make([]float32, Size(m.Params()))
		batches := sparseBatches(r, c.of, c.batch, c.z, c.d, c.classes)
		var g Gradient
		var work vec.Workspace
		for _, lr := range []float32{0, 0.01} {
			what := "grad"
			if lr != 0 {
				what = "apply"
			}
			b.Run(fmt.Sprintf("%s/b=%d/%s", c.name, c.batch, what), func(b *testing.B) {
				m.Init(w, 1)
				i := 0
				for b.Loop() {
					m.Grad(w, &batches[i], &g)
					if lr != 0 {
						apply(&work, lr, w, &g)
					}
					if i++; i == len(batches) {
						i = 0
					}
				}
				perSecond := float64(b.N*c.batch) / b.Elapsed().Seconds()
				b.ReportMetric(perSecond, "examples/s")
			})
		}
	}
}

// BenchmarkPerceptron is training on the shape of MNIST, no zero skipped, in the multiply-adds
// that it needs: forward and gradient of the weights for each layer, gradient of the
// inputs for all but the first.
func BenchmarkPerceptron(b *testing.B) {
	for _, c := range []struct {
		name   string
		batch  int
		widths []int
	}{
		{"mlp:256,128", 256, []int{784, 256, 128, 10}},
		{"mlp:128", 64, []int{784, 128, 10}},
		{"mlp:128", 8, []int{784, 128, 10}},
		{"mlp:128", 1, []int{784, 128, 10}},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		m, err := New(Options{Name: c.name, Bias: true}, data.Meta{Features: 784, Classes: make([]string, 10)})
		if err != nil {
			b.Fatal(err)
		}
		batch, _ := randomBatch(r, c.batch, 784, 10, "dense")
		w := make([]float32, Size(m.Params()))
		m.Init(w, 1)
		macs := -c.widths[0] * c.widths[1]
		for i, in := range c.widths[:len(c.widths)-1] {
			macs += 3 * in * c.widths[i+1]
		}
		var g Gradient
		var work vec.Workspace
		b.Run(fmt.Sprintf("%s/b=%d", c.name, c.batch), func(b *testing.B) {
			for b.Loop() {
				m.Grad(w, batch, &g)
				apply(&work, 1e-9, w, &g)
			}
			perSecond := float64(b.N*c.batch) / b.Elapsed().Seconds()
			b.ReportMetric(perSecond, "examples/s")
			b.ReportMetric(2e-9*float64(macs)*perSecond, "GFLOP/s")
		})
	}
}
