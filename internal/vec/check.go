package vec

import (
	"fmt"
	"math"
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
		want := samples[l](n, &maker{uint64(n)})
		use[l] = as[l]
		got := samples[l](n, &maker{uint64(n)})
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

// maker makes numbers that look random and are always the same (Marsaglia, Xorshift RNGs,
// Journal of Statistical Software 8, 2003).
type maker struct{ state uint64 }

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
	return v
}

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

// samples run each loop on made numbers of size n, and return all that it computes.
var samples = [loopCount]func(n int, m *maker) []float32{
	LoopDot: func(n int, m *maker) []float32 { return []float32{Dot(m.floats(n), m.floats(n))} },
	LoopAxpy: func(n int, m *maker) []float32 {
		x, y := m.floats(n), m.floats(n)
		Axpy(0.7, x, y)
		return y
	},
	LoopScale: func(n int, m *maker) []float32 {
		x := m.floats(n)
		Scale(0.7, x)
		return x
	},
	LoopReLU: func(n int, m *maker) []float32 {
		h := make([]float32, n)
		ReLU(m.floats(n), h)
		return h
	},
	LoopReLUMask: func(n int, m *maker) []float32 {
		h, d := m.floats(n), m.floats(n)
		ReLUMask(h, d)
		return d
	},
	LoopExpSum: func(n int, m *maker) []float32 {
		z := m.floats(n)
		return append(z, float32(Softmax(z)))
	},
	LoopGemm:     sampleGemm,
	LoopLinear:   sampleLinear,
	LoopFactor:   sampleFactor,
	LoopConvRow:  sampleConvRow,
	LoopConvGrad: sampleConvGrad,
	LoopPool:     samplePool,
	LoopUnpool:   sampleUnpool,
	LoopMerge: func(n int, m *maker) []float32 {
		shared, mine, base := m.floats(n), m.floats(n), m.floats(n)
		Merge(shared, mine, base)
		return append(append(shared, mine...), base...)
	},
	LoopMergeCentered: func(n int, m *maker) []float32 {
		rows := 1 + n%11
		shared, mine, base := m.floats(rows*n), m.floats(rows*n), m.floats(rows*n)
		learned, merged := m.floats(n), m.floats(n)
		MergeCentered(shared, mine, base, m.floats(rows), m.floats(n), learned, merged)
		return append(append(append(append(shared, mine...), base...), learned...), merged...)
	},
	LoopLargest: func(n int, m *maker) []float32 {
		idx := make([]uint32, n)
		for i := range idx {
			idx[i] = uint32(m.next() >> 40)
		}
		return []float32{float32(largest(idx))}
	},
	LoopSparseGemv: func(n int, m *maker) []float32 {
		r, z := m.row(13), m.floats(n)
		SparseGemv(r.Idx, r.Val, m.floats(13*n), z)
		return z
	},
	LoopSparseGer: func(n int, m *maker) []float32 {
		r, w := m.row(13), m.floats(13*n)
		SparseGer(0.7, r.Idx, r.Val, m.floats(n), w)
		return w
	},
	LoopSparseOuter: sampleSparseOuter,
	LoopNonzeros: func(n int, m *maker) []float32 {
		x, idx, val := m.bytes(n), make([]uint32, n+Spare), make([]float32, n+Spare)
		k := Nonzeros(x, 0.5, idx, val)
		out := append([]float32{float32(k)}, val[:k]...)
		for _, j := range idx[:k] {
			out = append(out, float32(j))
		}
		return out
	},
	LoopWiden: func(n int, m *maker) []float32 {
		y := make([]float32, n)
		Widen(m.bytes(n), m.floats(n), m.floats(n), y)
		return y
	},
	LoopFetch: func(n int, m *maker) []float32 {
		Prefetch(m.bytes(n))
		fetchAhead(m.floats(n))
		return nil
	},
}

func sampleGemm(n int, m *maker) []float32 {
	var s Workspace
	const k = 19
	x := make([]Row, 1+n%17)
	for i := range x {
		x[i].Val = m.floats(n)
	}
	b := len(x)
	w, z, d, dx := m.floats(n*k), m.floats(b*k), m.floats(b*k), make([]float32, b*n)
	s.Mul(x, w, k, z)
	s.MulT(d, w, k, dx)
	s.AddOuter(0.1, x, d, k, w)
	return append(append(z, dx...), w...)
}

func sampleLinear(n int, m *maker) (out []float32) {
	const rows = 9
	l := Linear{BiasStep: 0.5, Ptr: []int64{0}}
	for range rows {
		r := m.row(n)
		l.Idx, l.Val = append(l.Idx, r.Idx...), append(l.Val, r.Val...)
		l.Ptr, l.Y = append(l.Ptr, int64(len(l.Idx))), append(l.Y, float32(m.next()>>20&1))
	}
	order := []int32{3, 0, 8, 1, 7, 2, 6, 4, 5, 5, 0}
	for _, shrink := range [][]float32{nil, m.floats(n)} {
		for loss := range LinearAbsolute + 1 {
			l.Loss, l.Shrink = loss, shrink
			w, bias := m.floats(n), float32(0.25)
			sum := l.Steps(w, &bias, order, 0.05)
			out = append(append(out, w...), bias, float32(sum))
		}
	}
	return out
}

func sampleFactor(n int, m *maker) (out []float32) {
	const nodes = 7
	for _, biased := range []bool{false, true} {
		f := Factors{K: n, W: m.floats(nodes * n), Mean: 0.5}
		if biased {
			f.Bias = m.floats(nodes)
		}
		sum := f.Steps([]int32{2, 0, 1, 2}, []uint32{0, 4, 1, 5, 3, 6}, []float32{1, -1, 0.5}, FactorRate{Keep: 0.99, Rate: -0.01})
		out = append(append(append(out, f.W...), f.Bias...), float32(sum))
	}
	return out
}

func sampleConvRow(n int, m *maker) []float32 {
	n = 1 + n%7
	off := NewOffsets([]int32{0, Lanes, 3 * Lanes})
	c, b := m.floats(Tile*n*Lanes), m.floats((n+3)*Lanes)
	a, start := m.floats(3*Tile), m.floats(Tile)
	ConvRow(c, n*Lanes, a, start, b, off, n)
	ConvRow(c, n*Lanes, a, nil, b, off, n)
	return c
}

func sampleConvGrad(n int, m *maker) []float32 {
	n = 1 + n%7
	off := NewOffsets([]int32{0, Lanes, 2 * Lanes, 3 * Lanes, 4 * Lanes})
	const rows = 3
	g, d := m.floats(Tile*Tile), m.floats(Tile*rows*n*Lanes)
	ConvGrad(g, d, rows*n*Lanes, m.floats(rows*(n+4)*Lanes), off, 0, n, rows, n*Lanes, (n+4)*Lanes)
	return g
}

func samplePool(n int, m *maker) []float32 {
	n = 1 + n%7
	out, win := make([]float32, n*Lanes), make([]float32, n*Lanes)
	Pool(out, win, m.floats(2*2*n*Lanes), m.floats(Lanes), n, 2, 2*n*Lanes)
	return append(out, win...)
}

func sampleUnpool(n int, m *maker) []float32 {
	n = 1 + n%7
	dz, win, sum := make([]float32, 2*2*n*Lanes), make([]float32, n*Lanes), m.floats(Lanes)
	for i := range win {
		win[i] = float32(int(m.next()>>20%5) - 1)
	}
	Unpool(dz, m.floats(n*Lanes), win, m.floats(Lanes), sum, n, 2, 2*n*Lanes)
	return append(dz, sum...)
}

func sampleSparseOuter(n int, m *maker) []float32 {
	var l lists
	const d = 5
	x := []Row{m.row(d), m.row(d), m.row(d)}
	l.fill(x, d, n)
	w := m.floats(d * n)
	l.addOuter(0.1, m.floats(len(x)*n), n, w)
	return w
}
