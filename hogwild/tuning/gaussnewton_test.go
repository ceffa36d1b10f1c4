package tuning

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// manyTimes returns few rows, each of them many times, so that drawn labels come to their expectation.
func manyTimes(distinct, times, d int) *data.Batch {
	r := rand.New(rand.NewPCG(3, 3))
	b := &data.Batch{Features: d}
	for range distinct {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(r.NormFloat64())
		}
		for range times {
			b.Rows, b.Y = append(b.Rows, data.Row{Val: x}), append(b.Y, 0)
		}
	}
	return b
}

// TestNewton compares with the matrix itself, from derivatives of the loss of single labels by differences, and the
// chances of the labels.
func TestNewton(t *testing.T) {
	const distinct, times, d = 12, 150, 3
	for _, c := range []struct {
		name    string
		loss    model.Loss
		classes []string
		within  float64
	}{
		{"linear", model.Squared, nil, 0.01}, {"mlp:4", model.Squared, nil, 0.01},
		{"mlp:4,3", model.Squared, nil, 0.01},
		{"logistic", model.Logistic, []string{"a", "b"}, 0.1},
		{"softmax", model.CrossEntropy, []string{"a", "b", "c"}, 0.1},
		{"mlp:5,4", model.CrossEntropy, []string{"a", "b", "c"}, 0.1}, {"hinge", model.Hinge, []string{"a", "b"}, 0.01},
	} {
		m, err := model.New(model.Options{Name: c.name, Bias: true},
			data.Meta{Features: d, Rows: distinct, Kind: data.Floats, Classes: c.classes})
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float32, model.Size(m.Params()))
		r := rand.New(rand.NewPCG(4, 4))
		for i := range w {
			w[i] = float32(0.7 * r.NormFloat64())
		}
		rows := manyTimes(distinct, times, d)
		n := newNewton(m, c.loss, rows, nil, 1)
		got := n.Largest(w)
		want := greatest(fisher(m, c.loss, w, rows, distinct, times, len(c.classes)))
		if !(math.Abs(got/want-1) < c.within) {
			t.Errorf("%s: %g, the matrix has %g", c.name, got, want)
		}
		if again := n.Largest(w); again != got {
			t.Errorf("%s: again %g, before %g", c.name, again, got)
		}
		if strings.HasPrefix(c.name, "mlp") {
			keepsRate(t, c.name, c.loss, got, want, c.within)
		}
	}
}

// keepsRate: a rate is kept up to eight times as many steps in flight as a quarter of the bound (pi/2)/(lr curvature)
// allows, half of it of classes, and lowered to what they allow beyond.
func keepsRate(t *testing.T, name string, loss model.Loss, newton, curvature, within float64) {
	t.Helper()
	c := config.Default()
	c.Model, c.Loss, c.Workers, c.Batch, c.LR = name, string(loss), 1, 64, .1/curvature
	share := .25
	if loss != model.Squared {
		share = .5
	}
	most := 8 * share * math.Pi / 2 / .1
	for _, x := range []struct{ steps, lr float64 }{{most * .85, c.LR}, {2 * most, c.LR / 2}} {
		c.Mode = config.DelayedBy(int(math.Round(x.steps)) - 1)
		got, err := Choose(&c, model.Spec{Name: name, Loss: loss, Bias: true},
			Facts{Kind: data.Floats, Rows: 4000, Features: 3, RawLambda: .01, RowNorm: .01, Curvature: 2,
				Newton: newton}, Machine{Cores: 1})
		if err != nil || !(math.Abs(got.LR/x.lr-1) < within+.02) {
			t.Errorf("%s: %v, lr %g with %d steps in flight, want %g", name, err, got.LR, got.InFlight, x.lr)
		}
	}
}

// fisher returns E[g g'] by differences.
func fisher(m model.Model, loss model.Loss, w []float32, rows *data.Batch, distinct, times, classes int) [][]float64 {
	sum := make([][]float64, len(w))
	for i := range sum {
		sum[i] = make([]float64, len(w))
	}
	for i := range distinct {
		one := data.Batch{Features: rows.Features, Rows: rows.Rows[i*times : i*times+1], Y: []float32{0}}
		add := func(y float32, chance float64) {
			one.Y[0] = y
			g := make([]float64, len(w))
			const step = 1e-2
			at := func(j int, by float32) float64 {
				was := w[j]
				w[j] += by
				defer func() { w[j] = was }()
				return m.Eval(w, &one).Loss
			}
			for j := range w {
				g[j] = (at(j, step) - at(j, -step)) / (2 * step)
			}
			for j := range g {
				for k := range g {
					sum[j][k] += chance * g[j] * g[k] / float64(distinct)
				}
			}
		}
		z := m.(model.Predictor).Predict(w, &one, nil)[0]
		switch loss {
		case model.Squared:
			add(z+float32(math.Sqrt(0.5)), 1)
		case model.Hinge:
			add(1-z, 1)
		default:
			for c, p := range m.(model.Prober).Probabilities(w, &one, nil) {
				add(float32(c), float64(p))
			}
		}
	}
	return sum
}

// TestNewtonCentred: of a linear model with the squared loss it is twice the largest eigenvalue of the centred inputs.
func TestNewtonCentred(t *testing.T) {
	const d = 6
	rows := manyTimes(300, 1, d)
	mu := make([]float32, d)
	for _, x := range rows.Rows {
		for j := range x.Val {
			x.Val[j] += float32(j)
			mu[j] += x.Val[j] / 300
		}
	}
	m, err := model.New(model.Options{Name: "linear", Bias: true}, data.Meta{Features: d, Rows: 300, Kind: data.Floats})
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float32, d+1)
	for _, mean := range [][]float32{nil, mu} {
		got := newNewton(m, model.Squared, rows, mean, 1).Largest(w)
		in := inputs{rows.Rows, d, mean, 1}
		if want := 2 * in.weightedEigenvalue(nil, in.direction(1), 100); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%g, twice the inputs' is %g", got, want)
		}
	}
}

// TestRehearse: a network that learns white inputs meets several times the curvature of its first weights, and of its
// inputs; one that diverges is taken to have its first weights' curvature, at whatever rate.
func TestRehearse(t *testing.T) {
	set, test, err := data.Load(data.Options{Path: "synth:linear:2000x12", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer test.Close()
	c := config.Default()
	c.Model, c.Loss, c.Batch, c.Epochs, c.Seed = "mlp:16,16,16", "squared", 8, 4, 1
	spec := model.Spec{Name: c.Model, Loss: model.Squared, Bias: true}
	m, err := model.New(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	f := Measure(&c, spec, m, set)
	n := NewNewton(&c, spec, m, set, f)
	w := make([]float32, f.Weights)
	m.Init(w, c.Seed)
	first := n.Largest(w)
	c.LR = 0.02
	if g, inputs := Rehearse(&c, spec, n, set, f), f.Curvature*f.RawLambda; !(g > 2*first && g > 2*inputs) {
		t.Errorf("curvature %g, of the first weights %g, of the inputs %g", g, first, inputs)
	}
	for _, lr := range []float64{1e3, 1e9} {
		if c.LR = lr; Rehearse(&c, spec, n, set, f) != first {
			t.Errorf("lr %g: %g, the first weights have %g", lr, Rehearse(&c, spec, n, set, f), first)
		}
	}
}
