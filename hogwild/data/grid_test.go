package data

import (
	"errors"
	"slices"
	"testing"

	"hogwild/hogwild/data/format"
)

// TestGrid: the rows and columns are in one range each, ranges have about equal numbers of entries, and the set has the
// same entries block by block, in a block in the order in which they were.
func TestGrid(t *testing.T) {
	for _, c := range []struct {
		path string
		n    int
		off  float64 // of a range, from its share: rows without entries count as one
	}{
		{"synth:netflix:0.01", 8, 0.03}, {"synth:netflix:0.01", 3, 0.03}, {"synth:lowrank:70x40x5000x2", 5, 0.1},
		{"synth:lowrank:3x2x100x2", 4, 5}, {"synth:netflix:0.001", 1, 0.03},
	} {
		o := Options{Path: c.path, Task: "triples", Seed: 1}
		was, test, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Grid = c.n
		now, test2, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		g := NewGrid(now, c.n)
		for i, a := range g.axes {
			owners, masses := make([]int, a.to-a.from), make([]float64, c.n)
			for k := range c.n {
				block := []int{k * c.n, k}[i]
				for _, nodes := range g.Nodes(block, 0, nil) {
					if nodes[0] < a.from || nodes[0] >= a.to {
						continue // the other axis
					}
					for node := nodes[0]; node < nodes[1]; node++ {
						owners[node-a.from]++
						masses[k] += float64(now.Freq[node])
					}
				}
			}
			if slices.ContainsFunc(owners, func(n int) bool { return n != 1 }) {
				t.Fatalf("%s: nodes have %d owners", c.path, owners)
			}
			for k, m := range masses {
				if x := m*float64(c.n) - 1; max(x, -x) > c.off+0.001 {
					t.Errorf("%s: range %d of axis %d has %.3f of the entries that it should have", c.path, k, i, x+1)
				}
			}
		}
		starts, at := g.Blocks(now).Starts, make([]int, c.n*c.n)
		copy(at, starts)
		for i := range was.Rows {
			u, v := was.Idx[2*i], was.Idx[2*i+1]
			b := g.Block(u, v)
			if j := at[b]; j == starts[b+1] || now.Idx[2*j] != u || now.Idx[2*j+1] != v || now.Y[j] != was.Y[i] {
				t.Fatalf("%s: entry %d is not next of block %d", c.path, i, b)
			}
			at[b]++
		}
		if now.Rows != was.Rows || now.Checksum != was.Checksum || now.Targets != was.Targets || now.Grid != c.n {
			t.Errorf("%s: %+v, was %+v", c.path, now.Meta, was.Meta)
		}
		for _, s := range []*Set{was, test, now, test2} {
			s.Close()
		}
	}
}

// TestGridOwnsLines: on a large axis no two ranges share 128 bytes of numbers: each node has one.
func TestGridOwnsLines(t *testing.T) {
	freq := make([]float32, 50001+70003)
	for i := range freq {
		freq[i] = 1 / float32(i+1)
	}
	g := NewGrid(&Set{Meta: Meta{Features: len(freq), Shape: []int{50001, 70003}}, Freq: freq}, 8)
	for block := range 64 {
		for _, nodes := range g.Nodes(block, 0, nil) {
			for _, end := range nodes {
				if end%32 != 0 && end != 50001 && end != len(freq) {
					t.Fatalf("block %d: nodes %v", block, nodes)
				}
			}
		}
	}
}

// TestGridNeedsMemory for a copy of the entries, and says so.
func TestGridNeedsMemory(t *testing.T) {
	_, _, err := Load(Options{Path: "synth:lowrank:100x100x100000x2", Task: "triples", Grid: 4, MaxMemory: 2 << 20})
	var memory *format.MemoryError
	if !errors.As(err, &memory) {
		t.Errorf("%v", err)
	}
}
