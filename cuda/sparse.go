//go:build cuda

package cuda

import (
	"fmt"

	"gorgonia.org/cu"

	"hogwild/hogwild/device"
)

// sparse and whole are linear models on sparse rows: kernels/sparse.cu. A step of plain SGD is
// a warp's; one that needs the gradient of all weights, of the optimizers with state or for
// averaged gradients, is a CTA's.
var (
	sparse = family{fill: fillSparse, step: always("sparse_step"), evaluate: "sparse_evaluate", scratch: sparseScratch}
	whole  = family{fill: fillSparse, step: always("sparse_whole"), evaluate: "sparse_evaluate", scratch: wholeScratch}
)

func fillSparse(j *job, s *device.Setup, m *memory) error {
	spec, c := s.Spec, s.Job
	switch {
	case len(spec.Widths) > 0:
		return fmt.Errorf(
			"gpu: %s on sparse rows trains in host memory only; leave --gpu out, or choose a linear model",
			c.Asked.Model)
	case spec.Outputs > maxOutputs:
		return fmt.Errorf("gpu: the model %s has %d outputs: at most %d", c.Asked.Model, spec.Outputs, maxOutputs)
	}
	if !takesWhole(&c.Asked) {
		j.Teams = warpsOfCTA
	}
	if m.layout.Data.Local >= 0 {
		j.Plan = uint64(m.data) + uint64(m.layout.Data.Local)
		j.Locals, j.MergeEvery = int64(localCount(s)), int64(mergeEvery(s))
	} else if n := biasEvery(s); n > 1 {
		j.Locals, j.MergeEvery = int64(spec.Outputs), int64(n)
	}
	return nil
}

// sparseScratch has the deltas of a warp's step: see kernels/sparse.cu.
func sparseScratch(j *job) int64 {
	if j.Outputs == 1 {
		return j.Teams * max(j.MaxBatch, group) // the evaluation has the outputs of a row a warp
	}
	return j.Teams * roundUp(j.MaxBatch, group) * j.Outputs
}

// wholeScratch has a gradient before them.
func wholeScratch(j *job) int64 {
	return roundUp(j.Weights, group) + roundUp(j.MaxBatch, group)*j.Outputs
}

// uploadLocal lists the local columns on the GPU, and returns their slots.
func uploadLocal(m *memory, s *device.Setup) (slot map[uint32]uint32, err error) {
	if m.layout.Data.Local < 0 {
		return nil, nil
	}
	columns, slot := localColumns(s), map[uint32]uint32{}
	for i, j := range columns {
		slot[uint32(j)] = uint32(i)
		if int(j) < s.Spec.Features { // else it is the bias
			columns[i] = int64(m.layout.Scatter.column(uint32(j)))
		}
	}
	return slot, upload(m.data+cu.DevicePtr(m.layout.Data.Local), columns)
}
