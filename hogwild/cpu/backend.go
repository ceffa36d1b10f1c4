// Package cpu is the device in host memory: it takes steps on weights that all workers map.
//
//	backend.go        the Backend
//	loop.go           the hot loop of all modes
//	ascend.go         the dual solver on weights that nobody else writes
//	guard.go          what the modes put between read and write
//	delay.go          mode clock
//	rows.go           which rows are next
//	cpu.go            what it works on, and the write of a gradient
//	gradientdelay.go  gradients that take longer
//	merge.go          a worker's copy of the weights
//	hot.go            a copy of its hot rows alone
//	simplex.go        projections
//	pending.go        the updates that it keeps back
//	sample.go         staleness, conflicts, lost updates
//	blocks.go         mode blocks: a copy of what a block writes
//	lock.go           locked mode; ordered mode is in package control
//	kept.go           the copy of the weights that is evaluated
//	evaluate.go       losses over a whole set
//	spare.go          work beside training
//	average.go        barrier mode
//	lazy.go           rules with state, on sparse rows
//	common.go         what all blocks of a graph write
//	racy.go           all stores to weights that others write
//	optimizer.go      rules with state
//	pin.go            workers and cores
package cpu

import (
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// TryStep takes the run's first step, of a given rate, on rows of its data: w becomes what the
// weights w would be after it. It returns the summed loss. Nothing that is shared is
// touched; what another device computes is to be the same. (Where gradients are averaged,
// a rank only computes one, and the step is a plain one.)
func TryStep(s *device.Setup, w []float32, rows []int32, rate float64) (loss float64) {
	d, c := newCPU(s, 0).onto(w), s.Job
	d.dense = make([]float32, len(w))
	d.opt = newOptimizer(c, control.OptimizerState{Steps: new(uint64)})
	if c.Asked.AveragesGradients() { // the whole gradient: with it a first step with momentum is a plain one
		d.opt.kind = "momentum"
	}
	for range d.opt.kind.Slots() {
		d.opt.Slots = append(d.opt.Slots, make([]float32, len(w)))
	}
	if d.step != nil && d.halves == nil { // not what gradients come to
		d.length.LR = float32(rate)
		return d.step.Steps(w, s.Set, rows, d.length)
	}
	b := d.reader.Batch(rows)
	if d.x = b.Rows; !s.Set.Sparse() {
		d.x = make([]data.Row, 1) // none of the batch's: l1 and l2 act on all weights in each step, see weightDecay
	}
	loss = d.model.Grad(w, b, &d.g)
	if d.opt.kind != config.SGD {
		d.flatten()
	}
	d.addGradient(rate)
	return loss
}

// Backend is the backend of the weights' own segment: there is nothing to move.
type Backend struct{}

// hostOwner is a run in host memory, as the coordinator holds it.
type hostOwner struct {
	s       *device.Setup
	scorers []model.Model    // one for each core
	kept    func() []float32 // the copy that is evaluated while workers train on, as a plain model has it
	spare   *spare           // made with the copy
	common  *common
}

// GPUs implements device.Backend.
func (Backend) GPUs(*config.Config) (tuning.GPUs, error) { return tuning.GPUs{}, nil }

// Own implements device.Backend.
func (Backend) Own(s *device.Setup) (device.Owner, error) {
	o := &hostOwner{s: s, scorers: []model.Model{s.Plain}, common: newCommon(s)}
	for len(o.scorers) < machine.Cores() {
		m, err := model.New(s.Job.Asked.ModelOptions(), s.Set.Meta)
		if err != nil {
			return nil, err
		}
		o.scorers = append(o.scorers, m)
	}
	return o, nil
}

// Join implements device.Backend.
func (Backend) Join(s *device.Setup, rank int, _ []byte) (device.Device, error) {
	return newCPU(s, rank), nil
}

// Run and workers share one memory: there is nothing to open, and nothing to copy but what blocks have in common.
func (*hostOwner) Where(int) string  { return "cpu" }
func (*hostOwner) Handle() []byte    { return nil }
func (o *hostOwner) Download() error { return o.Refresh() }
func (o *hostOwner) Replace() error  { return o.Upload() }
func (*hostOwner) Abandon(int) error { return nil }

// Upload implements device.Owner.
func (o *hostOwner) Upload() error {
	o.common.reset(o.s.Mem.W)
	return nil
}

// Refresh implements device.Owner.
func (o *hostOwner) Refresh() error {
	o.common.settle(o.s.Mem.W)
	return nil
}

// Traits implements device.Owner.
func (*hostOwner) Traits() device.Traits {
	return device.Traits{Name: "cpu", InHost: true, SharesCores: true}
}

// Notes returns a note if hot rows are written in place, for want of a mapping with private pages.
func (o *hostOwner) Notes() []string {
	hot, err := newHotCopy(o.s)
	if err != nil {
		return []string{fmt.Sprintf("all weights are written in place: %v", err)}
	}
	(&localCopy{hot: hot}).close()
	return nil
}

// Add implements device.Owner by compare-and-swap. A worker's plain store that overtakes it loses the
// number that it added to this one weight; a worker's update is never lost to it.
func (o *hostOwner) Add(delta []float32) error {
	w := newShared(o.s.Mem.W, true)
	machine.Parts(len(delta), func(from, to int) { w.add(from, 1, delta[from:to]) })
	return nil
}

func (*hostOwner) Close() error { return nil }

func (o *hostOwner) Device(rank int) (device.Device, error) { return newCPU(o.s, rank), nil }

// newCPU makes the device of one rank.
func newCPU(s *device.Setup, rank int) *cpu {
	c, m := s.Job, s.Mem
	d := &cpu{
		weights: newShared(m.W, c.Asked.Mode.Traits().Atomic), slots: m.Slots,
		cfg: c, rank: rank, plan: s.Plan, rate: s.Schedule,
		model: s.Model, set: s.Set, reader: s.Set.NewReader(), freq: s.Set.Freq, rows: make([]int32, s.Plan.Chunk),
		block: -1, product: 1, length: model.Step{L2: float32(c.Asked.L2), L1: float32(c.Asked.L1)},
	}
	if c.Asked.GradientDelay > 0 {
		d.spin = newSpin(c.Asked.GradientDelay)
	}
	for _, state := range m.Optimizers {
		d.opts = append(d.opts, newOptimizer(c, state))
	}
	d.opt = d.opts[rank%len(d.opts)]
	for r := range s.Plan.Orders() {
		d.orders = append(d.orders, s.Order(r))
	}
	for i, from := range model.Offsets(s.Params) {
		p := s.Params[i]
		if p.Decay {
			d.decay = append(d.decay, span{from, from + p.Len()})
		}
		if p.Buffer {
			d.buffers = append(d.buffers, span{from, from + p.Len()})
		}
	}
	d.own = d.weights
	switch {
	case c.Asked.AveragesGradients():
		d.dense = m.Slots[rank]
	case c.Asked.Mode.Traits().Barrier:
		d.own = newShared(m.Slots[rank], false)
	}
	d.sample, d.sampled = newSampler(m, c, rank), d.own
	d.sample.tables = s.Tables()
	switch {
	case c.Asked.Mode.Traits().Locks:
		d.locks = newLocks(m, rank)
	case c.Asked.Mode.Traits().Ordered:
		d.turns = m.NewTickets(rank)
	case c.Asked.Mode.Traits().Simulated:
		d.delay = newDelay(d, m.Measures[rank])
	}
	if d.dense == nil && d.flattens() {
		d.dense = make([]float32, len(m.W))
	}
	d.lazy = newLazyRows(c, d.opt, s.Set)
	d.blocks = newBlocks(s, rank)
	d.stepBy(stepper(s, rank))
	d.lead = d.leadOf(s.Plan.Shares)
	d.guard = d.newGuard(m)
	d.local, d.biasCopy = d.newLocalCopy(s.Params), d.newBiasCopy()
	if hot, err := newHotCopy(s); hot != nil && err == nil { // else in place: see Notes
		d.local = &localCopy{shared: d.weights, every: c.Used.MergeEvery, rare: c.Used.RareMerge, hot: hot}
		d.own = newShared(hot.View, false)
		d.sample.copied = hot.Own
	}
	if d.own.atomic || d.local == nil && c.Asked.Workers > 1 && !c.Asked.Mode.Traits().Barrier {
		d.own.moves = make([]float32, 1<<14)
	}
	if d.biasCopy != nil {
		d.length.Bias = &d.biasCopy.mine[0]
	}
	return d
}
