package model

import (
	"strings"

	"hogwild/hogwild/data"
)

// Standardizes reports whether the model learns the values that it predicts as data.Standard has them. Its weights are
// then those of the plain model but for the last layer, whose output z is less the mean and in deviations.
func (s Spec) Standardizes() bool {
	f := s.Family()
	return s.Loss.values() && (f == Perceptron || f == Convolutional)
}

// Unit is by what a loss of standardised values is multiplied to be that of the values themselves.
func (l Loss) Unit(t data.Standard) float64 {
	switch {
	case t.Deviation == 0:
		return 1
	case l == Squared:
		return t.Deviation * t.Deviation
	}
	return t.Deviation
}

// LastLayer is the place in the weights where those of the last layer begin. Behind them its bias may follow.
func LastLayer(ps []Param) int { return Offsets(ps)[named(ps, ".weight")] }

// named is the last of ps with such a name.
func named(ps []Param, suffix string) int {
	i := len(ps) - 1
	for !strings.HasSuffix(ps[i].Name, suffix) {
		i--
	}
	return i
}

// FromStandard makes of the last layer that is trained on standardised values that of the plain model.
func FromStandard(t data.Standard, last []float32) {
	convert(t, last, func(v, mean float64) float64 { return v*t.Deviation + mean })
}

// ToStandard is the reverse.
func ToStandard(t data.Standard, last []float32) {
	convert(t, last, func(v, mean float64) float64 { return (v - mean) / t.Deviation })
}

func convert(t data.Standard, last []float32, f func(v, mean float64) float64) {
	if t.Deviation == 0 {
		return
	}
	end := len(last) - 1 // of a layer without bias there is no mean
	for i, v := range last[:end] {
		last[i] = float32(f(float64(v), 0))
	}
	last[end] = float32(f(float64(last[end]), t.Mean))
}
