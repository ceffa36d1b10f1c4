package cpu

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// lazyRows lets an optimizer with state pass over no weights that a step does not touch: of a layer on sparse rows only
// the weights of features that occur in the batch. What the others would have done in k steps without a gradient is
// made up for before they are next read, and at the end of an epoch, at the rate of that moment:
//
//	momentum  w -= lr v (mu + ... + mu^k)                         v = mu^k v
//	adam      w -= lr m'/(sqrt(v') + eps) (r + ... + r^k)         m = beta1^k m, v = beta2^k v, r = beta1/sqrt(beta2)
//	adagrad   nothing: a gradient of zero moves nothing
//
// So momentum at a constant rate takes the steps of torch.optim.SGD, and Adam torch.optim.Adam's but for eps and the
// correction of the bias, which it has from that moment. (torch.optim.SparseAdam lets neither weights nor state of a
// feature change where it does not occur: rare features then move by a tenth of what Adam moves them.)
//
// A restarted worker does not know what its rows have missed, and takes them as up to date.
type lazyRows struct {
	o      *optimizer
	offset int      // of the first row in the weights
	width  int      // of a row
	seen   []uint64 // the step that a row's state is up to date with
	now    uint64   // steps taken
	terms  []term   // by the steps missed; 0 is unused
	move   []float32

	rows             []int32 // of the step at hand, each once
	moves, g, s0, s1 []float32
}

// term is what some steps without a gradient come to: the factors of the state, and the sum of moves.
type term struct{ first, second, sum float32 }

// newLazyRows returns the lazyRows of a worker; nil where each step is to be of all weights: with l2, whose gradient is
// never zero, in modes that keep updates back or lock what they write, and with a state that others write too.
func newLazyRows(c *tuning.Job, o *optimizer, set *data.Set) *lazyRows {
	a := &c.Asked
	if !set.Sparse() || o.kind == config.SGD || !a.TakesTurns() || a.L2 != 0 || a.Workers > 1 && !a.PrivateState() ||
		o.kind == config.Adam && o.beta1*o.beta1 >= o.beta2 {
		return nil
	}
	return &lazyRows{o: o}
}

// term returns what k steps without a gradient come to.
func (l *lazyRows) term(k uint64) term {
	if k < uint64(len(l.terms)) {
		return l.terms[k]
	}
	if k > maxTerms {
		return l.o.missed(k)
	}
	for i := uint64(len(l.terms)); i <= 2*k; i++ {
		l.terms = append(l.terms, l.o.missed(i))
	}
	return l.terms[k]
}

const maxTerms = 1 << 14

// missed returns what k steps without a gradient come to.
func (o *optimizer) missed(k uint64) term {
	n := float64(k)
	sum := func(r float64) float32 { return float32(r * (1 - math.Pow(r, n)) / (1 - r)) }
	switch o.kind {
	case config.Momentum:
		return term{first: float32(math.Pow(float64(o.mu), n)), sum: sum(float64(o.mu))}
	case config.Adam:
		return term{float32(math.Pow(o.beta1, n)), float32(math.Pow(o.beta2, n)), sum(o.beta1 / math.Sqrt(o.beta2))}
	}
	return term{first: 1, second: 1}
}

// begin makes the rows of the weights that a batch of sparse rows is to read up to date.
func (l *lazyRows) begin(w *shared, x []data.Row, lr float64) {
	if l.now == 0 || l.o.kind == config.AdaGrad {
		return
	}
	c := l.o.adamStep(lr, *l.o.Steps)
	for _, r := range x {
		for _, j := range r.Idx {
			if l.seen[j] != l.now {
				l.makeUp(w, int(j), lr, c)
			}
		}
	}
}

// settle makes all rows up to date.
func (l *lazyRows) settle(w *shared, lr float64) {
	if l == nil || l.now == 0 || l.o.kind == config.AdaGrad {
		return
	}
	c := l.o.adamStep(lr, *l.o.Steps)
	for j := range l.seen {
		if l.seen[j] != l.now {
			l.makeUp(w, j, lr, c)
		}
	}
}

// makeUp makes up for the steps that a row has missed.
func (l *lazyRows) makeUp(w *shared, j int, lr float64, c vec.AdamStep) {
	k := l.term(l.now - l.seen[j])
	l.seen[j] = l.now
	from := l.offset + j*l.width
	first := l.o.Slots[0][from : from+l.width]
	if l.o.kind == config.Momentum {
		w.add(from, -float32(lr)*k.sum, first)
		scale(first, k.first)
		return
	}
	second := l.o.Slots[1][from : from+l.width]
	for i, m := range first {
		l.move[i] = m / (float32(math.Sqrt(float64(second[i])))*c.Unbias + c.Eps)
	}
	w.add(from, -c.Rate*k.sum, l.move)
	scale(first, k.first)
	scale(second, k.second)
}

func scale(x []float32, a float32) {
	for i := range x {
		x[i] *= a
	}
}

// step takes step t of the optimizer on the rows of a part, whose gradient g is; it leaves that at zero. Few numbers a
// row are gathered, for one pass over all.
func (l *lazyRows) step(w *shared, p *model.Part, g []float32, lr float64, t uint64) {
	if l.seen == nil {
		l.offset, l.width, l.seen, l.move = p.Offset, p.Out, make([]uint64, p.In), make([]float32, p.Out)
	}
	l.now++
	l.rows = l.rows[:0]
	for _, x := range p.X {
		for _, j := range x.Idx {
			if l.seen[j] != l.now {
				l.seen[j] = l.now
				l.rows = append(l.rows, int32(j))
			}
		}
	}
	slots := l.o.Slots
	l.moves, l.g, l.s0, l.s1 = l.moves[:0], l.g[:0], l.s0[:0], l.s1[:0]
	for _, j := range l.rows {
		row := g[int(j)*l.width:][:l.width]
		from := l.offset + int(j)*l.width
		l.g, l.s0 = append(l.g, row...), append(l.s0, slots[0][from:from+l.width]...)
		if len(slots) > 1 {
			l.s1 = append(l.s1, slots[1][from:from+l.width]...)
		}
		clear(row)
	}
	l.moves = append(l.moves, l.g...)
	clear(l.moves)
	l.o.updateState(l.moves, l.g, [2][]float32{l.s0, l.s1}, lr, t)
	w.addRows(l.offset, l.width, l.rows, l.moves)
	for i, j := range l.rows {
		from, at := l.offset+int(j)*l.width, i*l.width
		copy(slots[0][from:from+l.width], l.s0[at:])
		if len(slots) > 1 {
			copy(slots[1][from:from+l.width], l.s1[at:])
		}
	}
}
