//go:build cuda

package cuda

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
)

// spoilt makes the kernel regularize where the CPU does not, and leave biases out, as mlp_tensor does not
// regularize: any wrong step.
type spoilt struct{ backend }

func (b spoilt) Own(s *device.Setup) (device.Owner, error) {
	made, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	o := made.(*owner)
	o.idle.job.L2, o.idle.job.Bias = .1, 0
	if err := o.within(o.selfCheck); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// TestTried: one trial that agrees is enough, an error ends them, and what is wrong in all is
// told.
func TestTried(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		wrong  string // of each trial, a letter; a dash for none
		err    error  // of the last
		trials int
		says   string
	}{{"-", nil, 1, ""}, {"a-", nil, 2, ""}, {"ab-", nil, 3, ""}, {"abc", nil, 3, "c"}, {"ab", broken, 2, ""}} {
		trials := 0
		wrong, err := tried(func(number uint64) (string, error) {
			if trials++; number != uint64(trials) {
				t.Errorf("trial %d has the number %d", trials, number)
			}
			if trials == len(c.wrong) && c.err != nil {
				return "", c.err
			}
			return strings.Trim(c.wrong[trials-1:trials], "-"), nil
		})
		if wrong != c.says || err != c.err || trials != c.trials {
			t.Errorf("%s: %q, %v after %d trials; want %q, %v after %d", c.wrong, wrong, err, trials, c.says,
				c.err, c.trials)
		}
	}
}

// TestSelfCheck: a GPU that computes something else than the CPU trains nothing.
func TestSelfCheck(t *testing.T) {
	device.RegisterBackend("cuda", spoilt{})
	defer Register()
	for _, model := range []string{"softmax", "mlp:20", "conv:2@3p2,4"} {
		_, err := run.Run(context.Background(), digits(t, func(c *config.Config) { c.Model = model }), run.Options{})
		if err == nil || !strings.Contains(err.Error(), "self-check of") ||
			!strings.Contains(err.Error(), "do not trust") {
			t.Errorf("%s: %v, want the self-check's error", model, err)
		}
	}
}

// TestTrialWeights: however many weights there are, few are drawn; all have a number, other than the one in the next
// row of a matrix, and another one in another trial.
func TestTrialWeights(t *testing.T) {
	for _, n := range []int{1, 1000, period, 5*period + 7} {
		w, other := trialWeights(n, 9, 1), trialWeights(n, 9, 2)
		if len(w) != n {
			t.Fatalf("%d weights, want %d", len(w), n)
		}
		for i := range w {
			if w[i] == 0 || w[i] == other[i] || w[i] != w[i%period] {
				t.Fatalf("weight %d of %d is %g, in another trial %g; weight %d is %g", i, n, w[i], other[i],
					i%period, w[i%period])
			}
		}
	}
	w := trialWeights(1<<20, 9, 1)
	for k := 16; k <= 1<<12; k *= 2 { // rows of k weights
		for at := 0; at+2*k <= len(w); at += k {
			if slices.Equal(w[at:at+k], w[at+k:at+2*k]) {
				t.Errorf("weights %d on are those of the next row of %d", at, k)
			}
		}
	}
}
