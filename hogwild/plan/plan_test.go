package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hogwild/hogwild/config"
)

// anyPlan returns the plan of a random small job.
func anyPlan(t *rapid.T, modes, partitions []string) Plan {
	c := config.Config{
		Mode:         config.MustMode(rapid.SampledFrom(modes).Draw(t, "mode")),
		Partition:    config.Partition(rapid.SampledFrom(partitions).Draw(t, "partition")),
		Workers:      rapid.IntRange(1, 9).Draw(t, "workers"),
		Batch:        rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 1500)).Draw(t, "batch"),
		AverageEvery: rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 40)).Draw(t, "average every"),
		Seed:         rapid.Uint64().Draw(t, "seed"),
	}
	small, some, many := rapid.IntRange(1, 70), rapid.IntRange(1, 6000), rapid.IntRange(130_000, 140_000)
	n := rapid.OneOf(small, small, small, some, some, some, many).Draw(t, "n")
	return New(&c, c.Batch, n)
}

var (
	bothModes      = []string{"async", "sync"}
	bothPartitions = []string{"dynamic", "contiguous"}
)

// stepsOf returns the first positions and the lengths of a chunk's steps, as its
// definition has them.
func stepsOf(c Chunk) (steps [][2]int) {
	for first, left := c.First, c.Count; left > 0; first += c.Stride {
		b := min(c.Batch, left)
		steps = append(steps, [2]int{first, b})
		left -= b
	}
	return steps
}

// visit trains a whole epoch in thought, and returns the rows in the order of the
// chunks.
func visit(p *Plan, epoch int) (rows []int32) {
	for i := range p.Chunks() {
		rows = append(rows, rowsOf(p, epoch, i)...)
	}
	return rows
}

// rowsOf returns the rows of a chunk.
func rowsOf(p *Plan, epoch, i int) (rows []int32) {
	c := p.At(epoch, i)
	order := p.Share(max(c.Rank, 0))
	for _, s := range stepsOf(c) {
		part := make([]int32, s[1])
		order.Fill(part, epoch, s[0])
		rows = append(rows, part...)
	}
	return rows
}

func TestEpochVisitsEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, bothModes, bothPartitions)
		rows := visit(&p, rapid.IntRange(0, 5).Draw(t, "epoch"))
		slices.Sort(rows)
		if len(rows) != p.N {
			t.Fatalf("%d rows visited, of %d", len(rows), p.N)
		}
		for i, r := range rows {
			if int(r) != i {
				t.Fatalf("row %d is missed, or %d is there twice", i, r)
			}
		}
	})
}

func TestChunksFitTheirMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, bothModes, bothPartitions)
		for i := range p.Chunks() {
			c := p.At(0, i)
			if c.Index != i || c.Batch != p.batch || c.Count < 0 || c.Count > p.Chunk {
				t.Fatalf("chunk %d of at most %d examples: %+v", i, p.Chunk, c)
			}
			for _, s := range stepsOf(c) {
				if s[1] < 1 || s[1] > p.batch {
					t.Fatalf("a step of %d examples: %+v", s[1], c)
				}
			}
			if c.Count == 0 {
				continue
			}
			first, rest := c.Split(1)
			if got := append(stepsOf(first), stepsOf(rest)...); len(stepsOf(first)) != 1 ||
				!slices.Equal(got, stepsOf(c)) {
				t.Fatalf("split takes %v apart into %v", stepsOf(c), got)
			}
			if want := c.Seen + int64(first.Count*c.Weight); rest.Seen != want {
				t.Fatalf("after a first step at %d, %d examples are seen, want %d", c.Seen, rest.Seen, want)
			}
		}
	})
}

// Dealt out dynamically in async mode the chunks of an epoch lie one behind the other, so
// that Seen is the number of examples before each, exactly.
func TestSeenOfDynamic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, []string{"async"}, []string{"dynamic"})
		seen := int64(0)
		for epoch := range 3 {
			for i := range p.Chunks() {
				c := p.At(epoch, i)
				if c.Seen != seen || c.Weight != 1 || c.Rank != -1 {
					t.Fatalf("%d examples before %+v", seen, c)
				}
				seen += int64(c.Count)
			}
		}
		if seen != 3*int64(p.N) {
			t.Fatalf("%d examples in 3 epochs of %d", seen, p.N)
		}
	})
}

// Elsewhere Seen counts what all ranks have trained if they keep in step: it grows
// along each rank's chunks, from the epoch's start to at most its end.
func TestSeenOfRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, bothModes, bothPartitions)
		if !p.Barrier && !p.Shares {
			t.Skip("any worker takes any chunk")
		}
		const epoch = 2
		start := int64(epoch * p.N)
		for rank := range p.Workers {
			from, to := p.Owned(rank)
			last, own := start, 0
			for i := from; i < to; i++ {
				c := p.At(epoch, i)
				if c.Weight != p.Workers || c.Seen < last || c.Seen > start+int64(p.N) {
					t.Fatalf("rank %d, %d to %d: %+v after %d", rank, start, p.N, c, last)
				}
				if want := min(start+int64(own*p.Workers), start+int64(p.N)); c.Count > 0 && c.Seen != want {
					t.Fatalf("rank %d trained %d of its own: seen are %d, want %d", rank, own, c.Seen, want)
				}
				last, own = c.Seen, own+c.Count
			}
		}
	})
}

func TestOwnedChunksAreAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, bothModes, bothPartitions)
		next := 0
		for rank := range p.Workers {
			from, to := p.Owned(rank)
			if !p.Barrier && !p.Shares {
				if from != 0 || to != p.Chunks() {
					t.Fatalf("rank %d may train %d to %d of %d", rank, from, to, p.Chunks())
				}
				continue
			}
			if from != next {
				t.Fatalf("rank %d begins at %d, the one before ended at %d", rank, from, next)
			}
			next = to
			if !p.Barrier {
				continue
			}
			for round := range p.Rounds {
				a, b := p.Round(rank, round)
				if a != from || b <= a {
					t.Fatalf("rank %d, round %d: chunks %d to %d, want them from %d", rank, round, a, b, from)
				}
				from = b
			}
			if from != to {
				t.Fatalf("the rounds of rank %d end at %d, its chunks at %d", rank, from, to)
			}
		}
	})
}

// globalSteps are, for each step that all ranks take together, the positions they
// visit in rank order, and the round in which they do.
func globalSteps(t *rapid.T, p *Plan) (positions [][]int, rounds []int) {
	positions, rounds = make([][]int, p.steps), make([]int, p.steps)
	for rank := range p.Workers {
		for round := range p.Rounds {
			step := round * p.every
			from, to := p.Round(rank, round)
			for i := from; i < to; i++ {
				for _, s := range stepsOf(p.At(0, i)) {
					if step >= min((round+1)*p.every, p.steps) {
						t.Fatalf("rank %d takes more than %d steps in round %d", rank, p.every, round)
					}
					for k := range s[1] {
						positions[step] = append(positions[step], s[0]+k)
					}
					rounds[step] = round
					step++
				}
			}
		}
	}
	return positions, rounds
}

// In barrier mode, dynamic, the ranks' step s is the global batch from s b N on:
// what one worker with batch b N would train in its step s.
func TestBarrierStepsAreGlobalBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, []string{"sync"}, []string{"dynamic"})
		wide := p.batch * p.Workers
		positions, rounds := globalSteps(t, &p)
		for s, got := range positions {
			from, to := s*wide, min(p.N, (s+1)*wide)
			if len(got) != to-from {
				t.Fatalf("step %d visits %d positions, want %d", s, len(got), to-from)
			}
			for i, position := range got {
				if position != from+i {
					t.Fatalf("step %d visits %d, want %d", s, position, from+i)
				}
			}
			if rounds[s] != s/p.every {
				t.Fatalf("step %d is in round %d, with %d steps a round", s, rounds[s], p.every)
			}
		}
	})
}

func TestPlanByHand(t *testing.T) {
	c := config.Config{Mode: config.MustMode("sync"), Partition: "dynamic", Workers: 3, Batch: 4, AverageEvery: 2}
	p := New(&c, c.Batch, 31) // 12 a step: steps of 12, 12 and 7; rounds of two steps and of one
	want := [][]Chunk{
		{{Count: 8, First: 0, Seen: 31}, {Count: 8, First: 4, Seen: 31}, {Count: 8, First: 8, Seen: 31}},
		{{Count: 4, First: 24, Seen: 55}, {Count: 3, First: 28, Seen: 55}, {Count: 0, First: 32, Seen: 55}},
	}
	if p.Rounds != 2 || p.steps != 3 {
		t.Fatalf("%d rounds of %d steps", p.Rounds, p.steps)
	}
	for round, chunks := range want {
		for rank, c := range chunks {
			from, to := p.Round(rank, round)
			c.Index, c.Epoch, c.Rank, c.Batch, c.Stride, c.Weight = from, 1, -1, 4, 12, 3
			if got := p.At(1, from); to != from+1 || got != c {
				t.Errorf("round %d, rank %d: %d chunks, %+v\nwant %+v", round, rank, to-from, got, c)
			}
		}
	}

	c = config.Config{Mode: config.MustMode("async"), Partition: "contiguous", Workers: 3, Batch: 5}
	p = New(&c, c.Batch, 200) // shares of 66, 66 and 68, in chunks of 65
	for i, w := range []struct{ rank, first, count int }{{0, 0, 65}, {0, 65, 1}, {1, 0, 65}, {1, 65, 1},
		{2, 0, 65}, {2, 65, 3}} {
		if got := p.At(0, i); got.Rank != w.rank || got.First != w.first || got.Count != w.count {
			t.Errorf("chunk %d is %+v, want %+v", i, got, w)
		}
	}
	if o := p.Share(2); o.First != 132 || o.N != 68 {
		t.Errorf("the last share is %+v", o)
	}

	c = config.Config{Mode: config.MustMode("async"), Partition: "contiguous", Workers: 9, Batch: 1}
	p = New(&c, c.Batch, 548) // shares of 60, the last of 68: its second chunk begins at 64
	if got := p.At(2, p.Chunks()-1); got.First != 64 || got.Count != 4 || got.Seen != 3*548 {
		t.Errorf("the last chunk is %+v; the others have %d examples", got, 8*60)
	}
}

// TestEpochCutAnew: an epoch of barrier mode that other workers continue after some rounds has every row
// once, and the examples before each chunk are those that were trained by then.
func TestEpochCutAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t, []string{"sync"}, []string{"dynamic"})
		rounds := rapid.IntRange(0, p.Rounds-1).Draw(t, "rounds")
		var rows []int32
		for rank := range p.Workers {
			for round := range rounds {
				from, to := p.Round(rank, round)
				for i := from; i < to; i++ {
					rows = append(rows, rowsOf(&p, 2, i)...)
				}
			}
		}
		if len(rows) != p.Covered(rounds) {
			t.Fatalf("%d rows in %d rounds, not %d", len(rows), rounds, p.Covered(rounds))
		}
		q := p
		q.Workers = rapid.IntRange(1, 9).Draw(t, "workers then")
		q = q.After(p.Covered(rounds))
		for i := range q.Chunks() {
			rows = append(rows, rowsOf(&q, 2, i)...)
			if c := q.At(2, i); c.Count > 0 && c.Seen < int64(2*q.N+p.Covered(rounds)) {
				t.Fatalf("chunk %+v begins before %d examples of the epoch", c, p.Covered(rounds))
			}
		}
		slices.Sort(rows)
		for i, row := range rows {
			if int(row) != i {
				t.Fatalf("row %d is missing, or there twice", i)
			}
		}
		if len(rows) != p.N {
			t.Fatalf("%d rows of %d", len(rows), p.N)
		}
	})
}
