package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomLinear is a model on n rows of up to most numbers, over d features. Some rows
// are empty. Where most is d, they are dense.
func randomLinear(t *testing.T, loss LinearLoss, n, d, most int) *Linear {
	t.Helper()
	l := &Linear{Loss: loss, Ptr: []int64{0}, BiasStep: 0.3}
	if most == d {
		l.Ptr, l.Width, l.Val = nil, d, fresh(t, n*d)
	}
	for range n {
		if l.Width == 0 {
			idx := someOf(rand.IntN(most+1), d)
			l.Idx, l.Val = append(l.Idx, idx...), append(l.Val, fresh(t, len(idx))...)
			l.Ptr = append(l.Ptr, int64(len(l.Idx)))
		}
		y := float32(rand.IntN(2))
		if loss >= LinearSquared {
			y = float32(rand.NormFloat64())
		}
		l.Y = append(l.Y, y)
	}
	return l
}

// exactSteps is Steps in double precision, by its definition: the loss, the bias, and
// how near an example came to where its loss has a kink. There the derivative jumps, and
// a rounding decides which side it is.
func exactSteps(l *Linear, w []float64, bias float64, rows []int32, lr float64) (total, after, kink float64) {
	kink = math.Inf(1)
	for _, i := range rows {
		idx, val := l.row(i)
		z, y := bias, float64(l.Y[i])
		for k, j := range idx {
			z += float64(val[k]) * w[j]
		}
		var loss, d float64
		switch t := 2*y - 1; l.Loss {
		case LinearLogistic:
			loss = math.Log1p(math.Exp(-math.Abs(z))) + max(0, -t*z)
			d = -t / (1 + math.Exp(t*z))
		case LinearHinge:
			loss = max(0, 1-t*z)
			if t*z < 1 {
				d = -t
			}
			kink = min(kink, math.Abs(1-t*z))
		case LinearSquared:
			loss = (z - y) * (z - y)
			d = 2 * (z - y)
		case LinearAbsolute:
			loss = math.Abs(z - y)
			d = math.Copysign(1, z-y)
			kink = min(kink, math.Abs(z-y))
		}
		a := 1.0
		if l.Weight != nil {
			a *= float64(l.Weight[i])
		}
		if l.Class != nil {
			a *= float64(l.Class[int(y)])
		}
		total, d = total+a*loss, a*d
		for k, j := range idx {
			if l.WeightDecay != nil {
				w[j] -= min(1, lr*float64(l.WeightDecay[j])) * w[j]
			}
			w[j] -= lr * d * float64(val[k])
			if l.SoftThreshold != nil {
				most := lr * float64(l.SoftThreshold[j])
				w[j] -= max(-most, min(most, w[j]))
			}
		}
		bias -= float64(l.BiasStep) * lr * d
	}
	return total, bias, kink
}

// Whatever the loss, the length of the rows and the regularizers: the steps agree with double
// precision, and nothing outside the weights is written.
func TestLinear(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for loss := LinearLogistic; loss <= LinearAbsolute; loss++ {
			for _, size := range [][2]int{{70, 0}, {70, 1}, {70, 5}, {70, 33},
				{1, 1}, {7, 7}, {8, 8}, {13, 13}, {70, 70}} {
				for _, kind := range []string{"plain", "shrink", "shrink and soften"} {
					for _, weighted := range []string{"", "rows", "classes", "both"} {
						for !checkLinear(t, loss, size[0], size[1], kind, weighted) { // drawn again if near a kink
						}
					}
				}
			}
		}
	})
}

// weigh gives rows weights, some of them 0, and classes.
func weigh(l *Linear, weighted string) {
	if weighted == "rows" || weighted == "both" {
		for range l.Y {
			l.Weight = append(l.Weight, max(0, 2*rand.Float32()-0.5))
		}
	}
	if (weighted == "classes" || weighted == "both") && l.Loss < LinearSquared {
		l.Class = []float32{0.75, 2}
	}
}

// checkLinear takes steps on random rows of up to most of d numbers, and is false if an
// example came so near a kink that its derivative cannot be foretold.
func checkLinear(t *testing.T, loss LinearLoss, d, most int, kind, weighted string) bool {
	const lr, start = 0.05, 0.257 // no number of steps of lr*BiasStep leads from start to 1
	l := randomLinear(t, loss, 40, d, most)
	weigh(l, weighted)
	if kind != "plain" {
		l.WeightDecay = make([]float32, d)
		for j := range l.WeightDecay {
			l.WeightDecay[j] = rand.Float32() * 30 // some shrink to nothing
		}
	}
	if kind == "shrink and soften" {
		l.SoftThreshold = fresh(t, d)
		for j, v := range l.SoftThreshold {
			l.SoftThreshold[j] = max(v, -v)
		}
	}
	w := fresh(t, d)
	want := make([]float64, d)
	for j, v := range w {
		want[j] = float64(v)
	}
	rows := make([]int32, 3*few/2)
	for k := range rows {
		rows[k] = rand.Int32N(40)
	}
	bias := float32(start)
	loss64, bias64, kink := exactSteps(l, want, float64(bias), rows, lr)
	if kink < 1e-5 {
		return false
	}
	loss32 := l.Steps(w, &bias, rows, lr)
	what := fmt.Sprintf("loss %d, rows of up to %d of %d, %s, weights of %q", loss, most, d, kind, weighted)
	if math.Abs(loss32-loss64) > 1e-4*(1+loss64) {
		t.Errorf("%s: loss %v, want %v", what, loss32, loss64)
	}
	want = append(want, bias64)
	for j, v := range slices.Concat(w, []float32{bias}) {
		if math.Abs(float64(v)-want[j]) > 1e-4*(1+math.Abs(want[j])) {
			t.Fatalf("%s: weight %d is %v, want %v", what, j, v, want[j])
		}
	}
	return true
}

// The logistic loss of one example over the whole range of z, and its derivative: the relative
// error is a float32's. Beyond 87 the loss is still right.
func TestLinearLogistic(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		l := &Linear{Ptr: []int64{0, 1}, Idx: []uint32{0}, Val: []float32{1}, Y: []float32{1}}
		for z := -100.0; z <= 100; z += 0.37 {
			l.Weight, l.Class = nil, nil
			w, none := []float32{float32(z)}, float32(0)
			x := float64(w[0])
			loss := l.Steps(w, &none, []int32{0}, 1)
			if want := max(0, -x) + math.Log1p(math.Exp(-math.Abs(x))); math.Abs(loss-want) > 1e-6*want+1e-7 {
				t.Fatalf("z %v: loss %v, want %v", z, loss, want)
			}
			l.Weight, l.Class, w[0] = []float32{1.5}, []float32{9, 2}, float32(z)
			if weighted := l.Steps(w, &none, []int32{0}, 0); math.Abs(weighted-3*loss) > 1e-6*weighted+1e-6 {
				t.Fatalf("z %v: weighted loss %v, want 3 times %v", z, weighted, loss)
			}
			l.Weight, l.Class, w[0] = nil, nil, 0
			l.Steps(w, &none, []int32{0}, 1) // from zero: the derivative at zero
			if w[0] != 0.5 {
				t.Fatalf("a step from zero goes to %v, want 0.5", w[0])
			}
		}
		for _, z := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
			for loss := LinearLogistic; loss <= LinearAbsolute; loss++ {
				l.Loss = loss
				w, none := []float32{z}, float32(0)
				for _, l.Weight = range [][]float32{nil, {2}} {
					w[0] = z
					if got := l.Steps(w, &none, []int32{0}, 1); !math.IsNaN(got) && !math.IsInf(got, 0) {
						t.Errorf("loss %d of %v is %v: the failure goes unnoticed", loss, z, got)
					}
				}
				w[0], none, l.Weight = z, 0, []float32{0}
				if got := l.Steps(w, &none, []int32{0}, 1); got != 0 || !sameBits(w, []float32{z}) || none != 0 {
					t.Errorf("loss %d of %v and weight 0 is %v, weight %v, bias %v", loss, z, got, w, none)
				}
				l.Weight = nil
			}
		}
	})
}

// A row that is not there is noticed before anything is written.
func TestLinearOutside(t *testing.T) {
	for _, most := range []int{5, 20} {
		l := randomLinear(t, LinearLogistic, 10, 20, most)
		var bias float32
		l.Weight = make([]float32, 9)
		panics(t, "too few weights of rows", func() { l.Steps(make([]float32, 20), &bias, []int32{0}, 1) })
		l.Weight = nil
		for _, row := range []int32{-1, 10} {
			panics(t, fmt.Sprintf("row %d of 10", row), func() {
				l.Steps(make([]float32, 20), &bias, []int32{0, row}, 1)
			})
		}
		if most == 20 {
			panics(t, "too few weights", func() { l.Steps(make([]float32, 19, 20), &bias, []int32{0}, 1) })
			l.Val = l.Val[:199:200]
			panics(t, "too few numbers", func() { l.Steps(make([]float32, 20), &bias, []int32{0}, 1) })
		}
	}
}

// What stands behind the rows is fetched at most, whatever it is.
func TestLinearRowsToCome(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		rowsToCome(t, 50, 40)
		rowsToCome(t, 50, 50)
		rowsToCome(t, 300, 300)
	})
}

// TestLinearOutputs: of any rows that lie one behind the other, the outputs agree with double precision.
func TestLinearOutputs(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, most := range []int{0, 1, 3, 4, 7, 8, 33, 70} { // the last are dense
			l := randomLinear(t, LinearLogistic, 40, 70, most)
			w, from := fresh(t, 70), rand.IntN(40)
			z := fresh(t, 40-from)
			l.Outputs(w, 0.25, from, z)
			for i, got := range z {
				want := 0.25
				idx, val := l.row(int32(from + i))
				for k, j := range idx {
					want += float64(val[k]) * float64(w[j])
				}
				if math.Abs(float64(got)-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("rows of up to %d: row %d has %v, want %v", most, from+i, got, want)
				}
			}
		}
	})
}

func rowsToCome(t *testing.T, d, most int) {
	l := randomLinear(t, LinearLogistic, 30, d, most)
	rows := make([]int32, 3*few)
	for k := range rows {
		rows[k] = rand.Int32N(30)
	}
	n := few + 5
	for k := range rows[n:] {
		rows[n+k] = []int32{-1, math.MinInt32, 30, math.MaxInt32, 29}[k%5]
	}
	w := fresh(t, d)
	want, bias, wantBias := slices.Clone(w), float32(0), float32(0)
	loss, wantLoss := l.Steps(w, &bias, rows[:n], 0.1), l.Steps(want, &wantBias, rows[:n:n], 0.1)
	if loss != wantLoss || bias != wantBias || !slices.Equal(w, want) {
		t.Errorf("loss %v and bias %v, without rows to come %v and %v", loss, bias, wantLoss, wantBias)
	}
}
