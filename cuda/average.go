//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// Barrier mode: the same rounds as in host memory, with the same arithmetic. The
// barriers are the workers' own, on the host: a kernel that waited for another
// process's kernel would wait for ever where the two take turns on the GPU.

// averager ends rounds for a rank, on the GPU that has the weights.
type averager struct {
	*gpu
	setup      *device.Setup
	memory     *memory
	rank       int
	kernels    kernels
	job, share cu.DevicePtr // buffers: of a mean, and of a float a rank
}

// open loads the kernels, and makes the buffers.
func (a *averager) open(buffers *blocks) (err error) {
	if a.kernels, err = loadKernels(a.gpu, "average"); err != nil {
		return err
	}
	return buffers.allocate(a.gpu, wanted{&a.job, int64(len(encode(mean{}))), "a mean"},
		wanted{&a.share, 4 * int64(a.setup.Job.Asked.Workers), "shares"})
}

func (a *averager) pull() (err error) {
	p := a.memory.layout.P
	if a.setup.Job.Asked.AveragesGradients() {
		err = zero(a.memory.slot(a.rank), p)
	} else {
		err = move(a.memory.slot(a.rank), a.memory.weights, p)
	}
	return keep(err, failed(cu.Synchronize(), "starting a round"))
}

// Average ends a round on this rank's slice of the weights.
func (a *averager) Average(r plan.Round) error {
	share := r.Shares()
	if share == nil {
		return nil
	}
	return a.within(func() error { return a.average(share, r.Seen) })
}

func (a *averager) average(share []float32, seen int64) error {
	if err := upload(a.share, share); err != nil {
		return err
	}
	from, to := a.setup.Slice(a.rank)
	cfg := a.setup.Job
	m := mean{Dst: uint64(a.memory.weights), Src: uint64(a.memory.slot(0)), Share: uint64(a.share),
		From: int64(from), Count: int64(to - from), Ranks: int64(cfg.Asked.Workers),
		Stride: stride(a.memory.layout.Slots)}
	if cfg.Asked.AveragesGradients() {
		m.LR = a.setup.Rate(seen)
		if cfg.Asked.Optimizer == config.Momentum {
			m.Velocity, m.Momentum = uint64(a.memory.state(0)), a.setup.Job.Used.Momentum
		}
		return a.stepTogether(m, from, to)
	}
	return a.mean("average_weights", m)
}

// stepTogether steps down the mean of the gradients. Buffers take no gradient: of these the ranks have sent
// values, whose mean they become.
func (a *averager) stepTogether(m mean, from, to int) error {
	kernel := map[bool]string{false: "average_gradients", true: "average_weights"}
	span := func(end int, buffer bool) error {
		m.From, m.Count = int64(from), int64(end-from)
		from = end
		return a.mean(kernel[buffer], m)
	}
	var err error
	buffer := false // what begins at from is
	for i, at := range model.Offsets(a.setup.Params) {
		if p := a.setup.Params[i]; p.Buffer != buffer {
			if cut := min(max(at, from), to); err == nil {
				err = span(cut, buffer)
			}
			buffer = p.Buffer
		}
	}
	return keep(err, span(to, buffer))
}

// stride is the distance, in floats, between the arrays of two ranks.
func stride(offsets []int64) int64 {
	if len(offsets) < 2 {
		return 0
	}
	return (offsets[1] - offsets[0]) / 4
}

// mean runs an averaging kernel over the slice.
func (a *averager) mean(name string, m mean) error {
	if m.Count == 0 {
		return nil
	}
	if err := upload(a.job, encode(m)); err != nil {
		return err
	}
	k := a.kernels[name]
	return k.run(min(k.most, ceilDiv(int(m.Count), k.threads)), a.job)
}
