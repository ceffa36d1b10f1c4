package ability_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// weighted returns rows with whole weights, sparse or dense, and the same rows as often as these say.
func weighted(sparse, classes bool) (rows, many *data.Memory) {
	const n, d = 400, 12
	r := rand.New(rand.NewPCG(11, 12))
	rows, many = &data.Memory{Features: d}, &data.Memory{Features: d}
	for i := range n {
		x, z := data.Row{}, 0.3*r.NormFloat64()
		for j := range d {
			v := r.NormFloat64()
			if sparse && r.IntN(3) > 0 {
				continue
			}
			if x.Val = append(x.Val, float32(v)); sparse {
				x.Idx = append(x.Idx, uint32(j))
			}
			z += v * math.Sin(float64(j))
		}
		if sparse && x.Idx == nil {
			x.Idx, x.Val = []uint32{0}, []float32{1}
		}
		if classes {
			z = (math.Copysign(1, z) + 1) / 2
		}
		rows.Rows, rows.Y, rows.W = append(rows.Rows, x), append(rows.Y, float32(z)), append(rows.W, float32(i*i%11%4))
		for range i * i % 11 % 4 {
			many.Rows, many.Y = append(many.Rows, x), append(many.Y, float32(z))
		}
	}
	return rows, many
}

// weightsOf trains on data in memory, all of them, and returns the weights and the training loss.
func weightsOf(t *testing.T, c config.Config, m *data.Memory) ([]float32, float64) {
	t.Helper()
	c.Run, c.Test, c.Scale = t.TempDir(), data.None, "none"
	r, err := run.Run(t.Context(), c, run.Options{TrainData: m})
	if err != nil {
		t.Fatalf("model %s, mode %s: %v", c.Model, c.Mode, err)
	}
	return runtest.MustOpen(t, c.Run).Tensors()[0].Values, r.TrainLoss
}

// TestWeightedOptimum: the optimum that solver dual, or a linear regression, finds for weighted rows is the one for as
// many copies of each; l2 is on the mean over the rows that there are.
func TestWeightedOptimum(t *testing.T) {
	for _, name := range []string{"logistic", "hinge", "squared-hinge", "linear"} {
		rows, many := weighted(name != "linear", name != "linear")
		c := configtest.Quick(t)
		c.Model, c.L2, c.Epochs, c.Bias, c.LR = name, 1e-2, 300, false, 0
		if name == "linear" {
			c.Epochs = 20
		} else {
			c.Solver, c.TargetGap, c.Batch = config.Dual, 1e-9, 0
		}
		got, loss := weightsOf(t, c, rows)
		times := float64(len(many.Y)) / float64(len(rows.Y))
		c.L2 /= times
		want, of := weightsOf(t, c, many)
		if math.Abs(loss-of*times) > 1e-4*of {
			t.Errorf("%s: loss %v, want %v", name, loss, of*times)
		}
		for j, v := range want {
			if math.Abs(float64(got[j]-v)) > 1e-3 {
				t.Errorf("%s: weight %d is %v, want %v", name, j, got[j], v)
			}
		}
	}
}

// TestWeightsInAllModes: SGD comes to the optimum of the weighted objective however its workers write.
func TestWeightsInAllModes(t *testing.T) {
	rows, _ := weighted(true, true)
	for i, y := range rows.Y {
		rows.W[i] *= 1 + 4*y
	}
	c := configtest.Quick(t)
	c.Bias, c.Model, c.L2, c.Epochs, c.Solver, c.Batch, c.LR = false, "logistic", 1e-2, 300, config.Dual, 0, 0
	best, _ := weightsOf(t, c, rows)
	c.Solver, c.Epochs, c.LR, c.Schedule = config.PlainSGD, 60, 0.05, "linear"
	far := func(m *data.Memory) float64 {
		apart, square := 0., 0.
		w, _ := weightsOf(t, c, m)
		for j, v := range best {
			apart, square = apart+float64((w[j]-v)*(w[j]-v)), square+float64(v*v)
		}
		return math.Sqrt(apart / square)
	}
	unweighted := *rows
	unweighted.W = nil
	if d := far(&unweighted); d < .2 {
		t.Fatalf("without weights the optimum is as near as %v", d)
	}
	for _, mode := range []string{"async", "atomic", "locked", "ordered", "sync", "delayed:3"} {
		for _, batch := range []int{1, 4} {
			c.Workers, c.Batch = 2, batch
			if err := c.Mode.Set(mode); err != nil {
				t.Fatal(err)
			}
			if c.Mode.Traits().Simulated {
				c.Workers = 1
			}
			if d := far(rows); d > .1 {
				t.Errorf("mode %s, batch %d: as far as %v from the optimum", mode, batch, d)
			}
		}
	}
}

// TestWeightsAreRefused: what takes none says so.
func TestWeightsAreRefused(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Model, c.ClassWeight, c.Format = "synth:dblife", "cut", data.Balanced, "auto"
	_, err := run.Run(t.Context(), c, run.Options{})
	check.Error(t, err, "class-weight")
	rows, _ := weighted(true, true)
	c = configtest.Quick(t)
	c.Program = "/proc/self/exe"
	if _, err = run.Run(t.Context(), c, run.Options{TrainData: rows}); err == nil {
		t.Error("a program took weights")
	}
}

// TestBalancedAsScikitLearn: on a9a solver dual with balanced classes has the coefficients of LogisticRegression.
func TestBalancedAsScikitLearn(t *testing.T) {
	path := check.Data(t, "a9a/a9a")
	c := configtest.Quick(t)
	c.Data, c.Test, c.Model, c.Bias, c.Solver, c.L2 = path, data.None, "logistic", false, config.Dual, 1e-3
	c.Batch, c.LR, c.Epochs, c.TargetGap, c.ClassWeight = 0, 0, 300, 1e-6, data.Balanced
	runtest.Train(t, c)
	var want []float64
	out := check.Python(t, "sklearn", `
import json, sys
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
X, y = load_svmlight_file(sys.argv[1])
r = LogisticRegression(C=1e3 / len(y), class_weight="balanced", tol=1e-8, max_iter=1000, solver="newton-cg", fit_intercept=False)
print(json.dumps(list(r.fit(X, y).coef_[0])))`, path)
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for j, v := range runtest.MustOpen(t, c.Run).Tensors()[0].Values {
		if math.Abs(float64(v)-want[j]) > 1e-3 {
			t.Fatalf("coefficient %d is %v, scikit-learn has %v", j, v, want[j])
		}
	}
}
