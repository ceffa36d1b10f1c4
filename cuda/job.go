//go:build cuda

package cuda

import (
	"bytes"
	"cmp"
	"fmt"
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

// optimizers and disciplines number the words of a configuration as kernels/dev.h does.
var (
	optimizers  = map[config.Optimizer]int64{config.SGD: 0, config.Momentum: 1, config.AdaGrad: 2, config.Adam: 3}
	disciplines = map[config.ModeKind]int64{config.Locked: 1, config.Ordered: 2}
)

// newJob fills in what is the same for all launches of a run, and refuses what the
// kernels cannot do.
func newJob(s *device.Setup, m *memory) (job, *family, error) {
	spec, c := s.Spec, s.Job
	j := job{Features: int64(spec.Features), Layers: int64(len(spec.Widths) + 1), Outputs: int64(spec.Outputs),
		Classes: int64(spec.Classes), LossKind: lossKinds[spec.Loss], Center: -1, Teams: 1,
		Optimizer: optimizers[c.Asked.Optimizer], Discipline: disciplines[c.Asked.Mode.Kind],
		Ranks: int64(c.Asked.Workers), Weights: int64(m.layout.P), Seed: c.Asked.Seed,
		Momentum: s.Momentum(), Beta1: c.Asked.Beta1, Beta2: c.Asked.Beta2, L1: c.Asked.L1, L2: c.Asked.L2,
		BiasStep: cmp.Or(c.Used.BiasStep, 1)}
	if spec.Bias {
		j.Bias = 1
	}
	if c.Asked.Write == "racy" {
		j.Racy = 1
	}
	m.point(&j)
	if err := refuseGradients(&c.Asked); err != nil {
		return j, nil, err
	}
	f, err := familyOf(s)
	if err == nil {
		err = f.fill(&j, s, m)
	}
	return j, f, err
}

// refuseGradients says what the kernel that steps down averaged gradients cannot do.
func refuseGradients(c *config.Config) error {
	if c.AveragesGradients() && (c.Optimizer.Adaptive() || c.L1 != 0) {
		return fmt.Errorf("gpu: averaged gradients with optimizer %s and l1 %g: on a GPU averaged gradients need sgd "+
			"or momentum, without l1; use average weights, or leave --gpu out", c.Optimizer, c.L1)
	}
	return nil
}
