package run

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/tuning"
)

// freshWorld is the control block of a job on n rows, with its first epoch open.
func freshWorld(t *testing.T, n int, edit func(*config.Config)) *control.Block {
	t.Helper()
	c := defaults()
	c.Workers, c.Batch = 4, 1
	edit(&c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	w, err := control.Create(control.Header{Version: config.Version, Job: *tuning.AsAsked(c), Rows: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Seg.Close() })
	w.Open(1)
	return w
}

func async4(*config.Config) {}

func TestFailReachesTheCoordinator(t *testing.T) {
	w := freshWorld(t, 64, async4)
	w.Fail(2, 17, math.Inf(1), 0.25)
	if !w.Stopped() {
		t.Error("the others go on")
	}
	if s, l, r := w.Rank(2, control.RankFailStep), w.Rank(2, control.RankFailLoss), w.Rank(2, control.RankFailRate); s != 17 ||
		!math.IsInf(floatOf(l), 1) || floatOf(r) != 0.25 {
		t.Errorf("step %d, loss %v, learning rate %v", s, floatOf(l), floatOf(r))
	}
}
