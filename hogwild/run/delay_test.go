package run

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// lateSerially is serial SGD in which the step of a gradient is taken k gradients
// later, and all that is missing at the end of an epoch: every gradient multiplied out
// and kept.
func lateSerially(t *testing.T, c config.Config, k int) []float32 {
	t.Helper()
	train, m := begun(t, c)
	w := make([]float32, model.Size(m.Params()))
	m.Init(w, c.Seed)
	reader, rows := train.NewReader(), make([]int32, train.Rows)
	for epoch := range c.Epochs {
		var late [][]float32
		land := func() {
			for i, g := range late[0] {
				w[i] -= float32(c.LR) * g
			}
			late = late[1:]
		}
		data.Order{Seed: c.Seed, N: train.Rows}.Fill(rows, epoch, 0)
		for at := 0; at < len(rows); at += c.Batch {
			var g model.Gradient
			m.Grad(w, reader.Batch(rows[at:min(len(rows), at+c.Batch)]), &g)
			dense := make([]float32, len(w))
			addTo(dense, 1, g)
			if late = append(late, dense); len(late) > k {
				land()
			}
		}
		for len(late) > 0 {
			land()
		}
	}
	return w
}

// The weights are those of gradients that are kept and applied late, and every update
// is stale by K.
func TestDelayedIsLateByK(t *testing.T) {
	for _, name := range []string{"softmax", "mlp:9"} {
		for mode, k := range map[string]int{"delayed:0": 0, "delayed:1": 1, "delayed:13": 13} {
			c := quick(t)
			c.Model, c.Mode, c.Epochs, c.Batch, c.LR, c.Center, c.LRCap = name, config.MustMode(mode), 2, 8, 0.02, "off", "off"
			want := lateSerially(t, c, k)
			r := train(t, c)
			got := savedWeights(t, c.Run)
			var exact []float64
			for _, v := range want {
				exact = append(exact, float64(v))
			}
			near(t, name+" "+mode, got, exact)
			if r.StalenessMean != float64(k) || r.StalenessP50 != int64(k) || r.StalenessMax != int64(k) || r.StalenessSamples == 0 {
				t.Errorf("%s: staleness %+v", mode, r.Instruments)
			}
		}
	}
}

// A simulation can be repeated bit for bit, and goes on after an epoch as if it had
// not been stopped, with every optimizer and regularizer.
func TestDelayedIsRepeatable(t *testing.T) {
	inFull(t)
	for _, mode := range []string{"delayed:5", "delayed:geometric:5"} {
		for _, optimizer := range []string{"sgd", "momentum"} {
			c := quick(t)
			c.Mode, c.Optimizer, c.Batch, c.L1, c.L2, c.Epochs = config.MustMode(mode), config.Optimizer(optimizer), 8, 1e-4, 1e-3, 4
			train(t, c)
			again := c
			again.Run = t.TempDir()
			train(t, again)
			sameEnd(t, c.Run, again.Run)

			half := c
			half.Run, half.Epochs = t.TempDir(), 2
			train(t, half)
			rest := resumed(half)
			rest.Epochs = 4
			train(t, rest)
			sameEnd(t, c.Run, half.Run)
		}
	}
}

// With geometric delays updates are stale by K on average, and spread as the
// geometric distribution: its standard deviation is nearly its mean.
func TestGeometricDelays(t *testing.T) {
	const k = 20
	c := quick(t)
	c.Mode, c.Batch, c.Epochs = config.MustMode("delayed:geometric:20"), 1, 5
	r := train(t, c)
	square := 0.0
	for _, b := range r.StalenessHistogram {
		square += float64(b[0]*b[0]) * float64(b[1]) / float64(r.StalenessSamples)
	}
	spread := square - r.StalenessMean*r.StalenessMean
	if want := float64(k * (k + 1)); !(r.StalenessMean > 0.95*k && r.StalenessMean < 1.05*k && spread > 0.8*want && spread < 1.2*want) {
		t.Errorf("mean %v, variance %v, want %v and %v", r.StalenessMean, spread, k, want)
	}
	if p := r.StalenessP50; p < 12 || p > 16 { // ln 2 / -ln(1 - 1/21) = 14.2
		t.Errorf("median %d, want 14", p)
	}
}
