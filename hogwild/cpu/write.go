package cpu

import (
	"math"
	"sync/atomic"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// A step's beginning and its write, in the ways of the modes. What is written is the
// same in all of them, and cpu.put writes it; they differ in who may write meanwhile.
//
//	async    anybody; an update that another overtakes is lost
//	atomic   anybody; each number is added by compare-and-swap, and none is lost
//	locked   nobody to the same blocks of weights: see locks
//	ordered  nobody, and all in the order in which they began: see turns
//	sync     nobody: the weights are this worker's replica
//	delayed  nobody: there is one worker, which writes each update late: see delay

// begin starts a step: the weights are read from here on.
func (d *cpu) begin() {
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
		d.note()
	}
}

// write takes the step that apply is to take, when and as the mode says.
func (d *cpu) write(lr float64) {
	switch {
	case d.delay != nil:
		d.delay.hold(d, lr)
		return
	case d.turns != nil:
		d.turns.Await()
	case d.locks != nil:
		d.lock()
	}
	if d.local == nil {
		d.sample.look(d.bits)
	}
	d.put(lr)
	d.end()
	d.stepped(1)
}

// end lets the next one write.
func (d *cpu) end() {
	switch {
	case d.turns != nil:
		d.turns.Done()
	case d.locks != nil:
		d.locks.release()
	}
}

// drop ends a step that is not taken, for its loss is not finite.
func (d *cpu) drop() {
	if d.turns != nil {
		d.turns.Await()
		d.turns.Done()
	}
}

// lock takes the locks of the update in d.g.
func (d *cpu) lock() {
	l := d.locks
	if d.opt.kind != "sgd" { // all weights, and the state with them
		l.mark(0, len(d.w))
	}
	for _, n := range d.sample.notes[:d.sample.noted] {
		l.mark(n.at, n.at+1)
	}
	for i := range d.g.Parts {
		p := &d.g.Parts[i]
		l.markPart(p, d.cfg.L1+d.cfg.L2 != 0 && !d.isData(p))
	}
	l.acquire()
}

// isData tells whether a part's inputs are the rows of the batch, sparse ones.
func (d *cpu) isData(p *model.Part) bool {
	return len(p.X) > 0 && p.X[0].Idx != nil && len(d.x) > 0 && &p.X[0] == &d.x[0]
}

// pushAtomic is the rank-b update of a layer by compare-and-swap: straight from the
// factors where they are sparser than the layer, else formed in scratch.
func (d *cpu) pushAtomic(p *model.Part, a float32) {
	w := d.bits[p.Offset : p.Offset+p.In*p.Out]
	if len(d.scratch) < len(w) {
		d.scratch = make([]float32, len(w))
	}
	if nonzeros(p) >= p.In {
		u := d.scratch[:len(w)]
		d.work.AddOuter(1, p.X, p.D, p.Out, u)
		addAtomic(w, a, u)
		clear(u)
		return
	}
	for i, x := range p.X {
		delta := p.D[i*p.Out : (i+1)*p.Out]
		for n, j := range x.Idx {
			addAtomic(w[int(j)*p.Out:], a*x.Val[n], delta)
		}
	}
}

// nonzeros is how many inputs a part's batch lists.
func nonzeros(p *model.Part) (n int) {
	for _, x := range p.X {
		n += len(x.Val)
	}
	return n
}

// addAtomic is w += a u, each number by compare-and-swap. w are the bits of the weights.
func addAtomic(w []uint32, a float32, u []float32) {
	w = w[:len(u)]
	for i, v := range u {
		if v == 0 {
			continue
		}
		for {
			was := atomic.LoadUint32(&w[i])
			if atomic.CompareAndSwapUint32(&w[i], was, math.Float32bits(math.Float32frombits(was)+a*v)) {
				break
			}
		}
	}
}

// softenAtomic is soften by compare-and-swap.
func softenAtomic(w []uint32, l2, l1 float32) {
	for i := range w {
		for {
			was := atomic.LoadUint32(&w[i])
			v := [1]float32{math.Float32frombits(was)}
			soften(v[:], l2, l1)
			if atomic.CompareAndSwapUint32(&w[i], was, math.Float32bits(v[0])) {
				break
			}
		}
	}
}

// note marks coordinates of the update to come, for the sampler: of the features of
// the batch's rows, or of the nodes of its pairs; and of a layer of which nobody knows
// before the step which of its inputs are alive, any.
func (d *cpu) note() {
	s := d.sample
	if d.opt.kind != "sgd" {
		for range maxNotes {
			s.note(d.bits, s.random(len(d.w)))
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
				s.note(d.bits, d.coordinate(p, at))
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
		d.sample.note(d.bits, j*d.width+d.sample.random(d.width))
	}
}

// lookShort looks at coordinates of a step that a Stepper is to take on a row: as that
// reads and writes in one go, they are noted and looked at in one go just before.
func (d *cpu) lookShort(row int32) {
	if !d.sample.open || d.local != nil {
		return
	}
	switch s := d.set; s.Kind {
	case data.Sparse:
		d.noteRow(s.Idx[s.Ptr[row]:s.Ptr[row+1]])
	case data.Pairs:
		d.noteRow(s.Idx[2*row : 2*row+2])
	}
	d.sample.look(d.bits)
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
