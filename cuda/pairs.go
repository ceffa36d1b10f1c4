//go:build cuda

package cuda

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
)

// factor and cut are the models of pairs: matrix factorization and graph cuts, in
// kernels/factor.cu and cut.cu.
var (
	factor = family{fill: fillFactor, step: factorStep, evaluate: "factor_evaluate", scratch: factorScratch}
	cut    = family{fill: fillCut, step: always("cut_step"), evaluate: "cut_evaluate", scratch: cutScratch}
)

const (
	warp     = 32
	cutShort = 64 // with up to this many terminals, a step of one edge is a warp's
)

// factorStep is the kernel that takes steps: racy stores are of rows of half precision.
func factorStep(j *job) string {
	if j.Racy == 1 {
		return "factor_half"
	}
	return "factor_step"
}

func fillFactor(j *job, s *device.Setup, _ *memory) error {
	c := s.Job
	j.Width[0], j.Bias = int64(s.Spec.Widths[0]), 0
	if s.Spec.Options.Biases {
		j.Bias = 1
	}
	if halves(s) > 0 {
		j.Racy = 1
	}
	short := c.Used.Batch == 1 && (c.Asked.Optimizer == config.SGD || c.Asked.AveragesGradients())
	if short {
		j.Teams = threads / factorLanes(j)
	}
	return nil
}

func fillCut(j *job, s *device.Setup, _ *memory) error {
	c := s.Job
	j.Width[0] = int64(s.Spec.Outputs)
	if c.Used.Batch == 1 && j.Width[0] <= cutShort {
		j.Teams = threads / warp
		if c.Asked.Mode.Traits().Racy { // differences of points run away: kernels/cut.cu
			j.Racy = 1
		}
	}
	return nil
}

// factorLanes is how many lanes take a step of one entry: as factor_step chooses.
func factorLanes(j *job) int64 {
	least := int64(8)
	if j.Width[0]%4 == 0 {
		least = 2
	}
	for k := min(j.Width[0], 128); ; least *= 2 {
		if 4*least >= k && (j.Discipline == 0 || least == warp) {
			return least
		}
	}
}

// factorScratch and cutScratch are nothing where a step is a few lanes'.
func factorScratch(j *job) int64 {
	switch {
	case j.Optimizer == optimizers[config.SGD] || j.Gradient == 1:
		if j.MaxBatch == 1 {
			return 0
		}
	case j.First != 0 && j.Optimizer != optimizers[config.AdaGrad]:
		return batchScratch(j, j.Features)
	}
	return batchScratch(j, 2*j.MaxBatch)
}

func cutScratch(j *job) int64 {
	if j.MaxBatch == 1 && j.Width[0] <= cutShort {
		return 0
	}
	return batchScratch(j, 2*j.MaxBatch)
}

// batchScratch returns the floats that kernels/pair.h lays out, with gradients of some nodes: a
// batch's or, where weights move that have no gradient, all.
func batchScratch(j *job, rows int64) int64 {
	k, b := j.Width[0], j.MaxBatch
	return roundUp(rows*(k+1)+2*b*k+2*b+b, alignment/4)
}
