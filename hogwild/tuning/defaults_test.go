package tuning_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// With defaults only, a run comes within a point of accuracy, or .02 of R2, of the exact optimum of
// the linear model, in float64: least squares in closed form, or logistic regression by Newton's method.
func TestDefaultsReachTheOptimum(t *testing.T) {
	runtest.InFull(t)
	for _, c := range []struct {
		name string
		set  func(*testing.T, *config.Config) // what is trained on
	}{
		{"california", func(t *testing.T, c *config.Config) {
			c.Data, c.Target = check.Data(t, "california-housing/housing.csv"), "median_house_value"
		}},
		{"housing", func(t *testing.T, c *config.Config) { c.Data = check.Data(t, "housing/housing_scale") }},
		{"a9a", func(t *testing.T, c *config.Config) { c.Data = check.Data(t, "a9a/a9a") }},
		{"prices", values(4000, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 6)
			return x, 250000 + 60000*x[0] - 30000*x[1] + 20000*x[2] + 40000*r.NormFloat64()
		})},
		{"scales", values(1000, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 5)
			y := x[0] - x[1] + x[2] + x[3] - x[4] + r.NormFloat64()
			for j := range x {
				x[j] = (x[j] + 50) * math.Pow(10, float64(2*j-3))
			}
			return x, y
		})},
		{"collinear", values(600, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 3)
			for j := range 9 {
				x = append(x, x[j%3]+.05*r.NormFloat64())
			}
			return append(x, 7), x[0] - 2*x[1] + .5*x[2] + r.NormFloat64() // the last column is constant
		})},
		{"thirty", values(30, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 2)
			return x, 3 + 2*x[0] - x[1] + .5*r.NormFloat64()
		})},
		{"two classes", values(300, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 5)
			return x, class(r, 2*x[0]-3*x[1]+x[2])
		})},
		{"rare class", values(6000, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 4)
			x[3] = math.Exp(2 * x[3]) // a heavy tail
			return x, class(r, 2*x[0]+x[1]-5)
		})},
	} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s, %d workers", c.name, workers), func(t *testing.T) {
				cfg := config.Default()
				c.set(t, &cfg)
				cfg.Workers, cfg.Seed = workers, uint64(workers)
				if fallsShort(t, cfg) == "" {
					return
				}
				// The last steps of several workers differ from run to run, most on busy cores (a9a:
				// one run of 100 is .8 points below the others). One run that falls short is allowed, two are not.
				why := fallsShort(t, cfg)
				if workers == 1 || why != "" {
					t.Error(why)
				}
			})
		}
	}
}

// fallsShort says by what a run ends below the optimum by more than the bound; "" of one that does not.
func fallsShort(t *testing.T, c config.Config) string {
	t.Helper()
	c.Run = t.TempDir()
	r, best := runtest.Train(t, c), optimum(t, c)
	if r.Auto == "" || r.Warning != "" {
		t.Errorf("chosen %q, warning %q", r.Auto, r.Warning)
	}
	switch {
	case r.TestAccuracy != nil && *r.TestAccuracy < best-.01:
		return fmt.Sprintf("accuracy %.4f, the optimum has %.4f", *r.TestAccuracy, best)
	case r.TestAccuracy == nil && !(*r.TestR2 > best-.02):
		return fmt.Sprintf("R2 %.4f, the optimum has %.4f", *r.TestR2, best)
	}
	return ""
}

// A perceptron learns large values too: its rate follows from how far they spread. The targets are hardly
// linear in the inputs, so a linear model does not get far.
func TestDefaultsOfNetworks(t *testing.T) {
	runtest.InFull(t)
	for _, deviation := range []float64{100, 1e6} {
		cfg := config.Default()
		cfg.Workers, cfg.Run, cfg.Model = 2, t.TempDir(), "mlp:16"
		values(1000, func(r *rand.Rand) ([]float64, float64) {
			x := normals(r, 3)
			return x, deviation * (5 + math.Abs(x[0]) + .5*x[1] - math.Abs(x[2]) + .1*r.NormFloat64())
		})(t, &cfg)
		if got := *runtest.Train(t, cfg).TestR2; !(got > optimum(t, cfg)+.3) || got < .8 {
			t.Errorf("deviation %g: R2 %.4f", deviation, got)
		}
	}
}

// A column of 2,000 texts, each in three rows or four, and columns of numbers: the defaults come within .03 of
// ridge regression, which alternates between slopes and effects until both stand still.
func TestDefaultsOfManyTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	const texts, n, tested, d = 2000, 7000, 1000, 3
	effect, level, y := normals(r, texts), make([]int, n), make([]float32, n)
	x, head := make([][]float64, n), "a,b,c,text,y\n"
	files := [2]string{head, head}
	for i := range n {
		x[i], level[i] = normals(r, d), r.IntN(texts)
		y[i] = float32(5 + x[i][0] - .5*x[i][1] + 1.5*effect[level[i]] + .7*r.NormFloat64())
		files[min(1, max(0, i-n+tested+1))] += fmt.Sprintf("%g,%g,%g,L%d,%g\n", x[i][0], x[i][1],
			100+10*x[i][2], level[i], y[i])
	}
	cfg := config.Default()
	cfg.Workers, cfg.Run, cfg.Data = 2, t.TempDir(), filepath.Join(t.TempDir(), "a.csv")
	cfg.Test = filepath.Join(filepath.Dir(cfg.Data), "b.csv")
	for i, path := range []string{cfg.Data, cfg.Test} {
		if err := os.WriteFile(path, []byte(files[i]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w, b := make([]float64, d+1), make([]float64, texts)
	predicted := func(i int) float64 { return w[0]*x[i][0] + w[1]*x[i][1] + w[2]*x[i][2] + w[d] + b[level[i]] }
	for range 60 {
		sum, count := make([]float64, texts), make([]float64, texts)
		for i := range n - tested {
			sum[level[i]] += float64(y[i]) - predicted(i) + b[level[i]]
			count[level[i]]++
		}
		for k := range b {
			b[k] = sum[k] / (count[k] + 1)
		}
		for j := range w { // the inputs have mean 0 and deviation 1, and are nearly orthogonal
			gradient := 0.0
			for i := range n - tested {
				input := 1.0
				if j < d {
					input = x[i][j]
				}
				gradient += input * (float64(y[i]) - predicted(i)) / float64(n-tested)
			}
			w[j] += gradient
		}
	}
	best := r2(y[n-tested:], func(i int) float64 { return predicted(n - tested + i) })
	if got := *runtest.Train(t, cfg).TestR2; !(got > best-.03) || best < .6 {
		t.Errorf("R2 %.4f, ridge regression has %.4f", got, best)
	}
}

// Ratings of biases, a product of low rank, and noise: the defaults are better than the best biases
// alone, which alternating least squares finds.
func TestDefaultsOfRatings(t *testing.T) {
	runtest.InFull(t)
	r := rand.New(rand.NewPCG(5, 7))
	const users, items, n, rank = 300, 400, 20000, 2
	b, f := normals(r, users+items), normals(r, rank*(users+items))
	var text bytes.Buffer
	text.WriteString("userId,movieId,rating,timestamp\n")
	for range n {
		u, i := r.IntN(users), users+r.IntN(items)
		y := 3.5 + .4*b[u] + .5*b[i] + .7*r.NormFloat64()
		for k := range rank {
			y += .4 * f[rank*u+k] * f[rank*i+k]
		}
		fmt.Fprintf(&text, "%d,%d,%.1f,0\n", u, i, min(5, max(.5, math.Round(2*y)/2)))
	}
	cfg := config.Default()
	cfg.Workers, cfg.Run, cfg.Data = 2, t.TempDir(), filepath.Join(t.TempDir(), "ratings.csv")
	if err := os.WriteFile(cfg.Data, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	got := *runtest.Train(t, cfg).TestR2
	if best := biasesAlone(t, cfg); !(got > best+.02) {
		t.Errorf("R2 %.4f, biases alone have %.4f", got, best)
	}
}

// biasesAlone returns the R2 on the test entries of mean + b_u + b_i, fitted to the training entries.
func biasesAlone(t *testing.T, c config.Config) float64 {
	train, test := loaded(t, c)
	mean, b := 0.0, make([]float64, train.Features)
	for _, y := range train.Y {
		mean += float64(y) / float64(train.Rows)
	}
	for side := range 20 {
		sum, count := make([]float64, len(b)), make([]float64, len(b))
		for i, y := range train.Y {
			node, other := train.Idx[2*i+side%2], train.Idx[2*i+1-side%2]
			sum[node] += float64(y) - mean - b[other]
			count[node]++
		}
		for i := range b {
			if count[i] > 0 {
				b[i] = sum[i] / (count[i] + 3)
			}
		}
	}
	return r2(test.Y, func(i int) float64 { return mean + b[test.Idx[2*i]] + b[test.Idx[2*i+1]] })
}

func loaded(t *testing.T, c config.Config) (train, test *data.Set) {
	t.Helper()
	sets, err := c.ReadSets(data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sets.Train.Close(); sets.Test.Close() })
	return sets.Train, sets.Test
}

// optimum returns the figure on the test rows of the exact optimum on the training rows.
func optimum(t *testing.T, c config.Config) float64 {
	train, test := loaded(t, c)
	x, z := rowsOf(train), rowsOf(test)
	w := make([]float64, train.Features+1)
	if train.Classes == nil {
		newton(w, x, func(_ float64, i int) (float64, float64) { return -float64(train.Y[i]), 1 })
		return r2(test.Y, func(i int) float64 { return z[i].dot(w) })
	}
	for range 12 {
		newton(w, x, func(z float64, i int) (float64, float64) {
			p := 1 / (1 + math.Exp(-z))
			return p - float64(train.Y[i]) - p*(1-p)*z, p * (1 - p)
		})
	}
	right := 0.0
	for i, y := range test.Y {
		if (z[i].dot(w) > 0) == (y == 1) {
			right++
		}
	}
	return right / float64(test.Rows)
}

func r2(y []float32, predicted func(i int) float64) float64 {
	mean, square, rest := 0.0, 0.0, 0.0
	for _, v := range y {
		mean += float64(v) / float64(len(y))
	}
	for i, v := range y {
		square += (float64(v) - mean) * (float64(v) - mean)
		rest += (float64(v) - predicted(i)) * (float64(v) - predicted(i))
	}
	return 1 - rest/square
}

// entry is an input that is not zero; vector is a row of them, the bias's one at its end.
type entry struct {
	j int
	v float64
}
type vector []entry

func (x vector) dot(w []float64) (z float64) {
	for _, e := range x {
		z += e.v * w[e.j]
	}
	return z
}

func rowsOf(set *data.Set) []vector {
	reader, rows := set.NewReader(), make([]vector, set.Rows)
	for i := range rows {
		row := reader.Batch([]int32{int32(i)}).Rows[0]
		for k, v := range row.Val {
			if row.Idx != nil {
				k = int(row.Idx[k])
			}
			rows[i] = append(rows[i], entry{k, float64(v)})
		}
		rows[i] = append(rows[i], entry{set.Features, 1})
	}
	return rows
}

// newton sets w to the minimum of the sum over rows of the parabola gradient z + curvature z^2/2 of outputs z, where of
// returns both at the row's output now. A ridge far below any data keeps the Hessian of a constant column from being
// singular.
func newton(w []float64, x []vector, of func(z float64, i int) (gradient, curvature float64)) {
	n := len(w)
	a, b := make([][]float64, n), make([]float64, n)
	for j := range a {
		a[j] = make([]float64, n)
		a[j][j] = 1e-3
	}
	for i, row := range x {
		g, h := of(row.dot(w), i)
		for _, p := range row {
			b[p.j] -= g * p.v
			for _, q := range row {
				a[p.j][q.j] += h * p.v * q.v
			}
		}
	}
	solve(a, b)
	copy(w, b)
}

// solve does Gaussian elimination of a positive definite matrix; the solution is in b.
func solve(a [][]float64, b []float64) {
	for j := range a {
		for i := j + 1; i < len(a); i++ {
			f := a[i][j] / a[j][j]
			for k := j; k < len(a); k++ {
				a[i][k] -= f * a[j][k]
			}
			b[i] -= f * b[j]
		}
	}
	for j := len(a) - 1; j >= 0; j-- {
		for k := j + 1; k < len(a); k++ {
			b[j] -= a[j][k] * b[k]
		}
		b[j] /= a[j][j]
	}
}

// values writes CSV files of n training rows and 3000 test rows, the target in the last column.
func values(n int, draw func(r *rand.Rand) (x []float64, y float64)) func(*testing.T, *config.Config) {
	return func(t *testing.T, c *config.Config) {
		t.Helper()
		r, dir := rand.New(rand.NewPCG(uint64(n), 11)), t.TempDir()
		for _, part := range []struct {
			name string
			rows int
		}{{"train.csv", n}, {"test.csv", 3000}} {
			var text bytes.Buffer
			for range part.rows {
				x, y := draw(r)
				for _, v := range x {
					fmt.Fprintf(&text, "%g,", v)
				}
				fmt.Fprintf(&text, "%g\n", y)
			}
			if err := os.WriteFile(filepath.Join(dir, part.name), text.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		c.Data = filepath.Join(dir, "train.csv")
	}
}

func normals(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// class returns 1 with the probability that logistic regression gives to z, else 0.
func class(r *rand.Rand, z float64) float64 {
	if r.Float64() < 1/(1+math.Exp(-z)) {
		return 1
	}
	return 0
}
