package cpu

import (
	"testing"
	"time"
)

// TestSpin: by the clock a wait is never too short; where only turns are counted, it is as
// long as the calibration was good.
func TestSpin(t *testing.T) {
	for _, c := range []struct {
		delay, least time.Duration
	}{{3 * time.Microsecond, 3 * time.Microsecond}, {time.Microsecond, time.Microsecond}, {200, 200 / 4}} {
		const n = 10_000
		s, start := newSpin(c.delay), time.Now()
		for range n {
			s.wait()
		}
		if got := time.Since(start); got < n*c.least {
			t.Errorf("%d waits of %v took %v", n, c.delay, got)
		}
	}
}

// BenchmarkSpin shows how exact a delay is.
func BenchmarkSpin(b *testing.B) {
	for _, d := range []time.Duration{1, 10, 100, 900, 1000, 10_000} {
		b.Run(d.String(), func(b *testing.B) {
			s := newSpin(d)
			for b.Loop() {
				s.wait()
			}
		})
	}
}
