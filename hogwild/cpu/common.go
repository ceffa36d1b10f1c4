package cpu

import (
	"slices"
	"sync/atomic"

	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/internal/vec"
)

// common are the weights that all blocks of a graph write: what belongs to its relations. In mode blocks each chunk
// trains a copy of them, which begins as base: what they were after the sub-epoch before. What chunks have added is
// summed in the order of the table, so that the bits do not depend on who trains what.
//
// Bases and sums of an even and of an odd sub-epoch take turns in shared memory. No chunk of a sub-epoch begins before
// all of the one before are done (plan.Plan.Ready), so that what its base is computed from stays as it is until all of
// them have ended. Each worker computes it anew, on its own, and then writes the same numbers as all others. One that
// dies leaves nothing half done: a chunk's sum is written before it is done, and again when it is trained again.
type common struct {
	at    model.Range  // in the weights, which workers leave alone: see settle
	base  [2][]float32 // of the last even, and of the last odd sub-epoch
	moved [][]float32  // what each chunk of them has added
	of    []uint64     // the sub-epoch of each of moved, counted from 1; 0: none

	began, mine []float32 // what the chunk in hand began with, and what it is now
}

// newCommon returns nil where blocks have no weights in common.
func newCommon(s *device.Setup) *common {
	at, all := model.Common(s.Params), s.Mem.Common
	n := at.To - at.From
	if n == 0 || len(all) == 0 {
		return nil
	}
	next := func() (v []float32) {
		v, all = all[:n:n], all[n:]
		return v
	}
	c := &common{at: at, base: [2][]float32{next(), next()}, of: s.Mem.CommonOf,
		began: make([]float32, n), mine: make([]float32, n)}
	for range c.of {
		c.moved = append(c.moved, next())
	}
	return c
}

// place returns a chunk's sub-epoch, and which of moved it has.
func (c *common) place(p *plan.Plan, chunk plan.Chunk) (sub, i int) {
	sub, i = p.Sub(chunk.Epoch, chunk.Index)
	return sub, c.first(sub) + i
}

// first returns the first of moved that chunks of a sub-epoch have.
func (c *common) first(sub int) int { return sub % 2 * len(c.moved) / 2 }

// begin returns the copy that a chunk trains, or goes on with.
func (c *common) begin(p *plan.Plan, chunk plan.Chunk) []float32 {
	if chunk.Begun {
		return c.mine
	}
	sub, _ := c.place(p, chunk)
	copy(c.began, c.base[0])
	if sub > 0 {
		c.after(sub-1, c.began)
		copy(c.base[sub%2], c.began)
	}
	copy(c.mine, c.began)
	return c.mine
}

// after sets to to what the weights are after the chunks of a sub-epoch, those that have ended.
func (c *common) after(sub int, to []float32) {
	copy(to, c.base[sub%2])
	first := c.first(sub)
	for i := first; i < first+len(c.moved)/2; i++ {
		if atomic.LoadUint64(&c.of[i]) == uint64(sub+1) {
			vec.Axpy(1, c.moved[i], to)
		}
	}
}

// end tells what a chunk has added.
func (c *common) end(p *plan.Plan, chunk plan.Chunk) {
	sub, i := c.place(p, chunk)
	for j, v := range c.mine {
		c.moved[i][j] = v - c.began[j]
	}
	atomic.StoreUint64(&c.of[i], uint64(sub+1))
}

// putBack takes back what a chunk has added.
func (c *common) putBack(p *plan.Plan, chunk plan.Chunk) {
	_, i := c.place(p, chunk)
	atomic.StoreUint64(&c.of[i], 0)
}

// reset begins with the weights in w.
func (c *common) reset(w []float32) {
	if c == nil {
		return
	}
	for _, base := range c.base {
		copy(base, w[c.at.From:c.at.To])
	}
	clear(c.of)
}

// settle writes what chunks have added so far to the weights w, where no worker reads it.
func (c *common) settle(w []float32) {
	if c == nil {
		return
	}
	if last := slices.Max(c.of); last > 0 {
		c.after(int(last-1), c.mine)
		all := newShared(w, false)
		all.replace(c.at.From, c.mine)
	}
}
