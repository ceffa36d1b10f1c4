package plan

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
)

// TestScheduleOfNodes: where all nodes have a multiple of the rate that was asked for, the schedule ends at that
// multiple too; at a lower rate it ends where it was to end.
func TestScheduleOfNodes(t *testing.T) {
	c := &config.Config{Schedule: "linear", LR: 0.1, LRMin: 0.02, Epochs: 4}
	for lr, end := range map[float64]float64{0.1: 0.02, 0.3: 0.06, 0.05: 0.02, 0.01: 0.01} {
		if got := NewSchedule(c, lr, 1000).At(4000); math.Abs(got-end) > 1e-12 {
			t.Errorf("from %v the schedule ends at %v, want %v", lr, got, end)
		}
	}
}

// The learning rates are worked out by hand: 1,000 examples an epoch, 4 epochs.
func TestSchedules(t *testing.T) {
	half := math.Sqrt(0.5)
	for _, c := range []struct {
		kind           config.Schedule
		lr, min, decay float64
		at             map[int64]float64
	}{
		{"constant", 0.1, 0.01, 0.5, map[int64]float64{0: 0.1, 2000: 0.1, 9999: 0.1}},
		{"cosine", 0.1, 0, 0, map[int64]float64{0: 0.1, 1000: 0.05 * (1 + half), 2000: 0.05, 3000: 0.05 * (1 - half),
			4000: 0, 5000: 0}},
		{"cosine", 0.5, 0.1, 0, map[int64]float64{0: 0.5, 2000: 0.3, 4000: 0.1, 4064: 0.1}},
		{"linear", 0.4, 0, 0, map[int64]float64{0: 0.4, 1: 0.3999, 1000: 0.3, 4000: 0, 4100: 0}},
		{"linear", 0.4, 0.2, 0, map[int64]float64{0: 0.4, 3000: 0.25, 4000: 0.2, 8000: 0.2}},
		{"cooldown", 0.4, 0, 0, map[int64]float64{0: 0.4, 2000: 0.4, 2500: 0.3, 3000: 0.2, 4000: 0, 4100: 0}},
		{"cooldown", 0.4, 0.2, 0, map[int64]float64{1999: 0.4, 3000: 0.3, 4000: 0.2, 8000: 0.2}},
		{"exp", 0.8, 0, 0.25, map[int64]float64{0: 0.8, 500: 0.4, 1000: 0.2, 1500: 0.1, 4000: 0.003125}},
		{"exp", 0.8, 0.15, 0.25, map[int64]float64{1000: 0.2, 1500: 0.15, 4000: 0.15}},
		{"step", 0.8, 0, 0.5, map[int64]float64{0: 0.8, 999: 0.8, 1000: 0.4, 1999: 0.4, 2000: 0.2, 3999: 0.1}},
		{"step", 0.8, 0.3, 0.5, map[int64]float64{1999: 0.4, 2000: 0.3}},
	} {
		s := NewSchedule(&config.Config{Schedule: c.kind, LR: c.lr, LRMin: c.min, Decay: c.decay, Epochs: 4}, c.lr,
			1000)
		for seen, want := range c.at {
			if got := s.At(seen); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s from %v to %v, after %d examples: %v, want %v", c.kind, c.lr, c.min, seen, got, want)
			}
		}
	}
}

func TestSchedulesFallAndStayAboveTheirEnd(t *testing.T) {
	for _, kind := range []config.Schedule{"constant", "cosine", "linear", "cooldown", "exp", "step"} {
		s := NewSchedule(&config.Config{Schedule: kind, LR: 0.3, LRMin: 0.01, Decay: 0.1, Epochs: 7}, 0.3, 777)
		last := 0.3
		for seen := range int64(2 * 7 * 777) {
			lr := s.At(seen)
			if !(lr <= last && lr >= 0.01) {
				t.Fatalf("%s after %d examples: %v, after %v", kind, seen, lr, last)
			}
			last = lr
		}
	}
}
