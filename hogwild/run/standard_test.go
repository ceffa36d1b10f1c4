package run_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// house returns rows of three inputs and a value with a mean of 2e5 and a skewed deviation of about 1e5, all for
// training.
func house(t *testing.T, n int) (c config.Config, x [][]float64, y []float64) {
	t.Helper()
	r, text := rand.New(rand.NewPCG(1, 2)), "a,b,c,y\n"
	for range n {
		row := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		v := float64(float32(2e5 + 6e4*math.Exp(row[0]*0.5)*(1+row[1]*row[2])))
		x, y = append(x, row), append(y, v)
		text += fmt.Sprintf("%.17g,%.17g,%.17g,%.17g\n", row[0], row[1], row[2], v)
	}
	c = configtest.Quick(t)
	c.Data = filepath.Join(t.TempDir(), "house.csv")
	if err := os.WriteFile(c.Data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Test, c.Target, c.Scale, c.Validation, c.Model = c.Data, "y", "none", "none", "mlp:4"
	return c, x, y
}

// textbook is a perceptron of one hidden layer in float64, as weights are in memory: W1 (in x hidden), its bias, the
// outputs' weights and their bias.
type textbook struct {
	w      []float64
	hidden int
}

// predict returns the output for a row, and what the hidden units give.
func (m *textbook) predict(x []float64) (z float64, units []float64) {
	k := m.hidden
	z = m.w[len(m.w)-1]
	for c := range k {
		u := m.w[len(x)*k+c]
		for j, v := range x {
			u += v * m.w[j*k+c]
		}
		units = append(units, max(u, 0))
		z += units[c] * m.w[(len(x)+1)*k+c]
	}
	return z, units
}

// step takes one of gradient descent on all rows, by the derivative of the loss by the output.
func (m *textbook) step(x [][]float64, y []float64, lr float64, slope func(e float64) float64) {
	k, g := m.hidden, make([]float64, len(m.w))
	for i, row := range x {
		z, units := m.predict(row)
		d := slope(z-y[i]) / float64(len(x))
		g[len(g)-1] += d
		for c, u := range units {
			g[(len(row)+1)*k+c] += d * u
			if u > 0 {
				back := d * m.w[(len(row)+1)*k+c]
				g[len(row)*k+c] += back
				for j, v := range row {
					g[j*k+c] += back * v
				}
			}
		}
	}
	for i := range g {
		m.w[i] -= lr * g[i]
	}
}

// TestStandardSteps: steps on values less their mean, in deviations, are as in a textbook in float64; the weights that
// are saved, losses and scores are of the values themselves.
func TestStandardSteps(t *testing.T) {
	for _, loss := range []model.Loss{model.Squared, model.L1} {
		t.Run(string(loss), func(t *testing.T) {
			c, x, y := house(t, 300)
			c.Loss, c.Batch, c.Epochs, c.LR = string(loss), len(y), 5, 0.2
			mean, square := 0.0, 0.0
			for _, v := range y {
				mean += v / float64(len(y))
			}
			for _, v := range y {
				square += (v - mean) * (v - mean) / float64(len(y))
			}
			deviation := math.Sqrt(square)
			unit, slope := square, func(e float64) float64 { return 2 * e }
			of := func(e float64) float64 { return e * e }
			if loss == model.L1 {
				unit, of = deviation, math.Abs
				slope = func(e float64) float64 { return math.Copysign(1, e) }
			}
			var standard []float64
			for _, v := range y {
				standard = append(standard, (v-mean)/deviation)
			}
			got := runtest.Train(t, c)
			m, err := model.New(c.ModelOptions(), mustSnapshot(t, c.Run).Meta)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]float32, model.Size(m.Params()))
			m.Init(first, c.Seed)
			want := textbook{hidden: 4}
			for _, v := range first {
				want.w = append(want.w, float64(v))
			}
			want.w[len(first)-1] = 0 // the mean
			if loss == model.L1 {
				want.w[len(first)-1] = slices.Sorted(slices.Values(standard))[len(standard)/2]
			}
			for epoch := range c.Epochs {
				sum := 0.0
				for i, row := range x {
					z, _ := want.predict(row)
					sum += of(z-standard[i]) * unit / float64(len(x))
				}
				if is := got.History[epoch].TrainLoss; math.Abs(is/sum-1) > 1e-4 {
					t.Errorf("epoch %d: train loss %v, want %v", epoch+1, is, sum)
				}
				want.step(x, standard, c.LR, slope)
			}
			saved := textbook{hidden: 4}
			for _, v := range runtest.SavedWeights(t, c.Run) {
				saved.w = append(saved.w, float64(v))
			}
			errors, worst := 0.0, 0.0
			for i, row := range x {
				z, _ := want.predict(row)
				is, _ := saved.predict(row)
				worst = max(worst, math.Abs(is-(z*deviation+mean)))
				errors += of(is-y[i]) / float64(len(x))
			}
			if worst > 1e-3*deviation {
				t.Errorf("the saved weights predict values that are off by %v", worst)
			}
			if is := got.TestLoss; math.Abs(is/errors-1) > 1e-4 {
				t.Errorf("test loss %v, want %v", is, errors)
			}
		})
	}
}

func mustSnapshot(t *testing.T, dir string) *rundir.Saved {
	t.Helper()
	f, err := rundir.ReadSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestStandardResumes: with the bits of a run left alone. One from before there were standardised values, which has
// trained on the values themselves, goes on so.
func TestStandardResumes(t *testing.T) {
	for _, old := range []bool{false, true} {
		c, _, _ := house(t, 300)
		c.Optimizer, c.Batch, c.Epochs, c.LR = "momentum", 4, 2, 1e-4
		if old {
			c.Optimizer, c.LR = "sgd", 1e-14
		}
		begin := func(c config.Config) rundir.Result {
			r := run.NewCoordinator(c, run.Options{Unjudged: true})
			if r.Job.Asked = c; old { // a run that carries on has the standard of its settings: none
				r.Rollback = &core.Rollback{Config: c}
			}
			got, err := r.CarryOut(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		want := begin(c)
		part := runtest.WithRun(c, t.TempDir())
		part.Epochs = 1
		begin(part)
		if part.Epochs = 2; mustSnapshot(t, part.Run).Job.Asked.Standard.Deviation != 0 == old {
			t.Errorf("old %t: the snapshot has the standard %v", old, mustSnapshot(t, part.Run).Job.Asked.Standard)
		}
		got := runtest.Train(t, runtest.Resumed(part))
		runtest.SameEnd(t, want.Run, got.Run)
		// the training loss is a sum of float64, which rounding may end otherwise
		if got.TestLoss != want.TestLoss || math.Abs(got.TrainLoss-want.TrainLoss) > 1e-14*want.TrainLoss {
			t.Errorf("old %t: losses %v and %v, want %v and %v", old, got.TrainLoss, got.TestLoss, want.TrainLoss,
				want.TestLoss)
		}
	}
}
