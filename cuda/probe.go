//go:build cuda

package cuda

import (
	"strings"
	"time"

	"gorgonia.org/cu"
)

// prober holds the GPU while it is probed.
type prober struct {
	*gpu
	kernels    kernels
	job, out   cu.DevicePtr
	memory     cu.DevicePtr
	bytes      int64 // of memory
	begin, end cu.Event
	quick      bool // as little as shows that it runs
	found      []Figure
}

// probe is struct Probe of kernels/probe.cu.
type probe struct {
	Base, Out                uint64
	Times                    int64
	Pieces, Step, Per, Apart int64
	Width, Lanes             int64
}

const (
	accesses  = 8                     // of a turn of the loops in probe.cu
	probeTime = 20 * time.Millisecond // of a measurement: long against a launch
	farBytes  = 1 << 30               // of memory that no cache holds
	nearBytes = 16 << 20              // of memory that the L2 cache holds
	probeMost = 1 << 22               // turns
)

// Probe measures the GPU of that index, in some seconds and with 1 GiB of its memory.
// With quick each probe runs for a moment only, on little memory: to see that it does.
func Probe(index int, quick bool) (found *Probes, err error) {
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
	p := &prober{gpu: c, quick: quick, bytes: farBytes}
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
	return &Probes{Device: c.Name, UUID: c.UUID, Driver: versionText(cu.Version()), SMs: c.SMs,
		StandIn: strings.Contains(c.Name, "stand-in"), Time: time.Now().UTC().Truncate(time.Second), Figures: p.found}, nil
}

func (p *prober) prepare() (err error) {
	if p.kernels, err = loadKernels(p.gpu, "probe"); err != nil {
		return err
	}
	var own blocks // they go with the context
	if err = own.allocate(p.gpu, wanted{&p.job, int64(len(encode(probe{}))), "a probe"}, wanted{&p.out, 64, "a probe"},
		wanted{&p.memory, p.bytes, "a probe"}); err != nil {
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
func (p *prober) add(name, unit string, value float64, means string) {
	p.found = append(p.found, Figure{name, unit, value, means})
}

// once runs a kernel and returns how long it took.
func (p *prober) once(k kernel, ctas int, j probe) (time.Duration, error) {
	j.Base, j.Out = uint64(p.memory), uint64(p.out)
	if err := upload(p.job, encode(j)); err != nil {
		return 0, err
	}
	return p.timed(k.name, func() error { return k.launch(ctas, p.job, cu.NoStream) })
}

// timed is how long the GPU takes for what f queues.
func (p *prober) timed(what string, f func() error) (time.Duration, error) {
	err := failed(p.begin.Record(cu.NoStream), "recording an event")
	err = keep(err, f())
	err = keep(err, failed(p.end.Record(cu.NoStream), "recording an event"))
	if err = keep(err, failed(p.end.Synchronize(), "running %s", what)); err != nil {
		return 0, err
	}
	ms, err := p.begin.Elapsed(p.end)
	return max(time.Nanosecond, time.Duration(ms*float64(time.Millisecond))), failed(err, "timing %s", what)
}

// measure runs a kernel on the whole GPU, as many turns as take probeTime, and returns
// how many there were in all warps together, and how long they took.
func (p *prober) measure(name string, j probe) (turns float64, took time.Duration, err error) {
	k := p.kernels[name]
	ctas := k.most
	if p.quick {
		ctas, j.Times = min(ctas, 2), 2
	} else if j.Times, err = p.enough(k, ctas, j); err != nil {
		return 0, 0, err
	}
	took, err = p.once(k, ctas, j)
	return float64(j.Times) * float64(ctas*k.threads/32), took, err
}

// enough is how many turns take about probeTime.
func (p *prober) enough(k kernel, ctas int, j probe) (int64, error) {
	for j.Times = 16; ; j.Times *= 4 {
		took, err := p.once(k, ctas, j)
		if err != nil {
			return 0, err
		}
		if took > probeTime/8 || j.Times >= probeMost {
			return min(probeMost, max(1, int64(float64(j.Times)*float64(probeTime)/float64(max(took, time.Microsecond))))), nil
		}
	}
}
