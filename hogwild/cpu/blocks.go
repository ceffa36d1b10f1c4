package cpu

import (
	"sync/atomic"

	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// Mode blocks: while a worker trains a block no other writes its ranges of rows and columns, and it takes its steps
// in place. Before the first it keeps a copy of them in shared memory. If it dies, the coordinator puts them back, and
// another worker trains the block from the same weights: the run ends with the same bits.

// blocks is what a rank keeps for mode blocks.
type blocks struct {
	grid  *data.Grid
	model model.Noded
	kept  []float32 // a copy of what its block writes, range after range
	of    *uint64   // the chunk that it is a copy of: see copyOf; 0: it is not complete
	nodes [][2]int
	spans []model.Range

	plan   *plan.Plan
	common *common
}

// newBlocks returns a rank's blocks; nil in other modes.
func newBlocks(s *device.Setup, rank int) *blocks {
	if s.Grid == nil || s.Plan.Loose {
		return nil
	}
	p := len(s.Mem.W)
	return &blocks{grid: s.Grid, model: s.Model.(model.Noded), kept: s.Mem.Kept[rank*p : (rank+1)*p],
		of: &s.Mem.KeptOf[rank*control.RankWords], plan: &s.Plan, common: newCommon(s)}
}

// copyOf tells chunks apart.
func copyOf(c plan.Chunk) uint64 { return uint64(c.Epoch+1)<<32 | uint64(c.Index) }

// each calls do for each stretch of the weights that a chunk writes, with the place of its copy.
func (b *blocks) each(c plan.Chunk, do func(r model.Range, kept []float32)) {
	b.nodes, b.spans = b.grid.Nodes(c.Rank, c.Twin, b.nodes[:0]), b.spans[:0]
	for _, n := range b.nodes {
		b.spans = b.model.Nodes(n[0], n[1], b.spans)
	}
	at := 0
	for _, r := range b.spans {
		do(r, b.kept[at:at+r.To-r.From])
		at += r.To - r.From
	}
}

// keep copies what a chunk will write.
func (b *blocks) keep(c plan.Chunk, w *shared) {
	atomic.StoreUint64(b.of, 0)
	b.each(c, func(r model.Range, kept []float32) { copy(kept, w.view()[r.From:]) })
	atomic.StoreUint64(b.of, copyOf(c))
}

// begin keeps what a chunk is to write, if it has not begun, and returns the copy that it trains of what all blocks
// write; nil if there is nothing.
func (b *blocks) begin(c plan.Chunk, w *shared) []float32 {
	if !c.Begun && c.Count > 0 { // an empty chunk of a graph has the ranges of another one
		b.keep(c, w)
	}
	if b.common == nil {
		return nil
	}
	return b.common.begin(b.plan, c)
}

// end tells what a chunk, or its first steps, has added to what all blocks write.
func (b *blocks) end(c plan.Chunk) {
	if b.common != nil {
		b.common.end(b.plan, c)
	}
}

// PutBack undoes what a rank that is dead has done of a chunk.
func (o *hostOwner) PutBack(rank int, c plan.Chunk) {
	b := newBlocks(o.s, rank)
	if b.common != nil {
		b.common.putBack(b.plan, c)
	}
	if atomic.LoadUint64(b.of) != copyOf(c) {
		return // it has not begun
	}
	w := newShared(o.s.Mem.W, false)
	b.each(c, func(r model.Range, kept []float32) { w.replace(r.From, kept) })
}
