package worker_test

import (
	"math"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// explicit is SGD on inputs from which the means were subtracted, in float64: a
// linear layer, or two with ReLU between them, under softmax.
type explicit struct {
	mean   []float64
	widths []int       // d, hidden, k; or d, k
	w      [][]float64 // in x out
	b      [][]float64
}

// newExplicit begins where a run of the plain model m does, as a function: on inputs
// less their means the first bias is larger by W mu.
func newExplicit(m model.Model, set *data.Set, seed uint64, widths ...int) *explicit {
	w := make([]float32, model.Size(m.Params()))
	m.Init(w, seed)
	e := &explicit{widths: widths}
	for _, mu := range set.Mean {
		e.mean = append(e.mean, float64(mu))
	}
	take := func(n int) (v []float64) {
		for _, a := range w[:n] {
			v = append(v, float64(a))
		}
		w = w[n:]
		return v
	}
	for i := 1; i < len(widths); i++ {
		e.w, e.b = append(e.w, take(widths[i-1]*widths[i])), append(e.b, take(widths[i]))
	}
	e.shift(1)
	return e
}

// shift adds sign W mu to the first bias.
func (e *explicit) shift(sign float64) {
	k := e.widths[1]
	for j, mu := range e.mean {
		for c := range k {
			e.b[0][c] += sign * e.w[0][j*k+c] * mu
		}
	}
}

// step takes one step on a batch, whose rows are dense or sparse.
func (e *explicit) step(b *data.Batch, lr float64) {
	layers := len(e.w)
	xs, ds := make([][][]float64, layers), make([][][]float64, layers)
	for i, row := range b.Rows {
		x := make([]float64, len(e.mean))
		for p, v := range row.Val {
			if j := p; row.Idx != nil {
				x[row.Idx[p]] = float64(v)
			} else {
				x[j] = float64(v)
			}
		}
		for j := range x {
			x[j] -= e.mean[j]
		}
		var z []float64
		for l := range layers {
			if l > 0 {
				for j, v := range z {
					z[j] = max(v, 0)
				}
				x = z
			}
			xs[l] = append(xs[l], x)
			z = append([]float64{}, e.b[l]...)
			for j, v := range x {
				for c := range z {
					z[c] += v * e.w[l][j*len(z)+c]
				}
			}
		}
		d := softmaxDelta(z, int(b.Y[i]), len(b.Rows))
		for l := layers - 1; l >= 0; l-- {
			ds[l] = append(ds[l], d)
			back := make([]float64, e.widths[l])
			for j := range back {
				for c, v := range d {
					if xs[l][i][j] > 0 {
						back[j] += v * e.w[l][j*len(d)+c]
					}
				}
			}
			d = back
		}
	}
	for l := range layers {
		for i, d := range ds[l] {
			for c, v := range d {
				e.b[l][c] -= lr * v
				for j, x := range xs[l][i] {
					e.w[l][j*len(d)+c] -= lr * v * x
				}
			}
		}
	}
}

func softmaxDelta(z []float64, y, n int) []float64 {
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v)
	}
	d := make([]float64, len(z))
	for c, v := range z {
		d[c] = math.Exp(v) / sum / float64(n)
	}
	d[y] -= 1 / float64(n)
	return d
}

// TestCentringIsExplicit: a run that centres leaves the weights of SGD on inputs from
// which the means were subtracted, to rounding, as tensors of the plain model.
func TestCentringIsExplicit(t *testing.T) {
	for _, c := range []struct {
		name, data, model string
		widths            []int // but for the inputs
		mode              string
	}{
		{"softmax", "digits:1000", "softmax", []int{10}, "async"},
		{"mlp", "digits:1000", "mlp:8", []int{8, 10}, "async"},
		{"sync", "digits:1000", "softmax", []int{10}, "sync"},
		{"mnist", "mnist", "softmax", []int{10}, "async"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Quick(t)
			cfg.Data, cfg.Model, cfg.Center, cfg.Batch, cfg.Epochs = c.data, c.model, "on", 32, 2
			if cfg.Mode = config.MustMode(c.mode); c.data == "mnist" {
				cfg.Data, cfg.Limit = check.Data(t, "mnist"), 2000
			}
			result := runtest.Train(t, cfg)
			got := runtest.SavedWeights(t, result.Run)
			set, m := runtest.Begun(t, cfg)
			e := newExplicit(m, set, cfg.Seed, append([]int{set.Features}, c.widths...)...)
			rows, reader := make([]int32, set.Rows), set.NewReader()
			for epoch := range cfg.Epochs {
				data.Order{Seed: cfg.Seed, N: set.Rows}.Fill(rows, epoch, 0)
				for at := 0; at < len(rows); at += cfg.Batch {
					e.step(reader.Batch(rows[at:min(len(rows), at+cfg.Batch)]), cfg.LR)
				}
			}
			e.shift(-1)
			var want []float64
			for l := range e.w {
				want = append(append(want, e.w[l]...), e.b[l]...)
			}
			worst, moved := 0.0, 0.0
			for i := range want {
				worst = max(worst, math.Abs(want[i]-float64(got[i])))
				moved = max(moved, math.Abs(want[i]))
			}
			if len(want) != len(got) || !(worst < 2e-5*moved) {
				t.Errorf("%d weights, want %d; one is %g away from explicit centring, where the largest is %g",
					len(got), len(want), worst, moved)
			}
			off := cfg
			off.Center, off.Run = "off", t.TempDir()
			if r := runtest.Train(t, off); r.TrainLoss == result.TrainLoss {
				t.Error("without centring the loss is the same")
			}
		})
	}
}

// TestCentredResume: a run that centres goes on with the bits it stopped at; one that
// does not goes on from the same function, and so the other way round.
func TestCentredResume(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		c := configtest.Quick(t)
		c.Mode, c.Center, c.Epochs = config.MustMode(mode), "on", 4
		whole := runtest.Train(t, c)
		parts := runtest.WithRun(c, t.TempDir())
		parts.Epochs = 2
		half := runtest.Train(t, parts)
		parts = runtest.Resumed(parts)
		parts.Epochs = 4
		runtest.SameEnd(t, whole.Run, runtest.Train(t, parts).Run)

		still := runtest.WithRun(c, t.TempDir())
		still.Center, still.Epochs = "on", 2
		runtest.Train(t, still)
		for i, center := range []string{"off", "on"} {
			still = runtest.Resumed(still)
			still.Center, still.LR, still.Epochs = config.Switch(center), 1e-12, 3+i
			if r := runtest.Train(t, still); math.Abs(r.TestLoss-half.TestLoss) > 1e-6 {
				t.Errorf("%s, resumed with center %s: test loss %.9g, it was %.9g", mode, center, r.TestLoss,
					half.TestLoss)
			}
		}
	}
}

// TestMergedResume: what several workers have merged as W and c goes on as the same function in
// one worker, which keeps V, s and k, and so the other way round.
func TestMergedResume(t *testing.T) {
	c := configtest.Quick(t)
	c.Center, c.Workers, c.Epochs, c.Model = "on", 2, 2, "mlp:8"
	was := runtest.Train(t, c)
	for i, workers := range []int{1, 2, 1, 3} {
		c = runtest.Resumed(c)
		c.Workers, c.LR, c.Epochs = workers, 1e-12, 3+i
		if r := runtest.Train(t, c); math.Abs(r.TestLoss-was.TestLoss) > 1e-5*was.TestLoss {
			t.Errorf("resumed with %d workers: test loss %.9g, it was %.9g", workers, r.TestLoss, was.TestLoss)
		}
		text, _, err := rundir.ReadTensors(filepath.Join(c.Run, rundir.SnapshotFile))
		want := "W, 0, c"
		if workers == 1 {
			want = "V, s, k"
		}
		if got := text["hogwild.centered"]; err != nil || got != want {
			t.Errorf("the snapshot of %d workers says that it holds %q, want %q (%v)", workers, got, want, err)
		}
	}
}
