package cpu

import (
	"sync/atomic"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
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
	every      int     // updates between two merges
	made       int     // since the last
	lock       *uint32 // the rank, plus one, of the worker that merges: see mergesAlone; else nil
	rank       int
}

// holdBack makes the copy of a worker of a run that needs one; else nil. copied is the
// stepper's word, where there is one.
func (d *cpu) holdBack(m *control.Weights, copied bool) *hot {
	n := len(d.w)
	if d.cfg.Workers == 1 || d.cfg.Mode != "async" || n > tuning.MaxHot {
		return nil
	}
	every := d.cfg.DenseMergePeriod(d.set.Kind, n)
	if d.step != nil {
		every = 1
		if copied {
			every = d.cfg.MergePeriod(n)
		}
	}
	if every <= 1 {
		return nil
	}
	h := &hot{shared: d.weights, mine: make([]float32, n), base: make([]float32, n), every: every}
	if d.cfg.MergesAlone() {
		h.lock, h.rank = &m.Locks[0], d.rank
	}
	copy(h.mine, h.shared)
	copy(h.base, h.mine)
	d.w = h.mine
	return h
}

// holdBias makes the copy of the bias of a linear model that is too large to be copied
// whole; else nil. It is merged after each stride: with rows of ten numbers two workers
// are faster by a third for it, with rows of seventy no slower.
func (d *cpu) holdBias(ps []model.Param) *hot {
	at := len(d.w) - 1
	if last := ps[len(ps)-1]; at < tuning.MaxHot || last.Len() > 1 || // no bias
		d.cfg.Workers == 1 || d.cfg.Mode != "async" || d.cfg.FlushEvery == "1" {
		return nil
	}
	return &hot{shared: d.weights[at:], mine: []float32{d.w[at]}, base: []float32{d.w[at]}}
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
	h.merge()
	d.sample.wrote(h.made)
	h.made = 0
}

func (h *hot) merge() {
	if h.lock == nil {
		vec.Merge(h.shared, h.mine, h.base)
		return
	}
	mine := h.wait()
	vec.Merge(h.shared, h.mine, h.base)
	if mine {
		atomic.CompareAndSwapUint32(h.lock, uint32(h.rank+1), 0)
	}
}

// mergePatience is how long a worker waits for one that merges, which takes microseconds:
// one that was stopped in between must not stop all.
const mergePatience = time.Millisecond

// wait takes the lock, or gives up.
func (h *hot) wait() bool {
	until := time.Time{}
	for tries := 0; !atomic.CompareAndSwapUint32(h.lock, 0, uint32(h.rank+1)); tries++ {
		control.Pause(tries)
		switch {
		case tries%100 != 0:
		case until.IsZero():
			until = time.Now().Add(mergePatience)
		case time.Now().After(until):
			return false
		}
	}
	return true
}
