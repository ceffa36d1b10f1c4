package control

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
)

// apart returns the plan of an async run whose entries lie in blocks of random sizes.
func apart(workers, grid, epoch int) plan.Plan {
	c := config.Default()
	c.Workers, c.Apart = workers, grid
	starts, r := []int{0}, rand.New(rand.NewPCG(1, uint64(grid)))
	for b := range grid * grid {
		starts = append(starts, starts[b]+50+r.IntN(100))
	}
	return plan.New(&c, 1, starts[grid*grid]).Blocks(data.Blocks{Starts: starts}).Of(uint64(epoch))
}

// claimer hands out the chunks of an epoch as Find does.
type claimer struct {
	*testing.T
	plan    plan.Plan
	epoch   uint64
	chunks  []uint64
	cursors []int
}

func newClaimer(t *testing.T, p plan.Plan, epoch int) *claimer {
	c := &claimer{t, p, uint64(epoch), make([]uint64, 2*p.Chunks()), make([]int, p.Workers)}
	for i := range p.Chunks() {
		c.chunks[2*i] = c.epoch<<32 | chunkFree
	}
	return c
}

func (c *claimer) take(rank int) int {
	return firstReady(c.chunks, &c.plan, c.epoch, &c.cursors[rank], func(i int) bool {
		if !is(c.chunks, i, c.epoch, chunkFree) {
			c.Fatalf("chunk %d is claimed twice", i)
		}
		c.chunks[2*i] = c.epoch<<32 | uint64(rank+1)
		return true
	})
}

func (c *claimer) finish(i int) { c.chunks[2*i] = c.epoch<<32 | ChunkDone }

// meet reports whether two chunks have rows or columns in common.
func (c *claimer) meet(i, j int) bool {
	a, b := c.plan.At(int(c.epoch-1), i).Rank, c.plan.At(int(c.epoch-1), j).Rank
	return a/c.plan.Grid == b/c.plan.Grid || a%c.plan.Grid == b%c.plan.Grid
}

// TestApartEachOnce: any number of workers, each of its own speed, train every entry once, and a worker without a chunk
// always gets one while there are any.
func TestApartEachOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, workers := range []int{1, 2, 3, 8, 16} {
		for epoch := 1; epoch <= 2; epoch++ {
			p := apart(workers, 8, epoch)
			c, hand, rows := newClaimer(t, p, epoch), slices.Repeat([]int{-1}, workers), make([]int, p.N)
			for taken, done := 0, 0; done < p.Chunks(); {
				rank := r.IntN(1 + r.IntN(workers)) // the first ones more often
				if i := hand[rank]; i >= 0 {
					c.finish(i)
					hand[rank], done = -1, done+1
					continue
				}
				i := c.take(rank)
				if i < 0 && taken < p.Chunks() {
					t.Fatalf("%d workers: one waits, with %d chunks free", workers, p.Chunks()-taken)
				}
				if i < 0 {
					hand[slices.IndexFunc(hand, func(i int) bool { return i >= 0 })], done = -1, done+1
					continue
				}
				hand[rank], taken = i, taken+1
				chunk := p.At(epoch-1, i)
				at, order := make([]int32, chunk.Count), p.Share(chunk.Rank)
				order.Fill(at, epoch-1, chunk.First)
				for _, row := range at {
					rows[row]++
				}
			}
			if i := slices.IndexFunc(rows, func(n int) bool { return n != 1 }); i >= 0 {
				t.Errorf("%d workers, epoch %d: row %d is trained %d times", workers, epoch, i, rows[i])
			}
		}
	}
}

// TestApartShareNothing: workers that are about equally fast, up to half as many as the grid has ranges, never train
// the same rows or the same columns at the same time.
func TestApartShareNothing(t *testing.T) {
	for _, workers := range []int{2, 3, 4} {
		for epoch := 1; epoch <= 3; epoch++ {
			p := apart(workers, 8, epoch)
			c := newClaimer(t, p, epoch)
			var hand []int // the one taken first is done first
			for turn := range p.Chunks() {
				if len(hand) == workers {
					c.finish(hand[0])
					hand = hand[1:]
				}
				i := c.take(turn % workers)
				for _, j := range hand {
					if c.meet(i, j) {
						t.Fatalf("%d workers: chunk %d of epoch %d meets chunk %d", workers, i, epoch, j)
					}
				}
				hand = append(hand, i)
			}
		}
	}
}

// TestApartPassAStalledOne: a worker that holds a chunk for ever keeps no other from the rest of the epoch. That one
// trains the rows and the columns of the held chunk last of what it may choose from.
func TestApartPassAStalledOne(t *testing.T) {
	p := apart(2, 8, 2)
	c := newClaimer(t, p, 2)
	held, met := c.take(0), 0
	for n := 1; n < p.Chunks(); n++ {
		i := c.take(1)
		if i < 0 {
			t.Fatalf("a worker waits after %d of %d chunks", n, p.Chunks())
		}
		if c.meet(i, held) {
			met++
		} else if n < p.Grid && met > 0 {
			t.Errorf("it has met the held chunk %d times, and chunk %d shares nothing with it", met, i)
		}
		c.finish(i)
	}
	if want := p.Chunks()/p.Grid/p.Grid*(2*p.Grid-1) - 1; met != want {
		t.Errorf("%d chunks share rows or columns with the held one, want %d", met, want)
	}
}

// TestFinishWakes: a chunk that is done wakes those that may wait for its rows and columns, in mode blocks alone.
func TestFinishWakes(t *testing.T) {
	for _, loose := range []bool{false, true} {
		w := freshBlock(t, 64*40, async4)
		w.Plan.Grid, w.Plan.Loose = 2, loose
		tick := atomic.LoadUint32(&w.Futexes[FutexTick])
		w.Finish(0, plan.Chunk{}, plan.ChunkResult{})
		if woken := atomic.LoadUint32(&w.Futexes[FutexTick]) != tick; woken == loose {
			t.Errorf("loose %v: woken %v", loose, woken)
		}
	}
}
