package plan

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"hogwild/hogwild/config"
)

// eachJob calls f with small jobs of every kind, whose sizes lie around a block's, a chunk's and a step's.
func eachJob(f func(c config.Config, n int)) {
	for _, mode := range bothModes {
		for _, partition := range bothPartitions {
			for _, batch := range []int{1, 7, 64, 1500} {
				for _, every := range []int{0, 1, 5} {
					for _, n := range []int{1, 3, 64, 65, 193, 1000, 8193} {
						for _, workers := range []int{1, 2, 3, 4} {
							f(config.Config{Mode: config.MustMode(mode), Partition: config.Partition(partition),
								Workers: workers, Batch: batch,
								AverageEvery: every, Seed: 5}, n)
						}
					}
				}
			}
		}
	}
}

type job struct {
	config.Config
	n int
}

// String describes the job, for failures.
func (j job) String() string {
	return fmt.Sprintf("%s, %s, %d workers, batch %d, average every %d, %d rows, node %d of %d",
		j.Mode, j.Partition, j.Workers, j.Batch, j.AverageEvery, j.n, j.Node, j.Nodes)
}

// TestNodesCutAnEpochAsOne: the chunks of all nodes together are those of one node with all workers, each of them once.
// One node's chunks have every epoch's rows: see TestEpochVisitsEveryRowOnce.
func TestNodesCutAnEpochAsOne(t *testing.T) {
	eachJob(func(c config.Config, n int) {
		for nodes := 1; nodes <= 5; nodes++ {
			alone := c
			alone.Workers, alone.Node, alone.Nodes = nodes*c.Workers, 0, 0
			one := New(&alone, c.Batch, n)
			seen, trained := make([]int, one.Chunks()), 0
			for node := range nodes {
				c.Node, c.Nodes = node, nodes
				p := New(&c, c.Batch, n)
				what := job{c, n}
				if p.AllChunks() != one.Chunks() || p.Rounds != one.Rounds || p.Ranks() < nodes ||
					p.Covered(1) != one.Covered(1) {
					t.Fatalf("%s: %d chunks, %d rounds; one node has %d, %d", what, p.AllChunks(), p.Rounds,
						one.Chunks(), one.Rounds)
				}
				for i := range p.Chunks() {
					g := p.Global(i)
					if at, own := p.Local(g); at != i || !own {
						t.Fatalf("%s: chunk %d is %d of all, which is %d here (%v)", what, i, g, at, own)
					}
					seen[g]++
					got, want := p.At(3, i), one.At(3, g)
					if p.Share(max(0, got.Rank)) != one.Share(max(0, want.Rank)) {
						t.Fatalf("%s: chunk %d is of another share than %d of all", what, i, g)
					}
					got.Index = g
					if got.Rank >= 0 {
						got.Rank += node * c.Workers
					}
					if got != want {
						t.Fatalf("%s: chunk %d is\n%+v, and %d of one node\n%+v", what, i, got, g, want)
					}
					trained += got.Count
				}
				whole := p.Whole()
				for g := range one.Chunks() {
					if got, want := whole.At(3, g), one.At(3, g); got != want || whole.Chunks() != one.Chunks() {
						t.Fatalf("%s: chunk %d of all is %+v, that of one node %+v", what, g, got, want)
					}
				}
				own := 0
				for g := range p.AllChunks() {
					if _, is := p.Local(g); is {
						own++
					}
				}
				if own != p.Chunks() {
					t.Fatalf("%s: %d of all chunks are its own, it has %d", what, own, p.Chunks())
				}
			}
			if trained != n || slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
				t.Fatalf("%s: %d examples; the nodes have each chunk so often: %v", job{c, n}, trained, seen)
			}
		}
	})
}

// TestNodesCutAnew: the rest of an epoch of barrier mode is cut as for one node too.
func TestNodesCutAnew(t *testing.T) {
	eachJob(func(c config.Config, n int) {
		if c.Mode.Kind != config.Sync || c.Partition == "contiguous" {
			return
		}
		alone := c
		alone.Workers *= 3
		one := New(&alone, c.Batch, n)
		for rounds := 0; rounds < one.Rounds; rounds += 1 + one.Rounds/3 {
			rest, trained := one.After(one.Covered(rounds)), 0
			for node := range 3 {
				c.Node, c.Nodes = node, 3
				p := New(&c, c.Batch, n)
				p = p.After(p.Covered(rounds))
				for i := range p.Chunks() {
					got := p.At(0, i)
					got.Index = p.Global(i)
					if want := rest.At(0, p.Global(i)); got != want {
						t.Fatalf("%s, after %d rounds: %+v, one node has %+v", job{c, n}, rounds, got, want)
					}
					trained += got.Count
				}
			}
			if trained != n-one.Covered(rounds) {
				t.Fatalf("%s, after %d rounds: %d examples are left", job{c, n}, rounds, trained)
			}
		}
	})
}

// TestOneNodeIsAlone: a job of one node has the plan of a run that knows of no nodes.
func TestOneNodeIsAlone(t *testing.T) {
	eachJob(func(c config.Config, n int) {
		alone := New(&c, c.Batch, n)
		c.Nodes = 1
		if p := New(&c, c.Batch, n); !reflect.DeepEqual(p, alone) {
			t.Fatalf("%+v, alone it is %+v", p, alone)
		}
	})
}

// TestWhenNodesMeet: 2 nodes of 2 workers take 10 rounds an epoch; after the last it ends.
func TestWhenNodesMeet(t *testing.T) {
	for _, c := range []struct {
		rounds string
		want   []int
	}{
		{"auto", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"1", nil},
		{"2", []int{4}},
		{"3", []int{3, 7}},
		{"4", []int{2, 5, 8}},
		{"9", []int{1, 3, 5, 7}},
		{"10", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"1000", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		cfg := config.Config{Mode: config.MustMode("sync"), Partition: "dynamic", Workers: 2, Batch: 4, AverageEvery: 2,
			Rounds: config.Count(c.rounds), Nodes: 2}
		p := New(&cfg, cfg.Batch, 317)
		var got []int
		for round := range p.Rounds {
			if p.NodesMeet(round) {
				got = append(got, round)
			}
		}
		if p.Rounds != 10 || !slices.Equal(got, c.want) {
			t.Errorf("%s rounds: after %v of %d, want %v", c.rounds, got, p.Rounds, c.want)
		}
		cfg.Nodes = 1
		if p := New(&cfg, cfg.Batch, 317); p.NodesMeet(0) {
			t.Error("a run that is alone waits for other nodes")
		}
	}
}
