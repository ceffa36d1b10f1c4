package cpu

import (
	"math"
	"sync/atomic"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// shared are weights that other workers may read and write at the same moment. All stores to
// them stand in this file, and a test holds that. Nothing orders them: a float32 is read and
// written whole on every machine that Go runs on, an update that another one overtakes is
// lost, and that is the algorithm (Niu, Recht, Re, Wright: Hogwild!, NIPS 2011).
//
// A replica, and a worker's copy, are weights of the same type that no other worker writes.
type shared struct {
	w      []float32
	bits   []uint32  // w, for compare-and-swap
	atomic bool      // all writes are that
	moves  []float32 // where an optimizer has its moves before they are added; nil: no other worker writes w
}

func newShared(w []float32, atomic bool) shared {
	return shared{w: w, bits: shm.Bits(w), atomic: atomic}
}

// view returns the weights for reading: they may change at any moment.
func (s *shared) view() []float32 { return s.w }

// last returns the last weight by itself.
func (s *shared) last() shared { return newShared(s.w[len(s.w)-1:], s.atomic) }

func (s *shared) len() int { return len(s.w) }

// add adds a u to w[from:].
func (s *shared) add(from int, a float32, u []float32) {
	if s.atomic {
		vec.AxpyAtomic(a, u, s.bits[from:])
		return
	}
	vec.Axpy(a, u, s.w[from:from+len(u)])
}

// addOuter adds a X'D to a layer's W, straight from the factors. For compare-and-swap the same loop
// adds it to a copy of the rows that it writes, so that the numbers are rounded alike.
func (s *shared) addOuter(p *model.Part, a float32, work *vec.Workspace, c *layerCopy) {
	from, n := p.Offset, p.In*p.Out
	if !s.atomic {
		work.AddOuter(a, p.X, p.D, p.Out, s.w[from:from+n])
		return
	}
	c.mark(p)
	for _, r := range c.rows {
		for i := r.From; i < r.To; i++ {
			c.was[i] = math.Float32frombits(s.load(from + i))
		}
		copy(c.to[r.From:r.To], c.was[r.From:])
	}
	work.AddOuter(a, p.X, p.D, p.Out, c.to[:n])
	for _, r := range c.rows {
		vec.ReplaceAtomic(s.bits[from+r.From:], c.was[r.From:], c.to[r.From:r.To])
	}
}

// optimize has an optimizer take step t down the gradient g of the weights from one on, in one pass over weights, state
// and gradient. Weights that others write have a pass of their own for each stretch: their lines are in other cores'
// caches, and a pass that takes longer would lose more of them meanwhile.
func (s *shared) optimize(o *optimizer, g []float32, from int, lr float64, t uint64) {
	if s.moves == nil {
		o.update(s.w[from:], g, from, lr, t)
		return
	}
	for len(g) > 0 {
		n := min(len(g), len(s.moves))
		moves := s.moves[:n]
		clear(moves)
		o.update(moves, g[:n], from, lr, t)
		s.add(from, 1, moves)
		g, from = g[n:], from+n
	}
}

// addRows adds u, one row behind the other, to rows of weights of a width; row 0 is at from.
func (s *shared) addRows(from, width int, rows []int32, u []float32) {
	for i, j := range rows {
		if at := from + int(j)*width; width == 1 && !s.atomic {
			s.w[at] += u[i]
		} else {
			s.add(at, 1, u[i*width:(i+1)*width])
		}
	}
}

// layerCopy is where compare-and-swap has the numbers of a layer that an update writes.
type layerCopy struct {
	was, to []float32 // before it and after it
	rows    []model.Range
	seen    []bool
}

// mark sets rows to what a part of the gradient writes: each weight once.
func (c *layerCopy) mark(p *model.Part) {
	n := p.In * p.Out
	if len(c.to) < n {
		c.was, c.to = make([]float32, n), make([]float32, n)
	}
	if len(c.seen) < p.In {
		c.seen = make([]bool, p.In)
	}
	if c.rows = c.rows[:0]; len(p.X) == 0 || p.X[0].Idx == nil || nonzeros(p) >= p.In {
		c.rows = append(c.rows, model.Range{From: 0, To: n})
		return
	}
	for _, x := range p.X {
		for _, j := range x.Idx {
			if at := int(j) * p.Out; !c.seen[j] {
				c.seen[j] = true
				c.rows = append(c.rows, model.Range{From: at, To: at + p.Out})
			}
		}
	}
	for _, r := range c.rows {
		c.seen[r.From/p.Out] = false
	}
}

// nonzeros returns how many inputs a part's batch lists.
func nonzeros(p *model.Part) (n int) {
	for _, x := range p.X {
		n += len(x.Val)
	}
	return n
}

// softThreshold subtracts l2 w + clamp(w, -l1, l1) from the weights from:to.
func (s *shared) softThreshold(from, to int, l2, l1 float32) {
	for i := from; i < to; i++ {
		if !s.atomic {
			s.w[i] = thresholded(s.w[i], l2, l1)
			continue
		}
		for {
			was := atomic.LoadUint32(&s.bits[i])
			if atomic.CompareAndSwapUint32(&s.bits[i], was,
				math.Float32bits(thresholded(math.Float32frombits(was), l2, l1))) {
				break
			}
		}
	}
}

func thresholded(v, l2, l1 float32) float32 { return v - l2*v - max(-l1, min(l1, v)) }

// replace sets w[from:] = u.
func (s *shared) replace(from int, u []float32) { copy(s.w[from:], u) }

// steps has a model take its steps on the rows, reading and writing.
func (s *shared) steps(m model.Stepper, set *data.Set, rows []int32, step model.Step) (loss float64) {
	return m.Steps(s.w, set, rows, step)
}

// guarded has a model take steps under a guard, and read the one behind them.
func (s *shared) guarded(m model.HalfStepper, set *data.Set, rows []int32, step model.Step, coef []float32,
	g *vec.Guard) (done int, loss, p float64) {
	return m.Read(s.w, set, rows, step, coef, g)
}

// write has a model write the step that it has read for the row.
func (s *shared) write(m model.HalfStepper, set *data.Set, row int32, step model.Step, coef []float32) {
	if s.atomic {
		m.WriteAtomic(s.bits, set, row, step, coef)
		return
	}
	m.Write(s.w, set, row, step, coef)
}

// merge merges a copy of the weights from one on, as many as mine has: see vec.Merge. By compare-and-swap nothing is
// lost.
func (s *shared) merge(from int, mine, base []float32) {
	if s.atomic {
		for i := range mine {
			if learnt := mine[i] - base[i]; learnt != 0 {
				vec.AxpyAtomic(learnt, one[:], s.bits[from+i:from+i+1])
			}
			mine[i] = math.Float32frombits(s.load(from + i))
			base[i] = mine[i]
		}
		return
	}
	vec.Merge(s.w[from:from+len(mine)], mine, base)
}

// mergeCentered merges the first weights of a copy of centred ones: see vec.MergeCentered.
func (s *shared) mergeCentered(to int, mine, base, mean, sum, learned, merged []float32) {
	vec.MergeCentered(s.w[:to], mine[:to], base[:to], mean, sum, learned, merged)
}

// load returns the bits of a weight.
func (s *shared) load(at int) uint32 { return atomic.LoadUint32(&s.bits[at]) }

// probe stores what was loaded a moment ago, and reports whether another has written in
// between; then what it overwrote is added again.
func (s *shared) probe(at int, loaded uint32) (lost bool) {
	was := atomic.SwapUint32(&s.bits[at], loaded)
	if was == loaded {
		return false
	}
	vec.AxpyAtomic(math.Float32frombits(was)-math.Float32frombits(loaded), one[:], s.bits[at:])
	return true
}

var one = [1]float32{1}
