package control

import (
	"math"
	"testing"
)

func TestFailReachesTheCoordinator(t *testing.T) {
	w := freshBlock(t, 64, async4)
	w.Fail(2, 17, math.Inf(1), 0.25)
	if !w.Stopped() {
		t.Error("the others go on")
	}
	step, loss, lr := w.Rank(2, RankFailStep), math.Float64frombits(w.Rank(2, RankFailLoss)),
		math.Float64frombits(w.Rank(2, RankFailRate))
	if step != 17 || !math.IsInf(loss, 1) || lr != 0.25 {
		t.Errorf("step %d, loss %v, learning rate %v", step, loss, lr)
	}
}
