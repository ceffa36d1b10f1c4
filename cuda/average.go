//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"hogwild/hogwild"
)

// Barrier mode: the same rounds as in host memory, with the same arithmetic. The
// meetings are the workers' own, on the host: a kernel that waited for another
// process's kernel would wait for ever where the two take turns on the GPU.

// Pull starts a round: the replica becomes a copy of the weights, or the gradient
// zero.
func (t *trainer) Pull() error {
	release, err := t.use()
	if err != nil {
		return err
	}
	defer release()
	p := t.memory.layout.P
	if t.job.Gradient != 0 {
		err = zero(t.memory.slot(t.rank), p)
	} else {
		err = move(t.memory.slot(t.rank), t.memory.weights, p)
	}
	return keep(err, failed(cu.Synchronize(), "starting a round"))
}

// Average ends a round on this rank's slice of the weights.
func (t *trainer) Average(r hogwild.Round) error {
	share := r.Shares()
	if share == nil {
		return nil
	}
	release, err := t.use()
	if err != nil {
		return err
	}
	defer release()
	if err := upload(t.private.share, share); err != nil {
		return err
	}
	from, to := t.setup.Slice(t.rank)
	cfg := t.setup.Config
	m := mean{Dst: uint64(t.memory.weights), Src: uint64(t.memory.slot(0)), Share: uint64(t.private.share),
		From: int64(from), Count: int64(to - from), Ranks: int64(cfg.Workers), Stride: t.stride(t.memory.layout.Slots)}
	if t.job.Gradient != 0 {
		m.Gradients, m.LR = 1, t.setup.Rate(r.Seen)
		if cfg.Optimizer == "momentum" {
			m.Velocity, m.Momentum = uint64(t.memory.state(0)), t.setup.Momentum()
		}
		return t.mean("average_gradients", m)
	}
	if err := t.mean("average_weights", m); err != nil {
		return err
	}
	return t.averageState(m, from, to)
}

// stride is the distance, in floats, between the arrays of two ranks.
func (t *trainer) stride(offsets []int64) int64 {
	if len(offsets) < 2 {
		return 0
	}
	return (offsets[1] - offsets[0]) / 4
}

// averageState does to this rank's slice of all velocities what --average-state says.
func (t *trainer) averageState(m mean, from, to int) error {
	states := t.memory.layout.States
	if t.setup.Config.Optimizer != "momentum" || t.setup.Config.AverageState == "keep" {
		return nil
	}
	at := func(rank int) cu.DevicePtr { return t.memory.state(rank) + cu.DevicePtr(4*from) }
	if t.setup.Config.AverageState == "average" {
		// The mean goes to this rank's own state, of which the kernel reads each
		// number before it writes it, and from there to the others.
		m.Dst, m.Src, m.Stride = uint64(t.memory.state(t.rank)), uint64(t.memory.state(0)), t.stride(states)
		if err := t.mean("average_weights", m); err != nil {
			return err
		}
	} else if err := zero(at(t.rank), to-from); err != nil {
		return err
	}
	for rank := range states {
		if rank != t.rank {
			if err := move(at(rank), at(t.rank), to-from); err != nil {
				return err
			}
		}
	}
	return failed(cu.Synchronize(), "averaging the optimizers' states")
}

// mean runs an averaging kernel over the slice.
func (t *trainer) mean(name string, m mean) error {
	if m.Count == 0 {
		return nil
	}
	if err := upload(t.private.job, encode(m)); err != nil {
		return err
	}
	k := t.kernels[name]
	return k.run(min(k.most, ceilDiv(int(m.Count), k.threads)), t.private.job)
}
