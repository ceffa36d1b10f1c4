package cpu

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/fault"
	"hogwild/internal/vec"
)

// What the modes put before a step's read, and between its read and its write. What is
// written is the same in all of them, and cpu.put writes it; they differ in who may write
// meanwhile.
//
//	async    anybody; an update that another overtakes is lost
//	atomic   anybody; each number is written by compare-and-swap, and none is lost
//	locked   nobody to the same blocks of weights: see lock.go
//	ordered  nobody, and all in the order in which they began: see control/tickets.go
//	sync     nobody: the weights are this worker's replica
//	delayed  nobody: there is one worker, which writes each update when it is stale by K: see delay.go

// newGuard is the mode's guard, for a model's own loop to put between the halves of its steps;
// nil where there is none, or more between them.
func (d *cpu) newGuard(m *control.Weights) *vec.Guard {
	switch mode := d.cfg.Mode.Kind; {
	case d.step == nil || d.cfg.GradientDelay > 0:
	case mode == config.Locked:
		return vec.LockGuard(d.sample.own, m.Locks, control.LockLine, d.locks.shift, uint32(d.rank+1))
	case mode == config.Ordered:
		return d.turns.Guard(d.sample.own)
	case mode == config.Atomic:
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
		d.note(rows[0])
	}
}

// write takes the step that was read, when and as the mode says.
func (d *cpu) write(rows []int32, lr float64) {
	if d.step == nil && (d.opt.kind != config.SGD || d.cfg.AveragesGradients()) {
		d.flatten()
	}
	switch {
	case d.cfg.AveragesGradients():
		d.sample.wrote(1)
		return // the step is taken by all together, in Average
	case d.delay != nil:
		d.hold(rows, lr)
		return
	case d.turns != nil:
		d.turns.Await()
		_ = fault.Point("turn.held")
	case d.locks != nil:
		d.lock(rows)
		_ = fault.Point("lock.held")
	}
	if d.local == nil {
		d.sample.look(&d.sampled)
	}
	d.put(rows, lr)
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

// lock takes the locks of the update at hand.
func (d *cpu) lock(rows []int32) {
	d.markLocks(rows)
	d.locks.acquire()
}

// markLocks marks them.
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
			l.markPart(p, d.cfg.L1+d.cfg.L2 != 0 && !d.isData(p))
		}
	}
}

// isData tells whether a part's inputs are the rows of the batch, sparse ones.
func (d *cpu) isData(p *model.Part) bool {
	return len(p.X) > 0 && p.X[0].Idx != nil && len(d.x) > 0 && &p.X[0] == &d.x[0]
}

// note marks coordinates of the update to come, for the sampler: of the features of
// the batch's rows, or of the nodes of its pairs; and of a layer of which nobody knows
// before the step which of its inputs are alive, any. Where read and write are one, they
// are looked at at once.
func (d *cpu) note(row int32) {
	s := d.sample
	if d.step != nil {
		if d.local != nil {
			return
		}
		if d.noteRow(d.indices(row)); d.fused {
			s.look(&d.sampled)
		}
		return
	}
	if d.opt.kind != config.SGD {
		for range maxNotes {
			s.note(&d.sampled, s.random(d.own.len()))
		}
		return
	}
	if d.set.Kind == data.Pairs {
		d.noteRow(d.x[s.random(len(d.x))].Idx)
		return
	}
	total := 0
	for i := range d.g.Parts { // of the last step: the shapes are the same
		total += d.size(&d.g.Parts[i])
	}
	for k := 0; k < maxNotes && total > 0; k++ {
		at := s.random(total)
		for i := range d.g.Parts {
			p := &d.g.Parts[i]
			n := d.size(p)
			if at < n {
				s.note(&d.sampled, d.coordinate(p, at))
				break
			}
			at -= n
		}
	}
}

// rowWidth is how many weights a feature, or a node, has in the first parameter.
func rowWidth(ps []model.Param) int {
	switch {
	case len(ps) == 0 || len(ps[0].Shape) < 2:
		return 1
	case ps[0].Transposed:
		return ps[0].Shape[0]
	}
	return ps[0].Shape[1]
}

// noteRow marks coordinates of the first parameter's rows idx.
func (d *cpu) noteRow(idx []uint32) {
	for k := 0; k < maxNotes && len(idx) > 0; k++ {
		j := int(idx[d.sample.random(len(idx))])
		d.sample.note(&d.sampled, j*d.width+d.sample.random(d.width))
	}
}

// indices are the features of a row, or the nodes of a pair.
func (d *cpu) indices(row int32) []uint32 {
	if d.set.Kind == data.Pairs {
		return d.set.Idx[2*row : 2*row+2]
	}
	return d.set.Idx[d.set.Ptr[row]:d.set.Ptr[row+1]]
}

// size is how many coordinates a step writes in a part, by the first row of the batch
// where that is known.
func (d *cpu) size(p *model.Part) int {
	if d.isData(p) {
		return len(d.x[0].Idx) * p.Out
	}
	return max(len(p.G), p.In*p.Out)
}

// coordinate is the i-th of them.
func (d *cpu) coordinate(p *model.Part, i int) int {
	if d.isData(p) {
		x := d.x[d.sample.random(len(d.x))]
		if len(x.Idx) > 0 {
			return p.Offset + int(x.Idx[i/p.Out%len(x.Idx)])*p.Out + i%p.Out
		}
	}
	return p.Offset + i
}
