package ability_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// tables are regressions that SGD does not come to the end of: each makes a row of a table with the target last.
var tables = map[string]func(r *rand.Rand, i int) []string{
	"collinear": func(r *rand.Rand, _ int) []string {
		a := r.NormFloat64()
		b := a + 0.01*r.NormFloat64()
		return texts(a, b, r.NormFloat64(), 100*(a-b)+0.2*r.NormFloat64())
	},
	"ill": func(r *rand.Rand, _ int) []string { // a random walk that is seen at all places, where its steps count
		x, at, y := []float64{}, r.NormFloat64(), 0.0
		for j := range 30 {
			step := 0.02 * r.NormFloat64()
			at += step
			x, y = append(x, at), y+step*float64(j%3-1)*50
		}
		return texts(append(x, y+0.3*r.NormFloat64())...)
	},
	"noise": func(r *rand.Rand, _ int) []string { // as few rows as columns know nothing of it
		x, y := []float64{}, 2*r.NormFloat64()
		for range 30 {
			x = append(x, r.NormFloat64())
			y += 0.2 * x[len(x)-1]
		}
		return texts(append(x, y)...)
	},
	// the levels of a category are collinear with the bias, one column is another one in other units, one is constant,
	// and values are missing
	"mixed": func(r *rand.Rand, i int) []string {
		a, c := r.NormFloat64(), r.IntN(4)
		b := a + 0.02*r.NormFloat64()
		row := texts(a, b, 2.5*b, 7, 30*(a-b)+float64(c)+0.1*r.NormFloat64())
		if i%11 == 3 {
			row[0] = ""
		}
		return slices.Insert(row, 4, []string{"red", "green", "blue", "grey"}[c])
	},
}

func texts(row ...float64) (all []string) {
	for _, v := range row {
		all = append(all, fmt.Sprintf("%.7g", v))
	}
	return all
}

// exactConfig returns a run on one of tables, with a test file of the same kind.
func exactConfig(t *testing.T, table string, rows int) config.Config {
	t.Helper()
	c := config.Default()
	c.Data, c.Test, c.Target = filepath.Join(t.TempDir(), "train.csv"), filepath.Join(t.TempDir(), "test.csv"), "y"
	c.Run, c.Workers, c.Epochs, c.SaveEvery = filepath.Join(t.TempDir(), "run"), 2, 10, "0"
	r := rand.New(rand.NewPCG(3, 4))
	for _, path := range []string{c.Data, c.Test} {
		var b strings.Builder
		for i := range rows {
			row := tables[table](r, i)
			if i == 0 {
				for j := range len(row) - 1 {
					fmt.Fprintf(&b, "x%d,", j)
				}
				b.WriteString("y\n")
			}
			b.WriteString(strings.Join(row, ",") + "\n")
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// leastSquares returns the weights of a set, the bias last, that have the least mean squared loss with l2 |w|²/2: by
// orthogonal columns in float64. Columns that are sums of those before have none.
func leastSquares(set *data.Set, bias bool, l2 float64) []float64 {
	n, d := set.Rows, set.Features
	columns := make([][]float64, d+1)
	for j := range columns {
		columns[j] = make([]float64, n+d)
		for i := range n {
			if columns[j][i] = 1; j < d {
				columns[j][i] = float64(set.X[i*d+j])
			}
		}
		if j < d { // the penalty is d more rows
			columns[j][n+j] = math.Sqrt(l2 / 2 * float64(n))
		}
	}
	if !bias {
		columns = columns[:d]
	}
	slices.Reverse(columns) // the bias comes first
	y, dot := make([]float64, n+d), func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	for i, v := range set.Y {
		y[i] = float64(v)
	}
	k := len(columns)
	r, of, along := make([][]float64, k), make([]bool, k), make([]float64, k)
	for j, q := range columns {
		r[j] = make([]float64, k)
		long := math.Sqrt(dot(q, q))
		for range 2 { // the second time takes what rounding has left
			for i := range j {
				if of[i] {
					c := dot(columns[i], q)
					r[j][i] += c
					for p := range q {
						q[p] -= c * columns[i][p]
					}
				}
			}
		}
		if r[j][j] = math.Sqrt(dot(q, q)); r[j][j] > 1e-6*long {
			of[j] = true
			for p := range q {
				q[p] /= r[j][j]
			}
			along[j] = dot(q, y)
		}
	}
	w := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		if !of[i] {
			continue
		}
		w[i] = along[i]
		for j := i + 1; j < k; j++ {
			w[i] -= r[j][i] * w[j]
		}
		w[i] /= r[i][i]
	}
	slices.Reverse(w)
	return w
}

// outcomes returns the predictions of weights for a set, the objective there, and R2.
func outcomes[T float32 | float64](set *data.Set, w []T, l2 float64) (z []float64, objective, r2 float64) {
	d, sum, squares, n := set.Features, 0.0, 0.0, float64(set.Rows)
	for i := range set.Rows {
		at := 0.0
		if len(w) > d {
			at = float64(w[d])
		}
		for j, v := range set.X[i*d : (i+1)*d] {
			at += float64(v) * float64(w[j])
		}
		y := float64(set.Y[i])
		z, sum, squares = append(z, at), sum+y, squares+y*y
		objective += (at - y) * (at - y) / n
	}
	r2 = 1 - objective/(squares/n-sum/n*sum/n)
	for _, v := range w[:d] {
		objective += l2 / 2 * float64(v) * float64(v)
	}
	return z, objective, r2
}

// checkOptimum compares what a run has saved and reported with least squares.
func checkOptimum(t *testing.T, c config.Config, r *rundir.Result) {
	t.Helper()
	sets, err := c.ReadSets(data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Close()
	best, saved := leastSquares(sets.Train, c.Bias, c.L2), runtest.SavedWeights(t, c.Run)
	_, want, _ := outcomes(sets.Train, best, c.L2)
	_, got, _ := outcomes(sets.Train, saved, c.L2)
	if !(math.Abs(got/want-1) < 1e-5) {
		t.Errorf("objective %.9g, the least is %.9g", got, want)
	}
	if o := r.TrainMetrics; !taken(r) || !(math.Abs(o["objective"]/want-1) < 1e-5) ||
		!(o["sgd_objective"] > 1.001*want) {
		t.Errorf("reported %v, %q; the least objective is %.9g", o, r.Events, want)
	}
	wantZ, _, _ := outcomes(sets.Test, best, 0)
	z, _, r2 := outcomes(sets.Test, saved, 0)
	for i := range z {
		if math.Abs(z[i]-wantZ[i]) > 3e-3*math.Sqrt(want) {
			t.Fatalf("test row %d: predicted %g, least squares %g", i, z[i], wantZ[i])
		}
	}
	if r.BestEpoch == 0 && !(math.Abs(*r.TestR2-r2) < 1e-6) {
		t.Errorf("R2 reported %.7f, of the saved weights %.7f", *r.TestR2, r2)
	}
}

// taken reports whether a run says that it has the weights of the optimum.
func taken(r *rundir.Result) bool {
	return strings.Contains(strings.Join(r.Events, "\n"), "are those of the exact optimum: objective")
}

// TestExactLinear: a linear regression with the squared loss ends at the optimum, however it is trained.
func TestExactLinear(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"collinear":           func(*config.Config) {},
		"ill":                 func(*config.Config) {},
		"mixed":               func(*config.Config) {},
		"ill alone":           func(c *config.Config) { c.Workers = 1 },
		"ill sync":            func(c *config.Config) { c.Mode = config.MustMode("sync") },
		"ill gradients":       func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" },
		"ill atomic":          func(c *config.Config) { c.Mode = config.MustMode("atomic") },
		"ill momentum":        func(c *config.Config) { c.Optimizer = config.Momentum },
		"ill adam":            func(c *config.Config) { c.Optimizer = config.Adam },
		"ill centred":         func(c *config.Config) { c.Center = "on" },
		"ill l2":              func(c *config.Config) { c.L2 = 1e-3 },
		"mixed l2":            func(c *config.Config) { c.L2 = 0.01 },
		"collinear l2":        func(c *config.Config) { c.L2 = 0.01 },
		"mixed no bias":       func(c *config.Config) { c.Bias = false },
		"mixed as it is":      func(c *config.Config) { c.Scale = "none" },
		"collinear validated": func(c *config.Config) { c.Validation = "0.1" },
	} {
		t.Run(name, func(t *testing.T) {
			table, _, _ := strings.Cut(name, " ")
			c := exactConfig(t, table, 700)
			edit(&c)
			r := runtest.Train(t, c)
			checkOptimum(t, c, &r)
		})
	}
}

// TestExactAsNumPy compares the losses and R2 with numpy.linalg.lstsq's on the files.
func TestExactAsNumPy(t *testing.T) {
	python := os.Getenv("HOGWILD_PYTHON")
	if python == "" {
		t.Skip("HOGWILD_PYTHON names no Python with numpy")
	}
	for _, table := range []string{"collinear", "ill"} {
		c := exactConfig(t, table, 700)
		r := runtest.Train(t, c)
		out, err := exec.Command(python, "-c", `
import sys, numpy as np
a, b = (np.loadtxt(f, delimiter=",", skiprows=1) for f in sys.argv[1:])
one = lambda x: np.c_[x[:, :-1], np.ones(len(x))]
w = np.linalg.lstsq(one(a), a[:, -1], rcond=None)[0]
print(np.mean((one(a) @ w - a[:, -1]) ** 2), 1 - np.mean((one(b) @ w - b[:, -1]) ** 2) / np.var(b[:, -1]))`,
			c.Data, c.Test).CombinedOutput()
		var loss, r2 float64
		if _, scan := fmt.Sscan(string(out), &loss, &r2); err != nil || scan != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !(math.Abs(r.TrainLoss/loss-1) < 1e-4) || !(math.Abs(*r.TestR2-r2) < 1e-5) {
			t.Errorf("%s: train loss %g, R2 %g; numpy %g, %g", table, r.TrainLoss, *r.TestR2, loss, r2)
		}
	}
}

// TestExactLeavesOthers: SGD's weights stay where they are to be compared, where the objective is another one, and on
// few rows.
func TestExactLeavesOthers(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"clock": func(c *config.Config) { c.Mode, c.Workers = config.DelayedBy(2), 1 },
		"l1":    func(c *config.Config) { c.L1 = 1e-4 },
		"loss":  func(c *config.Config) { c.Model = "l1" },
		"mlp":   func(c *config.Config) { c.Model, c.Validation = "mlp:4", "none" },
	} {
		c := exactConfig(t, "ill", 700)
		edit(&c)
		r := runtest.Train(t, c)
		said := slices.DeleteFunc(r.Events, func(e string) bool { // a bias begins where few rows move it
			return strings.HasPrefix(e, "0.bias received no gradient")
		})
		if r.TrainMetrics["objective"] != 0 || len(said) > 0 {
			t.Errorf("%s: %v, %q", name, r.TrainMetrics, said)
		}
	}
	c := exactConfig(t, "ill", 700)
	c.Solver = config.PlainSGD
	r := runtest.Train(t, c)
	if !(r.TrainMetrics["objective"] > 0) || taken(&r) || !(*r.TestR2 < 0.9) ||
		!strings.Contains(strings.Join(r.Events, "\n"), "--solver auto") {
		t.Errorf("solver sgd: %v, R2 %g, %q", r.TrainMetrics, *r.TestR2, r.Events)
	}
	c.Run = filepath.Join(t.TempDir(), "quiet") // as bench starts it
	if r, err := run.Run(context.Background(), c, run.Options{Quiet: true}); err != nil || r.TrainMetrics != nil {
		t.Errorf("quiet: %v, %v", r.TrainMetrics, err)
	}
	few := exactConfig(t, "noise", 34)
	if r := runtest.Train(t, few); taken(&r) || !strings.Contains(strings.Join(r.Events, "\n"), "so few rows") {
		t.Errorf("34 rows for 31 weights: %v, %q", r.TrainMetrics, r.Events)
	}
}

// TestExactGoesOn: a run that has ended at the optimum trains further from there and comes back to it, and one that
// patience ends has been there.
func TestExactGoesOn(t *testing.T) {
	c := exactConfig(t, "ill", 700)
	c.Solver = config.PlainSGD // as a run of an earlier version has it
	runtest.Train(t, c)
	c.Solver, c.Epochs = "auto", 12
	r := runtest.Train(t, runtest.Resumed(c))
	checkOptimum(t, c, &r)
	c.Epochs, c.Mode = 14, config.MustMode("sync")
	r = runtest.Train(t, runtest.Resumed(c))
	_, objective, _ := outcomes(regressionSet(t, c), runtest.SavedWeights(t, c.Run), 0)
	if !(objective < 1.0011*r.TrainMetrics["objective"]) {
		t.Errorf("resumed twice, the loss is %g, the least %g", objective, r.TrainMetrics["objective"])
	}

	c = exactConfig(t, "ill", 700)
	c.Validation, c.Patience, c.Epochs = "0.2", 2, 400
	r = runtest.Train(t, c)
	if r.Epochs >= c.Epochs || !taken(&r) || !(*r.TestR2 > 0.93) {
		t.Errorf("with patience: %d epochs, R2 %g, %+v", r.Epochs, *r.TestR2, r.Events)
	}
}

func regressionSet(t *testing.T, c config.Config) *data.Set {
	t.Helper()
	sets, err := c.ReadSets(data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sets.Close)
	return sets.Train
}
