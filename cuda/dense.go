//go:build cuda

package cuda

import (
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/internal/vec"
)

// dense is linear models and perceptrons on dense rows: kernels/linear.cu, mlp.cu,
// for steps of one row linear_one.cu and mlp_one.cu, and evaluate.cu.
var dense = family{fill: fillDense, step: denseStep, tensor: denseTensor, evaluate: "evaluate", scratch: denseScratch}

func fillDense(j *job, s *device.Setup, _ *memory) error {
	spec := s.Spec
	if len(spec.Widths) > maxHidden || spec.Outputs > maxOutputs {
		return fmt.Errorf("gpu: the model %s has %d hidden layers and %d outputs: at most %d and %d",
			s.Job.Asked.Model, len(spec.Widths), spec.Outputs, maxHidden, maxOutputs)
	}
	for i, w := range spec.Widths {
		j.Width[i] = int64(w)
	}
	if s.Job.Used.Center {
		first := append(spec.Widths[:len(spec.Widths):len(spec.Widths)], spec.Outputs)[0]
		j.Center = int64((spec.Features + 1) * first) // behind V and k
		j.Norm2 = float64(vec.Dot(s.Set.Mean, s.Set.Mean))
	}
	return nil
}

func denseStep(j *job) string {
	kind := "mlp"
	if j.Layers == 1 && j.Outputs <= 16 {
		kind = "linear"
	}
	if j.MaxBatch == 1 {
		return kind + "_one"
	}
	return kind + "_step"
}

// denseTensor takes the steps of mlp_step by plain SGD, if they are one group.
func denseTensor(j *job, c *config.Config) string {
	plain := (c.Optimizer == config.SGD || c.AveragesGradients()) && c.L1 == 0 && c.L2 == 0
	if denseStep(j) != "mlp_step" || !plain || j.MaxBatch > group {
		return ""
	}
	return "mlp_tensor"
}

// denseScratch has the outputs of the hidden layers and the deltas of all, eight samples
// at a time: see kernels/net.h.
func denseScratch(j *job) int64 {
	wide := j.Outputs
	for _, w := range j.Width {
		wide += 2 * w
	}
	return roundUp(roundUp(j.MaxBatch, group)*wide, alignment/4)
}

const group = 8 // samples that a CTA works on together
