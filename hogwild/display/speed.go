package display

import "math"

// Speed is a worker's rate in examples per second, smoothed exponentially: workers wait
// between epochs, and count their examples a chunk at a time.
type Speed struct {
	examples int64 // at the last look
	rate     float64
	weight   float64 // of what rate has seen, from 0 to 1: before the first look it has seen nothing
}

// smoothing is the time constant of the rates in seconds.
const smoothing = 2.0

// Next takes in how many examples there are now, so many seconds after the last look, and returns the rate.
func (v *Speed) Next(examples int64, passed float64) float64 {
	keep := math.Exp(-passed / smoothing)
	v.rate = keep*v.rate + (1-keep)*float64(examples-v.examples)/passed
	v.weight = keep*v.weight + 1 - keep
	v.examples = examples
	return v.rate / v.weight
}
