//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// orders are some of the cases in which an order of rows has an end of its own: no whole block,
// one, some and many, with a rest or without.
var orders = []data.Order{
	{Seed: 1, N: 1}, {Seed: 2, N: 63}, {Seed: 3, N: 64}, {Seed: 4, N: 65}, {Seed: 5, N: 127},
	{Seed: 6, N: 64 * 5}, {Seed: 7, First: 1000, N: 64*17 + 31}, {Seed: math.MaxUint64, First: 7, N: 4999},
	{Seed: 9, N: 1 << 20}, {Seed: 10, First: math.MaxInt32 - 64*1000 - 1, N: 64*1000 + 1}, {Seed: 11, N: math.MaxInt32},
}

// listed returns what steps_list makes of pieces, as the trainer lists them.
func listed(g *gpuUnderTest, s *device.Setup, pieces []piece) (rows, start []int32, lr []float32) {
	steps, n := 0, 0
	for _, p := range pieces {
		steps, n = steps+p.steps(), n+p.Count
	}
	t := &trainer{setup: s, rate: s.Rate}
	at := &stage{host: make([]byte, 1<<20)}
	l := t.stagePieces(at, pieces)
	memory := put(g, at.host[:at.end])
	l.Parts, l.Rates = l.Parts+memory, l.Rates+memory
	l.Rows, l.Start, l.LR = put(g, make([]int32, n)), put(g, make([]int32, steps+1)), put(g, make([]float32, steps))
	if err := g.kernels["steps_list"].run(3, cu.DevicePtr(put(g, encode(l)))); err != nil {
		g.t.Fatal(err)
	}
	return get[int32](g, n, l.Rows), get[int32](g, steps+1, l.Start), get[float32](g, steps, l.LR)
}

// TestOrder: a GPU lists the rows of data.Order, number for number, from any position, of any
// length.
func TestOrder(t *testing.T) { onEach(t, testOrder, "steps") }

func testOrder(t *testing.T, g *gpuUnderTest) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range orders {
		for epoch := range 3 {
			n := min(o.N, 200)
			for _, at := range []int{0, o.N - n, r.IntN(o.N - n + 1)} {
				want := make([]int32, n)
				o.Fill(want, 17*epoch, at)
				l := listing{Parts: put(g, []int64{int64(o.First), int64(o.N), int64(at), int64(n), 0, 0, 0, 0}),
					Rates: put(g, []float32{1}),
					Rows:  put(g, make([]int32, n)), Start: put(g, make([]int32, n+1)), LR: put(g, make([]float32, n)),
					Count: 1, Batch: 1, Stride: 1, Epoch: int64(17 * epoch), Seed: o.Seed, Block: 64}
				if err := g.kernels["steps_list"].run(1, cu.DevicePtr(put(g, encode(l)))); err != nil {
					t.Fatal(err)
				}
				if got := get[int32](g, n, l.Rows); !slices.Equal(got, want) {
					t.Fatalf("%+v, epoch %d, from position %d: rows %d, want %d", o, 17*epoch, at, got, want)
				}
			}
		}
	}
}

// TestLists: the steps that a GPU lists are those that a CPU takes: rows, ends and rates, of
// plans of any kind, chunks in pieces.
func TestLists(t *testing.T) { onEach(t, testLists, "steps") }

func testLists(t *testing.T, g *gpuUnderTest) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 72 {
		c := config.Default()
		c.Mode = config.MustMode([]string{"async", "sync"}[i%2])
		c.Partition = []config.Partition{"dynamic", "contiguous"}[i/2%2]
		c.Schedule = []config.Schedule{"constant", "cosine", "linear", "exp", "step"}[i%5]
		c.Workers, c.Batch, c.Seed, c.Epochs = 1+r.IntN(5), []int{1, 1, 3, 8, 64, 200}[i%6], r.Uint64(), 3
		c.LR, c.LRMin, c.Decay = .1, .001, .7
		n := 70 + r.IntN(5000)
		if i >= 60 { // enough rows that chunks and the blocks of a rate are longer
			c.GPU, n = "0", []int{2, 5, 9}[i%3]<<20+r.IntN(5000)
		}
		s := &device.Setup{Job: &tuning.Job{Asked: config.Config{GPU: "0"}}, Plan: plan.New(&c, c.Batch, n),
			Schedule: plan.NewSchedule(&c, c.LR, n)}
		var chunks []plan.Chunk
		for range 5 {
			chunks = append(chunks, s.Plan.At(2, r.IntN(s.Plan.Chunks())))
		}
		cutter := &trainer{setup: s, left: chunks}
		for name := fmt.Sprintf("%d: %s %s, %d workers, batch %d, %d rows", i, c.Mode, c.Partition, c.Workers, c.Batch,
			n); len(cutter.left) > 0; {
			pieces := cutter.cut(1 + r.IntN(300))
			var rows []int32
			start, lr := []int32{0}, []float32(nil)
			for _, p := range pieces { // step by step, as a CPU does
				seen, left := p.Seen, p.Count
				for at := p.First; left > 0; at += p.Stride {
					b := min(p.Batch, left)
					step := make([]int32, b)
					s.Order(p.Rank).Fill(step, p.Epoch, at)
					rows, lr = append(rows, step...), append(lr, float32(s.Rate(seen)))
					start = append(start, int32(len(rows)))
					seen, left = seen+int64(b*p.Weight), left-b
				}
			}
			if len(rows) == 0 {
				continue
			}
			gotRows, gotStart, gotLR := listed(g, s, pieces)
			if !slices.Equal(gotRows, rows) || !slices.Equal(gotStart, start) || !slices.Equal(gotLR, lr) {
				t.Fatalf("%s: rows %d, from %d, at %g; want %d, %d, %g", name, gotRows, gotStart, gotLR,
					rows, start, lr)
			}
			if on := cutter.rowsOf(pieces, len(rows)); !slices.Equal(on, rows) {
				t.Fatalf("%s: the host lists rows %d, want %d", name, on, rows)
			}
		}
	}
}

// TestSums: the losses of each piece are summed to rounding of double, twice to the same bits,
// and the first that is not finite is found.
func TestSums(t *testing.T) { onEach(t, testSums, "steps") }

func testSums(t *testing.T, g *gpuUnderTest) {
	r := rand.New(rand.NewPCG(5, 6))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	const batch = 3
	counts := []int{1, 2, 3, 3 * 31, 3*32 + 1, 3000, 64, 7, 3 * 100, 3 * 100, 3 * 100}
	bad := map[int]map[int]float32{8: {71: nan, 99: inf}, 9: {0: -inf}, 10: {99: nan}}
	var parts []int64
	var loss []float32
	for i, n := range counts {
		parts = append(parts, 0, 1, 0, int64(n), 0, int64(len(loss)), 0, 0)
		for s := range ceilDiv(n, batch) {
			v := float32(math.Exp(8 * r.NormFloat64()))
			if b, ok := bad[i][s]; ok {
				v = b
			}
			loss = append(loss, v)
		}
	}
	l := listing{Parts: put(g, parts), Loss: put(g, loss), Sums: put(g, make([]uint64, sumWords*len(counts))),
		Count: int64(len(counts)), Batch: batch}
	var runs [2][]uint64
	for i := range runs {
		if err := g.kernels["steps_sum"].run(1+i, cu.DevicePtr(put(g, encode(l)))); err != nil {
			t.Fatal(err)
		}
		runs[i] = get[uint64](g, sumWords*len(counts), l.Sums)
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("the sums of two runs differ")
	}
	for i, n := range counts {
		want, at := 0.0, int32(-1)
		own := loss[parts[8*i+5]:][:ceilDiv(n, batch)]
		for s, v := range own {
			want += float64(v)
			if at < 0 && (v != v || math.IsInf(float64(v), 0)) {
				at = int32(s)
			}
		}
		got, word := math.Float64frombits(runs[0][2*i]), runs[0][2*i+1]
		if int32(word) != at || at < 0 && math.Abs(got-want) > 1e-13*want ||
			at >= 0 && uint32(word>>32) != math.Float32bits(own[at]) {
			t.Errorf("part %d of %d rows: %g, step %d; want %g, step %d", i, n, got, int32(word), want, at)
		}
	}
}

// TestLongest: the lists of two launches, 16 bytes a row, take a 512th of a large GPU's memory; a small one's launches
// have a million rows.
func TestLongest(t *testing.T) {
	for gib, want := range map[int64]int{141: 9240576, 32: 2 << 20, 16: 1 << 20, 4: 1 << 20} {
		if got := (&gpu{GPU: GPU{Total: gib << 30}}).longest(); got != want {
			t.Errorf("with %d GiB a launch has %d rows, want %d", gib, got, want)
		}
	}
}

// TestPace: launches take 10 ms, about, however long a step is, or have 16 steps of each CTA; of
// steps so long that a watchdog would come, fewer. What is left is shared out alike among them, and
// a launch that shows its overhead alone is not taken for the pace.
func TestPace(t *testing.T) {
	const wave, batch = 4 * 2, 8
	s := &device.Setup{Job: &tuning.Job{}}
	s.Job.Used.Batch = batch
	for step, want := range map[time.Duration]int{10: mostRows / batch, 10 * time.Microsecond: 1000 * wave,
		5 * time.Millisecond: 16 * wave, 40 * time.Millisecond: 5 * wave, time.Second: wave} {
		tr := &trainer{setup: s, pace: 128, most: mostRows, ctas: 4, job: job{Teams: 2}}
		for range 30 {
			tr.adapt(tr.pace, time.Duration(ceilDiv(tr.pace, wave))*step)
		}
		tr.adapt(tr.pace/3, trainTime/2)
		if tr.pace < want*9/10 || tr.pace > want {
			t.Errorf("steps of %v: launches of %d, want %d", step, tr.pace, want)
		}
		tr.left = []plan.Chunk{{Count: 10 * batch * tr.pace, Batch: batch}, {Count: batch*tr.pace - 3, Batch: batch}}
		all, each := 11*tr.pace, tr.each()
		if each > 2*tr.pace || each*ceilDiv(all, each)-all >= ceilDiv(all, each) {
			t.Errorf("steps of %v: %d of %d in a launch", step, each, all)
		}
	}
}
