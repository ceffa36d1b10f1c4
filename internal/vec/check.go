package vec

import (
	"fmt"
	"math"
	"slices"
)

// Check runs a loop as it is switched, and in plain Go, on the same made numbers of odd
// lengths, and returns an error if they differ by more than rounding. Nothing else may use
// the package meanwhile. A loop with an instruction that the processor lacks ends the
// process with SIGILL.
func (l Loop) Check() error {
	as := use
	defer func() { use = as }()
	for _, n := range []int{1, 2, 5, 8, 15, 16, 33, 67} {
		use = [loopCount]ISA{}
		want := l.sample(n)
		use[l] = as[l]
		got := l.sample(n)
		if len(got) != len(want) {
			return fmt.Errorf("%v on %v, size %d: %d numbers, plain Go has %d", l, as[l], n, len(got), len(want))
		}
		for i, v := range want {
			if d := math.Abs(float64(got[i]) - float64(v)); !(d <= 1e-4*(1+math.Abs(float64(v)))) {
				return fmt.Errorf("%v on %v, size %d: number %d is %g, plain Go has %g", l, as[l], n, i, got[i], v)
			}
		}
	}
	return nil
}

// sample runs the loop on made numbers of size n, and returns all of them as they are then.
func (l Loop) sample(n int) []float32 {
	m := maker{state: uint64(n)}
	samples[l](n, &m)
	return slices.Concat(m.made...)
}

// maker makes numbers that look random and are always the same (Marsaglia, Xorshift RNGs,
// Journal of Statistical Software 8, 2003).
type maker struct {
	state uint64
	made  [][]float32 // what loops read and write, and their results
}

func (m *maker) next() uint64 {
	m.state ^= m.state << 13
	m.state ^= m.state >> 7
	m.state ^= m.state << 17
	return m.state
}

// floats are n numbers from -1 to 1.
func (m *maker) floats(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(m.next()>>40)/(1<<23) - 1
	}
	m.result(v...)
	return v
}

// weights are n numbers of 0 and more.
func (m *maker) weights(n int) []float32 {
	v := m.floats(n)
	for i := range v {
		v[i] = max(0, v[i])
	}
	return v
}

// dense are n dense rows of d numbers.
func (m *maker) dense(n, d int) []Row {
	x := make([]Row, n)
	for i := range x {
		x[i].Val = m.floats(d)
	}
	return x
}

// result keeps what a loop returns next to what the maker made.
func (m *maker) result(v ...float32) { m.made = append(m.made, v) }

// bytes are n bytes, most of them zero.
func (m *maker) bytes(n int) []uint8 {
	v := make([]uint8, n)
	for i := range v {
		if m.next()&0x600 == 0 {
			v[i] = uint8(m.next() >> 20)
		}
	}
	return v
}

// row is a sparse row of about half of d columns.
func (m *maker) row(d int) Row {
	var r Row
	for j := range d {
		if m.next()&0x400 == 0 || j == d-1 {
			r.Idx = append(r.Idx, uint32(j))
		}
	}
	r.Val = m.floats(len(r.Idx))
	return r
}

// samples run each loop on made numbers of size n.
var samples = [loopCount]func(n int, m *maker){
	LoopDot: func(n int, m *maker) {
		m.result(Dot(m.floats(n), m.floats(n)))
		z0, z1, z2, z3 := dot4(m.dense(4, n), m.floats(n))
		m.result(z0 + z1 - z2 + z3)
	},
	LoopAxpy: func(n int, m *maker) {
		Axpy(0.7, m.floats(n), m.floats(n))
		axpy4(0.7, -0.3, 0.9, 0.2, m.dense(4, n), m.floats(n))
	},
	LoopScale:    func(n int, m *maker) { Scale(0.7, m.floats(n)) },
	LoopReLU:     func(n int, m *maker) { ReLU(m.floats(n), m.floats(n)) },
	LoopReLUMask: func(n int, m *maker) { ReLUMask(m.floats(n), m.floats(n)) },
	LoopExpSum:   func(n int, m *maker) { m.result(float32(Softmax(m.floats(n)))) },
	LoopGemm:     sampleGemm,
	LoopLinear:   sampleLinear,
	LoopFactor:   sampleFactor,
	LoopConvRow:  sampleConvRow,
	LoopConvGrad: sampleConvGrad,
	LoopPool:     samplePool,
	LoopUnpool:   sampleUnpool,
	LoopMerge:    func(n int, m *maker) { Merge(m.floats(n), m.floats(n), m.floats(n)) },
	LoopMergeCentered: func(n int, m *maker) {
		rows := 1 + n%11
		MergeCentered(m.floats(rows*n), m.floats(rows*n), m.floats(rows*n), m.floats(rows), m.floats(n),
			m.floats(n), m.floats(n))
	},
	LoopLargest: func(n int, m *maker) {
		idx := make([]uint32, n)
		for i := range idx {
			idx[i] = uint32(m.next() >> 40)
		}
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(m.next() >> 40)
		}
		m.result(float32(Largest(idx)), float32(largestRow(rows)))
	},
	LoopSparseGemv: func(n int, m *maker) {
		r := m.row(13)
		SparseGemv(r.Idx, r.Val, m.floats(13*n), m.floats(n))
	},
	LoopSparseGer: func(n int, m *maker) {
		r := m.row(13)
		SparseGer(0.7, r.Idx, r.Val, m.floats(n), m.floats(13*n))
	},
	LoopSparseOuter: sampleSparseOuter,
	LoopNonzeros: func(n int, m *maker) {
		idx, val := make([]uint32, n+Spare), make([]float32, n+Spare)
		k := Nonzeros(m.bytes(n), 0.5, idx, val)
		m.result(val[:k]...)
		for _, j := range idx[:k] {
			m.result(float32(j))
		}
		m.result(float32(k))
	},
	LoopWiden: func(n int, m *maker) { Widen(m.bytes(n), m.floats(n), m.floats(n), m.floats(n)) },
	LoopWords: sampleWords,
	LoopRows: func(n int, m *maker) {
		w, idx := m.floats(7*n), []uint32{2, 6, 2, 0, 5, 1}
		GatherRows(w, n, idx, 0.3, m.floats(n))
		ScatterRows(w, n, idx[:5], 0.1, m.floats(n))
	},
	LoopOptimizer: func(n int, m *maker) {
		v := m.floats(n)
		for i := range v {
			v[i] *= v[i]
		}
		Momentum(m.floats(n), m.floats(n), m.floats(n), 0.9, 0.1)
		AdaGrad(m.floats(n), v, m.floats(n), 0.1, 1e-3)
		Adam(m.floats(n), m.floats(n), v, m.floats(n), AdamStep{0.1, 0.9, 0.99, 1.5, 1e-3})
	},
	LoopColumns: func(n int, m *maker) {
		const rows = 5
		x := m.floats(rows * max(n, 1))
		c := NewColumns(x[:max(n, 1)])
		c.Add(x)
		m.result(slices.Concat(c.Least, c.Most)...)
		s := NewScaling(c.Squares, c.Sum)
		s.Apply(x)
		for j, seen := range s.Seen {
			m.result(float32(c.Sum[j]), float32(c.Squares[j]), float32(seen))
		}
	},
	LoopPairwise: func(n int, m *maker) {
		f := &Pairwise{K: n, User: m.floats(3 * n), Item: m.floats(4 * n), Bias: m.floats(4)}
		f.Steps([]uint32{0, 1, 2, 2, 0, 3, 0, 3, 1}, nil, PairwiseRate{0.1, 0.01, 0.02, 0.03, 0.04})
		for _, sums := range []*[]float32{&f.UserSum, &f.ItemSum, &f.BiasSum} {
			*sums = m.floats(4)
			for i := range *sums {
				(*sums)[i] += 2
			}
		}
		f.Steps([]uint32{0, 1, 2, 2, 0, 3, 0, 3, 1}, []float32{0.5, 2, 1}, PairwiseRate{LR: 0.1})
	},
	LoopFetch: func(n int, m *maker) {
		Prefetch(m.bytes(n))
		PrefetchFloats(m.floats(n))
	},
}

func sampleGemm(n int, m *maker) {
	var s Workspace
	const k = 19
	x := make([]Row, 1+n%17)
	for i := range x {
		x[i].Val = m.floats(n)
	}
	b := len(x)
	w, d := m.floats(n*k), m.floats(b*k)
	s.Mul(x, w, k, m.floats(b*k))
	s.MulT(d, w, k, m.floats(b*n))
	s.AddOuter(0.1, x, d, k, w)
}

func sampleLinear(n int, m *maker) {
	const rows = 9
	l := &Linear{BiasStep: 0.5, Ptr: []int64{0}}
	for range rows {
		r := m.row(n)
		l.Idx, l.Val = append(l.Idx, r.Idx...), append(l.Val, r.Val...)
		l.Ptr, l.Y = append(l.Ptr, int64(len(l.Idx))), append(l.Y, float32(m.next()>>20&1))
	}
	l.Outputs(m.floats(n), 0.25, 1, m.floats(rows-1))
	order := []int32{3, 0, 8, 1, 7, 2, 6, 4, 5, 5, 0}
	for _, shrink := range [][]float32{nil, m.floats(n)} {
		for loss := range LinearAbsolute + 1 {
			dense := &Linear{BiasStep: 0.5, Width: n, Val: m.floats(rows * n), Y: l.Y}
			for i, l := range []*Linear{l, dense, l, dense} {
				l.Loss, l.WeightDecay = loss, shrink
				if l.Weight, l.Class = nil, nil; i > 1 {
					l.Weight, l.Class = m.weights(rows), []float32{0.5, 3}
				}
				bias := float32(0.25)
				sum := l.Steps(m.floats(n), &bias, order, 0.05)
				m.result(bias, float32(sum))
			}
		}
	}
}

func sampleFactor(n int, m *maker) {
	const nodes = 7
	for _, biased := range []bool{false, true} {
		f := Factors{K: n, W: m.floats(nodes * n), Mean: 0.5}
		if biased {
			f.Bias = m.floats(nodes)
		}
		sum := f.Steps([]int32{2, 0, 1, 2}, []uint32{0, 4, 1, 5, 3, 6}, []float32{1, -1, 0.5},
			FactorRate{Keep: 0.99, Rate: -0.01})
		m.result(float32(sum))
	}
}

func sampleWords(n int, m *maker) {
	w := Words{K: n, In: m.floats(5 * n), Out: m.floats(9 * n)}
	inputs, targets := []uint32{3, 0, 3}, []uint32{1, 2, NoTarget, 2, 3, 4, 5, 6, 1, 0, 8, 7, 6, 5, 4, 3, 2, 1, 8, 8, 8}
	m.result(float32(w.Window(inputs, targets, 0.1)), float32(w.Bag(inputs, targets[:9], 0.1)),
		float32(w.Block(inputs, targets[:6], 0.1)), float32(w.Block(inputs, targets[:8], 0.1)),
		float32(w.Loss(inputs, targets, 7, false)), float32(w.Loss(inputs, targets, 7, true)))
}

func sampleConvRow(n int, m *maker) {
	n = 1 + n%7
	off := NewOffsets([]int32{0, Lanes, 3 * Lanes})
	c, b, a := m.floats(Tile*n*Lanes), m.floats((n+3)*Lanes), m.floats(3*Tile)
	ConvRow(c, n*Lanes, a, m.floats(Tile), b, off, n)
	ConvRow(c, n*Lanes, a, nil, b, off, n)
}

func sampleConvGrad(n int, m *maker) {
	n = 1 + n%7
	off := NewOffsets([]int32{0, Lanes, 2 * Lanes, 3 * Lanes, 4 * Lanes})
	const rows = 3
	ConvGrad(m.floats(Tile*Tile), m.floats(Tile*rows*n*Lanes), rows*n*Lanes, m.floats(rows*(n+4)*Lanes), off, 0, n,
		rows, n*Lanes, (n+4)*Lanes)
}

func samplePool(n int, m *maker) {
	n = 1 + n%7
	Pool(m.floats(n*Lanes), m.floats(n*Lanes), m.floats(2*2*n*Lanes), m.floats(Lanes), n, 2, 2*n*Lanes)
}

func sampleUnpool(n int, m *maker) {
	n = 1 + n%7
	win := make([]float32, n*Lanes)
	for i := range win {
		win[i] = float32(int(m.next()>>20%5) - 1)
	}
	Unpool(m.floats(2*2*n*Lanes), m.floats(n*Lanes), win, m.floats(Lanes), m.floats(Lanes), n, 2, 2*n*Lanes)
}

func sampleSparseOuter(n int, m *maker) {
	var l lists
	const d = 5
	x := []Row{m.row(d), m.row(d), m.row(d)}
	l.fill(x, d, n)
	l.addOuter(0.1, m.floats(len(x)*n), n, m.floats(d*n))
}
