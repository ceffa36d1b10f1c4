// Command custommodel registers a custom model and trains it with four worker processes,
// which are this same program started again.
//
// It generates the data: a linear function of four inputs, plus noise with a mean size of
// 0.1. The model is linear with the L1 loss |z - y|, so the loss falls to about 0.1 and
// no further.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"hogwild"
)

const (
	rows  = 6000
	noise = 0.1 // mean size
)

// planted is the function to learn: a factor for each input, and a constant.
var planted = []float64{2, -1, 0.5, 3, -4}

func main() {
	hogwild.Register("absolute", newAbsolute) // in the workers too, so before IsWorker
	if hogwild.IsWorker() {
		os.Exit(hogwild.WorkerMain())
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custommodel:", err)
		os.Exit(1)
	}
}

// run generates the data, trains, prints the loss after each epoch and, at the end, the
// prediction for inputs of 0.
func run(w io.Writer) error {
	dir, err := os.MkdirTemp("", "custommodel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := hogwild.Default()
	c.Data, c.Run = filepath.Join(dir, "planted.csv"), filepath.Join(dir, "run")
	c.Model, c.Workers, c.Batch, c.Epochs = "absolute", 4, 8, 10
	c.LR, c.Schedule = 0.1, "cosine" // L1 steps do not shrink near the optimum by themselves
	if err := writeCSV(c.Data); err != nil {
		return err
	}
	_, err = hogwild.Run(context.Background(), c, hogwild.Options{OnEpoch: func(e hogwild.Epoch) {
		fmt.Fprintf(w, "epoch %d: loss %.4f\n", e.Epoch, e.TestLoss)
	}})
	if err != nil {
		return err
	}
	saved, err := hogwild.Open(c.Run)
	if err != nil {
		return err
	}
	z, err := saved.Predict(make([]float32, len(planted)-1))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "at 0: %.2f\n", z[0])
	return nil
}

// writeCSV writes the examples; the last column is the value.
func writeCSV(path string) error {
	var text bytes.Buffer
	fmt.Fprintln(&text, "a,b,c,d,value")
	r := rand.New(rand.NewPCG(1, 2))
	last := len(planted) - 1
	for range rows {
		y := planted[last] + noise*r.ExpFloat64()*float64(2*r.IntN(2)-1)
		for _, factor := range planted[:last] {
			x := r.NormFloat64()
			y += factor * x
			fmt.Fprintf(&text, "%.5f,", x)
		}
		fmt.Fprintf(&text, "%.5f\n", y)
	}
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// absolute is z = w.x + bias with the loss |z - y|. Its weights are d factors, then the
// bias.
type absolute struct {
	features int
	signs    []float32 // the derivatives of a batch's mean loss with respect to its z
}

func newAbsolute(m hogwild.Meta) (hogwild.Model, error) {
	return &absolute{features: m.Features}, nil
}

func (m *absolute) Params() []hogwild.Param {
	return []hogwild.Param{
		{Name: "weight", Shape: []int{1, m.features}, Decay: true},
		{Name: "bias", Shape: []int{1}},
	}
}

func (m *absolute) Init(w []float32, seed uint64) { clear(w) }

func (m *absolute) Grad(w []float32, b *hogwild.Batch, g *hogwild.Gradient) (loss float64) {
	m.signs = m.signs[:0]
	for i, x := range b.Rows {
		e := m.predict(w, x) - float64(b.Y[i])
		loss += math.Abs(e)
		m.signs = append(m.signs, float32(math.Copysign(1/float64(len(b.Rows)), e)))
	}
	// The gradient stays factored, as inputs and derivatives: hogwild applies it.
	g.Parts = append(g.Parts[:0], hogwild.Part{In: m.features, Out: 1, Bias: m.features, X: b.Rows, D: m.signs})
	return loss
}

func (m *absolute) Eval(w []float32, b *hogwild.Batch) (s hogwild.Score) {
	for i, x := range b.Rows {
		y := float64(b.Y[i])
		e := m.predict(w, x) - y
		s.N++
		s.Loss += math.Abs(e)
		s.SqErr += e * e
		s.Y += y
		s.Y2 += y * y
	}
	return s
}

// Predict is only for hogwild.Open(...).Predict; training does not need it.
func (m *absolute) Predict(w []float32, b *hogwild.Batch, to []float32) []float32 {
	for _, x := range b.Rows {
		to = append(to, float32(m.predict(w, x)))
	}
	return to
}

// predict returns z for one row, dense or sparse.
func (m *absolute) predict(w []float32, x hogwild.Row) float64 {
	z := float64(w[m.features])
	for i, v := range x.Val {
		j := i
		if x.Idx != nil {
			j = int(x.Idx[i])
		}
		z += float64(w[j]) * float64(v)
	}
	return z
}
