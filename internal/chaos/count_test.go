package chaos

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"hogwild/hogwild/rundir"
)

// Each row of the set that counts has a feature, and so a weight, of its own. No other row changes it, and so no
// race: it tells how often its row was trained, whatever the run believes. With plain logistic regression it
// begins at 0 and grows by rate / (1 + exp w) each time; where replicas are averaged, by the part of it
// that is their rank's share.

// count is how often a row was trained whose weight is w, and how far w is from that, in steps.
func count(w, step float64) (times int, off float64) {
	at := 0.0
	for {
		grows := step / (1 + math.Exp(at))
		if w-at < grows/2 || times > 1e6 {
			return times, math.Abs(w-at) / grows
		}
		at += grows
		times++
	}
}

// wrongCounts says which rows were not trained in each epoch, or more often than the deaths of workers explain:
// what a worker has trained of a chunk when it dies is trained again.
func (r *trial) wrongCounts() string {
	_, tensors, err := rundir.ReadTensors(filepath.Join(r.folder, rundir.WeightsFile))
	if err != nil || len(tensors) != 1 {
		return fmt.Sprintf("%d tensors (%v)", len(tensors), err)
	}
	w, err := tensors[0].Floats()
	if err != nil || len(w) != rows {
		return fmt.Sprintf("%d weights (%v)", len(w), err)
	}
	step := rate
	if r.job.mode == "sync" && r.scaled {
		return "" // the shares have changed: the accuracy says that each row was trained
	}
	if r.job.mode == "sync" {
		step /= float64(r.job.workers)
	}
	for i, v := range w {
		if n, off := count(math.Abs(float64(v)), step); n < r.job.epochs || n > r.job.epochs+r.deaths || off > 0.1 {
			return fmt.Sprintf("row %d was trained %d times (weight %v, %.2f steps off), want %d to %d", i, n, v, off,
				r.job.epochs, r.job.epochs+r.deaths)
		}
	}
	return ""
}

// TestCount: the count is right where it is known, and in an undisturbed run.
func TestCount(t *testing.T) {
	w := 0.0
	for n := range 100 {
		if got, off := count(w, rate); got != n || off > 1e-9 {
			t.Fatalf("%d times and %g, want %d", got, off, n)
		}
		w += rate / (1 + math.Exp(w))
	}
	for _, j := range []job{countingJob("async", 2, 3), countingJob("sync", 2, 3)} {
		r := newTrial(t, j)
		r.play("")
		r.report(t)
		j.epochs++
		if r.job = &j; r.wrongCounts() == "" {
			t.Errorf("%s: the count is also that of an epoch more", &j)
		}
	}
}
