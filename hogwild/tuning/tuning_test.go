package tuning

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestEigenvalue: power iteration over rows, dense and sparse, centred or not, with
// and without a column of ones, against Jacobi's rotations on the matrix itself.
func TestEigenvalue(t *testing.T) {
	const n, d = 300, 9
	r := rand.New(rand.NewPCG(3, 3))
	dense, sparse := make([]data.Row, n), make([]data.Row, n)
	x, mean := make([][]float64, n), make([]float32, d)
	for i := range x {
		x[i] = make([]float64, d)
		common := r.NormFloat64()
		for j := range x[i] {
			v := float32(0)
			if r.Float64() < .6 {
				v = float32(float64(j)/4 + common + r.NormFloat64())
				sparse[i].Idx, sparse[i].Val = append(sparse[i].Idx, uint32(j)), append(sparse[i].Val, v)
			}
			dense[i].Val = append(dense[i].Val, v)
			x[i][j] = float64(v)
			mean[j] += v / n
		}
	}
	for _, mu := range [][]float32{nil, mean} {
		for _, ones := range []float64{0, .3, 1, 9} {
			m := moments(x, mu, ones)
			diagonal := 0.0
			for j := range m {
				diagonal += m[j][j]
			}
			want := greatest(m)
			for kind, rows := range map[string][]data.Row{"dense": dense, "sparse": sparse} {
				in := inputs{rows, d, mu, ones}
				if got := in.trace(); math.Abs(got-diagonal) > 1e-5*diagonal {
					t.Errorf("%s, centred %t, column %g: trace %.6g, the diagonal's sum is %.6g", kind, mu != nil,
						ones, got, diagonal)
				}
				got := in.eigenvalue(in.direction(1))
				if !(got <= want*(1+1e-6) && got >= want*.98) {
					t.Errorf("%s, centred %t, column %g: lambda %.6g, Jacobi's method finds %.6g", kind, mu != nil,
						ones, got, want)
				}
			}
		}
	}
}

// moments returns E[x x'] of the rows, less mu, with one more column.
func moments(x [][]float64, mu []float32, ones float64) [][]float64 {
	d := len(x[0])
	m := make([][]float64, d+1)
	for j := range m {
		m[j] = make([]float64, d+1)
	}
	for _, row := range x {
		u := append(append([]float64{}, row...), ones)
		for j := range mu {
			u[j] -= float64(mu[j])
		}
		for j := range u {
			for k := range u {
				m[j][k] += u[j] * u[k] / float64(len(x))
			}
		}
	}
	return m
}

// greatest returns the largest eigenvalue of a symmetric matrix by Jacobi's rotations.
func greatest(m [][]float64) (lambda float64) {
	for range 50 {
		for p := range m {
			for q := p + 1; q < len(m); q++ {
				a := math.Atan2(2*m[p][q], m[p][p]-m[q][q]) / 2
				c, s := math.Cos(a), math.Sin(a)
				for k := range m {
					m[p][k], m[q][k] = c*m[p][k]+s*m[q][k], c*m[q][k]-s*m[p][k]
				}
				for k := range m {
					m[k][p], m[k][q] = c*m[k][p]+s*m[k][q], c*m[k][q]-s*m[k][p]
				}
			}
		}
	}
	for j := range m {
		lambda = max(lambda, m[j][j])
	}
	return lambda
}

// onDigits sets a model of digits.
func onDigits(c *config.Config) { c.Model, c.Loss = "softmax", "cross-entropy" }

// choices are settings, what a run makes of them, and what it says.
var choices = []struct {
	name  string
	edit  func(*config.Config)
	check func(Tuning) bool
	says  string
}{
	{"raw within", func(c *config.Config) { onDigits(c); c.Center, c.LR = "off", .1 },
		func(l Tuning) bool {
			return l.LR == .1 && !l.Center && l.Lambda > 15 && l.MaxInFlight > 1.5 && l.MaxInFlight < 2.5
		},
		"lr 0.1 is stable up to about 2 steps in flight; 2 workers are"},
	{"centred", onDigits, func(l Tuning) bool { return l.Center && l.Lambda < 3 && l.BiasStep == 1 },
		"2 workers are within it"},
	{"capped", func(c *config.Config) {
		onDigits(c)
		c.Mode, c.Center, c.Workers, c.LR = config.MustMode("ordered"), "off", 64, 1
	},
		func(l Tuning) bool { return math.Abs(l.LR*l.Lambda*l.Curvature*64-math.Pi/2) < 1e-9 },
		"lr 1 lowered to 0.012: 64 steps in flight"},
	{"cap off", func(c *config.Config) {
		onDigits(c)
		c.Mode, c.Center, c.Workers, c.LR, c.LRCap = config.MustMode("ordered"), "off", 64, 1, "off"
	},
		func(l Tuning) bool { return l.LR == 1 },
		"about 1 step in flight; 64 workers are beyond it, and the cap is off"},
	{"delayed", func(c *config.Config) {
		onDigits(c)
		c.Mode, c.LR, c.Center = config.MustMode("delayed:131"), .1,
			"off"
	},
		func(l Tuning) bool { return l.InFlight == 132 && l.LR < .1 }, "132 steps in flight"},
	{"one step is no asynchrony", func(c *config.Config) { onDigits(c); c.Workers, c.LR = 1, 1e6 },
		func(l Tuning) bool { return l.LR == 1e6 }, "lr 1e+06 is far beyond"},
	{"sync", func(c *config.Config) { onDigits(c); c.Mode, c.Workers, c.LR = config.MustMode("sync"), 8, 1e3 },
		func(l Tuning) bool { return l.LR == 1e3 && l.Lambda > 0 }, ""},
	{"adam", func(c *config.Config) { onDigits(c); c.Optimizer, c.LR = "adam", 1e3 },
		func(l Tuning) bool { return l.LR == 1e3 && !l.Center && l.MaxInFlight == 0 },
		"no limit of steps in flight is known for adam: compare with a run of --workers 1"},
	{"mlp", func(c *config.Config) {
		c.Mode, c.Model, c.Loss, c.LR, c.Workers = config.MustMode("ordered"), "mlp:16", "cross-entropy", 1e3, 4
	},
		func(l Tuning) bool { return l.LR <= l.MaxLR && l.LR*l.Lambda*l.Curvature*4 <= math.Pi/2+1e-9 }, ""},
	{"momentum", func(c *config.Config) { onDigits(c); c.Optimizer, c.LR = "momentum", 1e3 },
		func(l Tuning) bool {
			return l.LR <= l.MaxLR && l.LR*10*l.Lambda*l.Curvature*2 <= math.Pi/2+1e-9 && !l.Center &&
				l.Momentum == .9
		}, ""},
	{"on a GPU", func(c *config.Config) { onDigits(c); c.GPU, c.InFlight = "0", 40 },
		func(l Tuning) bool { return l.Center && l.InFlight == 40 && l.LR == .01 }, "40 steps are within it"},
	{"capped on a GPU", func(c *config.Config) { onDigits(c); c.GPU, c.InFlight, c.LR = "0", 132, .5 },
		func(l Tuning) bool { return l.Center && math.Abs(l.LR*l.Lambda*l.Curvature*132-math.Pi/2) < 1e-9 },
		": 132 steps in flight"},
	{"velocity of 32 steps", func(c *config.Config) {
		onDigits(c)
		c.GPU, c.InFlight, c.Optimizer = "0",
			64, "momentum"
	},
		func(l Tuning) bool { return l.Momentum == .9 },
		"momentum 0.9, 32 steps in flight on one velocity: stable"},
	{"velocity of 15 steps", func(c *config.Config) {
		onDigits(c)
		c.GPU, c.InFlight, c.Optimizer, c.LR = "0", 30,
			"momentum", .001
	},
		func(l Tuning) bool {
			return (&Job{config.Config{Optimizer: "momentum", OptimizerState: "private", Workers: 2},
				l}).lasts() == nil
		}, "is lowered beyond about 79; 30 steps are between: an epoch may reduce the loss less"},
	{"l2", func(c *config.Config) { onDigits(c); c.L2 = 1e-4 }, func(l Tuning) bool { return !l.Center }, ""},
	{"nothing known", func(c *config.Config) { c.Model, c.LR = "convnet", 1e3 },
		func(l Tuning) bool { return l.LR == 1e3 && l.Lambda == 0 }, "is known for convnet"},
}

// TestChoose: what a run makes of its rate, its inputs and its momentum.
func TestChoose(t *testing.T) {
	for _, c := range choices {
		t.Run(c.name, func(t *testing.T) {
			config := configtest.Dense()
			config.Workers, config.Data = 2, "digits:1000"
			c.edit(&config)
			l := tuningOf(t, config)
			if !c.check(l) {
				t.Errorf("the tuning is %+v", l)
			}
			job := Job{config, l}
			if says := strings.Join(append(job.Header(), job.Changes()...), "; "); !strings.Contains(says, c.says) {
				t.Errorf("it says %q, want %q", says, c.says)
			}
		})
	}
}

// TestLowered: a rate that was lowered never looks like the one that was asked for.
func TestLowered(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		want     string
	}{{1, .0123, "0.012"}, {4, 3.968, "3.97"}, {.3, .29999, "0.29999"}, {2e-7, 1.04e-7, "1e-07"}} {
		if got := lowered(c.from, c.to); got != c.want {
			t.Errorf("%g -> %s, want %s", c.from, got, c.want)
		}
	}
}

func tuningOf(t *testing.T, c config.Config) Tuning {
	t.Helper()
	set, test, err := data.Load(data.Options{Path: c.Data, Seed: c.Seed, Limit: c.Limit})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer test.Close()
	spec, err := model.Resolve(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Choose(&c, spec, Measure(&c, spec, m, set), Machine{Cores: runtime.NumCPU()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
