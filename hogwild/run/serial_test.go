package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// serial is stochastic gradient descent as a textbook has it: one process, one
// slice of weights, one dense gradient. It shares with the trainer the data, the
// order and the models; what it does with a gradient it does on its own.
type serial struct {
	c     config.Config
	set   *data.Set
	model model.Model
	w, g  []float32
	decay []bool      // which weights l2 acts on
	state [][]float32 // momentum: velocity; adam: first and second moment
	steps int
}

// trainingSet is what a run of c trains on, until the test ends.
func trainingSet(t *testing.T, c config.Config) *data.Set {
	t.Helper()
	train, test, err := data.Load(data.Options{Path: c.Data, Seed: c.Seed, Limit: c.Limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// begun is what a run of c begins with: its training set, and its plain model.
func begun(t *testing.T, c config.Config) (*data.Set, model.Model) {
	t.Helper()
	train := trainingSet(t, c)
	m, err := model.New(c.ModelOptions(), train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return train, m
}

// serially trains c.Model with batches of c.Batch and returns the weights.
func serially(t *testing.T, c config.Config) []float32 {
	t.Helper()
	train, m := begun(t, c)
	s := &serial{c: c, set: train, model: m}
	for _, p := range m.Params() {
		for range p.Len() {
			s.decay = append(s.decay, p.Decay)
		}
	}
	n := len(s.decay)
	s.w, s.g = make([]float32, n), make([]float32, n)
	s.state = [][]float32{make([]float32, n), make([]float32, n)}
	m.Init(s.w, c.Seed)
	for epoch := range c.Epochs {
		s.epoch(epoch)
	}
	return s.w
}

func (s *serial) epoch(epoch int) {
	n := s.set.Rows
	rows := make([]int32, n)
	data.Order{Seed: s.c.Seed, N: n}.Fill(rows, epoch, 0)
	reader := s.set.NewReader()
	for at := 0; at < n; at += s.c.Batch {
		b := reader.Batch(rows[at:min(n, at+s.c.Batch)])
		var g model.Gradient
		s.model.Grad(s.w, b, &g)
		s.steps++
		lr := s.c.LR
		if s.c.Schedule == "cosine" {
			done := float64(epoch*n+at) / float64(s.c.Epochs*n)
			lr = s.c.LRMin + (s.c.LR-s.c.LRMin)*(1+math.Cos(math.Pi*done))/2
		}
		s.step(b, g, lr)
	}
}

func (s *serial) step(b *data.Batch, g model.Gradient, lr float64) {
	switch s.c.Optimizer {
	case "sgd":
		s.shrink(b, g, lr*s.c.L2)
		addTo(s.w, float32(-lr), g)
	case "momentum":
		s.dense(g)
		v := s.state[0]
		for i, gi := range s.g {
			v[i] = float32(s.c.Momentum)*v[i] + gi
			s.w[i] -= float32(lr) * v[i]
		}
	case "adam":
		s.dense(g)
		s.adam(lr)
	}
}

// adam is algorithm 1 of Kingma and Ba, with the corrections of the bias where
// PyTorch has them.
func (s *serial) adam(lr float64) {
	b1, b2 := float32(s.c.Beta1), float32(s.c.Beta2)
	rate := float32(lr / (1 - math.Pow(s.c.Beta1, float64(s.steps))))
	unbias := float32(1 / math.Sqrt(1-math.Pow(s.c.Beta2, float64(s.steps))))
	m, v := s.state[0], s.state[1]
	for i, gi := range s.g {
		m[i] = b1*m[i] + (1-b1)*gi
		v[i] = b2*v[i] + (1-b2)*gi*gi
		s.w[i] -= rate * m[i] / (float32(math.Sqrt(float64(v[i])))*unbias + 1e-8)
	}
}

// dense sets s.g to the gradient, l2 included.
func (s *serial) dense(g model.Gradient) {
	clear(s.g)
	addTo(s.g, 1, g)
	for i, decays := range s.decay {
		if decays && s.c.L2 != 0 {
			s.g[i] += float32(s.c.L2) * s.w[i]
		}
	}
}

// shrink is w -= rate w, for plain SGD. The weights of a sparse input are shrunk
// when it occurs, by as much more as it occurs seldom; all others always.
func (s *serial) shrink(b *data.Batch, g model.Gradient, rate float64) {
	for _, p := range g.Parts {
		if rate == 0 {
			return
		}
		if b.Rows[0].Idx == nil || &p.X[0] != &b.Rows[0] {
			for i := p.Offset; i < p.Offset+p.In*p.Out; i++ {
				s.w[i] -= float32(rate) * s.w[i]
			}
			continue
		}
		for _, x := range b.Rows {
			for _, j := range x.Idx {
				often := 1 / (float64(s.set.Freq[j]) * float64(len(b.Rows)))
				for k := range p.Out {
					i := p.Offset + int(j)*p.Out + k
					s.w[i] -= float32(min(1, rate*often)) * s.w[i]
				}
			}
		}
	}
}

// addTo is w += a g, product by product. The bits depend on which two of the three
// factors meet first: with one output a and the delta, else a and the input.
func addTo(w []float32, a float32, g model.Gradient) {
	for _, p := range g.Parts {
		for i, v := range p.G {
			w[p.Offset+i] += a * v
		}
		for i, x := range p.X {
			delta := p.D[i*p.Out : (i+1)*p.Out]
			for n, v := range x.Val {
				j := n
				if x.Idx != nil {
					j = int(x.Idx[n])
				}
				for k, d := range delta {
					if p.Out == 1 {
						w[p.Offset+j] += a * d * v
					} else {
						w[p.Offset+j*p.Out+k] += a * v * d
					}
				}
			}
			for k, d := range delta {
				if p.Bias >= 0 {
					w[p.Bias+k] += a * d
				}
			}
		}
	}
}

// sparseFile writes two classes that a few of many features tell apart, all values multiplied
// by scale.
func sparseFile(t *testing.T, scale float64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var text strings.Builder
	for range 600 {
		class := r.IntN(2)
		fmt.Fprint(&text, 2*class-1)
		for j := 1; j <= 60; j++ {
			if r.Float64() < 0.1+0.2*float64(class*(j%2)) {
				fmt.Fprintf(&text, " %d:%.5f", j, scale*(r.NormFloat64()+float64(class)))
			}
		}
		text.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "two.libsvm")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// savedWeights are the weights that a run has left, in the order of memory.
func savedWeights(t *testing.T, dir string) []float32 {
	t.Helper()
	f, err := rundir.ReadSaved(filepath.Join(dir, rundir.WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(f.Job.Asked.ModelOptions(), f.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Weights(m.Params())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestOneWorkerIsSerial(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"softmax sgd", func(c *config.Config) { c.Model = "softmax" }},
		{"softmax cosine", func(c *config.Config) {
			c.Model, c.Limit, c.Schedule, c.LRMin = "softmax", 1920, "cosine",
				0.01
		}},
		{"softmax batch 50", func(c *config.Config) { c.Model, c.Batch = "softmax", 50 }},
		{"softmax l2", func(c *config.Config) { c.Model, c.L2 = "softmax", 1e-2 }},
		{"mlp sgd", func(c *config.Config) { c.Model = "mlp:32" }},
		{"mlp l2", func(c *config.Config) { c.Model, c.L2 = "mlp:32", 1e-2 }},
		{"mlp momentum l2", func(c *config.Config) { c.Model, c.Optimizer, c.L2 = "mlp:32", "momentum", 1e-2 }},
		{"mlp adam cosine", func(c *config.Config) {
			c.Model, c.Limit, c.Optimizer, c.Schedule, c.LR = "mlp:32", 1920, "adam", "cosine", 1e-3
		}},
		{"sparse logistic batch 1 l2", func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.L2 = sparseFile(t, 1),
				"logistic", 1, 1e-3
		}},
		{"sparse logistic adam", func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.Optimizer = sparseFile(t, 1), "logistic", 5, "adam"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := quick(t)
			c.edit(&config)
			result := train(t, config)
			want, got := serially(t, config), savedWeights(t, result.Run)
			if len(want) != len(got) {
				t.Fatalf("%d weights, want %d", len(got), len(want))
			}
			for i := range want {
				// Fused multiplications and other orders of summation round otherwise.
				if d := math.Abs(float64(want[i] - got[i])); !(d <= 1e-5*(1+math.Abs(float64(want[i])))) {
					t.Fatalf("weight %d is %v, serial training makes it %v", i, got[i], want[i])
				}
			}
		})
	}
}
