package cpu

import (
	"math"

	"hogwild/hogwild/clock"
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/internal/vec"
)

// delay is asynchrony simulated by one worker, which plays many: a gradient is computed on the weights as they are, and
// its update written when the virtual clock says so, by the run's rule for late ones. The clock depends on the seed
// alone, so that a run can be repeated bit for bit.
//
// At the end of an epoch all that is in flight lands: between two epochs nothing is outside of the weights, and a run
// goes on from there as if it had not been stopped. A run that is stopped within an epoch, or saved there, lands early
// what is in flight.
//
// What shrinks the weights in addGradient, or in a step that a model takes by itself, does so when the update
// lands; l2 in a gradient waits with it.
type delay struct {
	d        *cpu
	measures control.Measures // what the clock has come to
	clock    *clock.Clock
	err      error // of reading a trace
	rule     config.Rule
	updates  []*pending // by the clock's slots
	epoch    int
	begun    bool // since the last drain

	// A gradient may be what several local steps have come to, on a copy of the weights.
	local    int       // steps; 0: gradients are of single steps, as they are
	copy     []float32 // of the weights
	made     int       // steps of the copy
	examples int
	outer    outer
}

// newDelay returns the delay of a run of mode clock.
func newDelay(d *cpu, m control.Measures) *delay {
	c := &d.cfg.Asked
	l := &delay{d: d, measures: m, rule: c.Rule, epoch: -1}
	if l.clock, l.err = clock.New(c); l.err != nil {
		return l
	}
	if h := max(1, config.Whole(c.MergeEvery)); h > 1 || c.Rule.Kind == config.DelayedNesterov {
		l.local = h
	}
	if l.local > 0 || c.Rule.Kind == config.Compensate {
		l.copy = make([]float32, d.own.len())
	}
	if l.rule.Kind == config.DelayedNesterov {
		l.outer = outer{every: l.rule.N, lr: float32(c.OuterLR), momentum: float32(c.OuterMomentum),
			sum: make([]float32, d.own.len()), m: make([]float32, d.own.len())}
	}
	return l
}

// isZeroDelay reports whether each update lands before the next gradient is begun.
func (l *delay) isZeroDelay() bool {
	m := l.d.cfg.Asked.Mode
	return m.Delayed && m.Speeds.N == 1
}

// needsFullGradient reports whether the rule looks at whole gradients.
func (l *delay) needsFullGradient() bool {
	return l.rule.Kind == config.Clip || l.rule.Kind == config.Compensate
}

// startEpoch says which epoch the next steps are of. The clock of those before it is played again.
func (l *delay) startEpoch(epoch int) error {
	if l.err != nil || l.epoch == epoch {
		return l.err
	}
	if l.epoch < 0 && epoch > 0 && !l.isZeroDelay() {
		p, batches := l.d.plan, 0
		for i := range p.Chunks() {
			batches += plan.CeilDiv(p.At(0, i).Count, l.d.cfg.Used.Batch)
		}
		for before := range epoch {
			l.clock.Replay(before, batches, max(1, l.local))
		}
	}
	l.epoch = epoch
	return nil
}

// enqueue takes what a step has read, and lands the updates whose time has come.
func (l *delay) enqueue(rows []int32, lr float64) {
	l.begun = true
	if l.local > 0 {
		l.step(rows, lr)
		return
	}
	l.store(l.slot(l.clock.Begin(l.epoch, len(rows), 1)), rows, lr)
	for l.clock.Busy() {
		l.clock.Next(l)
	}
}

// slot returns the i-th place for a pending gradient, which it makes if needed.
func (l *delay) slot(i int) *pending {
	for i >= len(l.updates) {
		l.updates = append(l.updates, &pending{})
	}
	return l.updates[i]
}

// store copies what a step has read.
func (l *delay) store(u *pending, rows []int32, lr float64) {
	d := l.d
	u.batch, u.lr = append(u.batch[:0], rows...), lr
	if d.step != nil {
		u.coef = append(u.coef[:0], d.coef...)
		return
	}
	switch l.rule.Kind {
	case config.Clip:
		u.norm = norm(d.dense)
	case config.Compensate:
		u.from = emptied(u.from, d.own.len())[:d.own.len()]
		copy(u.from, d.own.view())
	}
	d.copyGradient(u)
}

// norm returns the length of a vector.
func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// step takes a local step, which has been read, on the copy of the weights.
func (l *delay) step(rows []int32, lr float64) {
	d := l.d
	if l.made == 0 {
		copy(l.copy, d.weights.view())
		d.own = newShared(l.copy, false)
	}
	d.writeStep(rows, lr)
	l.made, l.examples = l.made+1, l.examples+len(rows)
	if l.made == l.local {
		l.complete()
	}
}

// complete ends the local steps of a virtual worker.
func (l *delay) complete() {
	u := l.slot(l.clock.Begin(l.epoch, l.examples, l.made))
	u.dense = emptied(u.dense, len(l.copy))[:len(l.copy)]
	copy(u.dense, l.d.weights.view())
	vec.Axpy(-1, l.copy, u.dense)
	l.d.own, l.made, l.examples = l.d.weights, 0, 0
	for l.clock.Busy() {
		l.clock.Next(l)
	}
}

// Arrived implements clock.Holder.
func (l *delay) Arrived(_, tau int, full bool) {
	if full {
		l.d.sample.record.Stale(uint64(tau))
	}
}

// Again implements clock.Holder.
func (l *delay) Again(slot int) {
	d, u := l.d, l.updates[slot]
	if d.step != nil {
		d.length.LR = float32(u.lr)
		d.own.guarded(d.halves, d.set, u.batch, d.length, d.coef, nil)
	} else {
		d.batch = d.reader.Batch(u.batch)
		d.batch.Epoch, d.x = l.epoch, d.batch.Rows
		d.model.Grad(d.own.view(), d.batch, &d.g)
		if d.flattens() {
			d.flatten()
		}
	}
	l.store(u, u.batch, u.lr)
}

// Land implements clock.Holder.
func (l *delay) Land(x clock.Landing) {
	scales := x.Scales
	if l.d.opt.kind != config.SGD && len(x.Slots) > 1 { // one step of the optimizer, by the mean
		first := l.updates[x.Slots[0]]
		vec.Axpy(float32(scales[0]-1), first.dense, first.dense)
		for i, slot := range x.Slots[1:] {
			vec.Axpy(float32(scales[i+1]), l.updates[slot].dense, first.dense)
		}
		x.Slots, scales = x.Slots[:1], []float64{1}
	}
	for i, slot := range x.Slots {
		l.apply(l.updates[slot], scales[i])
	}
	l.d.sample.wrote(1)
}

// apply writes an update in flight, scaled.
func (l *delay) apply(u *pending, scale float64) {
	d := l.d
	switch l.rule.Kind {
	case config.DelayedNesterov:
		l.outer.apply(&d.weights, u.dense, float32(scale))
		return
	case config.Clip:
		if u.norm > l.rule.X {
			scale *= l.rule.X / u.norm
		}
	case config.Compensate: // u.dense becomes what is added to the gradient
		copy(l.copy, d.weights.view())
		for i, g := range u.dense {
			u.dense[i] = g * g * (l.copy[i] - u.from[i])
		}
	}
	if l.local > 0 {
		d.weights.add(0, float32(-scale), u.dense)
		return
	}
	parts, x, dense, coef := d.g.Parts, d.x, d.dense, d.coef
	d.g.Parts, d.x, d.coef = u.parts, u.x, u.coef
	if d.opt.kind != config.SGD {
		d.dense = u.dense
	}
	d.writeStep(u.batch, scale*u.lr)
	d.g.Parts, d.x, d.dense, d.coef = parts, x, dense, coef
	if l.rule.Kind == config.Compensate && l.rule.X > 0 {
		d.own.add(0, float32(-scale*u.lr*l.rule.X), u.dense)
	}
}

// outer is the momentum of differences that come one by one (Liu et al., Asynchronous Local-SGD Training for Language
// Modeling, 2024, algorithm 3, c = 0): each moves the weights at once by its share, momentum once for a number (every)
// of them.
type outer struct {
	every, received int
	lr, momentum    float32
	sum, m          []float32
}

func (o *outer) apply(w *shared, diff []float32, scale float32) {
	n := float32(o.every)
	vec.Axpy(scale, diff, o.sum)
	w.add(0, -o.lr*scale/n, diff)
	if o.received++; o.received < o.every {
		return
	}
	o.received = 0
	for i, s := range o.sum {
		o.m[i] = o.momentum*o.m[i] + s/n
	}
	clear(o.sum)
	w.add(0, -o.lr*o.momentum, o.m)
}

// drain lands all that is in flight, and tells what the clock has come to.
func (l *delay) drain() {
	if l.made > 0 {
		l.complete()
	}
	if l.err != nil || !l.begun {
		return
	}
	l.clock.Drain(l)
	l.begun = false
	c := l.clock.Counts
	for _, m := range []struct {
		name  string
		value float64
	}{{control.VirtualTime, c.Time}, {control.Computed, float64(c.Computed)}, {control.Applied, float64(c.Applied)},
		{control.Dropped, float64(c.Dropped)}} {
		l.measures.Set(m.name, m.value)
	}
}

// Flush lands all that is in flight. It is called before this worker waits: in ordered mode those that
// stepped aside for it come back.
func (d *cpu) Flush() {
	if d.turns != nil {
		d.turns.WakeYielded()
	}
	if d.delay != nil {
		d.delay.drain()
	}
	d.lazy.settle(&d.own, d.lr)
}
