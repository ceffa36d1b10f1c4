//go:build cuda

package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"hogwild/hogwild"
	"hogwild/hogwild/model"
)

// job is what a kernel is told: struct Job of kernels/dev.h, field by field, eight
// bytes each. Addresses are 0 where not used.
type job struct {
	W, Out, Velocity       uint64
	X8, X, Y, Mul, Add     uint64
	Rows, Start, LR, Loss  uint64
	Ticket, Scratch, Taken uint64
	ScratchStride          int64 // floats a CTA
	Steps                  int64
	Features, Layers       int64
	Outputs, Classes       int64
	LossKind               int64
	Bias, ScaleWide        int64
	Gradient               int64
	Width                  [maxHidden]int64
	Momentum, L2           float64
	MaxBatch               int64
	Sums                   uint64
}

// mean is struct Mean: one slice of an average.
type mean struct {
	Dst, Src, Velocity, Share  uint64
	From, Count, Ranks, Stride int64
	LR, Momentum               float64
	Gradients                  int64
}

const (
	maxHidden  = 8
	maxOutputs = 4096
)

// encode is the struct as it lies in device memory.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic(err) // of fixed-size numbers alone
	}
	return b.Bytes()
}

// lossKinds numbers the losses as kernels/loss.h does.
var lossKinds = map[model.Loss]int64{model.CrossEntropy: 0, model.Logistic: 1, model.Hinge: 2, model.Squared: 3, model.L1: 4}

// newJob fills in what is the same for all launches of a run, and refuses what the
// kernels cannot do.
func newJob(s *hogwild.Setup, m *memory) (job, error) {
	spec, c := s.Spec, s.Config
	j := job{Features: int64(spec.Features), Layers: int64(len(spec.Widths) + 1), Outputs: int64(spec.Outputs),
		Classes: int64(spec.Classes), Momentum: s.Momentum(), L2: c.L2}
	switch {
	case spec.Outputs == 0:
		return j, fmt.Errorf("gpu: the model %s is the program's own: it trains in host memory only", c.Model)
	case spec.Net != nil || spec.Shape != nil:
		return j, fmt.Errorf("gpu: the model %s trains in host memory only; leave --gpu out", c.Model)
	case s.Set.X8 == nil && s.Set.X == nil:
		return j, fmt.Errorf("gpu: %s has sparse rows: they train in host memory only; leave --gpu out", c.Data)
	case c.Optimizer != "sgd" && c.Optimizer != "momentum":
		return j, fmt.Errorf("gpu: optimizer %s trains in host memory only; choose sgd or momentum", c.Optimizer)
	case c.L1 != 0:
		return j, fmt.Errorf("gpu: l1 %g: it works in host memory only; use l2", c.L1)
	case len(spec.Widths) > maxHidden || spec.Outputs > maxOutputs:
		return j, fmt.Errorf("gpu: the model %s has %d hidden layers and %d outputs: at most %d and %d", c.Model, len(spec.Widths), spec.Outputs, maxHidden, maxOutputs)
	}
	j.LossKind = lossKinds[spec.Loss]
	for i, w := range spec.Widths {
		j.Width[i] = int64(w)
	}
	if spec.Bias {
		j.Bias = 1
	}
	d := m.layout.Data
	if d.Scales > 1 {
		j.ScaleWide = 1
	}
	j.X8, j.X, j.Y, j.Mul, j.Add = m.at(d.X8), m.at(d.X), m.at(d.Y), m.at(d.Mul), m.at(d.Add)
	return j, nil
}

// kernelName is the kernel that trains the model.
func (j *job) kernelName() string {
	if j.Layers == 1 && j.Outputs <= 16 {
		return "linear_step"
	}
	return "mlp_step"
}

// scratchFloats is what a CTA needs, in floats, for the outputs of the hidden layers
// and the deltas of all, eight samples at a time: see kernels/net.h.
func scratchFloats(j *job) int64 {
	wide := j.Outputs
	for _, w := range j.Width {
		wide += 2 * w
	}
	return roundUp(roundUp(j.MaxBatch, group)*wide, alignment/4)
}

const group = 8 // samples that a CTA works on together
