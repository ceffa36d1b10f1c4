package data

import "math"

// Standard is how a network learns values: less their mean, in units of their standard deviation, so that the scale of
// the file does not matter. The zero value leaves them as they are.
type Standard struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// StandardOf returns the Standard of values y. Without a bias, which could hold the mean, they are divided by the root
// of their mean square. Values that are all the same are 1 apart.
func StandardOf(y []float32, bias bool) (s Standard) {
	squares := 0.0
	for i, v := range y {
		d := float64(v) - s.Mean
		if bias {
			s.Mean += d / float64(i+1)
		}
		squares += d * (float64(v) - s.Mean)
	}
	if s.Deviation = math.Sqrt(squares / float64(max(len(y), 1))); s.Deviation < math.SmallestNonzeroFloat32 {
		s.Deviation = 1
	}
	return s
}

// IsZero reports whether values stay as they are.
func (s Standard) IsZero() bool { return s.Deviation == 0 }

// to changes values to those that the network learns.
func (s Standard) to(y []float32) {
	if s.IsZero() {
		return
	}
	for i, v := range y {
		y[i] = float32((float64(v) - s.Mean) / s.Deviation)
	}
}
