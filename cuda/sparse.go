//go:build cuda

package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
)

// sparse is linear models on sparse rows: kernels/sparse.cu. A step of plain SGD is a
// warp's; one that needs the gradient of all weights, of the optimizers with state or for
// averaged gradients, is a CTA's.
var (
	sparse = family{fill: fillSparse, kernels: sparseKernels("sparse_step"), scratch: sparseScratch, teams: warpsOfCTA, block: 64}
	whole  = family{fill: fillSparse, kernels: sparseKernels("sparse_whole"), scratch: wholeScratch, teams: 1, block: 64}
)

const warpsOfCTA = 8

// sparseFamily is the one of the two that takes the steps of a configuration.
func sparseFamily(c *config.Config) *family {
	if takesWhole(c) {
		return &whole
	}
	return &sparse
}

// takesWhole tells whether a step needs the gradient of all weights.
func takesWhole(c *config.Config) bool { return c.Optimizer != config.SGD || c.AveragesGradients() }

func sparseKernels(step string) func(*job) (string, string) {
	return func(*job) (string, string) { return step, "sparse_evaluate" }
}

func fillSparse(j *job, s *device.Setup, m *memory) error {
	spec, c := s.Spec, s.Job
	switch {
	case len(spec.Widths) > 0:
		return fmt.Errorf("gpu: %s on sparse rows trains in host memory only; leave --gpu out, or choose a linear model", c.Model)
	case spec.Outputs > maxOutputs:
		return fmt.Errorf("gpu: the model %s has %d outputs: at most %d", c.Model, spec.Outputs, maxOutputs)
	}
	j.BiasStep = cmp.Or(c.Tuning.BiasStep, 1)
	if m.layout.Data.Hot >= 0 {
		j.Plan = uint64(m.data) + uint64(m.layout.Data.Hot)
		j.Hot, j.FlushEvery = int64(hotCount(s)), int64(flushEvery(s))
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

// Hot columns: those that occur most often are kept in the shared memory of each CTA, and
// flushed every so many of its steps (kernels/sparse_hot.h). In the training set's indices
// on the GPU they are marked.

const (
	hotSlots = 512     // SLOTS of kernels/sparse_hot.h
	hotMark  = 1 << 31 // MARK
	// A flush writes up to hotSlots weights one by one. Of imdb's rows, with 77 hot entries
	// each, it takes seven to write as many directly.
	leastFlush, mostFlush = 16, 64
)

// flushEvery is how many steps a CTA holds back; 1: none. Where nobody says, all that the
// CTAs of the run hold back together are to be at most half of the steps in flight that the
// learning rate allows; where that is too little to gain by, or not known, nothing is held back.
func flushEvery(s *device.Setup) int {
	c := s.Job
	if c.Mode.Kind != config.Async || s.Set.Kind != data.Sparse || s.Spec.Outputs != 1 || len(s.Spec.Widths) > 0 || takesWhole(&c.Config) {
		return 1
	}
	if n, err := strconv.Atoi(c.Config.MergeEvery); err == nil {
		return n
	}
	ctas := ceilDiv(c.Tuning.InFlight, warpsOfCTA)
	if c.Tuning.InFlight <= c.Workers { // a worker's one step would be late by what it holds back itself
		return 1
	}
	if n := int(c.Tuning.MaxInFlight) / (2 * ctas); n >= leastFlush {
		return min(n, mostFlush)
	}
	return 1
}

// hotCount is how many weights are held back, the bias among them; 0 where nothing is.
func hotCount(s *device.Setup) int {
	if flushEvery(s) <= 1 {
		return 0
	}
	n := s.Spec.Features
	if s.Spec.Bias {
		n++
	}
	return min(n, hotSlots)
}

// notHeld says that nothing is held back, if somebody asked for it in vain; else it is
// empty.
func notHeld(s *device.Setup, j *job) string {
	n, err := strconv.Atoi(s.Job.Config.MergeEvery)
	switch {
	case err != nil || n <= 1 || j.Hot > 0:
		return ""
	case flushEvery(s) > 1:
		return fmt.Sprintf("--merge-every %d has no effect: weights are held back only when the training set is in the GPU's memory, and this one streams", n)
	}
	return fmt.Sprintf("--merge-every %d has no effect: on a GPU weights are held back in mode async, of a linear model with one output on sparse rows, by plain sgd", n)
}

// hotColumns are they: the most frequent columns, and the bias last.
func hotColumns(s *device.Setup) []int64 {
	n, freq := hotCount(s), s.Set.Freq
	if s.Spec.Bias {
		n--
	}
	var top []int64 // most frequent first
	for j := range freq {
		if len(top) == n && (n == 0 || freq[j] <= freq[top[n-1]]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, freq[j], func(i int64, f float32) int { return cmp.Compare(f, freq[i]) })
		top = slices.Insert(top, at, int64(j))
		top = top[:min(n, len(top))]
	}
	if s.Spec.Bias {
		top = append(top, int64(s.Spec.Features))
	}
	return top
}

// marked writes to idx the indices of some entries, with their slots for the hot columns.
func marked(idx, from []uint32, slot map[uint32]uint32) {
	for i, j := range from {
		idx[i] = j
		if at, ok := slot[j]; ok {
			idx[i] = hotMark | at
		}
	}
}

// uploadHot marks the hot columns in the training set on the GPU, and lists them there.
func uploadHot(m *memory, s *device.Setup) error {
	d := m.layout.Data
	if d.Hot < 0 {
		return nil
	}
	columns, slot := hotColumns(s), map[uint32]uint32{}
	for i, j := range columns {
		slot[uint32(j)] = uint32(i)
	}
	err := upload(m.data+cu.DevicePtr(d.Hot), columns)
	piece := make([]uint32, 1<<20)
	for at := 0; at < len(s.Set.Idx) && err == nil; at += len(piece) {
		n := copy(piece, s.Set.Idx[at:])
		marked(piece[:n], s.Set.Idx[at:at+n], slot)
		err = upload(m.data+cu.DevicePtr(d.Idx)+cu.DevicePtr(4*at), piece[:n])
	}
	return err
}
