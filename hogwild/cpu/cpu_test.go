package cpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// denseOf returns the gradient of p weights, multiplied out of its factors in double
// precision.
func denseOf(g *model.Gradient, p int) []float64 {
	dense := make([]float64, p)
	for _, part := range g.Parts {
		for i, v := range part.G {
			dense[part.Offset+i] = float64(v)
		}
		for i, x := range part.X {
			for k := range part.Out {
				delta := float64(part.D[i*part.Out+k])
				for n, v := range x.Val {
					j := n
					if x.Idx != nil {
						j = int(x.Idx[n])
					}
					dense[part.Offset+j*part.Out+k] += delta * float64(v)
				}
				if part.Bias >= 0 {
					dense[part.Bias+k] += delta
				}
			}
		}
	}
	return dense
}

// oneStep makes a device at random weights with the gradient of a batch in d.g, and
// returns it with the weights and the exact gradient.
func oneStep(t *testing.T, c config.Config, set *data.Set, batch int) (d *cpu, w, g []float64) {
	t.Helper()
	c.Workers = 1
	all, m := devices(t, &c, set)
	d = all[0]
	fillRandom(m.W)
	for _, v := range m.W {
		w = append(w, float64(v))
	}
	rows := make([]int32, batch)
	for i := range rows {
		rows[i] = rand.Int32N(int32(set.Rows))
	}
	d.x = d.reader.Batch(rows).Rows
	d.model.Grad(d.own.w, d.reader.Batch(rows), &d.g)
	return d, w, denseOf(&d.g, len(w))
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > 2e-5*(1+math.Abs(want[i])) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
		}
	}
}

// Whatever the inputs and the model: the step straight from the factors is the dense gradient's, and flatten is that
// gradient.
func TestApplyIsTheDenseStep(t *testing.T) {
	for _, kind := range []data.Kind{data.Floats, data.Sparse, data.Bytes} {
		for _, name := range []string{"softmax", "logistic", "hinge", "mlp:7", "mlp:19,5"} {
			for _, bias := range []bool{true, false} {
				classes := 3
				if name == "hinge" || name == "logistic" {
					classes = 2 // one output
				}
				c := configtest.Dense()
				c.Model, c.Bias = name, bias
				what := string(kind) + " " + name
				d, w, g := oneStep(t, c, randomSet(kind, 50, 11, classes), 9)
				d.dense = guarded(t, len(w))
				d.flatten()
				near(t, what+", gradient", d.dense, g)
				d.write(nil, 0.3)
				for i := range w {
					w[i] -= 0.3 * g[i]
				}
				near(t, what+", weights", d.weights.w, w)
			}
		}
	}
}

// On dense inputs w -= lr (g + l2 w), but of biases, which are left alone. With
// other optimizers too: they get g + l2 w.
func TestL2OfDenseInputs(t *testing.T) {
	const lr, l2 = 0.3, 0.2
	for _, optimizer := range []string{"sgd", "momentum"} {
		for _, kind := range []data.Kind{data.Floats, data.Bytes} {
			c := configtest.Dense()
			c.Model, c.L2, c.Optimizer = "mlp:6", l2, config.Optimizer(optimizer)
			set := randomSet(kind, 50, 11, 3)
			set.Nonzeros = 50 * 11 // formed dense
			d, w, g := oneStep(t, c, set, 9)
			at := 0
			for _, p := range d.model.Params() {
				for i := at; i < at+p.Len(); i++ {
					if p.Decay {
						g[i] += l2 * w[i]
					}
					w[i] -= lr * g[i]
				}
				at += p.Len()
			}
			d.write(nil, lr)
			near(t, optimizer+" "+string(kind), d.weights.w, w)
		}
	}
}

// The layers behind the first see units, not features, as sparse rows: l2 and l1 act
// on them as on dense inputs, also when there are more units than features.
func TestHiddenLayersAreRegularizedWhole(t *testing.T) {
	const lr, l2, l1 = 0.1, 0.5, 0.02
	c := configtest.Dense()
	c.Model, c.L2, c.L1 = "mlp:40", l2, l1
	d, w, g := oneStep(t, c, randomSet(data.Sparse, 50, 4, 3), 9)
	d.write(nil, lr)
	first, last := d.g.Parts[0], d.g.Parts[1]
	for i := last.Offset; i < last.Offset+last.In*last.Out; i++ {
		w[i] -= lr * (g[i] + l2*w[i])
		w[i] -= max(-lr*l1, min(lr*l1, w[i]))
	}
	near(t, "last layer", d.weights.w[last.Offset:last.Offset+120], w[last.Offset:last.Offset+120])
	for k := range first.Out { // the last feature occurs in no row
		if i := first.Offset + 3*first.Out + k; float64(d.weights.w[i]) != w[i] {
			t.Fatalf("weight %d of a feature that does not occur went from %v to %v", i, w[i], d.weights.w[i])
		}
	}
}

// withoutLoss returns a device whose steps come from the regularizers alone.
func withoutLoss(t *testing.T, edit func(c *config.Config)) (d *cpu, epoch func(lr float64) (steps int)) {
	c := configtest.Dense()
	c.Model, c.Workers = "softmax", 1
	edit(&c)
	all, _ := devices(t, &c, randomSet(data.Sparse, 400, 12, 3))
	d = all[0]
	fillRandom(d.weights.w)
	return d, func(lr float64) (steps int) {
		for row := int32(0); row < 400; row += 4 {
			b := d.reader.Batch([]int32{row, row + 1, row + 2, row + 3})
			d.x = b.Rows
			d.g.Parts = []model.Part{{In: 12, Out: 3, Bias: 36, X: b.Rows, D: make([]float32, 12)}}
			d.write(nil, lr)
			steps++
		}
		return steps
	}
}

// Over an epoch a feature is shrunk as often as it occurs, each time by 1/frequency
// more: to first order what the dense rule does in as many steps.
func TestL2OfSparseInputs(t *testing.T) {
	const lr, l2 = 1e-3, 0.1
	d, epoch := withoutLoss(t, func(c *config.Config) { c.L2 = l2 })
	w := slices.Clone(d.weights.w)
	want := 1 - math.Pow(1-lr*l2, float64(epoch(lr)))
	for i, v := range d.weights.w {
		got := 1 - float64(v)/float64(w[i])
		switch feature := i / 3; {
		case feature >= 11: // occurs in no row; and the biases
			if v != w[i] {
				t.Errorf("weight %d was touched", i)
			}
		case math.Abs(got/want-1) > 0.02:
			t.Errorf("weight %d of feature %d, in %.3f of the rows, shrinks by %.6f an epoch, dense by %.6f", i,
				feature, d.freq[feature], got, want)
		}
	}
}

// A weight above the sum of an epoch's l1 loses that sum; one below is exactly zero.
func TestL1OfSparseInputs(t *testing.T) {
	const lr, l1 = 1e-3, 0.5
	d, epoch := withoutLoss(t, func(c *config.Config) { c.L1 = l1 })
	for i := range d.weights.w {
		d.weights.w[i] = []float32{1, -1, 0.04}[i%3]
	}
	w := slices.Clone(d.weights.w)
	loses := lr * l1 * float64(epoch(lr)) // 0.05
	for i, v := range d.weights.w {
		want := max(0, math.Abs(float64(w[i]))-loses) * math.Copysign(1, float64(w[i]))
		switch {
		case i >= 33 && v != w[i]:
			t.Errorf("weight %d was touched: its feature occurs in no row, or it is a bias", i)
		case i < 33 && i%3 == 2 && math.Float32bits(v) != 0:
			t.Errorf("weight %d is %v, not zero", i, v)
		case i < 33 && math.Abs(float64(v)-want) > 1e-3:
			t.Errorf("weight %d is %v, want %v", i, v, want)
		}
	}
}

func TestL1OfDenseInputsMakesZeros(t *testing.T) {
	c := configtest.Dense()
	c.Model, c.L1 = "softmax", 0.5
	d, w, g := oneStep(t, c, randomSet(data.Floats, 50, 11, 3), 9)
	zeros := 0
	d.write(nil, 1)
	for i := range w {
		w[i] -= g[i]
		if i >= 33 {
			continue // biases
		}
		if math.Abs(w[i]) < 0.499 {
			zeros++
			if math.Float32bits(d.weights.w[i]) != 0 {
				t.Errorf("weight %d is %v, not zero", i, d.weights.w[i])
			}
		}
		w[i] -= max(-0.5, min(0.5, w[i]))
	}
	near(t, "weights", d.weights.w, w)
	if zeros == 0 {
		t.Error("the test tests nothing: no weight is small")
	}
}

// A parameter that is not to decay does not, with sparse inputs either.
func TestDecayIsTheParametersChoice(t *testing.T) {
	d, epoch := withoutLoss(t, func(c *config.Config) { c.L2, c.L1 = 0.1, 0.1 })
	d.decay = []span{{0, 4}}
	w := slices.Clone(d.weights.w)
	epoch(1e-3)
	for i, v := range d.weights.w {
		if touched := v != w[i]; touched != (i < 4) {
			t.Errorf("weight %d: touched is %v", i, touched)
		}
	}
}

// A loss that is not finite ends the chunk before its step is taken.
func TestTrainStopsAtNaN(t *testing.T) {
	c := configtest.Dense()
	c.Model, c.Workers, c.Batch, c.LR = "linear", 1, 10, 0.25
	set := randomSet(data.Floats, 100, 3, 0)
	all, m := devices(t, &c, set)
	for i := range set.Y {
		set.Y[i] = 0
	}
	order := make([]int32, 100)
	all[0].orders[0].Fill(order, 0, 0)
	set.Y[order[35]] = float32(math.Inf(1)) // in the fourth step
	fillRandom(m.W)
	result, err := all[0].chunk(all[0].plan.At(0, 0))
	var nan *device.NotFiniteError
	if !errors.Is(err, device.ErrNotFinite) || !errors.As(err, &nan) || nan.Step != 4 || nan.LR != 0.25 ||
		result.Steps != 3 {
		t.Errorf("%v after %+v", err, result)
	}
	for i, v := range m.W {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			t.Errorf("weight %d is %v: the step was taken", i, v)
		}
	}
}

// The learning rate follows the examples that all workers see: each rank's count
// runs as many times as fast as there are workers that train.
func TestTrainFollowsTheSchedule(t *testing.T) {
	for _, mode := range bothModes {
		c := configtest.Dense()
		c.Model, c.Mode, c.Workers, c.Batch, c.Schedule, c.LR, c.Epochs = "linear", config.MustMode(mode), 2,
			64, "linear", 1, 1
		all, _ := devices(t, &c, randomSet(data.Floats, 12800, 3, 0)) // two steps a chunk
		d, weight := all[0], 1.0
		if mode == "sync" {
			weight = 2
		}
		d.model = &probe{}
		from, to := d.plan.Owned(0)
		want, seen := 0.0, 0.0
		for i := from; i < to; i++ {
			chunk := d.plan.At(0, i)
			if _, err := d.chunk(chunk); err != nil {
				t.Fatal(err)
			}
			for range stepsOf(chunk) {
				want -= 1 - seen/12800
				seen += 64 * weight
			}
		}
		if got := float64(d.own.w[0]); math.Abs(got-want) > 1e-3 || want == 0 {
			t.Errorf("%s: all steps together come to %v, want %v", mode, got, want)
		}
	}
}
