package run_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestHistogramsAreSeldom: of many short epochs TensorBoard gets the scores of each, and histograms every two seconds
// at most.
func TestHistogramsAreSeldom(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Epochs, c.SaveEvery = "digits:200", 200, "0"
	began := time.Now()
	runtest.Train(t, c)
	files, _ := filepath.Glob(filepath.Join(c.Run, rundir.EventPrefix+"*"))
	events, err := os.ReadFile(files[0])
	most := int(time.Since(began)/run.CountsEvery) + 2 // and the last epoch's
	if got, scores := bytes.Count(events, []byte("bias")), bytes.Count(events, []byte("train/loss")); err != nil ||
		got == 0 || got > most || scores < c.Epochs {
		t.Errorf("%d histograms of the bias and %d losses in %d epochs (%v), want at most %d histograms", got, scores,
			c.Epochs, err, most)
	}
}

// TestSavedAtTheEnd: a run that a target ends after an epoch that was not saved leaves the weights of that epoch, and
// a snapshot that goes on from there as a run does that was saved after each.
func TestSavedAtTheEnd(t *testing.T) {
	c := configtest.Quick(t)
	c.Epochs = 5
	want := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
	part := runtest.WithRun(c, t.TempDir())
	part.SaveEvery, part.TargetLoss = "0", 100
	if got := runtest.Train(t, part); got.Epochs != 1 || got.Stopped != "target loss 100" {
		t.Fatalf("%d epochs, %q", got.Epochs, got.Stopped)
	}
	f, err := rundir.ReadSnapshot(part.Run)
	if err != nil || f.Pos.Epoch != 2 || len(f.Pos.History) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	rest := runtest.Resumed(part)
	rest.TargetLoss, rest.SaveEvery = 0, "auto"
	runtest.Train(t, rest)
	runtest.SameEnd(t, want.Run, part.Run)
}
