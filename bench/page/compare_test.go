package page

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestCompare: the time to the lowest loss that both reached, by hand; the other losses
// are on the line between two epochs.
func TestCompare(t *testing.T) {
	recorded := func(mode string, losses ...float64) *rundir.Recorded {
		r := &rundir.Recorded{Folder: t.TempDir(), Config: config.Default()}
		r.Config.Mode = config.MustMode(mode)
		for i, loss := range losses {
			r.Epochs = append(r.Epochs, rundir.EpochResult{Epoch: i + 1, Seconds: 2 * float64(i+1),
				Tested: rundir.Tested{TestLoss: loss}})
		}
		return r
	}
	judged := func(losses ...float64) *rundir.Recorded { // by a validation set
		r := recorded("async", losses...)
		for i := range r.Epochs {
			r.Epochs[i].Judge(rundir.Scores{Set: "validation", Loss: losses[i]})
		}
		return r
	}
	balanced := func(losses ...float64) *rundir.Recorded {
		r := recorded("async", losses...)
		r.Config.ClassWeight = "balanced"
		return r
	}
	nan := math.NaN()
	for _, x := range []struct {
		a, b            *rundir.Recorded
		loss            float64
		seconds, epochs [2]float64
		settings, notes int // settings that differ, notes
	}{
		{recorded("async", 1, .5, .25), recorded("sync", .9, .75, .8), .75, [2]float64{3, 4}, [2]float64{1.5, 2}, 1, 0},
		{recorded("async", 1, nan), recorded("async", .5), 1, [2]float64{2, 2}, [2]float64{1, 1}, 0, 0},
		{judged(1, .5, .25), judged(.75), .75, [2]float64{3, 2}, [2]float64{1.5, 1}, 0, 0},
		{recorded("async", nan), recorded("async", .5), nan, [2]float64{}, [2]float64{}, 0, 1},
		{recorded("async", 1, .5), balanced(1, .5), nan, [2]float64{}, [2]float64{}, 1, 1},
	} {
		c := compare([]*rundir.Recorded{x.a, x.b})
		if len(c.Settings) != x.settings || len(c.Notes) != x.notes {
			t.Errorf("%+v: want %d settings and %d notes", c, x.settings, x.notes)
		}
		if math.IsNaN(x.loss) {
			if !math.IsNaN(c.Loss) || c.SecondsToLoss != nil {
				t.Errorf("%+v: want no loss", c)
			}
			continue
		}
		for i := range 2 {
			if c.Loss != x.loss || math.Abs(c.SecondsToLoss[i]-x.seconds[i]) > 1e-12 ||
				math.Abs(c.EpochsToLoss[i]-x.epochs[i]) > 1e-12 {
				t.Errorf("%v: %v s, %v epochs, want %v: %v, %v", c.Loss, c.SecondsToLoss, c.EpochsToLoss, x.loss,
					x.seconds, x.epochs)
			}
		}
	}
}
