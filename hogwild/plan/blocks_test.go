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
func onGrid(t *testing.T, mode string, n int, of data.Blocks) Plan {
	t.Helper()
	c := config.Default()
	c.Mode, c.Workers = config.MustMode(mode), 3
	g := c.Mode.Grid
	starts, r := make([]int, g*g+1), rand.New(rand.NewPCG(1, uint64(g)))
	for range n {
		block := r.IntN((g*g + 1) / 2)
		if a, b := block/g, block%g; of.Paired && a > b {
			block = b*g + a
		}
		starts[1+block]++
	}
	for b := range g * g {
		starts[b+1] += starts[b]
	}
	return New(&c, 1, n).Blocks(data.Blocks{Starts: starts, Paired: of.Paired, Drawn: of.Drawn})
}

// kinds are a matrix, a graph and what users liked.
var kinds = []data.Blocks{{}, {Paired: true}, {Drawn: true}, {Paired: true, Drawn: true}}

// TestBlocksOfAnEpoch: every row is in one chunk of each epoch, and the rate never goes back.
func TestBlocksOfAnEpoch(t *testing.T) {
	for _, mode := range []string{"blocks:1", "blocks:2", "blocks:3", "blocks", "blocks:64", "blocks:100"} {
		for _, of := range kinds {
			epochOfBlocks(t, mode, of)
		}
	}
}

func epochOfBlocks(t *testing.T, mode string, of data.Blocks) {
	const n = 5003
	all := onGrid(t, mode, n, of)
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
		for _, of := range kinds {
			blocksAtOnce(t, mode, of)
		}
	}
}

func blocksAtOnce(t *testing.T, mode string, of data.Blocks) {
	r := rand.New(rand.NewPCG(7, 7))
	all := onGrid(t, mode, 1000, of)
	ranges := func(p *Plan, c Chunk) []int {
		a, b := c.Rank/p.Grid, c.Rank%p.Grid
		switch {
		case of.Paired && a > b: // empty
			return nil
		case of.Paired && c.Twin > 0:
			all := []int{a, b, (c.Twin - 1) / p.Grid, (c.Twin - 1) % p.Grid}
			slices.Sort(all)
			return slices.Compact(all)
		case c.Twin > 0:
			return slices.Compact([]int{a, p.Grid + b, p.Grid + (c.Twin-1)%p.Grid})
		case !of.Paired:
			b += p.Grid
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
				own := ranges(&p, p.At(epoch, i))
				for _, other := range inHand {
					for _, at := range ranges(&p, p.At(epoch, other)) {
						if slices.Contains(own, at) {
							t.Fatalf("%s: chunks %d and %d at once", mode, other, i)
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
	p := onGrid(t, "blocks:4", 10000, data.Blocks{})
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

// TestTwinsOfPairs: of the pairs of ranges, listed by their smaller one, two are each other's twins, or one its own,
// and the sum of their places in the list is the same for all of a sub-epoch; empty chunks are their own.
func TestTwinsOfPairs(t *testing.T) {
	for n := 1; n <= 9; n++ {
		b := &blocks{n: n, parts: 2, seed: 3, Blocks: data.Blocks{Paired: true, Drawn: true}}
		for sub := range 2 * n {
			var list []int
			for i := range n {
				if i <= b.columns(5, sub, i) {
					list = append(list, i)
				}
			}
			sums := map[int]bool{}
			for i := range n {
				twin := b.twin(5, sub, i)
				at, of := slices.Index(list, i), slices.Index(list, twin)
				switch {
				case at < 0 && twin != i, at >= 0 && of < 0:
					t.Errorf("%d ranges, sub-epoch %d: %d's twin is %d, of %v", n, sub, i, twin, list)
				case at >= 0:
					sums[(at+of)%len(list)] = true
				}
			}
			if len(sums) != 1 {
				t.Errorf("%d ranges, sub-epoch %d: sums %v", n, sub, sums)
			}
		}
	}
}
