package ability_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// stopAt returns where patience ends a run whose history is known, and its best epoch then: by
// counting epochs one after the other.
func stopAt(history []rundir.EpochResult, patience int) (stop, best int) {
	least, waited := math.Inf(1), 0
	for i, e := range history {
		waited++
		if *e.ValidationLoss < least {
			least, best, waited = *e.ValidationLoss, e.Epoch, 0
		}
		if stop = i + 1; waited == patience {
			break
		}
	}
	return stop, best
}

// TestPatience: a run stops where the history of one without patience says, and leaves the
// weights of the best epoch, which eval finds as good as the run has said.
func TestPatience(t *testing.T) {
	for _, mode := range []string{"async", "sync", "locked", "delayed:2"} {
		t.Run(mode, func(t *testing.T) {
			c := runtest.Overfitted(t)
			if c.Mode = config.MustMode(mode); mode == "sync" {
				c.Workers = 3
			}
			whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
			stop, best := stopAt(whole.History, 5)
			if last := len(whole.History); best < 3 || best > last/2 ||
				*whole.History[last-1].ValidationLoss < 1.02**whole.History[best-1].ValidationLoss {
				t.Fatalf("epoch %d of %d is the best: this run does not overfit", best, last)
			}
			c.Patience = 5
			r := runtest.Train(t, c)
			if r.Epochs != stop || r.BestEpoch != best || whole.BestEpoch != best ||
				r.Stopped != fmt.Sprintf("patience 5: no better validation loss since epoch %d", best) {
				t.Errorf("%d epochs, the best %d, stopped by %q; want %d, %d of %d", r.Epochs, r.BestEpoch, r.Stopped,
					stop, best, whole.BestEpoch)
			}
			bestIsTested(t, c, r)
			sameBest(t, c.Run, whole.Run)
		})
	}
}

// TestPatienceOfWorkers: so do workers whose steps no two runs repeat.
func TestPatienceOfWorkers(t *testing.T) {
	for _, mode := range []string{"async", "atomic", "ordered"} {
		c := runtest.Overfitted(t)
		c.Mode, c.Workers, c.Patience, c.Epochs = config.MustMode(mode), 2, 4, 400
		r := runtest.Train(t, c)
		if stop, best := stopAt(r.History, 4); r.Epochs != stop || r.BestEpoch != best || r.Epochs != best+4 {
			t.Errorf("%s: %d epochs, the best %d; want %d, %d", mode, r.Epochs, r.BestEpoch, stop, best)
		}
		bestIsTested(t, c, r)
	}
}

// bestIsTested fails the test unless the best weights are evaluated to what the run reports: on the test
// set and on none before, which the epochs say nothing of.
func bestIsTested(t *testing.T, c config.Config, r rundir.Result) {
	t.Helper()
	sets, err := c.ReadSets(data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Close()
	if v := runtest.Evaluated(t, c.Run, sets.Validation); v.Loss != *r.ValidationLoss ||
		v.Loss != *r.History[r.BestEpoch-1].ValidationLoss || *v.R2 != *r.ValidationR2 {
		t.Errorf("the best weights have the validation loss %v, the run says %v", v.Loss, *r.ValidationLoss)
	}
	if v := runtest.Evaluated(t, c.Run, sets.Test); v.Loss != r.TestLoss || *v.RMSE != *r.TestRMSE ||
		math.Abs(r.Residuals.RMSE-*v.RMSE) > 1e-7**v.RMSE { // predictions are rounded as a batch's products are
		t.Errorf("the best weights have the test loss %v, the run says %v, and %+v", v.Loss, r.TestLoss, r.Residuals)
	}
	for _, e := range r.History {
		if !math.IsNaN(e.TestLoss) || e.TestRMSE != nil || e.TestR2 != nil {
			t.Errorf("the test set was evaluated after epoch %d", e.Epoch)
		}
	}
}

// sameBest fails the test unless two runs have left the same best weights.
func sameBest(t *testing.T, a, b string) {
	t.Helper()
	var of [2][]saved.Tensor
	for i, dir := range []string{a, b} {
		s, err := saved.Open(filepath.Join(dir, rundir.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		of[i] = s.Tensors()
	}
	if d := cmp.Diff(of[0], of[1]); d != "" {
		t.Fatalf("the best weights of %s are not those of %s:\n%s", a, b, d)
	}
}

// TestResumeKeepsPatience: a run that is cut and resumed stops where one left alone does, with the
// same best weights, wherever its best epoch lies; one that has stopped is not resumed until it
// is to be more patient.
func TestResumeKeepsPatience(t *testing.T) {
	c := runtest.Overfitted(t)
	c.Patience = 6
	whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
	for _, cut := range []int{whole.BestEpoch - 1, whole.BestEpoch, whole.BestEpoch + 3} {
		part := runtest.WithRun(c, t.TempDir())
		part.Epochs, part.SaveEvery = cut, "0"
		first := runtest.Train(t, part)
		if first.Stopped != "" || first.Epochs != cut {
			t.Fatalf("%d epochs, stopped by %q", first.Epochs, first.Stopped)
		}
		part.Resume, part.Run, part.Epochs = part.Run, t.TempDir(), c.Epochs
		r := runtest.Train(t, part)
		if r.Epochs != whole.Epochs || r.BestEpoch != whole.BestEpoch || r.TestLoss != whole.TestLoss ||
			r.Stopped != whole.Stopped {
			t.Errorf("cut after epoch %d: %d epochs, the best %d, stopped by %q; want %d, %d", cut, r.Epochs,
				r.BestEpoch, r.Stopped, whole.Epochs, whole.BestEpoch)
		}
		sameBest(t, part.Run, whole.Run)
	}
	again := runtest.Resumed(runtest.WithRun(c, whole.Run))
	runtest.Refused(t, again, whole.Run,
		fmt.Sprintf("no better validation loss since epoch %d; give --patience 7 or more",
			whole.BestEpoch))
	other := again
	other.Validation = "0.3"
	runtest.Refused(t, other, whole.Run, "rows")
	longer := runtest.WithRun(c, t.TempDir())
	longer.Patience = 12
	want := runtest.Train(t, longer)
	again.Patience = 12
	got := runtest.Train(t, again)
	if got.Epochs != want.Epochs || got.Stopped != want.Stopped || got.BestEpoch != want.BestEpoch {
		t.Errorf("resumed with more patience: %d epochs, %q; want %d, %q", got.Epochs, got.Stopped, want.Epochs,
			want.Stopped)
	}
	runtest.SameEnd(t, want.Run, got.Run)
}

// TestTargetsAreOfValidation: with a validation set, targets are of its loss.
func TestTargetsAreOfValidation(t *testing.T) {
	c := runtest.Overfitted(t)
	whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
	c.TargetLoss = *whole.History[1].ValidationLoss
	if r := runtest.Train(t, c); r.Epochs != 2 || !strings.HasPrefix(r.Stopped, "target loss") {
		t.Errorf("%d epochs, stopped by %q; want 2, by the target", r.Epochs, r.Stopped)
	}
}

// TestInterruptedIsNotTested: the test set is left alone until a run has come to its end.
func TestInterruptedIsNotTested(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Validation, c.Epochs = "slower", "0.2", 1000 // on a busy machine it is interrupted late
	r := runtest.Cut(t, c, 2, 400)
	if !math.IsNaN(r.TestLoss) || r.TestAccuracy != nil || r.Detail != nil || r.BestEpoch != r.Epochs ||
		r.Epochs == 0 || r.ValidationLoss == nil {
		t.Errorf("interrupted after %d epochs: test loss %v, best epoch %d", r.Epochs, r.TestLoss, r.BestEpoch)
	}
	c.Epochs = r.Epochs + 1
	if r = runtest.Train(t, runtest.Resumed(c)); r.TestAccuracy == nil || r.BestEpoch != c.Epochs {
		t.Errorf("at its end: %+v", r)
	}
}

// TestNetworksStopInTime: a network that is left to itself ends near the best test loss that it had on all rows, where
// a run without early stopping ends far from it; the weights that it leaves have the loss that it reports.
func TestNetworksStopInTime(t *testing.T) {
	runtest.InFull(t)
	best, last, stopped := 0.0, 0.0, 0.0
	for seed := range uint64(3) {
		c := config.Default()
		c.Data, c.Model, c.Workers, c.Seed, c.Run = "digits:3000", "mlp:32", 1, seed+1, t.TempDir()
		all := runtest.WithRun(c, t.TempDir())
		all.Validation = config.NoValidation
		whole := runtest.Train(t, all)
		least := math.Inf(1)
		for _, e := range whole.History {
			least = min(least, e.TestLoss)
		}
		r := runtest.Train(t, c)
		if r.BestEpoch == 0 || r.Epochs != r.BestEpoch+20 || r.Epochs >= whole.Epochs {
			t.Errorf("seed %d: %d epochs, the best %d; without early stopping %d", c.Seed, r.Epochs, r.BestEpoch,
				whole.Epochs)
		}
		if e, err := saved.Eval(c.Run, "", "", ""); err != nil || e.Loss != r.TestLoss ||
			r.TrainLoss != r.History[r.BestEpoch-1].TrainLoss {
			t.Errorf("seed %d: the saved weights have the test loss %v (%v), the run says %v; train loss %v", c.Seed,
				e.Loss, err, r.TestLoss, r.TrainLoss)
		}
		best, last, stopped = best+least, last+whole.TestLoss, stopped+r.TestLoss
	}
	if last < 1.15*best || stopped-best > (last-best)/2 {
		t.Errorf("test losses of three runs together: %.4f, the best of all epochs %.4f, the last %.4f", stopped, best,
			last)
	}
}
