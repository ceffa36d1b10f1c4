//go:build cuda

package cuda

import (
	"cmp"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

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
	case model.Words:
		return &skipGram, nil
	}
	switch {
	case !s.Spec.Family().Layered:
		return nil, fmt.Errorf("gpu: %s trains in host memory only; leave --gpu out", s.Job.Asked.Model)
	case !s.Set.Sparse():
		return &dense, nil
	case takesWhole(&s.Job.Asked):
		return &whole, nil
	}
	return &sparse, nil
}

// newJob fills in what is the same for all launches of a run, and refuses what the
// kernels cannot do.
func newJob(s *device.Setup, m *memory) (job, *family, error) {
	spec, c := s.Spec, s.Job
	j := job{Features: int64(spec.Features), Layers: int64(len(spec.Widths) + 1), Outputs: int64(spec.Outputs),
		Classes: int64(spec.Classes), LossKind: lossKinds[spec.Loss], Center: -1, Teams: 1,
		Optimizer: optimizers[c.Asked.Optimizer], Discipline: numberOf(c.Asked.Mode.Traits()),
		Ranks: int64(c.Asked.Workers), Weights: int64(m.layout.P), Seed: c.Asked.Seed,
		Momentum: s.Job.Used.Momentum, Beta1: c.Asked.Beta1, Beta2: c.Asked.Beta2, L1: c.Asked.L1, L2: c.Asked.L2,
		BiasStep: cmp.Or(c.Used.BiasStep, 1)}
	if spec.Bias {
		j.Bias = 1
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
