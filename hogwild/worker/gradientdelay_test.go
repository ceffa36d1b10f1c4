package worker_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestGradientDelay: in every mode a run takes at least as long as the delays of its
// steps, and ends with the same weights, bit for bit.
func TestGradientDelay(t *testing.T) {
	runtest.InFull(t)
	const delay, steps = time.Millisecond, 32 // 2,000 rows, 64 at a time
	for _, mode := range append(config.Modes, "sync gradients") {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Epochs = 1
			mode, gradients := strings.CutSuffix(mode, " gradients")
			if c.Mode = config.MustMode(mode); gradients {
				c.Average = "gradients"
			} else if mode == "sync" {
				c.AverageEvery = 4
			}
			runtest.Train(t, c)
			want := runtest.WeightsOf(t, c.Run)
			c.Run, c.GradientDelay = t.TempDir(), delay
			r := runtest.Train(t, c)
			if least := (steps * delay).Seconds(); r.Seconds < least {
				t.Errorf("%v s, but %d delays of %v are %v s", r.Seconds, steps, delay, least)
			}
			got := runtest.WeightsOf(t, c.Run)
			for name, w := range want {
				if !strings.HasPrefix(name, "hogwild.") && !cmp.Equal(w.Data, got[name].Data) {
					t.Errorf("%s is another one", name)
				}
			}
			if back, err := rundir.ReadRun(c.Run); err != nil || back.Config.GradientDelay != delay {
				t.Errorf("saved as %v, %v", back.Config.GradientDelay, err)
			}
		})
	}
}

// TestGradientDelayBySteps: a model that takes its steps by itself, when it is slow, does
// not, and learns the same but for rounding.
func TestGradientDelayBySteps(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Batch, c.Epochs = "synth:sparse:2000x500x20", 0, 1
	want := runtest.Train(t, c)
	c.Run, c.GradientDelay = t.TempDir(), 10*time.Microsecond
	got := runtest.Train(t, c)
	if least := float64(got.Examples) * c.GradientDelay.Seconds(); got.Batch != 1 || got.Seconds < least {
		t.Errorf("batch %d, %v s, at least %v s", got.Batch, got.Seconds, least)
	}
	if math.Abs(got.TestLoss-want.TestLoss) > 1e-4*want.TestLoss {
		t.Errorf("test loss %v, without a delay %v", got.TestLoss, want.TestLoss)
	}
}
