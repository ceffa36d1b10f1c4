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

// When the step of a gradient that waits takes the l2 term of a weight.
const (
	waits = "as read"    // with the gradient: it waits too
	lands = "at landing" // when the gradient lands
)

// lateSerially does serial SGD, with a state or without, in which the step of a gradient is taken k gradients
// later, and all that is missing at the end of an epoch: every gradient multiplied out and kept.
func lateSerially(t *testing.T, c config.Config, k int, decay string) []float64 {
	t.Helper()
	plain := c
	plain.L2 = 0 // added here, whatever the model does
	train, m := runtest.Begun(t, plain)
	w32 := make([]float32, model.Size(m.Params()))
	m.Init(w32, c.Seed)
	w, state := runtest.Doubles(w32), make([]float64, len(w32))
	reader, rows := train.NewReader(), make([]int32, train.Rows)
	type update struct{ g, kept []float64 }
	for epoch := range c.Epochs {
		var late []update
		land := func() {
			u := late[0]
			for i, g := range u.g {
				if decay == lands {
					w[i] *= u.kept[i]
				}
				switch c.Optimizer {
				case config.Momentum:
					state[i] = c.Momentum*state[i] + g
					g = state[i]
				case config.AdaGrad:
					state[i] += g * g
					g /= math.Sqrt(state[i]) + 1e-8
				}
				w[i] -= c.LR * g
			}
			late = late[1:]
		}
		data.Order{Seed: c.Seed, N: train.Rows}.Fill(rows, epoch, 0)
		for at := 0; at < len(rows); at += c.Batch {
			b := reader.Batch(rows[at:min(len(rows), at+c.Batch)])
			for i, v := range w {
				w32[i] = float32(v)
			}
			var g model.Gradient
			m.Grad(w32, b, &g)
			dense := make([]float32, len(w))
			runtest.AddTo(dense, 1, g)
			l2, kept := decaying(c, m, train, b)
			u := update{runtest.Doubles(dense), kept}
			if decay == waits {
				for i := range w {
					u.g[i] += l2[i] * w[i]
				}
			}
			if late = append(late, u); len(late) > k {
				land()
			}
		}
		for len(late) > 0 {
			land()
		}
	}
	return w
}

// decaying returns l2 at each weight in a step on the batch: plain SGD regularizes inputs' weights only where the
// inputs are not zero, by 1/frequency more, and a factorization its entries' weights. A weight that a step finds
// shrinks to the share kept, input after input.
func decaying(c config.Config, m model.Model, set *data.Set, b *data.Batch) (l2, kept []float64) {
	for _, p := range m.Params() {
		for range p.Len() {
			if l2 = append(l2, 0); p.Decay {
				l2[len(l2)-1] = c.L2
			}
			kept = append(kept, 1-c.LR*l2[len(l2)-1])
		}
	}
	pairs := set.Kind == data.Pairs
	if b.Rows[0].Idx == nil || c.Optimizer != config.SGD && !pairs {
		return l2, kept
	}
	first := m.Params()[0]
	width := first.Len() / set.Features
	if pairs {
		width = first.Shape[1]
	}
	for i := range width * set.Features {
		l2[i], kept[i] = 0, 1
	}
	for _, x := range b.Rows {
		for _, j := range x.Idx {
			often := 1.0
			if !pairs {
				often = float64(set.Freq[j])
			}
			each := c.L2 / (often * float64(len(b.Rows)))
			for i := int(j) * width; i < (int(j)+1)*width; i++ {
				l2[i] += each
				kept[i] *= 1 - min(1, c.LR*each)
			}
		}
	}
	return l2, kept
}

// The weights are as with gradients that are kept and applied late, and every update
// is stale by K.
func TestDelayedIsLateByK(t *testing.T) {
	for _, name := range []string{"softmax", "mlp:9"} {
		for mode, k := range map[string]int{"delayed:0": 0, "delayed:1": 1, "delayed:13": 13} {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Epochs, c.Batch, c.LR, c.Center, c.LRCap = name, config.MustMode(mode), 2, 8, 0.02,
				"off", "off"
			want := lateSerially(t, c, k, waits)
			r := runtest.Train(t, c)
			runtest.Near(t, name+" "+mode, runtest.SavedWeights(t, c.Run), want)
			if r.StalenessMean != float64(k) || r.StalenessP50 != int64(k) || r.StalenessMax != int64(k) ||
				r.StalenessSamples == 0 {
				t.Errorf("%s: staleness %+v", mode, r.Instruments)
			}
		}
	}
}

// TestDelayedDecay: whether l2 is late with the gradient, or acts on the weights that the step finds (docs/modes.md).
func TestDelayedDecay(t *testing.T) {
	factor := func(c *config.Config) { c.Data, c.Model, c.L2 = "synth:lowrank:40x30x1500x3", "factor:4", 0.3 }
	for _, x := range []struct {
		name, decay string
		edit        func(*config.Config)
	}{
		{"softmax", lands, func(c *config.Config) {}},
		{"perceptron", lands, func(c *config.Config) { c.Model = "mlp:9" }},
		{"sparse", lands, func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.L2 = runtest.SparseFile(t, 1), "logistic", 1,
				0.02
		}},
		{"momentum", waits, func(c *config.Config) { c.Optimizer, c.LR = "momentum", 0.005 }},
		{"adagrad", waits, func(c *config.Config) { c.Optimizer, c.LR = "adagrad", 0.005 }},
		{"factor, single entries", lands, func(c *config.Config) { factor(c); c.Batch = 1 }},
		{"factor, batches", waits, func(c *config.Config) { // the factors begin small: they have to grow first
			factor(c)
			c.Epochs, c.LR = 4, 0.2
		}},
		{"factor, momentum", waits, func(c *config.Config) {
			factor(c)
			c.Batch, c.Optimizer, c.LR = 1, "momentum",
				0.005
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Epochs, c.Batch, c.LR, c.L2 = "softmax", config.MustMode("delayed:5"), 1, 8, 0.03, 0.5
			x.edit(&c)
			runtest.Train(t, c)
			got := runtest.SavedWeights(t, c.Run)
			runtest.Near(t, x.name, got, lateSerially(t, c, 5, x.decay))
			other := map[string]string{waits: lands, lands: waits}[x.decay]
			apart := 0.0
			for i, v := range lateSerially(t, c, 5, other) {
				apart = max(apart, math.Abs(v-float64(got[i]))/(1+math.Abs(v)))
			}
			if apart < 2e-4 {
				t.Errorf("l2 %s is %g away: it cannot be told from the other", other, apart)
			}
		})
	}
}

// A simulation can be repeated bit for bit, and goes on after an epoch as if it had
// not been stopped, with every optimizer and regularizer.
func TestDelayedIsRepeatable(t *testing.T) {
	runtest.InFull(t)
	for _, mode := range []string{"delayed:5", "delayed:geometric:5"} {
		for _, optimizer := range []string{"sgd", "momentum"} {
			c := configtest.Quick(t)
			c.Mode, c.Optimizer, c.Batch, c.L1, c.L2, c.Epochs = config.MustMode(mode), config.Optimizer(optimizer), 8,
				1e-4, 1e-3, 4
			runtest.Train(t, c)
			again := c
			again.Run = t.TempDir()
			runtest.Train(t, again)
			runtest.SameEnd(t, c.Run, again.Run)

			half := c
			half.Run, half.Epochs = t.TempDir(), 2
			runtest.Train(t, half)
			rest := runtest.Resumed(half)
			rest.Epochs = 4
			runtest.Train(t, rest)
			runtest.SameEnd(t, c.Run, half.Run)
		}
	}
}

// With geometric delays updates are stale by K on average, and spread as the
// geometric distribution: its standard deviation is nearly its mean.
func TestGeometricDelays(t *testing.T) {
	const k = 20
	c := configtest.Quick(t)
	c.Mode, c.Batch, c.Epochs = config.MustMode("delayed:geometric:20"), 1, 5
	r := runtest.Train(t, c)
	square := 0.0
	for _, b := range r.StalenessHistogram {
		square += float64(b[0]*b[0]) * float64(b[1]) / float64(r.StalenessSamples)
	}
	spread := square - r.StalenessMean*r.StalenessMean
	if want := float64(k * (k + 1)); !(r.StalenessMean > 0.95*k && r.StalenessMean < 1.05*k && spread > 0.8*want &&
		spread < 1.2*want) {
		t.Errorf("mean %v, variance %v, want %v and %v", r.StalenessMean, spread, k, want)
	}
	if p := r.StalenessP50; p < 12 || p > 16 { // ln 2 / -ln(1 - 1/21) = 14.2
		t.Errorf("median %d, want 14", p)
	}
}
