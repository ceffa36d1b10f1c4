package core

import (
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
)

// Divergence is the error of numbers that diverged: what did, and what to do.
type Divergence struct {
	What error
	Cure string
}

// Error says what diverged, and the cure.
func (d Divergence) Error() string {
	return fmt.Sprintf("%v: %v; %s", config.ErrDiverged, d.What, d.Cure)
}

// Is has it match ErrDiverged.
func (d Divergence) Is(target error) bool { return target == config.ErrDiverged }

// Unwrap returns what diverged.
func (d Divergence) Unwrap() error { return d.What }

// Diverged returns the error of numbers that are not finite.
func (r *Run) Diverged(what error) error {
	rate := "--lr"
	if r.Mem.OwnRate() {
		rate = "learning rate in the program's optimizer"
	}
	return Divergence{what, "try a lower " + rate + " (" + r.LastGood() + ")"}
}

// NotFinite returns the error of the first rank whose loss was not finite; nil if there is none.
func (r *Run) NotFinite() error {
	for rank := range r.Mem.Workers.Capacity() {
		if step := r.Mem.Block.Rank(rank, control.RankFailStep); step != 0 {
			e := &device.NotFiniteError{Step: int64(step), Loss: floatOf(r.Mem.Block.Rank(rank, control.RankFailLoss)),
				LR: floatOf(r.Mem.Block.Rank(rank, control.RankFailRate))}
			return r.Diverged(fmt.Errorf("worker %d: %w", rank, e))
		}
	}
	return nil
}

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }
