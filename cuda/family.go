//go:build cuda

package cuda

import (
	"fmt"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// family is a kind of models: which kernels train and judge it, and what those must be
// told beside what they all are.
type family struct {
	// fill completes a job, or refuses what its kernels cannot do.
	fill func(j *job, s *device.Setup, m *memory) error
	// kernels are the names of those that take steps and evaluate. A kernel KIND_step is in
	// ptx/KIND.*.ptx.
	kernels func(j *job) (step, evaluate string)
	// scratch is what a CTA needs of it, in floats; MaxBatch is set.
	scratch func(j *job) int64
	// plans: job.Plan is memory of the job's own (freePlan).
	plans bool
	// teams is how many steps a CTA has under way at a time, when enough are wanted.
	teams int
	// block is how many rows a ticket of the evaluation has.
	block int
}

// familyOf is the one that trains the model on the set.
func familyOf(s *device.Setup) (*family, error) {
	switch s.Spec.Family() {
	case model.Own:
		return nil, fmt.Errorf("gpu: the model %s is the program's own: it trains in host memory only", s.Job.Model)
	case model.Convolutional:
		return &conv, nil
	case model.Factor:
		return &factor, nil
	case model.Cut:
		return &cut, nil
	}
	if s.Set.Kind == data.Sparse {
		return sparseFamily(&s.Job.Config), nil
	}
	return &dense, nil
}

// notYet refuses what has no kernel.
func notYet(_ *job, s *device.Setup, _ *memory) error {
	return fmt.Errorf("gpu: the model %s on %s rows trains in host memory only; leave --gpu out", s.Job.Model, s.Set.Kind)
}

// file is the name of the PTX of a kernel, without its architecture.
func file(kernel string) string {
	kind, _, _ := strings.Cut(kernel, "_")
	return kind
}
