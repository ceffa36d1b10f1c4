package worker

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
	"hogwild/shm"
)

// joinRun maps what the coordinator made and checks that both mean the same by it.
func joinRun() (*Worker, *control.Header, error) {
	rank, err := workers.Rank()
	if err != nil {
		return nil, nil, err
	}
	if err := fault.Point("worker.join"); err != nil {
		return nil, nil, err
	}
	seg, err := shm.Map(workers.Inherited(0, "control"), true)
	if err != nil {
		return nil, nil, err
	}
	block, header, err := control.Open(seg)
	if err != nil {
		return nil, nil, err
	}
	if rank < 0 || rank >= header.Job.Asked.Workers {
		return nil, nil, errLeft
	}
	runtime.LockOSThread()
	block.SetRank(rank, control.RankThread, uint64(unix.Gettid()))
	if seg, err = shm.Map(workers.Inherited(1, "weights"), true); err != nil {
		return nil, nil, err
	}
	if sum, err := seg.Checksum(); err != nil || sum != header.Weights {
		return nil, nil, fmt.Errorf("the weights' layout has checksum %016x, the coordinator's %016x (%v)", sum,
			header.Weights, err)
	}
	set, err := data.Map(workers.Inherited(2, "data"))
	if err != nil {
		return nil, nil, err
	}
	if set.Rows != header.Rows || set.Checksum != header.Data {
		return nil, nil, fmt.Errorf("the data set is %d rows, checksum %s; the coordinator's is %d, %s", set.Rows,
			set.Checksum, header.Rows, header.Data)
	}
	if o := header.Job.Asked.TextOptions(); o != nil && set.Text != nil {
		data.SetWindows(set, o, header.Job.Asked.Seed)
	}
	if err := fault.Point("worker.joined"); err != nil {
		return nil, nil, err
	}
	asked := &header.Job.Asked
	w := &Worker{rank: rank, block: block, delayed: asked.Mode.Traits().Simulated,
		lazy: asked.Optimizer.Slots() > 0 && asked.TakesTurns()}
	w.join = func(h *control.Header) (device.Device, error) {
		m, err := control.OpenWeights(seg, &h.Job)
		if err != nil {
			return nil, err
		}
		return joinDevice(h, rank, block, m, set)
	}
	w.device, err = w.join(&header)
	return w, &header, err
}

// Program gives a worker's device to a program that takes the steps.
var Program func(*control.Header, int, *control.Block, *device.Setup, device.Device) (device.Device, error)

// joinDevice makes the device of a rank, where the configuration says.
func joinDevice(h *control.Header, rank int, block *control.Block, m *control.Weights,
	set *data.Set) (device.Device, error) {
	setup, err := device.NewSetup(&h.Job, m, set)
	if err != nil {
		return nil, err
	}
	b, err := Backend(&h.Job.Asked)
	if err != nil {
		return nil, err
	}
	d, err := b.Join(setup, rank, h.Device)
	if err == nil && h.Job.Asked.Program != "" {
		return Program(h, rank, block, setup, d)
	}
	return d, err
}

// Backend returns the one that the configuration asks for.
func Backend(c *config.Config) (device.Backend, error) {
	if c.GPU == "" {
		return cpu.Backend{}, nil
	}
	if b := device.Registered("cuda"); b != nil {
		return b, nil
	}
	return nil, config.Usage("gpu %s: this program was built without CUDA; build bin/hogwild-cuda with make cuda",
		c.GPU)
}
