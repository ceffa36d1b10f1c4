package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

func newModel(t *testing.T, name string, features, classes int, bias bool) (Model, []float32) {
	t.Helper()
	m, err := New(Options{Name: name, Bias: bias},
		data.Meta{Name: "t", Features: features, Classes: make([]string, classes)})
	if err != nil {
		t.Fatal(err)
	}
	return m, make([]float32, Size(m.Params()))
}

func TestInit(t *testing.T) {
	m, w := newModel(t, "softmax", 20, 3, true)
	w[5] = 1
	if m.Init(w, 1); slices.ContainsFunc(w, func(v float32) bool { return v != 0 }) {
		t.Errorf("a linear model starts at %v, want zeros", w)
	}

	m, w = newModel(t, "mlp:50", 400, 4, true)
	m.Init(w, 1)
	again, other := slices.Clone(w), slices.Clone(w)
	if m.Init(again, 1); !slices.Equal(w, again) {
		t.Error("the same seed gave other weights")
	}
	if m.Init(other, 2); slices.Equal(w, other) {
		t.Error("another seed gave the same weights")
	}
	// 1/sqrt(in) is 0.05 in the first layer, bias included; a uniform variable of
	// that bound has the standard deviation 0.05/sqrt(3).
	first := w[:400*50+50]
	var sum, squares float64
	for _, v := range first {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(first))
	if m := slices.Max(first); m > 0.05 || m < 0.0499 {
		t.Errorf("largest weight %v, want just below 0.05", m)
	}
	if mean, sd := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-3 || math.Abs(sd-0.05/math.Sqrt(3)) > 1e-3 {
		t.Errorf("mean %v and deviation %v, want 0 and %v", mean, sd, 0.05/math.Sqrt(3))
	}
}

// TestNoAllocation: once warm, neither Grad nor Eval asks for memory, at any
// batch size up to the largest so far.
func TestNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{"softmax", "logistic", "mlp:16,8"} {
		m, w := newModel(t, name, 30, 3, true)
		large, small := sparseBatches(r, 1, 32, 5, 30, 3), sparseBatches(r, 1, 1, 5, 30, 3)
		var g Gradient
		m.Grad(w, &large[0], &g)
		if n := testing.AllocsPerRun(100, func() {
			m.Grad(w, &small[0], &g)
			m.Grad(w, &large[0], &g)
			m.Eval(w, &large[0])
		}); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// TestExtremes: outputs far from zero give the losses that they should, and not
// infinity; what is not a number is not hidden, not even behind a ReLU.
func TestExtremes(t *testing.T) {
	x := []data.Row{{Val: []float32{1}}}
	for _, c := range []struct {
		name string
		w, y float32
		want float64
	}{
		{"logistic", 1000, 1, 0}, {"logistic", 1000, 0, 1000}, {"logistic", -1000, 1, 1000},
		{"logistic", 20, 1, 2.0611536203e-9}, // log1p(exp(-20))
		{"hinge", -1000, 1, 1001},
	} {
		m, w := newModel(t, c.name, 1, 2, false)
		w[0] = c.w
		loss := m.Grad(w, &data.Batch{Rows: x, Y: []float32{c.y}, Features: 1}, &Gradient{})
		if math.Abs(loss-c.want) > 1e-9*c.want {
			t.Errorf("%s of z = %v, y = %v: loss %v, want %v", c.name, c.w, c.y, loss, c.want)
		}
	}
	for _, name := range []string{"softmax", "logistic", "hinge", "mlp:3", "mlp:3,3"} {
		m, w := newModel(t, name, 1, 2, false)
		m.Init(w, 1)
		w[0] = float32(math.NaN())
		if loss := m.Grad(w, &data.Batch{Rows: x, Y: []float32{1}, Features: 1}, &Gradient{}); !math.IsNaN(loss) {
			t.Errorf("%s with a weight that is not a number: loss %v", name, loss)
		}
	}
}

// TestLogistic: the losses of many outputs at once are as of each by itself in double precision,
// and so are their derivatives, far from zero too; what is not a number is not hidden.
func TestLogistic(t *testing.T) {
	for _, k := range []int{1, 3} {
		for _, n := range []int{1, 7, 64, 100} {
			z, y := make([]float32, n*k), make([]float32, n)
			for i := range z {
				z[i] = float32(i*37%401-200) / 2
				y[i/k] = float32(i * 7 % (k + 1) % 3)
			}
			d, want, at := slices.Clone(z), 0.0, make([]float64, k)
			sum := Logistic.deltas(d, y, k)
			for i, v := range d {
				for c := range at {
					at[c] = float64(z[i/k*k+c])
				}
				if i%k == 0 {
					want += reference{loss: Logistic}.of(at, float64(y[i/k]))
				}
				t1 := side(y[i/k], i%k, k)
				want := -t1 / (1 + math.Exp(t1*at[i%k])) / float64(n)
				if math.Abs(float64(v)-want) > 1e-6*math.Abs(want)+1e-38 {
					t.Errorf("%d x %d: derivative at %v is %v, want %v", n, k, z[i], v, want)
				}
			}
			if math.Abs(sum-want) > 1e-6*want+1e-15 {
				t.Errorf("%d x %d: loss %v, want %v", n, k, sum, want)
			}
			z[n*k-1] = float32(math.NaN())
			if sum := Logistic.deltas(z, y, k); !math.IsNaN(sum) {
				t.Errorf("%d x %d, one not a number: loss %v", n, k, sum)
			}
		}
	}
}

// TestCrossEntropy: a batch's loss and derivatives are what double precision makes of each row, with few classes and
// many, far from zero too; what is not a number is not hidden, wherever it stands.
func TestCrossEntropy(t *testing.T) {
	for _, k := range []int{2, 10, 64, 65, 300} {
		for _, n := range []int{1, 2, 5, 64, 100, 700} {
			z, y := make([]float32, n*k), make([]float32, n)
			for i := range z {
				z[i] = float32(i*37%401-200) / float32(1+i/k%9)
				y[i/k] = float32(i / k * 7 % k)
			}
			d, want := slices.Clone(z), 0.0
			sum := CrossEntropy.deltas(d, y, k)
			for i := range n {
				row, most, total := z[i*k:(i+1)*k], math.Inf(-1), 0.0
				for _, v := range row {
					most = max(most, float64(v))
				}
				for _, v := range row {
					total += math.Exp(float64(v) - most)
				}
				want += most + math.Log(total) - float64(row[int(y[i])])
				for c, v := range row {
					p := math.Exp(float64(v)-most) / total
					if c == int(y[i]) {
						p--
					}
					if got := float64(d[i*k+c]) * float64(n); math.Abs(got-p) > 3e-7 {
						t.Errorf("%d x %d: derivative of output %d of row %d is %v, want %v", n, k, c, i, got, p)
					}
				}
			}
			if math.Abs(sum-want) > 1e-6*want {
				t.Errorf("%d x %d: loss %v, want %v", n, k, sum, want)
			}
			for _, at := range []int{0, k / 2, n*k - 1} {
				for _, v := range []float64{math.NaN(), math.Inf(1)} {
					bad := slices.Clone(z)
					bad[at] = float32(v)
					if sum := CrossEntropy.deltas(bad, y, k); !math.IsNaN(sum) {
						t.Errorf("%d x %d, %v at %d: loss %v", n, k, v, at, sum)
					}
				}
			}
		}
	}
}

// TestInfiniteOutput: an output without bound on the right side costs nothing; on the wrong side the loss has no bound.
func TestInfiniteOutput(t *testing.T) {
	for _, n := range []int{2, 9} { // plain exponentials, and vectors of them
		y := make([]float32, n)
		for i := range y {
			y[i] = 1
		}
		z := make([]float32, n)
		z[0] = float32(math.Inf(1))
		if want, got := float64(n-1)*math.Ln2, Logistic.deltas(z, y, 1); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d outputs, the first of the right side without bound: loss %v, want %v", n, got, want)
		}
		clear(z)
		z[0] = float32(math.Inf(-1))
		if got := Logistic.deltas(z, y, 1); !math.IsInf(got, 1) {
			t.Errorf("%d outputs, the first of the wrong side without bound: loss %v", n, got)
		}
	}
}
