package hogwild

import (
	"strconv"

	"hogwild/internal/vec"
)

// hot is a worker's own copy of weights that every other example changes. Were they
// written where the others write them, their cache lines would travel between the cores
// at every step, and two workers be slower than one. So a worker trains its copy, and
// every so many updates adds what it has learnt to the weights of all, and takes over
// what the others have: see vec.Merge. An update is late by that many, and none is
// lost but where two merge at the same moment.
//
// The copy is flushed before a chunk is reported as done, so that the weights hold what
// the table of chunks says.
type hot struct {
	shared     []float32
	mine, base []float32
	every      int // updates between two merges
	made       int // since the last
}

// maxHot is the largest model that is copied whole, a megabyte of it: copy and base
// then stay in a core's cache. In a larger one most weights are rare, and two workers seldom
// meet at one.
const maxHot = 1 << 18

// flushEvery is how many updates of w weights a worker holds back. Too few, and merging
// takes longer than training; too many, and each of the workers goes most of the way
// alone, so that they overshoot together (docs/asynchrony.md): the product with the
// number of workers counts.
func (c *Config) flushEvery(w int) int {
	if n, err := strconv.Atoi(c.FlushEvery); err == nil {
		return n
	}
	every := 512
	if w > 1<<14 {
		every = 4096 // merging all of so many takes as long as a hundred steps
	}
	every /= c.Workers
	if c.Law.Hold > 0 {
		every = min(every, c.Law.Hold)
	}
	return max(16, every)
}

// holdBack makes the copy of a worker of a run that needs one; else nil.
func (d *cpu) holdBack() *hot {
	n := len(d.w)
	if d.cfg.Workers == 1 || d.cfg.Mode != "async" || n > maxHot {
		return nil
	}
	every := d.cfg.flushDense(d.set.Kind, n)
	if d.step != nil {
		every = 1
		if _, copied := d.step.Suits(d.set); copied {
			every = d.cfg.flushEvery(n)
		}
	}
	if every <= 1 {
		return nil
	}
	h := &hot{shared: d.weights, mine: make([]float32, n), base: make([]float32, n), every: every}
	copy(h.mine, h.shared)
	copy(h.base, h.mine)
	d.w = h.mine
	return h
}

// room is how many of n updates may be made before the next flush.
func (h *hot) room(n int) int {
	if h == nil {
		return n
	}
	return min(n, h.every-h.made)
}

// updated says that n updates were made, and flushes when it is time to.
func (d *cpu) updated(n int) {
	if d.hot == nil {
		d.sample.wrote(n)
		return
	}
	if d.hot.made += n; d.hot.made >= d.hot.every {
		d.flush()
	}
}

// flush merges the worker's copy with the weights.
func (d *cpu) flush() {
	h := d.hot
	if h == nil || h.made == 0 {
		return
	}
	d.sample.look(d.bits)
	vec.Merge(h.shared, h.mine, h.base)
	d.sample.wrote(h.made)
	h.made = 0
}
