package plan

import "hogwild/hogwild/config"

// Chunk is the work that a worker takes at once: steps of Batch examples each, at
// positions First, First+Stride, ... of the epoch's order, Count examples in all.
// The last step has what is left over.
type Chunk struct {
	Index  int // into this node's table of the epoch's chunks
	Epoch  int // from 0
	Rank   int // of this node, whose share of the data this is; mode blocks: which block; -1 when all share one order
	First  int
	Count  int
	Batch  int
	Stride int
	Seen   int64 // examples of the whole run before this chunk, trained by all workers of all nodes
	Begun  bool  // its first steps are taken
	Twin   int   // mode blocks: the block from whose ranges negatives are drawn, from 1; 0: from all
	Weight int   // examples of all workers of all nodes that go by while this chunk trains one; 0: one rate for all
}

// A GPU trains up to some billion short steps a second, and a worker's host spends half a microsecond on
// a chunk of 1,024 with its 16 learning rates. So both are longer on GPUs for each manyRows of the set: see Longer.
const (
	mostLonger = 8
	manyRows   = 1 << 20
)

// Longer returns how many times as long as on cores chunks are, and the blocks of one learning rate: a power of two. A
// program is told of each chunk: its are no longer.
func Longer(c *config.Config, n int) int {
	k := 1
	if c.GPU == "" || c.Layout != nil || c.Mode.Traits().Barrier || c.Partition == config.Contiguous {
		return k
	}
	for k < mostLonger && 2*k*manyRows <= c.PartOf(n) {
		k *= 2
	}
	return k
}

// Split cuts off the first steps: this many, or all that there are.
func (c Chunk) Split(steps int) (first, rest Chunk) {
	first, rest = c, c
	first.Count = min(steps*c.Batch, c.Count)
	rest.Count -= first.Count
	rest.First += steps * c.Stride
	rest.Begun = true
	rest.Seen += int64(first.Count * c.Weight)
	return first, rest
}

// ChunkResult is the result of training a chunk.
type ChunkResult struct {
	Examples int
	Steps    int
	Loss     float64 // summed over the examples, each at the weights it was trained on
}

// Plus returns the sum of both.
func (t ChunkResult) Plus(o ChunkResult) ChunkResult {
	return ChunkResult{t.Examples + o.Examples, t.Steps + o.Steps, t.Loss + o.Loss}
}

// Round is what a rank must know to average.
type Round struct {
	Number   int   // of the run, from 1
	Seen     int64 // examples of the run before this round
	Examples []int // trained by each rank in this round
}

// Shares returns the weight of each rank in the mean: its part of the round's examples.
// Nil: no rank trained any.
func (r Round) Shares() []float32 {
	total := 0
	for _, n := range r.Examples {
		total += n
	}
	if total == 0 {
		return nil
	}
	share := make([]float32, len(r.Examples))
	for i, n := range r.Examples {
		share[i] = float32(float64(n) / float64(total))
	}
	return share
}

// SliceOf returns a rank's part of n weights, [from, to).
func SliceOf(n, rank, ranks int) (from, to int) { return rank * n / ranks, (rank + 1) * n / ranks }

// CeilDiv returns a / b, rounded up.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return CeilDiv(a, b) * b }
