package plan

import (
	"reflect"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// onGPU returns a run on a GPU, in which any worker takes any chunk.
func onGPU() config.Config {
	return config.Config{Mode: config.MustMode("async"), Partition: "dynamic", Workers: 2, Batch: 1, GPU: "0",
		Schedule: "linear", LR: 1, Epochs: 1}
}

// TestLongerChunks: chunks of a large set on GPUs are 2, 4 or 8 times as long, and their rates hold as much longer. On
// cores, in small sets, and where workers have parts of their own, they are as ever.
func TestLongerChunks(t *testing.T) {
	const million = 1 << 20
	for i, c := range []struct {
		n    int
		edit func(*config.Config)
		want int
	}{
		{2*million - 1, func(*config.Config) {}, 1},
		{2 * million, func(*config.Config) {}, 2},
		{5 * million, func(*config.Config) {}, 4},
		{100 * million, func(*config.Config) {}, 8},
		{100 * million, func(c *config.Config) { c.Nodes = 3 }, 8},
		{100 * million, func(c *config.Config) { c.Sample = million }, 1},
		{100 * million, func(c *config.Config) { c.GPU = "" }, 1},
		{100 * million, func(c *config.Config) { c.Partition = "contiguous" }, 1},
		{100 * million, func(c *config.Config) { c.Mode = config.MustMode("sync") }, 1},
		{100 * million, func(c *config.Config) { c.Layout = &model.Layout{} }, 1},
	} {
		o := onGPU()
		c.edit(&o)
		p, s := New(&o, 1, c.n), NewSchedule(&o, 1, c.n)
		if p.Longer != c.want || p.Chunk != c.want*1024 || s.Rates != int64(c.want*64) ||
			s.Block(1<<20-1) != 1<<20-s.Rates {
			t.Errorf("%d: %d rows in chunks of %d, rates for %d; want %d times 1024 and 64", i, c.n, p.Chunk,
				s.Rates, c.want)
		}
	}
}

// TestTimes: an epoch begun with other chunks has these, all of its rows, and whether it is asked to be as it is.
func TestTimes(t *testing.T) {
	const n = 8<<20 + 777
	gpu, cores := onGPU(), onGPU()
	cores.GPU = ""
	long, short := New(&gpu, 1, n), New(&cores, 1, n)
	same := func(a, b Plan) bool { return reflect.DeepEqual(a, b) }
	if !same(long.Times(1), short) || !same(short.Times(8), long) || !same(long.Times(0), long) ||
		!same(short.Times(1), short) {
		t.Errorf("%+v and %+v are not each other's", long, short)
	}
	for _, p := range []Plan{long, short} {
		end, seen := 0, int64(3*n)
		for i := range p.Chunks() {
			if c := p.At(3, i); c.First != end || c.Seen != seen || c.Count == 0 {
				t.Fatalf("chunk %d is %+v, want %d and %d before it", i, c, end, seen)
			} else {
				end, seen = end+c.Count, seen+int64(c.Count)
			}
		}
		if end != n {
			t.Errorf("%d rows in chunks of %d, want %d", end, p.Chunk, n)
		}
	}
}
