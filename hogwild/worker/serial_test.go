package worker_test

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
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

// serially trains c.Model with batches of c.Batch and returns the weights.
func serially(t *testing.T, c config.Config) []float32 {
	t.Helper()
	train, m := runtest.Begun(t, c)
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
		runtest.AddTo(s.w, float32(-lr), g)
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

// adam takes a step of algorithm 1 of Kingma and Ba, with the corrections of the bias where
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
	runtest.AddTo(s.g, 1, g)
	for i, decays := range s.decay {
		if decays && s.c.L2 != 0 {
			s.g[i] += float32(s.c.L2) * s.w[i]
		}
	}
}

// shrink does w -= rate w, for plain SGD. The weights of a sparse input are shrunk
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

func TestOneWorkerIsSerial(t *testing.T) {
	runtest.InFull(t)
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
			c.Data, c.Model, c.Batch, c.L2 = runtest.SparseFile(t, 1),
				"logistic", 1, 1e-3
		}},
		{"sparse logistic momentum", func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.Optimizer = runtest.SparseFile(t, 1), "logistic", 5, "momentum"
		}},
		{"sparse logistic adam l2", func(c *config.Config) { // all weights at each step: without l2 see cpu.lazyRows
			c.Data, c.Model, c.Batch, c.Optimizer, c.L2 = runtest.SparseFile(t, 1), "logistic", 5, "adam", 1e-4
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := configtest.Quick(t)
			c.edit(&config)
			result := runtest.Train(t, config)
			want, got := serially(t, config), runtest.SavedWeights(t, result.Run)
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
