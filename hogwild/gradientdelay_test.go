package hogwild

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGradientDelay: in every mode a run takes at least as long as the delays of its
// steps, and comes to the same weights, bit for bit.
func TestGradientDelay(t *testing.T) {
	inFull(t)
	const delay, steps = time.Millisecond, 32 // 2,000 rows, 64 at a time
	for _, mode := range append(Modes, "sync gradients") {
		t.Run(mode, func(t *testing.T) {
			c := quick(t)
			c.Epochs, c.AverageEvery = 1, 4
			if c.Mode = mode; mode == "sync gradients" {
				c.Mode, c.Average, c.AverageEvery = "sync", "gradients", 1
			}
			train(t, c)
			want := weightsOf(t, c.Run)
			c.Run, c.GradientDelay = t.TempDir(), delay
			r := train(t, c)
			if least := (steps * delay).Seconds(); r.Seconds < least {
				t.Errorf("%v s, but %d delays of %v are %v s", r.Seconds, steps, delay, least)
			}
			got := weightsOf(t, c.Run)
			for name, w := range want {
				if !strings.HasPrefix(name, "hogwild.") && !cmp.Equal(w.Data, got[name].Data) {
					t.Errorf("%s is another one", name)
				}
			}
			if back, err := ReadRun(c.Run); err != nil || back.Config.GradientDelay != delay {
				t.Errorf("saved as %v, %v", back.Config.GradientDelay, err)
			}
		})
	}
}

// TestGradientDelayBySteps: a model that takes its steps by itself, when it is slow, does
// not, and learns the same but for rounding.
func TestGradientDelayBySteps(t *testing.T) {
	c := quick(t)
	c.Data, c.Batch, c.Epochs = "made:sparse:2000x500x20", 0, 1
	want := train(t, c)
	c.Run, c.GradientDelay = t.TempDir(), 10*time.Microsecond
	got := train(t, c)
	if least := float64(got.Examples) * c.GradientDelay.Seconds(); got.Batch != 1 || got.Seconds < least {
		t.Errorf("batch %d, %v s, at least %v s", got.Batch, got.Seconds, least)
	}
	if math.Abs(got.TestLoss-want.TestLoss) > 1e-4*want.TestLoss {
		t.Errorf("test loss %v, without a delay %v", got.TestLoss, want.TestLoss)
	}
}

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

func TestGradientDelayRefused(t *testing.T) {
	for want, edit := range map[string]func(c *Config){
		"gradient-delay -1ns":                       func(c *Config) { c.GradientDelay = -1 },
		"gradient-delay 1s: must be from 0 to 5ms":  func(c *Config) { c.GradientDelay = time.Second },
		"gradient-delay 1µs with gpu":               func(c *Config) { c.GPU = "0" },
		"gradient-delay 1µs with mode delayed:3":    func(c *Config) { c.Mode = "delayed:3" },
		"gradient-delay 1µs with mode delayed:geom": func(c *Config) { c.Mode = "delayed:geometric:3" },
	} {
		c := Default()
		c.GradientDelay = time.Microsecond
		edit(&c)
		if err := c.Validate(); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
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
