package cpu

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
)

// stride is how many steps are taken at once: all at the learning rate of the first.
const stride = 64

// leadOf returns how many positions of the order lie between a chunk and the rows that its worker asks the disk for:
// what all workers take until it comes again, and some stretches at least.
func (d *cpu) leadOf(shares bool) int {
	if !d.set.Streams() {
		return 0
	}
	n := d.PreferredChunks() * d.plan.Chunk
	if !shares {
		n *= d.plan.Ranks()
	}
	return max(n, leadStretches*d.set.Stretch()*data.BlockRows)
}

// leadStretches keep a disk busy: 8 MB.
const leadStretches = 8

// prefetch asks for the rows that follow a chunk at the distance of lead. At the beginning of an epoch the first ones
// have not been asked for.
func (d *cpu) prefetch(c plan.Chunk) {
	order, n := d.orders[max(c.Rank, 0)], plan.CeilDiv(c.Count, c.Batch)*c.Stride
	if c.First < d.lead {
		d.set.Fetch(order, c.Epoch, c.First, n)
	}
	d.set.Fetch(order, c.Epoch, c.First+d.lead, n)
}

// next returns the rows of a chunk that are trained after what y has: a batch; of a
// model that takes its steps by itself one, or where nothing stands between the halves
// of a step as many as fit before the next merge. Behind those stand the ones to come.
func (d *cpu) next(c plan.Chunk, y *plan.ChunkResult) []int32 {
	left := c.Count - y.Examples
	if d.step == nil {
		rows := d.batchRows(d.orders[max(c.Rank, 0)], c, c.First+y.Steps*c.Stride, min(c.Batch, left))
		d.reader.Epoch = c.Epoch
		d.batch = d.reader.Batch(rows)
		d.batch.Epoch = c.Epoch
		d.x = d.batch.Rows
		return rows
	}
	switch {
	case d.fused:
		return d.queue[:d.room(min(stride, left))]
	case d.guard != nil:
		return d.queue[:min(stride-y.Steps%stride, left)] // one rate, as above
	}
	return d.queue[:1]
}

// batchRows returns the n rows at position first of the epoch's order. A chunk without gaps
// is computed once, at its first step.
func (d *cpu) batchRows(order data.Order, c plan.Chunk, first, n int) []int32 {
	if c.Stride != c.Batch {
		order.Fill(d.rows[:n], c.Epoch, first)
		return d.rows[:n]
	}
	if first == c.First {
		order.Fill(d.rows[:c.Count], c.Epoch, first)
		d.reader.Ahead(d.rows[:c.Count])
	}
	return d.rows[first-c.First:][:n]
}

// lineUp queues the rows of all chunks, one behind the other.
func (d *cpu) lineUp(cs []plan.Chunk) {
	n := 0
	for _, c := range cs {
		n += c.Count
	}
	if n > cap(d.queued) {
		d.queued = make([]int32, n)
	}
	d.queue = d.queued[:n:n]
	at := 0
	for _, c := range cs {
		d.takeAll(c, d.queue[at:at+c.Count])
		at += c.Count
	}
}

// takeAll sets rows to the rows of a chunk.
func (d *cpu) takeAll(c plan.Chunk, rows []int32) {
	order := d.orders[max(c.Rank, 0)]
	if c.Stride == 1 {
		order.Fill(rows, c.Epoch, c.First)
		return
	}
	// One order for all ranks: this one has every Stride-th row. Rows are
	// shuffled in blocks: it takes whole stretches, and picks its own.
	if d.span == nil {
		d.span = make([]int32, len(d.rows))
	}
	n, at := 0, c.First
	for n < c.Count {
		span := d.span[:min(len(d.span), (c.Count-n-1)*c.Stride+1)]
		order.Fill(span, c.Epoch, at)
		i := 0
		for ; i < len(span); i += c.Stride {
			rows[n] = span[i]
			n++
		}
		at += i
	}
}
