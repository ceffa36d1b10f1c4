package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDualSteps: the value that a step gives to a dual variable is the best of its interval, by bisection of the
// derivative of the dual objective in that variable alone.
func TestDualSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		c, q, z := math.Exp(r.NormFloat64()), math.Exp(2*r.NormFloat64()), 2*r.NormFloat64()
		d := Dual{c: c, bounds: bounds{top: math.Inf(1), bottom: math.Inf(-1)}}
		for _, a := range []float64{0, c, c * r.Float64()} {
			best := func(high float64, slope func(b float64) float64) float64 {
				low := 0.0
				for range 200 {
					if m := (low + high) / 2; slope(m) < 0 {
						low = m
					} else {
						high = m
					}
				}
				return low
			}
			for _, s := range []struct {
				loss      string
				got, want float64
			}{
				{"hinge", d.clipped(a, z-1, q, c), best(c, func(b float64) float64 { return q*(b-a) + z - 1 })},
				{"squared hinge", d.clipped(a, z-1+a/(2*c), q+1/(2*c), math.Inf(1)),
					best(1e6, func(b float64) float64 { return q*(b-a) + z - 1 + b/(2*c) })},
				{"logistic", c * bestOfLogistic(a/c, z, q*c),
					best(c, func(b float64) float64 { return q*(b-a) + z + math.Log(b/(c-b)) })},
			} {
				off := math.Abs(s.got - s.want)
				if s.loss == "logistic" { // as near as a few steps of Newton's method come
					off = max(0, off-0.02*min(s.want, c-s.want)-1e-6*c)
				}
				if off > 1e-9*max(1, s.want) {
					t.Fatalf("%s: from %g, z %g, |x|^2 %g, C %g: %g, the best is %g", s.loss, a, z, q, c, s.got, s.want)
				}
			}
		}
	}
}

// TestDualRowsArePermuted: in each epoch each row has its turn once, and the order is another one.
func TestDualRowsArePermuted(t *testing.T) {
	for _, n := range []int{1, 2, 60, 61, 1000} {
		d, last := Dual{a: make([]float64, n), epoch: -1}, []int32(nil)
		for epoch := range 5 {
			d.begin(epoch)
			seen, now := make([]bool, n), []int32(nil)
			for i := range n {
				k := d.row(int32(i))
				if seen[k] {
					t.Fatalf("%d rows, epoch %d: row %d comes twice", n, epoch, k)
				}
				seen[k], now = true, append(now, k)
			}
			same := 0
			for i := range last {
				if last[i] == now[i] {
					same++
				}
			}
			if n > 100 && same > n/10 {
				t.Errorf("%d of %d rows have the same turn in epochs %d and %d", same, n, epoch-1, epoch)
			}
			last = now
		}
	}
}
