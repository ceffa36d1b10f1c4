package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// wordSet returns a text of random words, the first ones frequent.
func wordSet(t *testing.T, words, lines int) *data.Set {
	t.Helper()
	r, all := rand.New(rand.NewPCG(3, 4)), &strings.Builder{}
	for range lines {
		for range 30 {
			fmt.Fprintf(all, "w%d ", int(float64(words)*math.Pow(r.Float64(), 3)))
		}
		all.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	train, test, err := data.Load(data.Options{Path: path, Unjudged: true, Test: path, Task: "words", Seed: 5,
		Text: &text.Options{Kind: text.Words, MinCount: 1, Window: 3, Negatives: 4, NoiseExponent: 0.75}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// hotSetup returns the setup of workers that merge 8 rows of each table with the period every, on weights in a segment.
func hotSetup(t *testing.T, set *data.Set, every int) *device.Setup {
	t.Helper()
	c := configtest.Dense()
	c.Data, c.Model, c.Workers, c.Batch, c.LR, c.Epochs = "none", "word2vec:50", 2, 1, .1, 1
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	job := tuning.AsAsked(c)
	job.Used.MergeEvery, job.Used.HotRows = every, 8
	m, err := model.New(job.TrainedOptions(set), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := control.CreateWeights(job, model.Size(m.Params()))
	if err != nil {
		t.Fatal(err)
	}
	seg := mem.Seg
	t.Cleanup(func() { _ = seg.Close() })
	s, err := device.NewSetup(job, mem, set)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mem.W {
		mem.W[i] = rand.Float32() - .5
	}
	return s
}

// isHot reports whether a weight is one of the first 8 rows of 50 of either table.
func isHot(at, words int) bool { return at%(words*50) < 8*50 }

// TestHotRows: what a worker's steps write to hot rows is seen by none until it merges, and what they write to others
// at once; then the weights are as after the same steps in place. The loops see no difference.
func TestHotRows(t *testing.T) {
	set := wordSet(t, 400, 40)
	s := hotSetup(t, set, 1<<20)
	words := set.Features
	first := slices.Clone(s.Mem.W)
	want, chunk := slices.Clone(first), plan.Chunk{Rank: -1, Count: 300, Batch: 1, Stride: 1, Weight: 1}
	in := newCPU(s, 0).onto(want)
	in.lineUp([]plan.Chunk{chunk})
	place, err := in.chunk(chunk)
	if err != nil {
		t.Fatal(err)
	}

	d := newCPU(s, 0)
	defer d.Close()
	d.lineUp([]plan.Chunk{chunk})
	got, err := d.chunk(chunk)
	if err != nil || got != place {
		t.Fatalf("%+v, %v; in place %+v", got, err, place)
	}
	if !slices.Equal(d.own.view(), want) {
		t.Error("a worker with a copy of hot rows sees other weights than one that writes in place")
	}
	hot, rare := 0, 0
	for i, w := range s.Mem.W {
		switch {
		case isHot(i, words):
			if w != first[i] {
				t.Fatalf("hot weight %d was written in place", i)
			}
			if want[i] != w {
				hot++
			}
		case w == want[i] && w != first[i]:
			rare++
		}
	}
	// A page has 1,024 weights, and there are up to four of them.
	if hot < 500 || rare < len(first)/4 {
		t.Errorf("%d hot weights are to be merged, and %d others are written", hot, rare)
	}
	d.merge(true)
	for i, w := range s.Mem.W {
		if math.Abs(float64(w-want[i])) > 1e-6 {
			t.Fatalf("weight %d is %v after a merge, in place %v", i, w, want[i])
		}
	}
	if !slices.Equal(s.Mem.W, d.own.view()) {
		t.Error("after a merge the worker does not see the weights of all")
	}
}

// TestHotRowsOfTwo: what two workers have learnt of hot rows adds up, each takes over what the other has, and
// chunks are told when all of them is in the weights.
func TestHotRowsOfTwo(t *testing.T) {
	set := wordSet(t, 400, 40)
	s := hotSetup(t, set, 70)
	one, two := newCPU(s, 0), newCPU(s, 1)
	defer one.Close()
	defer two.Close()
	for round := range 4 {
		for i, d := range []*cpu{one, two} {
			c := plan.Chunk{Rank: -1, First: 100 * (2*round + i), Count: 100, Batch: 1, Stride: 1, Weight: 1}
			d.lineUp([]plan.Chunk{c})
			if _, err := d.chunk(c); err != nil {
				t.Fatal(err)
			}
		}
		want := make([]float64, len(s.Mem.W))
		for i, w := range s.Mem.W {
			want[i] = float64(w)
		}
		for _, d := range []*cpu{one, two} {
			if d.local.made != 30 {
				t.Fatalf("%d steps since the last merge, want 30 of 100", d.local.made)
			}
			base := d.local.hot.base
			for _, r := range d.local.hot.Own {
				for i := r[0]; i < r[1]; i++ {
					want[i] += float64(d.own.view()[i]) - float64(base[i-r[0]])
				}
				base = base[r[1]-r[0]:]
			}
		}
		for _, d := range []*cpu{one, two} {
			if _, err := d.Train(nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, w := range s.Mem.W {
			if math.Abs(float64(w)-want[i]) > 1e-6 {
				t.Fatalf("weight %d is %v, want %v", i, w, want[i])
			}
		}
		if !slices.Equal(s.Mem.W, two.own.view()) {
			t.Fatal("who merged last does not see the weights of all")
		}
	}
}

// TestHotRowsOfTwoPeriods: most merges are of the first 64 rows of each table, one in three is of all that are copied,
// and until that what became of chunks is held back.
func TestHotRowsOfTwoPeriods(t *testing.T) {
	set := wordSet(t, 400, 40)
	s := hotSetup(t, set, 50)
	s.Job.Used.HotRows, s.Job.Used.RareMerge = 200, 3
	first, words := slices.Clone(s.Mem.W), set.Features
	d := newCPU(s, 0)
	defer d.Close()
	chunk := func(i int) []plan.Chunk {
		return []plan.Chunk{{Rank: -1, First: 50 * i, Count: 50, Batch: 1, Stride: 1, Weight: 1}}
	}
	for i := range 3 {
		told, err := d.Train(chunk(i))
		if err != nil || len(told) != []int{0, 0, 3}[i] {
			t.Fatalf("chunk %d: %d told, %v", i, len(told), err)
		}
		merged, unmerged := 0, 0
		for at, w := range s.Mem.W {
			switch row := at / 50 % words; {
			case row < 64 || 300 <= row || i == 2:
				if w != d.own.view()[at] {
					t.Fatalf("chunk %d: weight %d of row %d is %v, the worker sees %v", i, at, row, w, d.own.view()[at])
				}
			case row < 64+1024/50+1: // the rest of a page
			case row < 200:
				if w != first[at] {
					t.Fatalf("chunk %d: weight %d of row %d is merged", i, at, row)
				}
				if w != d.own.view()[at] {
					unmerged++
				}
			}
			if w != first[at] {
				merged++
			}
		}
		if merged < 1000 || i < 2 && unmerged < 1000 {
			t.Errorf("chunk %d: %d weights differ from the first ones, %d wait", i, merged, unmerged)
		}
	}
}

// TestHotRowsSampled: at a sampled step the worker looks at rows that it writes in place, and at hot ones when it
// merges.
func TestHotRowsSampled(t *testing.T) {
	set := wordSet(t, 400, 40)
	d := newCPU(hotSetup(t, set, 70), 0)
	defer d.Close()
	held, looked := 0, uint64(0)
	for row := range int32(20) {
		before := d.sample.record[control.RecordLooked]
		d.sample.left = 1
		d.begin([]int32{row})
		for _, n := range d.sample.notes[:d.sample.noted] {
			if !slices.ContainsFunc(d.local.hot.Own, func(r [2]int) bool { return r[0] <= n.at && n.at < r[1] }) {
				t.Fatalf("weight %d, which is written in place, waits for a merge", n.at)
			}
		}
		held += d.sample.noted
		looked += d.sample.record[control.RecordLooked] - before
		d.stepped(1)
		d.merge(true)
		if d.sample.noted != 0 || d.sample.record[control.RecordLooked] != uint64(held)+looked {
			t.Fatalf("row %d: %d looked at, want %d", row, d.sample.record[control.RecordLooked], uint64(held)+looked)
		}
	}
	if held < 20 || looked < 20 {
		t.Errorf("%d weights of hot rows and %d others: too few to tell", held, looked)
	}
}

// TestHotRowsUnmapped: where memory cannot be mapped twice the rows are written in place, and the owner says so; and a
// device gives back its mapping.
func TestHotRowsUnmapped(t *testing.T) {
	set := wordSet(t, 400, 2)
	s := hotSetup(t, set, 70)
	mappings := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(maps), "hogwild-weights")
	}
	o := &hostOwner{s: s}
	before := mappings()
	d := newCPU(s, 0)
	if d.local == nil || mappings() == before || o.Notes() != nil {
		t.Errorf("%d mappings, %v, before %d", mappings(), o.Notes(), before)
	}
	if err := d.Close(); err != nil || mappings() != before {
		t.Errorf("%v, %d mappings, before %d", err, mappings(), before)
	}
	if newCPU(s, 0).onto(slices.Clone(s.Mem.W)); mappings() != before {
		t.Errorf("a replica leaves %d mappings, before %d", mappings(), before)
	}
	closed, err := shm.Create("closed", 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	s.Mem.Seg = closed
	if d := newCPU(s, 0); d.local != nil || &d.own.view()[0] != &s.Mem.W[0] {
		t.Error("without a mapping it does not write in place")
	}
	if n := o.Notes(); len(n) != 1 || !strings.Contains(n[0], "in place: shm: segment is closed") {
		t.Errorf("notes %q", n)
	}
}
