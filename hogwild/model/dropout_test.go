package model

import (
	"math"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// TestDropMasks: as many units are left out as the rate says, the others make up for
// them, and whatever tells two uses apart gives another mask.
func TestDropMasks(t *testing.T) {
	const n = 40_000
	b := &data.Batch{ID: []int32{5, 6}, Epoch: 1}
	mask := func(seed uint64, epoch, i, layer int, rate float64) []float32 {
		b.Epoch = epoch
		scale := make([]float32, n)
		drop(scale, n, 1, rate, dropKey(seed, b, i), layer)
		return scale
	}
	for _, rate := range []float64{0, .1, .5, .9, 1} {
		zeros, kept := 0.0, float32(1/(1-rate))
		for _, v := range mask(1, 1, 0, 0, rate) {
			if v == 0 {
				zeros++
			} else if v != kept {
				t.Fatalf("rate %v: a scale of %v, want 0 or %v", rate, v, kept)
			}
		}
		if off := math.Abs(zeros - rate*n); off > 4*math.Sqrt(n*rate*(1-rate))+n/65536. {
			t.Errorf("rate %v: %v of %d units are left out", rate, zeros, n)
		}
	}
	first := mask(1, 1, 0, 0, .5)
	if !slices.Equal(first, mask(1, 1, 0, 0, .5)) {
		t.Error("the same use gave another mask")
	}
	for what, other := range map[string][]float32{
		"seed": mask(2, 1, 0, 0, .5), "epoch": mask(1, 2, 0, 0, .5), "example": mask(1, 1, 1, 0, .5),
		"layer": mask(1, 1, 0, 1, .5),
	} {
		same := 0.0
		for i, v := range other {
			if v == first[i] {
				same++
			}
		}
		if math.Abs(same-n/2) > 2*math.Sqrt(n) { // four deviations
			t.Errorf("another %s: %v of %d units have the same scale", what, same, n)
		}
	}
}

// TestDropoutRepeats: a gradient is a function of weights, epoch and rows, wherever in
// a batch, and in whatever batch, an example is.
func TestDropoutRepeats(t *testing.T) {
	m, w, b := convBatch(t, "conv:3@3p2d,6d", 20)
	var g Gradient
	loss := m.Grad(w, b, &g)
	first := slices.Clone(g.Parts[0].G)
	if again := m.Grad(w, b, &g); again != loss || !slices.Equal(first, g.Parts[0].G) {
		t.Errorf("the same batch: loss %v, and then %v", loss, again)
	}
	var apart float64
	for i := range b.Rows {
		one := &data.Batch{Rows: b.Rows[i : i+1], Y: b.Y[i : i+1], ID: b.ID[i : i+1], Epoch: b.Epoch,
			Features: b.Features}
		apart += m.Grad(w, one, &g)
	}
	if math.Abs(apart-loss) > 1e-5*loss {
		t.Errorf("one by one the examples have a loss of %v, together %v", apart, loss)
	}
	b.Epoch++
	if next := m.Grad(w, b, &g); math.Abs(next-loss) < 1e-3*loss {
		t.Errorf("the loss of the next epoch is the same, %v", loss)
	}
}
