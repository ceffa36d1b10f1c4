package model

import (
	"strings"

	"hogwild/hogwild/data"
)

// Standardizes reports whether the model learns the values that it predicts as data.Standard has them. Its weights are
// then the plain model's but for the last layer, whose output z is less the mean and in deviations.
func (s Spec) Standardizes() bool {
	return s.Loss.values() && s.Family().Network
}

// Unit returns by what a loss of standardised values is multiplied to be the loss of the values themselves.
func (l Loss) Unit(t data.Standard) float64 {
	switch {
	case t.IsZero():
		return 1
	case l == Squared:
		return t.Deviation * t.Deviation
	}
	return t.Deviation
}

// LastLayer returns which of ps are the weights of the last layer. Behind them its bias may follow.
func LastLayer(ps []Param) int {
	i := len(ps) - 1
	for !strings.HasSuffix(ps[i].Name, ".weight") {
		i--
	}
	return i
}

// FromStandard turns weights w of ps that are trained on standardised values into the plain model's.
func FromStandard(t data.Standard, ps []Param, w []float32) {
	convert(t, ps, w, func(v, mean float64) float64 { return v*t.Deviation + mean })
}

// ToStandard reverses FromStandard.
func ToStandard(t data.Standard, ps []Param, w []float32) {
	convert(t, ps, w, func(v, mean float64) float64 { return (v - mean) / t.Deviation })
}

func convert(t data.Standard, ps []Param, w []float32, f func(v, mean float64) float64) {
	if t.IsZero() {
		return
	}
	end := len(w) - 1 // the bias; without one there is no mean
	w[end] = float32(f(float64(w[end]), t.Mean))
	for i := Offsets(ps)[LastLayer(ps)]; i < end; i++ {
		w[i] = float32(f(float64(w[i]), 0))
	}
}
