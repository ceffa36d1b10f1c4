//go:build cuda

package cuda

import (
	"fmt"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// family is a kind of models: which kernels train and score it, and what those must be
// told beside what they all are.
type family struct {
	// fill completes a job, or refuses what its kernels cannot do. It sets Teams to how many
	// steps a CTA takes at a time, when enough are wanted.
	fill func(j *job, s *device.Setup, m *memory) error
	// step is the name of the kernel that takes steps, evaluate of that which evaluates. A
	// kernel KIND_step is in ptx/KIND.*.ptx.
	step     func(j *job) string
	evaluate string
	// scratch is what a CTA needs of it, in floats; MaxBatch is set.
	scratch func(j *job) int64
	// plans: job.Plan is memory of the job's own (freePlan).
	plans bool
}

func always(kernel string) func(*job) string { return func(*job) string { return kernel } }

// scoreBlock is how many rows a ticket of an evaluation has: BLOCK of the kernels.
const scoreBlock = 64

// familyOf is the one that trains the model on the set.
func familyOf(s *device.Setup) (*family, error) {
	switch s.Spec.Family() {
	case model.Own:
		return nil, fmt.Errorf("gpu: %s is a custom model, which trains in host memory only; leave --gpu out",
			s.Job.Asked.Model)
	case model.Convolutional:
		return &conv, nil
	case model.Factor:
		return &factor, nil
	case model.Cut:
		return &cut, nil
	}
	switch {
	case s.Set.Kind != data.Sparse:
		return &dense, nil
	case takesWhole(&s.Job.Asked):
		return &whole, nil
	}
	return &sparse, nil
}

// file is the name of the PTX of a kernel, without its architecture.
func file(kernel string) string {
	kind, _, _ := strings.Cut(kernel, "_")
	return kind
}
