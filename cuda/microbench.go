//go:build cuda

package cuda

import (
	"strings"
	"time"

	"gorgonia.org/cu"
)

// bench holds the GPU while it is measured.
type bench struct {
	*gpu
	kernels    kernels
	job, out   cu.DevicePtr
	memory     cu.DevicePtr
	bytes      int64 // of memory
	begin, end cu.Event
	quick      bool // as little as shows that it runs
	found      []Figure
}

// microJob is struct Micro of kernels/micro.cu.
type microJob struct {
	Base, Out                uint64
	Times                    int64
	Pieces, Step, Per, Apart int64
	Width, Lanes             int64
}

const (
	accesses    = 8                     // of a turn of the loops in micro.cu
	measureTime = 12 * time.Millisecond // of a measurement: long against a launch
	farBytes    = 1 << 30               // of memory that no cache holds
	nearBytes   = 16 << 20              // of memory that the L2 cache holds
	mostTurns   = 1 << 22               // turns
)

// MeasureGPU measures the GPU of that index, in some seconds and with 1 GiB of its memory.
// With quick each figure is measured for a moment only, on little memory: to see that it runs.
func MeasureGPU(index int, quick bool) (found *Microbench, err error) {
	c, err := openContext(index, "")
	if err != nil {
		return nil, err
	}
	release, err := c.use()
	if err != nil {
		return nil, err
	}
	defer release()
	defer func() { err = keep(err, c.close()) }() // the context's memory goes with it
	p := &bench{gpu: c, quick: quick, bytes: farBytes}
	if quick {
		p.bytes = 4 << 20
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	for _, part := range []func() error{p.launches, p.additions, p.latencies, p.bandwidths, p.copies, p.arithmetic, p.stores} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return &Microbench{Device: c.Name, UUID: c.UUID, Driver: versionText(cu.Version()), SMs: c.SMs,
		StandIn: strings.Contains(c.Name, "stand-in"), Time: time.Now().UTC().Truncate(time.Second), Figures: p.found}, nil
}

func (p *bench) prepare() (err error) {
	if p.kernels, err = loadKernels(p.gpu, "micro"); err != nil {
		return err
	}
	var own blocks // they go with the context
	if err = own.allocate(p.gpu, wanted{&p.job, int64(len(encode(microJob{}))), "a microbenchmark"}, wanted{&p.out, 64, "a microbenchmark"},
		wanted{&p.memory, p.bytes, "a microbenchmark"}); err != nil {
		return err
	}
	for _, e := range []*cu.Event{&p.begin, &p.end} {
		if *e, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return failed(err, "making an event")
		}
	}
	return zero(p.memory, int(p.bytes/4))
}

// add notes a figure.
func (p *bench) add(name, unit string, value float64, means string) {
	p.found = append(p.found, Figure{name, unit, value, means})
}

// once runs a kernel and returns how long it took.
func (p *bench) once(k kernel, ctas int, j microJob) (time.Duration, error) {
	j.Base, j.Out = uint64(p.memory), uint64(p.out)
	if err := upload(p.job, encode(j)); err != nil {
		return 0, err
	}
	return p.timed(k.name, func() error { return k.launch(ctas, p.job, cu.NoStream) })
}

// timed is how long the GPU takes for what f queues.
func (p *bench) timed(what string, f func() error) (time.Duration, error) {
	err := failed(p.begin.Record(cu.NoStream), "recording an event")
	err = keep(err, f())
	err = keep(err, failed(p.end.Record(cu.NoStream), "recording an event"))
	if err = keep(err, failed(p.end.Synchronize(), "running %s", what)); err != nil {
		return 0, err
	}
	ms, err := p.begin.Elapsed(p.end)
	return max(time.Nanosecond, time.Duration(ms*float64(time.Millisecond))), failed(err, "timing %s", what)
}

// measure runs a kernel by so many CTAs (0: all that the GPU runs), as many turns as take measureTime, and returns
// how many there were in all warps together, and how long they took.
func (p *bench) measure(name string, ctas int, j microJob) (turns float64, took time.Duration, err error) {
	k := p.kernels[name]
	if ctas == 0 {
		ctas = k.most
	}
	if p.quick {
		ctas, j.Times = min(ctas, 2), 2
	} else if j.Times, err = p.enough(k, ctas, j); err != nil {
		return 0, 0, err
	}
	took, err = p.once(k, ctas, j)
	return float64(j.Times) * float64(ctas*threads/32), took, err
}

// enough is how many turns take about measureTime.
func (p *bench) enough(k kernel, ctas int, j microJob) (int64, error) {
	for j.Times = 16; ; j.Times *= 4 {
		took, err := p.once(k, ctas, j)
		if err != nil {
			return 0, err
		}
		if took > measureTime/8 || j.Times >= mostTurns {
			return min(mostTurns, max(1, int64(float64(j.Times)*float64(measureTime)/float64(max(took, time.Microsecond))))), nil
		}
	}
}
