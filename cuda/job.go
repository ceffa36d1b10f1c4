//go:build cuda

package cuda

import (
	"bytes"
	"strings"
	"unsafe"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// job is what a kernel is told: struct Job of kernels/dev.h, field by field, eight
// bytes each. Addresses are 0 where not used.
type job struct {
	W, Out, First, Second, Updates              uint64
	X8, X, Ptr, Idx, Val, Y, M, Freq, Mul, Add  uint64
	Rows, Start, IDs, LR, Loss, Ticket, Scratch uint64
	Counts, Record, Sums, Plan                  uint64
	ScratchStride                               int64 // floats a CTA
	Steps, Teams                                int64
	Features, Layers, Outputs, Classes          int64
	LossKind                                    int64
	Bias, Center, ScaleWide                     int64
	Gradient                                    int64
	Width                                       [maxHidden]int64
	Optimizer, Racy, Discipline                 int64
	Rank, Ranks                                 int64
	Weights, MaxBatch                           int64
	Locals, MergeEvery                          int64
	Epoch                                       int64
	Seed                                        uint64
	Momentum, Beta1, Beta2, L1, L2, BiasStep    float64
	Norm2, Mean                                 float64
	Taken                                       int64
}

// mean is struct Mean: one slice of an average.
type mean struct {
	Dst, Src, Velocity, Share  uint64
	From, Count, Ranks, Stride int64
	LR, Momentum               float64
}

const (
	maxHidden  = 8
	maxOutputs = 4096
)

// encode is a struct as it is in device memory: fields of eight bytes each have no gaps.
func encode[T any](v T) []byte {
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// lossKinds numbers the losses as kernels/loss.h does.
var lossKinds = map[model.Loss]int64{model.CrossEntropy: 0, model.Logistic: 1, model.Hinge: 2,
	model.Squared: 3, model.L1: 4}

// optimizers numbers the optimizers as kernels/dev.h does.
var optimizers = map[config.Optimizer]int64{config.SGD: 0, config.Momentum: 1, config.AdaGrad: 2, config.Adam: 3}

// numberOf returns the number of what updates wait for, as kernels/dev.h has it.
func numberOf(mode *config.Traits) int64 {
	switch {
	case mode.Locks:
		return 1
	case mode.Ordered:
		return 2
	}
	return 0
}

func always(kernel string) func(*job) string { return func(*job) string { return kernel } }

// scoreBlock is how many rows a ticket of an evaluation has: BLOCK of the kernels.
const scoreBlock = 64

// file is the name of the PTX of a kernel, without its architecture.
func file(kernel string) string {
	if strings.HasSuffix(kernel, "_one") || onTensorCores(kernel) {
		return kernel
	}
	kind, _, _ := strings.Cut(kernel, "_")
	return kind
}

// stepOn is the kernel that takes the steps of a run on a GPU: those before compute capability 8.0 have no tensor cores
// for tf32.
func (f *family) stepOn(g *gpu, j *job, c *config.Config) string {
	if f.tensor != nil && c.Precision == config.Auto {
		if k := f.tensor(j, c); k != "" && len(imagesOf(file(k), g.Major, g.Minor)) > 0 {
			return k
		}
	}
	return f.step(j)
}

// onTensorCores reports whether a kernel's products are in tf32.
func onTensorCores(kernel string) bool { return strings.HasSuffix(kernel, "_tensor") }

// family is a kind of models: which kernels train and score it, and what those must be told on top
// of what all kernels are told.
type family struct {
	// fill completes a job, or refuses what its kernels cannot do. It sets Teams to how many
	// steps a CTA takes at a time, when enough are wanted.
	fill func(j *job, s *device.Setup, m *memory) error
	// step is the name of the kernel that takes steps, evaluate of that which evaluates. A
	// kernel KIND_step is in ptx/KIND.*.ptx.
	step     func(j *job) string
	evaluate string
	// tensor is the name of a kernel that takes the same steps with products in tf32, on tensor cores; nil or empty
	// if there is none.
	tensor func(j *job, c *config.Config) string
	// scratch returns how many floats of scratch a CTA needs; MaxBatch is set.
	scratch func(j *job) int64
	// plans: job.Plan is memory of the job's own (freePlan).
	plans bool
}

// point lets a job see the set.
func (m *memory) point(j *job) {
	for i, p := range []*uint64{&j.X8, &j.X, &j.Ptr, &j.Idx, &j.Val, &j.Y, &j.M, &j.Freq, &j.Mul, &j.Add} {
		if at := m.layout.Data.At[i]; at >= 0 {
			*p = uint64(m.data) + uint64(at)
		}
	}
	if m.layout.Data.Scales > 1 {
		j.ScaleWide = 1
	}
}
