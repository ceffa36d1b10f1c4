package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
)

// onGrid returns a plan of mode blocks for n rows, with blocks of random lengths, some of them empty, and of a graph
// those below the diagonal.
func onGrid(t *testing.T, mode string, n int, paired bool) Plan {
	t.Helper()
	c := config.Default()
	c.Mode, c.Workers = config.MustMode(mode), 3
	g := c.Mode.Grid
	starts, r := make([]int, g*g+1), rand.New(rand.NewPCG(1, uint64(g)))
	for range n {
		block := r.IntN((g*g + 1) / 2)
		if a, b := block/g, block%g; paired && a > b {
			block = b*g + a
		}
		starts[1+block]++
	}
	for b := range g * g {
		starts[b+1] += starts[b]
	}
	return New(&c, 1, n).Blocks(data.Blocks{Starts: starts, Paired: paired})
}

// TestBlocksOfAnEpoch: every row is in one chunk of each epoch, and the rate never goes back.
func TestBlocksOfAnEpoch(t *testing.T) {
	for _, mode := range []string{"blocks:1", "blocks:2", "blocks:3", "blocks", "blocks:64", "blocks:100"} {
		for _, paired := range []bool{false, true} {
			epochOfBlocks(t, mode, paired)
		}
	}
}

func epochOfBlocks(t *testing.T, mode string, paired bool) {
	const n = 5003
	all := onGrid(t, mode, n, paired)
	for epoch := range 3 {
		p, seen := all.Of(uint64(epoch+1)), int64(epoch*n)
		times := make([]int, n)
		for i := range p.Chunks() {
			c := p.At(epoch, i)
			rows := make([]int32, c.Count)
			order := p.Share(c.Rank)
			order.Fill(rows, epoch, c.First)
			for _, row := range rows {
				times[row]++
			}
			if c.Seen < seen || c.Seen >= int64((epoch+1)*n) {
				t.Fatalf("%s: chunk %d of epoch %d is after %d examples, the one before after %d", mode, i, epoch,
					c.Seen, seen)
			}
			seen = c.Seen
		}
		for row, got := range times {
			if got != 1 {
				t.Fatalf("%s: row %d is trained %d times in epoch %d", mode, row, got, epoch)
			}
		}
	}
}

// TestBlocksAtOnce: workers that take any chunks that may be trained, in any order, and finish them in any order, never
// have two in hand that share a range; each range meets its blocks in the order of the table; and none is left.
func TestBlocksAtOnce(t *testing.T) {
	for _, mode := range []string{"blocks:1", "blocks:2", "blocks:5", "blocks"} {
		for _, paired := range []bool{false, true} {
			blocksAtOnce(t, mode, paired)
		}
	}
}

func blocksAtOnce(t *testing.T, mode string, paired bool) {
	r := rand.New(rand.NewPCG(7, 7))
	all := onGrid(t, mode, 1000, paired)
	ranges := func(p *Plan, block int) []int {
		a, b := block/p.Grid, block%p.Grid
		switch {
		case !paired:
			b += p.Grid
		case a > b: // empty
			return nil
		}
		return []int{a, b}
	}
	for epoch := range 3 {
		p := all.Of(uint64(epoch + 1))
		done, taken, inHand := make([]bool, p.Chunks()), make([]bool, p.Chunks()), []int(nil)
		last := map[int]int{} // of each range: columns behind rows
		for trained := 0; trained < p.Chunks(); {
			var may []int
			for i := range taken {
				if !taken[i] && p.Ready(epoch, i, func(i int) bool { return done[i] }) {
					may = append(may, i)
				}
			}
			if len(may) > 0 && (len(inHand) == 0 || r.IntN(2) == 0) {
				i := may[r.IntN(len(may))]
				block := p.At(epoch, i).Rank
				own := ranges(&p, block)
				for _, other := range inHand {
					b := p.At(epoch, other).Rank
					for _, at := range ranges(&p, b) {
						if slices.Contains(own, at) {
							t.Fatalf("%s: blocks %d and %d at once", mode, b, block)
						}
					}
				}
				for _, at := range own {
					if before, ok := last[at]; ok && before > i {
						t.Fatalf("%s: range %d meets chunk %d before %d", mode, at, before, i)
					}
					last[at] = i
				}
				taken[i], inHand = true, append(inHand, i)
				continue
			}
			k := r.IntN(len(inHand))
			done[inHand[k]] = true
			inHand = append(inHand[:k], inHand[k+1:]...)
			trained++
		}
	}
}

// TestBlocksOfAShortRun: it trains its number of rows, of all blocks.
func TestBlocksOfAShortRun(t *testing.T) {
	p := onGrid(t, "blocks:4", 10000, false)
	p.N = 777
	sum := 0
	for i := range p.Chunks() {
		c := p.At(2, i)
		sum += c.Count
		if whole := p.Share(c.Rank).N; c.Count > whole || 10*c.Count < whole/2 {
			t.Errorf("%d of the %d rows of block %d", c.Count, whole, c.Rank)
		}
	}
	if sum != 777 {
		t.Errorf("%d rows, want 777", sum)
	}
}
