package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// scaleRule is what the user asked for, parsed.
type scaleRule struct {
	name      string // as asked
	mean, std float64
}

// parseScale reads auto, none, unit, standard or MEAN,STD.
func parseScale(s string) (scaleRule, error) {
	switch s {
	case "":
		return scaleRule{name: "auto"}, nil
	case "auto", "none", "unit", "standard":
		return scaleRule{name: s}, nil
	}
	mean, std, _ := strings.Cut(s, ",")
	m, err1 := strconv.ParseFloat(strings.TrimSpace(mean), 64)
	d, err2 := strconv.ParseFloat(strings.TrimSpace(std), 64)
	if err1 != nil || err2 != nil || !finite(m) || !finite(d) || d <= 0 {
		return scaleRule{}, fmt.Errorf("data: scale %q: want auto, none, unit, standard, or MEAN,STD with STD above "+
			"0, such as 0.1307,0.3081", s)
	}
	return scaleRule{name: s, mean: m, std: d}, nil
}

// fit sets Scale, Mul and Add by the rule, and by what is measured of the training rows where it looks at them:
//
//	             bytes                     floats             sparse
//	auto         x/255                     (x-mean)/std       x
//	none         x                         x                  x
//	unit         x/255                     (x-min)/(max-min)  x/max|x|
//	standard     (x-mean)/std              (x-mean)/std       x/std
//	MEAN,STD     (x/255-MEAN)/STD          (x-MEAN)/STD       an error
//
// min, max, mean and std are each feature's; auto takes one mean and std for all
// pixels of images. A feature made from a text stays 0 or 1: dividing it by its std would
// blow up the rare ones. A feature that is constant in the rows has no std: it is divided by 1,
// or by 255 if it is a byte, so that a pixel which is lit in test rows alone is at most 1 there.
// Sparse inputs are never moved, only stretched: their zeros stay zeros. A sparse table is scaled as a dense one: all
// its rows store all their numbers.
func (t *table) fit(rule scaleRule, measured func() []spread) error {
	t.Scale = rule.name
	byte255 := 1.0
	if t.Kind == Bytes {
		byte255 = 1.0 / 255
	}
	if rule.name != "none" && (!t.keepsZeros() && t.Kind != Bytes || rule.name != "auto") {
		if err := t.budget.Take(t.path, int64(t.Features)*spreadBytes,
			"the scaling of "+count(t.Features)+" features"); err != nil {
			return err
		}
	}
	switch rule.name {
	case "none":
	case "auto":
		t.fitAuto(measured)
	case "unit":
		if t.Kind == Bytes {
			t.setScaling(byte255, 0)
			return nil
		}
		t.fitFeatures(measured, func(s spread) (from, divisor float64) {
			if t.keepsZeros() {
				return 0, max(-s.min, s.max)
			}
			return s.min, s.max - s.min
		})
	case "standard":
		t.standardise(measured)
		if t.keepsZeros() {
			t.notef("scale standard on sparse rows: features are divided by their standard deviation, but not " +
				"centred, so zeros stay zero")
		}
	default:
		if t.Sparse() {
			return fmt.Errorf("data: %s: scale %s would make the zeros of sparse data non-zero; use unit or standard",
				t.Name, rule.name)
		}
		t.setScaling(byte255/rule.std, -rule.mean/rule.std)
	}
	return nil
}

// keepsZeros says whether rows store the values alone that are not 0.
func (t *table) keepsZeros() bool { return t.Sparse() && t.oneHot == nil }

// fitAuto sets the scaling that suits the kind of the inputs.
func (t *table) fitAuto(measured func() []spread) {
	switch {
	case t.Kind == Bytes:
		t.setScaling(1.0/255, 0)
	case t.keepsZeros():
	case t.Shape != nil:
		mean, std := pooled(measured())
		t.setScaling(1/std, -mean/std)
		t.notef("inputs are standardised by the mean %.4g and the standard deviation %.4g of all pixels; --scale "+
			"none leaves them as they are", mean, std)
	case t.oneHot != nil && !slices.Contains(t.oneHot, 0):
	default:
		t.standardise(measured)
		t.notef("inputs are standardised: each column has mean 0 and standard deviation 1 in the training rows; " +
			"--scale none leaves them as they are")
	}
}

// standardise divides each feature by its standard deviation, and, unless its zeros must
// stay zeros, subtracts its mean before.
func (t *table) standardise(measured func() []spread) {
	constant := 0
	t.fitFeatures(measured, func(s spread) (from, divisor float64) {
		divisor = s.std
		if s.isConstant() {
			divisor = 0
			constant++
		}
		if t.keepsZeros() {
			return 0, divisor
		}
		return s.mean, divisor
	})
	if constant > 0 && t.Kind != Bytes && !t.keepsZeros() {
		t.notef("%s of %s columns are constant in the training rows: they have no effect", count(constant),
			count(t.Features))
	}
}

// ScaleText says in a few words how the inputs are scaled.
func (m *Meta) ScaleText() string {
	auto := m.Scale == "auto"
	switch {
	case m.Kind == Bytes && (auto || m.Scale == "unit"):
		return "x/255"
	case m.Scale == "none", m.Scale == "", !layouts[m.Kind].hasInputs(), auto && m.Sparse() && m.Format != "csv":
		return "not scaled"
	case auto || m.Scale == "standard":
		return "standardised"
	case m.Scale == "unit":
		return "scaled to 0..1"
	}
	return "scaled by " + m.Scale
}

// setScaling sets one Mul and Add for all features.
func (t *table) setScaling(mul, add float64) {
	if mul != 1 {
		t.Mul = []float32{float32(mul)}
	}
	if add != 0 {
		t.Add = []float32{float32(add)}
	}
}

// fitFeatures sets x' = (x - from) / divisor for each feature.
func (t *table) fitFeatures(measured func() []spread, rule func(spread) (from, divisor float64)) {
	t.Mul = make([]float32, t.Features)
	if !t.keepsZeros() {
		t.Add = make([]float32, t.Features)
	}
	undivided := float32(1)
	if t.Kind == Bytes {
		undivided = 1.0 / 255
	}
	for j, s := range measured() {
		t.Mul[j] = undivided
		if t.oneHot != nil && t.oneHot[j] > 0 {
			continue
		}
		from, divisor := rule(s)
		if divisor >= 1/math.MaxFloat32 {
			t.Mul[j] = float32(1 / divisor)
		}
		if t.Add != nil {
			t.Add[j] = float32(-from * float64(t.Mul[j]))
		}
	}
}

// spreadBytes is a spread and the scaling of a feature, as numbers and as the text that is stored
// with the set.
const spreadBytes = 80

// pooled returns mean and standard deviation of all values of all features; the deviation of
// values that are all the same is 1.
func pooled(features []spread) (mean, std float64) {
	d := float64(len(features))
	for _, f := range features {
		mean += f.mean / d
	}
	for _, f := range features {
		std += (f.std*f.std + (f.mean-mean)*(f.mean-mean)) / d
	}
	if std = math.Sqrt(std); std < 1e-7*math.Abs(mean) || std == 0 {
		std = 1
	}
	return mean, std
}

// spreads measures every feature over the rows, in two passes: the squares of
// differences from the mean do not cancel as differences of squares do.
func (t *table) spreads(rows []int32) []spread {
	s := make([]spread, t.Features)
	t.each(rows, func(j int, v float64) {
		f := &s[j]
		if f.stored == 0 {
			f.min, f.max = v, v
		}
		f.min, f.max = min(f.min, v), max(f.max, v)
		f.mean += v
		f.stored++
	})
	n := float64(len(rows))
	for j := range s {
		f := &s[j]
		f.mean /= n
		if f.stored < len(rows) {
			f.min, f.max = min(f.min, 0), max(f.max, 0)
		}
		f.std = (n - float64(f.stored)) * f.mean * f.mean
	}
	t.each(rows, func(j int, v float64) {
		s[j].std += (v - s[j].mean) * (v - s[j].mean)
	})
	for j := range s {
		s[j].std = deviation(s[j].std, n)
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Scaled returns the inputs x of a row as sets of this scaling have them.
func (m *Meta) Scaled(x []float32) []float32 {
	scaled := make([]float32, len(x))
	for j, v := range x {
		scaled[j] = m.scaled(j, v)
	}
	return scaled
}

// ScaledAlike reports whether two sets scale their inputs in the same way, give or take the rounding of another
// processor.
func (m *Meta) ScaledAlike(o *Meta) bool {
	near := func(a, b float32) bool { return math.Abs(float64(a)-float64(b)) <= 1e-6*math.Abs(float64(a)) }
	return slices.EqualFunc(m.Mul, o.Mul, near) && slices.EqualFunc(m.Add, o.Add, near)
}

// ScaledLike reports ScaledAlike for the features of m that o has in other places: from says where, -1 for none; nil:
// in the same ones.
func ScaledLike(m, o *Meta, from []int) bool {
	if from == nil {
		return m.ScaledAlike(o)
	}
	var own, others Meta
	for j, at := range from {
		if at >= 0 {
			mul, add := m.scaling(j)
			own.Mul, own.Add = append(own.Mul, mul), append(own.Add, add)
			mul, add = o.scaling(at)
			others.Mul, others.Add = append(others.Mul, mul), append(others.Add, add)
		}
	}
	return own.ScaledAlike(&others)
}

// Rescaled returns mul and add: feature at of o, scaled, is mul times the same feature j of m, scaled, plus add.
func Rescaled(m *Meta, j int, o *Meta, at int) (mul, add float64) {
	a, b := m.scaling(j)
	c, d := o.scaling(at)
	mul = float64(c) / float64(a)
	return mul, float64(d) - float64(b)*mul
}

// row returns the inputs of row i, unless they are bytes.
func (t *table) row(i int) Row {
	switch {
	case t.rows != nil:
		return t.rows[i]
	case t.ptr == nil:
		return Row{Val: t.x[i*t.Features : (i+1)*t.Features]}
	}
	from, to := t.ptr[i], t.ptr[i+1]
	return Row{Idx: t.idx[from:to], Val: t.val[from:to]}
}

// each calls f with feature and value of every input that the rows store: all of
// them, or the non-zero ones of a sparse table.
func (t *table) each(rows []int32, f func(j int, v float64)) {
	d := t.Features
	for _, i := range rows {
		if t.x8 != nil {
			for j, v := range t.x8[int(i)*d : (int(i)+1)*d] {
				f(j, float64(v))
			}
			continue
		}
		row := t.row(int(i))
		if row.Idx == nil {
			for j, v := range row.Val {
				f(j, float64(v))
			}
			continue
		}
		for k, j := range row.Idx {
			f(int(j), float64(row.Val[k]))
		}
	}
}
