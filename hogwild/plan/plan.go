// Package plan cuts a run into pieces: which examples a chunk has, what a round of barrier
// mode is, and the learning rate at each. All of it is a function of the configuration and of
// the number of rows, so that every process finds the same.
//
//	plan.go      the chunks and rounds of an epoch
//	blocks.go    mode blocks
//	schedule.go  the learning rate
//	chunk.go     Chunk, how long chunks are on GPUs, ChunkResult, Round
package plan

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Plan cuts an epoch into chunks. It is a function of the configuration and the
// number of training rows alone, so that every process, and a later run that
// resumes, finds the same chunk under the same index.
//
// In async mode any worker takes any chunk (dynamic), or a worker walks the chunks
// of its own share (contiguous). In barrier mode an epoch is a sequence of rounds: in each every rank trains its own
// chunks, then all meet and average.
//
// Several nodes train one epoch together, and the plan of each has the chunks that its own workers
// train. Dynamic in async mode they are dealt out in turn: chunk g of the epoch is chunk g/nodes of node
// g mod nodes. Otherwise the epoch is cut as if one node had all workers; the workers of a node are neighbours.
type Plan struct {
	N, Workers, batch int     // Workers: of this node
	Unit              float64 // of losses, in the labels' unit
	Barrier           bool
	Shares            bool // contiguous: each rank has its own share of the rows
	seed              uint64
	node, nodes       int // which of how many, 1 or more

	Longer   int // how many times as long as on cores a chunk is
	Chunk    int // examples a chunk holds (of one rank)
	PerRank  int // chunks a rank has in an epoch; dynamic in async mode: all chunks of this node
	Rounds   int // barrier mode
	perRound int // chunks a rank has in a round
	perStep  int // steps in a chunk of barrier mode
	steps    int // steps of a rank in an epoch of barrier mode
	every    int // steps of a rank in a round
	asked    int // the same, as it was asked for; 0: all of an epoch
	apart    int // several nodes: rounds between two averages of their weights

	base int // barrier mode: examples of the epoch that were trained before it was cut like this

	Grid   int  // of how many blocks by how many; 0: the entries do not lie in blocks
	Loose  bool // a block is trained too while others train its rows or columns, if there is no other
	blocks blocks
}

// A chunk is short enough that stopping waits a few milliseconds, and long enough
// that taking it costs nothing: 1,024 examples, fewer when the set is small, and whole
// blocks of the order, as far as the batch lets it.
const chunkExamples = 1024

// New returns the plan for n training rows, with batch examples a step.
func New(c *config.Config, batch, n int) Plan {
	n = c.PartOf(n)
	p := Plan{N: n, Workers: c.Workers, batch: batch, seed: c.Seed, node: c.Node, nodes: c.AllNodes(),
		Barrier: c.Mode.Traits().Barrier, Shares: c.Partition == config.Contiguous, Grid: config.GridOf(c),
		Loose:  c.Apart > 0,
		blocks: blocks{n: config.GridOf(c), parts: 1, seed: c.Seed}, Unit: model.Loss(c.Loss).Unit(c.Standard)}
	if p = p.Times(Longer(c, n)); !p.Barrier {
		return p
	}
	p.asked = c.Steps()
	p = p.After(0)
	p.apart = 1
	if r := c.NodeRounds(); r > 0 {
		p.apart = CeilDiv(p.Rounds, r)
	}
	return p
}

// Times returns the plan with chunks longer times as long as on cores, for an epoch that was begun with them. 0: it is
// as it was.
func (p Plan) Times(longer int) Plan {
	if longer == 0 || longer == p.Longer {
		return p
	}
	p.Longer, p.Chunk = longer, roundUp(roundUp(min(longer*chunkExamples, p.N/128+1), data.BlockRows), p.batch)
	p.PerRank = CeilDiv(CeilDiv(p.N, p.Chunk)-p.node, p.nodes)
	if p.Shares {
		p.PerRank = CeilDiv(p.largestShare(), p.Chunk)
	}
	if p.Grid > 0 {
		p.PerRank = p.blocks.chunks()
	}
	return p
}

// Blocks returns the plan of mode blocks for data that lie in these blocks.
func (p Plan) Blocks(b data.Blocks) Plan {
	p.blocks.Blocks = b
	p.blocks.Drawn = b.Drawn && !p.Loose
	return p
}

// Of returns the plan of an epoch, counted from 1.
func (p Plan) Of(epoch uint64) Plan {
	if subs := p.blocks.subs(epoch, p.Loose); p.Grid > 1 && subs > 0 {
		p.blocks.parts = CeilDiv(subs, p.Grid)
		p.PerRank = p.blocks.chunks()
	}
	return p
}

// Ready reports whether all chunks of mode blocks are done that must be before chunk i is trained.
func (p *Plan) Ready(epoch, i int, done func(i int) bool) bool { return p.blocks.ready(epoch, i, done) }

// Sub returns the sub-epoch of a chunk of mode blocks, counted from the first of the run, and the chunk's place in it.
func (p *Plan) Sub(epoch, i int) (sub, place int) {
	for e := 1; e <= min(epoch, 3); e++ {
		of := p.Of(uint64(e))
		sub += of.PerRank / p.Grid
	}
	if epoch > 3 {
		of := p.Of(3)
		sub += (epoch - 3) * of.PerRank / p.Grid
	}
	return sub + i/p.Grid, i % p.Grid
}

// Orders returns how many orders the data have: see Share.
func (p *Plan) Orders() int {
	if p.Grid > 0 {
		return p.Grid * p.Grid
	}
	return p.Workers
}

// Ranks returns the number of workers of all nodes.
func (p *Plan) Ranks() int { return p.Workers * p.nodes }

// RankOf returns the place of a worker of this node among all nodes' workers.
func (p *Plan) RankOf(rank int) int { return p.node*p.Workers + rank }

// Whole returns the plan of one node that has the chunks of all, under the places that they have among those.
func (p Plan) Whole() Plan {
	p.PerRank = p.AllChunks()
	if !p.dealt() {
		p.PerRank /= p.Ranks()
	}
	p.Workers, p.node, p.nodes = p.Ranks(), 0, 1
	return p
}

// After returns the plan for the rest of an epoch of barrier mode that has base examples trained: with other workers it
// is cut anew.
func (p Plan) After(base int) Plan {
	if !p.Barrier {
		return p
	}
	p.base = base
	p.steps = CeilDiv(p.N-base, p.batch*p.Ranks())
	if p.Shares {
		p.steps = CeilDiv(p.largestShare(), p.batch)
	}
	p.every = p.asked
	if p.every == 0 || p.every > p.steps {
		p.every = p.steps
	}
	p.Rounds = CeilDiv(p.steps, p.every)
	p.perStep = min(p.Chunk/p.batch, p.every)
	p.perRound = CeilDiv(p.every, p.perStep)
	p.PerRank = p.Rounds * p.perRound
	return p
}

// Covered returns how many examples of the epoch are trained after this many rounds, if none is lost.
func (p *Plan) Covered(rounds int) int {
	return min(p.N, p.base+rounds*p.every*p.batch*p.Ranks())
}

// NodesMeet reports whether after a round of barrier mode workers wait until the weights of all nodes
// are averaged. After the last one that belongs to the epoch's end.
func (p *Plan) NodesMeet(round int) bool {
	return p.nodes > 1 && p.Barrier && (round+1)%p.apart == 0 && round+1 < p.Rounds
}

// dealt reports whether any worker takes any chunk.
func (p *Plan) dealt() bool { return !p.Barrier && !p.Shares }

// Chunks returns the number of chunks that this node has in an epoch. It may be 0.
func (p *Plan) Chunks() int {
	if p.dealt() {
		return p.PerRank
	}
	return p.PerRank * p.Workers
}

// AllChunks returns the number of chunks that all nodes have in an epoch.
func (p *Plan) AllChunks() int {
	if p.Grid > 0 {
		return p.PerRank
	}
	if p.dealt() {
		return CeilDiv(p.N, p.Chunk)
	}
	return p.PerRank * p.Ranks()
}

// Examples returns how many of an epoch's examples this node trains.
func (p *Plan) Examples() (n int) {
	for i := range p.Chunks() {
		n += p.At(0, i).Count
	}
	return n
}

// Global returns the place of this node's chunk i among all nodes' chunks.
func (p *Plan) Global(i int) int {
	if p.dealt() {
		return i*p.nodes + p.node
	}
	return p.node*p.Chunks() + i
}

// Local returns the chunk of this node that has the place g among all nodes' chunks; false: it is another
// node's.
func (p *Plan) Local(g int) (i int, own bool) {
	if p.dealt() {
		return g / p.nodes, g%p.nodes == p.node
	}
	i = g - p.node*p.Chunks()
	return i, i >= 0 && i < p.Chunks()
}

// Owned returns the indices of the chunks that only rank may train: [from, to).
func (p *Plan) Owned(rank int) (from, to int) {
	if p.dealt() {
		return 0, p.PerRank
	}
	return rank * p.PerRank, (rank + 1) * p.PerRank
}

// Round returns the indices of a rank's chunks in a round: [from, to).
func (p *Plan) Round(rank, round int) (from, to int) {
	from = rank*p.PerRank + round*p.perRound
	return from, from + p.perRound
}

// Share returns a rank's order: its own part of the rows, or all of them; in mode blocks a block's.
func (p *Plan) Share(rank int) data.Order {
	if p.Grid > 0 {
		return p.blocks.order(rank)
	}
	o := data.Order{Seed: p.seed, N: p.N}
	if p.Shares {
		q := p.N / p.Ranks()
		o.First, o.N = p.RankOf(rank)*q, q
		if p.RankOf(rank) == p.Ranks()-1 {
			o.N = p.largestShare()
		}
	}
	return o
}

// largestShare returns the number of rows of the last rank, which has what is left over.
func (p *Plan) largestShare() int { return p.N - (p.Ranks()-1)*(p.N/p.Ranks()) }

// At returns this node's chunk i of an epoch. Its Count may be 0.
func (p *Plan) At(epoch, i int) Chunk {
	if p.Grid > 0 {
		return p.blocks.at(epoch, i, p.N)
	}
	c := Chunk{Index: i, Epoch: epoch, Rank: -1, Batch: p.batch, Stride: p.batch, Weight: 1}
	rank, j := i/p.PerRank, i%p.PerRank
	if !p.Barrier {
		c.First = p.Global(j) * p.Chunk
		n := p.N
		if p.Shares {
			c.First = j * p.Chunk
			c.Rank, c.Weight, n = rank, p.Ranks(), p.Share(rank).N
		}
		c.Count = max(0, min(p.Chunk, n-c.First))
		c.Seen = int64(epoch)*int64(p.N) + int64(min(p.N, c.First*c.Weight))
		return c
	}
	round, k := j/p.perRound, j%p.perRound
	from := round*p.every + k*p.perStep
	to := min(from+p.perStep, (round+1)*p.every, p.steps)
	c.Weight = p.Ranks()
	c.Seen = int64(epoch)*int64(p.N) + int64(min(p.N, p.base+from*p.batch*p.Ranks()))
	if p.Shares {
		c.Rank, c.First = rank, from*p.batch
		c.Count = max(0, min(to*p.batch, p.Share(rank).N)-c.First)
		return c
	}
	// One order for all: step s covers the positions from s*batch*ranks, and rank has the rank-th part of them; in the
	// last step some have fewer, or none.
	c.Stride = p.batch * p.Ranks()
	c.First = p.base + from*c.Stride + p.RankOf(rank)*p.batch
	if to > from {
		tail := p.N - (c.First + (to-1-from)*c.Stride)
		c.Count = (to-1-from)*p.batch + max(0, min(tail, p.batch))
	}
	return c
}
