package run

import (
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// TestWantsSave: by default a second, and 50 times what a save takes, pass between saves, so that those take 2% of the
// time at most. A save that is due is made in any case.
func TestWantsSave(t *testing.T) {
	for _, x := range []struct {
		every     string
		ago, cost time.Duration
		epoch     int
		due, want bool
	}{
		{"auto", 900 * time.Millisecond, 0, 1, false, false},
		{"auto", 1100 * time.Millisecond, time.Millisecond, 1, false, true},
		{"auto", 4 * time.Second, 100 * time.Millisecond, 1, false, false},
		{"auto", 6 * time.Second, 100 * time.Millisecond, 1, false, true},
		{"auto", 0, time.Hour, 1, true, true},
		{"2", 0, time.Hour, 1, false, false},
		{"2", 0, time.Hour, 4, false, true},
		{"0", time.Hour, 0, 4, false, false},
		{"30s", time.Hour, 0, 4, false, false}, // within epochs
		{"0", 0, 0, 3, true, true},
		{"1", 0, time.Hour, manyEpochs, false, true}, // then the history is long
		{"1", 4 * time.Second, 100 * time.Millisecond, manyEpochs + 1, false, false},
		{"1", 6 * time.Second, 100 * time.Millisecond, manyEpochs + 1, false, true},
	} {
		r := newCoordinator(config.Config{SaveEvery: x.every, Workers: 1}, Options{Quiet: true})
		r.snapshots.saved, r.snapshots.cost, r.snapshots.savePending = time.Now().Add(-x.ago), x.cost, x.due
		if got := r.snapshots.wantsSave(x.epoch); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
