// Package plan cuts a run into pieces: which examples a chunk has, what a round of barrier
// mode is, and the learning rate at each. All of it is a function of the configuration and of
// the number of rows, so that every process finds the same.
//
//	plan.go      the chunks and rounds of an epoch
//	schedule.go  the learning rate
//	chunk.go     Chunk, ChunkResult, Round
package plan

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
)

// Plan cuts an epoch into chunks. It is a function of the configuration and the
// number of training rows alone, so that every process, and a later run that
// resumes, finds the same chunk under the same index.
//
// In async mode any worker takes any chunk (dynamic), or a worker walks the chunks
// of its own share (contiguous). In barrier mode an epoch is a sequence of rounds,
// in each of which every rank trains its own chunks, then all meet and average.
type Plan struct {
	N, Workers, batch int
	Barrier           bool
	Shares            bool // contiguous: each rank has its own share of the rows
	seed              uint64

	Chunk    int // examples a chunk holds (of one rank)
	PerRank  int // chunks a rank has in an epoch; dynamic in async mode: all chunks
	Rounds   int // barrier mode
	perRound int // chunks a rank has in a round
	perStep  int // steps in a chunk of barrier mode
	steps    int // steps of a rank in an epoch of barrier mode
	every    int // steps of a rank in a round
	asked    int // the same, as it was asked for; 0: all of an epoch

	base int // barrier mode: examples of the epoch that were trained before it was cut like this
}

// A chunk is short enough that stopping waits a few milliseconds, and long enough
// that taking it costs nothing: 1,024 examples, fewer when the set is small, and whole
// blocks of the order, as far as the batch lets it.
const chunkExamples = 1024

// New is the plan for n training rows, with so many examples a step.
func New(c *config.Config, batch, n int) Plan {
	n = c.PartOf(n)
	p := Plan{N: n, Workers: c.Workers, batch: batch, seed: c.Seed,
		Barrier: c.Mode.Kind == config.Sync, Shares: c.Partition == "contiguous"}
	p.Chunk = roundUp(roundUp(min(chunkExamples, n/128+1), data.BlockRows), p.batch)
	if !p.Barrier {
		p.PerRank = CeilDiv(n, p.Chunk)
		if p.Shares {
			p.PerRank = CeilDiv(p.Share(p.Workers-1).N, p.Chunk)
		}
		return p
	}
	p.asked = c.Steps()
	return p.After(0)
}

// After is the plan for the rest of an epoch of barrier mode, of which base examples are
// trained: with other workers it is cut anew.
func (p Plan) After(base int) Plan {
	if !p.Barrier {
		return p
	}
	p.base = base
	p.steps = CeilDiv(p.N-base, p.batch*p.Workers)
	if p.Shares {
		p.steps = CeilDiv(p.Share(p.Workers-1).N, p.batch)
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

// Covered is how many examples of the epoch are trained after so many rounds, if none is lost.
func (p *Plan) Covered(rounds int) int {
	return min(p.N, p.base+rounds*p.every*p.batch*p.Workers)
}

// Chunks is the number of chunks in an epoch.
func (p *Plan) Chunks() int {
	if !p.Barrier && !p.Shares {
		return p.PerRank
	}
	return p.PerRank * p.Workers
}

// Owned are the indices of the chunks that only rank may train: [from, to).
func (p *Plan) Owned(rank int) (from, to int) {
	if !p.Barrier && !p.Shares {
		return 0, p.PerRank
	}
	return rank * p.PerRank, (rank + 1) * p.PerRank
}

// Round are the indices of a rank's chunks in a round: [from, to).
func (p *Plan) Round(rank, round int) (from, to int) {
	from = rank*p.PerRank + round*p.perRound
	return from, from + p.perRound
}

// Share is a rank's order: its own part of the rows, or all of them.
func (p *Plan) Share(rank int) data.Order {
	o := data.Order{Seed: p.seed, N: p.N}
	if p.Shares {
		q := p.N / p.Workers
		o.First, o.N = rank*q, q
		if rank == p.Workers-1 {
			o.N = p.N - o.First
		}
	}
	return o
}

// At is chunk i of an epoch. Its Count may be 0.
func (p *Plan) At(epoch, i int) Chunk {
	c := Chunk{Index: i, Epoch: epoch, Rank: -1, Batch: p.batch, Stride: p.batch, Weight: 1}
	rank, j := i/p.PerRank, i%p.PerRank
	if !p.Barrier {
		c.First = j * p.Chunk
		n := p.N
		if p.Shares {
			c.Rank, c.Weight, n = rank, p.Workers, p.Share(rank).N
		}
		c.Count = max(0, min(p.Chunk, n-c.First))
		c.Seen = int64(epoch)*int64(p.N) + int64(min(p.N, c.First*c.Weight))
		return c
	}
	round, k := j/p.perRound, j%p.perRound
	from := round*p.every + k*p.perStep
	to := min(from+p.perStep, (round+1)*p.every, p.steps)
	c.Weight = p.Workers
	c.Seen = int64(epoch)*int64(p.N) + int64(min(p.N, p.base+from*p.batch*p.Workers))
	if p.Shares {
		c.Rank, c.First = rank, from*p.batch
		c.Count = max(0, min(to*p.batch, p.Share(rank).N)-c.First)
		return c
	}
	// One order for all: step s covers the positions from s*batch*workers, of which
	// rank has the rank-th part; in the last step some have fewer, or none.
	c.Stride = p.batch * p.Workers
	c.First = p.base + from*c.Stride + rank*p.batch
	if to > from {
		tail := p.N - (c.First + (to-1-from)*c.Stride)
		c.Count = (to-1-from)*p.batch + max(0, min(tail, p.batch))
	}
	return c
}
