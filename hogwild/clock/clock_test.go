package clock

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// heard is a Holder that notes what it hears.
type heard struct {
	c     *Clock
	taus  []int
	times []float64
}

func (h *heard) Land(Landing) {}
func (h *heard) Again(int)    {}
func (h *heard) Arrived(_, tau int, _ bool) {
	h.taus, h.times = append(h.taus, tau), append(h.times, h.c.Time)
}

// run plays this many gradients of one epoch.
func run(t *testing.T, mode, rule string, gradients int) *heard {
	t.Helper()
	c := config.Default()
	c.Mode, c.Rule = config.MustMode(mode), config.MustRule(rule)
	if err := KeepTrace(&c); err != nil {
		t.Fatal(err)
	}
	return playOn(must(t, &c), gradients)
}

func playOn(k *Clock, gradients int) *heard {
	h := &heard{c: k}
	for range gradients {
		k.Begin(0, 1, 1)
		for k.Busy() {
			k.Next(h)
		}
	}
	k.Drain(h)
	return h
}

// TestExponentialIsGeometric: of workers without memory any is next, so that a gradient is stale by t with probability
// (1/n)(1 - 1/n)^t, as in delayed:geometric:n-1. Kolmogorov and Smirnov's distance from that.
func TestExponentialIsGeometric(t *testing.T) {
	const n, gradients = 8, 40_000
	for _, mode := range []string{"clock:exp:8", "delayed:geometric:7"} {
		taus := run(t, mode, "plain", gradients).taus[n:]
		slices.Sort(taus)
		distance := 0.0
		for tau := range 60 {
			i, _ := slices.BinarySearch(taus, tau+1)
			want := 1 - math.Pow(1-1./n, float64(tau+1))
			distance = max(distance, math.Abs(float64(i)/float64(len(taus))-want))
		}
		if limit := 1.63 / math.Sqrt(float64(len(taus))); distance > limit { // 1% of such samples
			t.Errorf("%s: distance %.4f, want %.4f at most", mode, distance, limit)
		}
	}
}

// TestTimes: how long a step takes, by closed forms.
func TestTimes(t *testing.T) {
	const gradients = 8 * 300
	rates := 0.0
	for i := range 8 {
		rates += 1 / math.Sqrt(float64(i+1))
	}
	for _, c := range []struct {
		mode, rule string
		steps      int
		time       float64
	}{
		{"clock:equal:8", "plain", gradients, gradients / 8},
		{"clock:equal:8", "minibatch", gradients / 8, gradients / 8},
		{"clock:equal:8", "rennala:8", gradients / 8, gradients / 8},
		{"clock:slow:8,1,5", "minibatch", gradients / 8, 5 * gradients / 8}, // all wait for the slowest
		{"clock:slow:8,2,4", "plain", gradients, gradients / (6 + 2/4.)},
		{"clock:sqrt:8", "plain", gradients, gradients / rates},
		{"clock:sqrt:8", "minibatch", gradients / 8, math.Sqrt(8) * gradients / 8},
		{"clock:exp:8", "plain", gradients, gradients / 8},
		{"clock:lognormal:8,1", "plain", gradients, gradients / 8},
		{"clock:outage:8,0.1,10", "plain", gradients, 2 * gradients / 8},
		{"delayed:geometric:7", "plain", gradients, gradients / 8},
	} {
		k := run(t, c.mode, c.rule, gradients).c
		if k.Landed != c.steps || math.Abs(k.Time-c.time) > 0.05*c.time {
			t.Errorf("%s %s: %d steps in %v, want %d in %v", c.mode, c.rule, k.Landed, k.Time, c.steps, c.time)
		}
		if k.Computed != k.Applied+k.Dropped || len(k.flight)+len(k.held) > 0 {
			t.Errorf("%s %s: %+v", c.mode, c.rule, k.Counts)
		}
	}
}

// TestTailsMean: centred, the scales of tail have mean 1, and only then does a gain come from who is late. As published
// it is 1 + sum p^2, which doubles the rate of a constant delay.
func TestTailsMean(t *testing.T) {
	for _, mode := range []string{"clock:exp:8", "clock:equal:8", "clock:slow:8,3,4"} {
		taus := run(t, mode, "plain", 20_000).taus
		share := map[int]float64{}
		for _, tau := range taus {
			share[tau] += 1 / float64(len(taus))
		}
		published := 1.0
		for _, p := range share {
			published += p * p
		}
		for rule, want := range map[string]float64{"tail": 1, "tail-published": published} {
			s, sum := &scaler{rule: config.MustRule(rule), workers: 8}, 0.0
			for _, tau := range taus {
				sum += s.of(tau)
			}
			if mean := sum / float64(len(taus)); math.Abs(mean-want) > 0.01 {
				t.Errorf("%s, %s: mean scale %.4f, want %.4f", mode, rule, mean, want)
			}
		}
	}
}

// TestNames: workers who change places, with their speeds, arrive at the same moments with the same delays.
func TestNames(t *testing.T) {
	speeds := []float64{1, 1.37, 0.61, 2.93}
	of := func(order ...int) *heard {
		c := config.Default()
		c.Mode, c.Rule = config.MustMode("clock:equal:4"), config.MustRule("adaptive")
		k, err := New(&c)
		if err != nil {
			t.Fatal(err)
		}
		k.durations.Kind = config.Trace
		for _, i := range order {
			k.durations.traces = append(k.durations.traces, []bar{{speeds[i], 1}})
		}
		return playOn(k, 500)
	}
	a, b := of(0, 1, 2, 3), of(3, 1, 0, 2)
	if !slices.Equal(a.taus, b.taus) || !slices.Equal(a.times, b.times) {
		t.Error("the names of workers change what happens")
	}
}

// TestTrace: workers take as long as the workers in a run's report did.
func TestTrace(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "result.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"per_worker":[{"step_ns_histogram":[[1000,3],[5000,1]]},{"step_ns_histogram":[[4000,7]]},{}]}`)
	const gradients = 30_000
	k := run(t, "clock:trace:"+folder, "plain", gradients).c
	// 2 microseconds on average, and 4
	if want := gradients / (1/2e-6 + 1/4e-6); k.Workers() != 2 || math.Abs(k.Time-want) > 0.02*want {
		t.Errorf("%d workers, %v s, want 2 and %v s", k.Workers(), k.Time, want)
	}
	c := config.Default()
	c.Mode = config.MustMode("clock:trace:" + folder)
	for text, says := range map[string]string{`{"per_worker":[]}`: "does not say how long steps took", "{": "unexpected end"} {
		write(text)
		err := KeepTrace(&c)
		c.Traced = ""
		check.Error(t, err, "mode clock:trace:"+folder+": ")
		check.Error(t, err, says)
	}
}

// TestReplay: an epoch that is played again leaves the clock where it was.
func TestReplay(t *testing.T) {
	for _, mode := range []string{"clock:lognormal:5,1", "clock:slow:7,2,3"} {
		for _, rule := range []string{"tail", "drop:4,stop", "quorum:3,0.5", "rennala:4", "minibatch"} {
			c := config.Default()
			c.Mode, c.Rule = config.MustMode(mode), config.MustRule(rule)
			played, again := must(t, &c), must(t, &c)
			playOn(played, 333)
			again.Replay(0, 333, 1)
			if a, b := fmt.Sprint(playOn(played, 100).times), fmt.Sprint(playOn(again, 100).times); a != b ||
				played.Counts != again.Counts {
				t.Errorf("%s %s: %+v, played again %+v", mode, rule, played.Counts, again.Counts)
			}
		}
	}
}

func must(t *testing.T, c *config.Config) *Clock {
	t.Helper()
	k, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
