package cpu

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/internal/fault"
	"hogwild/internal/vec"
)

// What the modes put before a step's read, and between its read and its write. What is
// written is the same in all of them, and cpu.writeStep writes it; they differ in who may write
// meanwhile.
//
//	async    any worker; an update that another overtakes is lost
//	atomic   any worker; each number is written by compare-and-swap, and none is lost
//	locked   none to the same blocks of weights: see lock.go
//	ordered  none, and all in the order in which they began: see control/tickets.go
//	sync     none: the weights are this worker's replica
//	clock    none: there is one worker, which writes each update when a virtual clock says so: see delay.go

// newGuard returns the mode's guard, for a model's own loop to put between the halves of its steps;
// nil where there is none, or more between them.
func (d *cpu) newGuard(m *control.Weights) *vec.Guard {
	switch mode := d.cfg.Asked.Mode.Traits(); {
	case d.step == nil || d.cfg.Asked.GradientDelay > 0:
	case mode.Locks:
		return vec.LockGuard(d.sample.own, m.Locks, control.LockLine, d.locks.shift, uint32(d.rank+1))
	case mode.Ordered:
		return d.turns.Guard(d.sample.own)
	case mode.Atomic:
		return vec.AtomicGuard(d.sample.own)
	}
	return nil
}

// begin starts a step on rows: the weights are read from here on.
func (d *cpu) begin(rows []int32) {
	if d.turns != nil {
		d.turns.Take()
	}
	if d.delay != nil {
		return // staleness is counted, not sampled
	}
	if d.local != nil && d.local.made > 0 {
		return // read when the copy was renewed
	}
	d.sample.read()
	if d.sample.open {
		d.markSample(rows[0])
	}
}

// write takes the step that was read, when and as the mode says.
func (d *cpu) write(rows []int32, lr float64) {
	if d.step == nil && d.flattens() {
		d.flatten()
	}
	switch {
	case d.cfg.Asked.AveragesGradients():
		d.sample.wrote(1)
		return // the step is taken by all together, in Average
	case d.delay != nil:
		d.delay.enqueue(rows, lr)
		return
	case d.turns != nil:
		d.turns.Await()
		_ = fault.Point("turn.held")
	case d.locks != nil:
		d.markLocks(rows)
		d.locks.acquire()
		_ = fault.Point("lock.held")
	}
	if d.local == nil {
		d.sample.look(&d.sampled)
	}
	d.writeStep(rows, lr)
	switch { // the next one may write
	case d.turns != nil:
		d.turns.Done()
	case d.locks != nil:
		d.locks.release()
	}
	d.stepped(1)
}

// drop ends a step that is not taken, for its loss is not finite.
func (d *cpu) drop() {
	if d.turns != nil && !d.turns.Over() {
		d.turns.Await()
		d.turns.Done()
	}
}

// markLocks marks the locks of the update at hand.
func (d *cpu) markLocks(rows []int32) {
	l := d.locks
	if len(l.m.Locks) == control.LockLine {
		l.mark(0, 1) // one lock for all
		return
	}
	if d.opt.kind != config.SGD { // all weights, and the state with them
		l.mark(0, d.own.len())
	}
	for _, n := range d.sample.notes[:d.sample.noted] {
		l.mark(n.at, n.at+1)
	}
	if d.step != nil {
		d.touched = d.step.Touched(d.set, rows[0], d.touched[:0])
		for _, r := range d.touched {
			l.mark(r.From, r.To)
		}
	} else {
		for i := range d.g.Parts {
			p := &d.g.Parts[i]
			l.markPart(p, d.cfg.Asked.L1+d.cfg.Asked.L2 != 0 && !d.isData(p))
		}
	}
}

// markSample marks coordinates of the update to come, for the sampler: coordinates that a model says it writes for a
// row; else any of the layers', as before the step it is not known which of their inputs are alive. Where read and
// write are one, they are looked at at once.
func (d *cpu) markSample(row int32) {
	s := d.sample
	m, ok := d.model.(model.Stepper)
	switch {
	case ok && (d.step != nil || d.opt.kind == config.SGD && d.set.Entries()):
		if d.noteTouched(m, row); d.fused && (d.local == nil || d.local.hot != nil) {
			s.lookInPlace(&d.sampled)
		}
	case d.opt.kind != config.SGD:
		for range maxNotes {
			s.mark(&d.sampled, s.random(d.own.len()))
		}
	default:
		d.noteParts()
	}
}

// noteTouched marks coordinates of the weights that a step on the row writes; not of a bias whose copy is merged now
// and then.
func (d *cpu) noteTouched(m model.Stepper, row int32) {
	d.touched = m.Touched(d.set, row, d.touched[:0])
	if d.biasCopy != nil {
		d.touched = d.touched[:len(d.touched)-1]
	}
	widest := 0
	for _, r := range d.touched {
		widest = max(widest, r.To-r.From)
	}
	for widest > 0 && d.sample.noted < maxNotes {
		r := d.touched[d.sample.random(len(d.touched))]
		if at := r.From + d.sample.random(widest); at < r.To { // so that each weight is as likely
			d.sample.mark(&d.sampled, at)
		}
	}
}

// noteParts marks coordinates of the last step's parts: their shapes are the same.
func (d *cpu) noteParts() {
	s, total := d.sample, 0
	for i := range d.g.Parts {
		total += d.size(&d.g.Parts[i])
	}
	for k := 0; k < maxNotes && total > 0; k++ {
		at := s.random(total)
		for i := range d.g.Parts {
			p := &d.g.Parts[i]
			n := d.size(p)
			if at < n {
				s.mark(&d.sampled, d.coordinate(p, at))
				break
			}
			at -= n
		}
	}
}

// size returns how many coordinates a step writes in a part, its bias's first, by the first row of the batch where
// that is known.
func (d *cpu) size(p *model.Part) int {
	if d.isData(p) {
		return biases(p) + len(d.x[0].Idx)*p.Out
	}
	return biases(p) + max(len(p.G), p.In*p.Out)
}

// biases returns how many biases a part has.
func biases(p *model.Part) int {
	if p.Bias < 0 || len(p.G) > 0 {
		return 0
	}
	return p.Out
}

// coordinate returns the i-th of the coordinates that a step writes in a part.
func (d *cpu) coordinate(p *model.Part, i int) int {
	if i < biases(p) {
		return p.Bias + i
	}
	i -= biases(p)
	if d.isData(p) {
		x := d.x[d.sample.random(len(d.x))]
		if len(x.Idx) > 0 {
			return p.Offset + int(x.Idx[i/p.Out%len(x.Idx)])*p.Out + i%p.Out
		}
	}
	return p.Offset + i
}
