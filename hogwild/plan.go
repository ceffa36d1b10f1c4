package hogwild

import "hogwild/hogwild/data"

// plan cuts an epoch into chunks. It is a function of the configuration and the
// number of training rows alone, so that every process, and a later run that
// resumes, finds the same chunk under the same index.
//
// In async mode any worker takes any chunk (ticket), or a worker walks the chunks
// of its own share (contiguous). In barrier mode an epoch is a sequence of rounds,
// in each of which every rank trains its own chunks, then all meet and average.
type plan struct {
	n, workers, batch int
	barrier           bool
	shares            bool // contiguous: each rank has its own share of the rows
	seed              uint64

	chunk    int // examples a chunk holds (of one rank)
	perRank  int // chunks a rank has in an epoch; with tickets in async mode: all chunks
	rounds   int // barrier mode
	perRound int // chunks a rank has in a round
	perStep  int // steps in a chunk of barrier mode
	steps    int // steps of a rank in an epoch of barrier mode
	every    int // steps of a rank in a round
}

// A chunk is short enough that stopping waits a few milliseconds, and long enough
// that taking it costs nothing: 1,024 examples, fewer when the set is small, and whole
// blocks of the order, as far as the batch lets it.
const chunkExamples = 1024

func newPlan(c *Config, n int) plan {
	n = c.part(n)
	p := plan{n: n, workers: c.Workers, batch: c.Batch, seed: c.Seed,
		barrier: c.Mode == "sync", shares: c.Partition == "contiguous"}
	p.chunk = roundUp(roundUp(min(chunkExamples, n/128+1), data.BlockRows), p.batch)
	if !p.barrier {
		p.perRank = ceilDiv(n, p.chunk)
		if p.shares {
			p.perRank = ceilDiv(p.share(p.workers-1).N, p.chunk)
		}
		return p
	}
	p.steps = ceilDiv(n, p.batch*p.workers)
	if p.shares {
		p.steps = ceilDiv(p.share(p.workers-1).N, p.batch)
	}
	p.every = c.AverageEvery
	if p.every == 0 || p.every > p.steps {
		p.every = p.steps
	}
	p.rounds = ceilDiv(p.steps, p.every)
	p.perStep = min(p.chunk/p.batch, p.every)
	p.perRound = ceilDiv(p.every, p.perStep)
	p.perRank = p.rounds * p.perRound
	return p
}

// chunks is the number of chunks in an epoch.
func (p *plan) chunks() int {
	if !p.barrier && !p.shares {
		return p.perRank
	}
	return p.perRank * p.workers
}

// owned are the indices of the chunks that only rank may train: [from, to).
func (p *plan) owned(rank int) (from, to int) {
	if !p.barrier && !p.shares {
		return 0, p.perRank
	}
	return rank * p.perRank, (rank + 1) * p.perRank
}

// round are the indices of a rank's chunks in a round: [from, to).
func (p *plan) round(rank, round int) (from, to int) {
	from = rank*p.perRank + round*p.perRound
	return from, from + p.perRound
}

// share is a rank's order: its own part of the rows, or all of them.
func (p *plan) share(rank int) data.Order {
	o := data.Order{Seed: p.seed, N: p.n}
	if p.shares {
		q := p.n / p.workers
		o.First, o.N = rank*q, q
		if rank == p.workers-1 {
			o.N = p.n - o.First
		}
	}
	return o
}

// at is chunk i of an epoch. Its Count may be 0.
func (p *plan) at(epoch, i int) Chunk {
	c := Chunk{Index: i, Epoch: epoch, Rank: -1, Batch: p.batch, Stride: p.batch, Weight: 1}
	rank, j := i/p.perRank, i%p.perRank
	if !p.barrier {
		c.First = j * p.chunk
		n := p.n
		if p.shares {
			c.Rank, c.Weight, n = rank, p.workers, p.share(rank).N
		}
		c.Count = max(0, min(p.chunk, n-c.First))
		c.Seen = int64(epoch)*int64(p.n) + int64(min(p.n, c.First*c.Weight))
		return c
	}
	round, k := j/p.perRound, j%p.perRound
	from := round*p.every + k*p.perStep
	to := min(from+p.perStep, (round+1)*p.every, p.steps)
	c.Weight = p.workers
	c.Seen = int64(epoch)*int64(p.n) + int64(min(p.n, from*p.batch*p.workers))
	if p.shares {
		c.Rank, c.First = rank, from*p.batch
		c.Count = max(0, min(to*p.batch, p.share(rank).N)-c.First)
		return c
	}
	// One order for all: step s covers the positions from s*batch*workers, of which
	// rank has the rank-th part; in the last step some have fewer, or none.
	c.Stride = p.batch * p.workers
	c.First = from*c.Stride + rank*p.batch
	if to > from {
		tail := p.n - (c.First + (to-1-from)*c.Stride)
		c.Count = (to-1-from)*p.batch + max(0, min(tail, p.batch))
	}
	return c
}
