package run

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
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

// TestHistogramsAreSeldom: of many short epochs TensorBoard gets the scores of each, and histograms every two seconds
// at most.
func TestHistogramsAreSeldom(t *testing.T) {
	c := quick(t)
	c.Data, c.Epochs, c.SaveEvery = "digits:200", 200, "0"
	began := time.Now()
	train(t, c)
	files, _ := filepath.Glob(filepath.Join(c.Run, rundir.EventPrefix+"*"))
	events, err := os.ReadFile(files[0])
	most := int(time.Since(began)/countsEvery) + 2 // and those of the last epoch
	if got, scores := bytes.Count(events, []byte("bias")), bytes.Count(events, []byte("train/loss")); err != nil ||
		got == 0 || got > most || scores < c.Epochs {
		t.Errorf("%d histograms of the bias and %d losses in %d epochs (%v), want at most %d histograms", got, scores,
			c.Epochs, err, most)
	}
}

// TestSavedAtTheEnd: a run that a target ends after an epoch that was not saved leaves the weights of that epoch, and
// a snapshot that goes on from there as a run does that was saved after each.
func TestSavedAtTheEnd(t *testing.T) {
	c := quick(t)
	c.Epochs = 5
	want := train(t, withRun(c, t.TempDir()))
	part := withRun(c, t.TempDir())
	part.SaveEvery, part.TargetLoss = "0", 100
	if got := train(t, part); got.Epochs != 1 || got.Stopped != "target loss 100" {
		t.Fatalf("%d epochs, %q", got.Epochs, got.Stopped)
	}
	f, err := rundir.ReadSnapshot(part.Run)
	if err != nil || f.Pos.Epoch != 2 || len(f.Pos.History) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	rest := resumed(part)
	rest.TargetLoss, rest.SaveEvery = 0, "auto"
	train(t, rest)
	sameEnd(t, want.Run, part.Run)
}
