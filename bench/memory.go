package bench

import (
	"math/rand/v2"

	"hogwild/internal/vec"
	"hogwild/shm"
)

// The sizes of weights whose random updates are measured: RCV1's features (in the
// second-level cache), a million (in the third), and what no cache holds.
const (
	smallWeights  = 47_236
	mediumWeights = 1_000_000
	largeWeights  = 50_000_000
)

// arena is the memory of the measurements: one segment, as that of the weights in
// training is, so that its pages are of the same size. Several threads write its words
// without locks: that is what is measured.
type arena struct {
	segment *shm.Segment
	w       []float32
	word    []float64 // one, alone on its cache line
	turn    []uint32  // one
}

func newArena() (*arena, error) {
	var l shm.Layout
	l.Add("w", shm.F32, largeWeights)
	l.Add("word", shm.F64, 1)
	l.Add("turn", shm.U32, 1)
	s, err := l.Create("limits")
	if err != nil {
		return nil, err
	}
	a := &arena{segment: s}
	var failed error
	a.w = view[float32](s, "w", &failed)
	a.word = view[float64](s, "word", &failed)
	a.turn = view[uint32](s, "turn", &failed)
	if failed != nil {
		s.Close()
		return nil, failed
	}
	clear(a.w) // every page is there
	return a, nil
}

// view is one array; of several errors the first is kept.
func view[T shm.Element](s *shm.Segment, name string, err *error) []T {
	v, e := shm.View[T](s, name)
	if *err == nil {
		*err = e
	}
	return v
}

func (a *arena) close() { a.segment.Close() }

// arithmetic is the peak of multiply-adds.
func (m *meter) arithmetic() {
	means := "dense layers and convolutions: peak of any matrix product"
	for _, p := range vec.Peaks() {
		m.rate(Limit{Name: "multiply-add, " + p.Name, Unit: "GFLOP/s", Means: means},
			p.Flops/1e9, func(_, n int) { p.Run(n) })
		means = "the same with an older instruction set"
	}
}

// streams are reading and copying memory that no cache holds. Each core has a part of
// it for its own.
func (m *meter) streams(a *arena) {
	const block = 4 << 10 // floats: 16 kB, which the first-level cache holds
	part := len(a.w) / len(m.cores) / (2 * block) * (2 * block)
	buffers := make([][]float32, len(m.cores))
	for i := range buffers {
		buffers[i] = make([]float32, block)
	}
	at := make([]int, len(m.cores)*16) // a cache line apart
	next := func(i, size int) []float32 {
		from := i*part + at[i*16]
		at[i*16] = (at[i*16] + size) % part
		return a.w[from : from+size]
	}
	m.rate(Limit{Name: "memory, read", Unit: "GB/s", Means: "one pass over a data set larger than the caches"},
		4*block/1e9, func(i, n int) {
			for range n {
				copy(buffers[i], next(i, block))
			}
		})
	m.rate(Limit{Name: "memory, copy", Unit: "GB/s", Means: "reads and as many writes; both count"},
		2*4*block/1e9, func(i, n int) {
			for range n {
				pair := next(i, 2*block)
				copy(pair[block:], pair[:block])
			}
		})
}

// random is w[j] += x at random j, by all cores in the same weights, without locks.
func (m *meter) random(a *arena) {
	const block = 4 << 10
	list := make([]uint32, 1<<22) // so long that no cache holds the lines that it names
	at := make([]int, len(m.cores)*16)
	for _, size := range []struct {
		floats      int
		name, means string
	}{
		{smallWeights, "47 k floats", "sparse models of RCV1's size: one such update per nonzero"},
		{mediumWeights, "1 M floats", "sparse models that fit in the L3 cache"},
		{largeWeights, "50 M floats", "sparse models and factors larger than the caches"},
	} {
		w, r := a.w[:size.floats], rand.New(rand.NewPCG(1, 2))
		for i := range list {
			list[i] = r.Uint32N(uint32(size.floats))
		}
		for i := range m.cores {
			at[i*16] = len(list) / len(m.cores) * i / block * block
		}
		m.rate(Limit{Name: "w[j] += x at random, " + size.name, Unit: "M/s", Means: size.means},
			block/1e6, func(i, n int) {
				from := at[i*16]
				for range n {
					scatter(w, list[from:from+block])
					from = (from + block) % len(list)
				}
				at[i*16] = from
			})
	}
}

// scatter is w[j] += 1 for every j of the list, whose length is a multiple of four.
func scatter(w []float32, list []uint32) {
	for ; len(list) >= 4; list = list[4:] {
		w[list[0]]++
		w[list[1]]++
		w[list[2]]++
		w[list[3]]++
	}
}
