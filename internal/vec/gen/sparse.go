package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// sparse makes the loops of sparse_amd64.s.
func sparse() {
	nonzeros()
	nonzerosAVX2()
	prefetch()
	for _, isa := range []isa{{"AVX512", ZMM, 16}, {"AVX2", YMM, 8}} {
		isa.merge()
		isa.below()
		isa.gemv()
		isa.ger()
		isa.outer()
		isa.widen()
	}
	isa{"AVX2", YMM, 8}.mergeCentered()
}

// isa is a set of vector instructions.
type isa struct {
	name   string
	vector func() VecVirtual
	lanes  int
}

func (s isa) bytes() int { return 4 * s.lanes }

// merge is Merge: shared, mine and base become shared + (mine - base), a vector at a
// time and then, at the end, a number at a time.
func (s isa) merge() {
	TEXT("merge"+s.name, NOSPLIT, "func(shared, mine, base *float32, n int)")
	Pragma("noescape")
	shared, mine, base := Load(Param("shared"), GP64()), Load(Param("mine"), GP64()), Load(Param("base"), GP64())
	n, i := Load(Param("n"), GP64()), GP64()
	at := func(p Register) Mem { return Mem{Base: p, Index: i, Scale: 4} }
	XORQ(i, i)

	Label("vector")
	SUBQ(U32(s.lanes), n)
	JL(LabelRef("rest"))
	d := s.vector()
	VMOVUPS(at(mine), d)
	VSUBPS(at(base), d, d)
	VADDPS(at(shared), d, d)
	for _, p := range []Register{shared, mine, base} {
		VMOVUPS(d, at(p))
	}
	ADDQ(U32(s.lanes), i)
	JMP(LabelRef("vector"))

	Label("rest")
	ADDQ(U32(s.lanes), n)
	Label("scalar")
	SUBQ(Imm(1), n)
	JL(LabelRef("done"))
	x := XMM()
	VMOVSS(at(mine), x)
	VSUBSS(at(base), x, x)
	VADDSS(at(shared), x, x)
	for _, p := range []Register{shared, mine, base} {
		VMOVSS(x, at(p))
	}
	INCQ(i)
	JMP(LabelRef("scalar"))
	Label("done")
	VZEROUPPER()
	RET()
}

// below is the largest of n indices, n > 0: the last vector overlaps the one before
// it, and fewer indices than a vector has are taken one by one.
func (s isa) below() {
	TEXT("largest"+s.name, NOSPLIT, "func(idx *uint32, n int) uint32")
	Pragma("noescape")
	idx, n := Load(Param("idx"), GP64()), Load(Param("n"), GP64())
	most, i := GP32(), GP64()
	XORL(most, most)
	CMPQ(n, U32(s.lanes))
	JL(LabelRef("scalar"))

	m := s.vector()
	VMOVUPS(Mem{Base: idx, Index: n, Scale: 4, Disp: -s.bytes()}, m)
	Label("vector")
	SUBQ(U32(s.lanes), n)
	JLE(LabelRef("fold"))
	VPMAXUD(Mem{Base: idx}, m, m)
	ADDQ(U32(s.bytes()), idx)
	JMP(LabelRef("vector"))
	Label("fold")
	y := m.AsY()
	if s.lanes == 16 {
		high := YMM()
		VEXTRACTI64X4(Imm(1), m, high)
		VPMAXUD(high, y, y)
	}
	x, t := m.AsX(), XMM()
	VEXTRACTI128(Imm(1), y, t)
	VPMAXUD(t, x, x)
	VPSHUFD(Imm(0x4e), x, t)
	VPMAXUD(t, x, x)
	VPSHUFD(Imm(0xb1), x, t)
	VPMAXUD(t, x, x)
	VMOVD(x, most)
	VZEROUPPER()
	JMP(LabelRef("done"))

	Label("scalar")
	XORQ(i, i)
	Label("next")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	v := GP32()
	MOVL(Mem{Base: idx, Index: i, Scale: 4}, v)
	CMPL(v, most)
	CMOVLHI(v, most)
	INCQ(i)
	JMP(LabelRef("next"))
	Label("done")
	Store(most, ReturnIndex(0))
	RET()
}

// A panel is the columns that are worked on at once, as the widths of its vectors.
// Any number of columns is a sequence of panels, each no narrower than the next; none
// writes beyond its columns, not even under a mask: a row's neighbour is often next,
// and would wait until that write is complete.
func (s isa) panels() [][]int {
	var ps [][]int
	for n := 8; n > 0; n /= 2 {
		p := make([]int, n)
		for i := range p {
			p[i] = s.lanes
		}
		ps = append(ps, p)
	}
	if s.lanes == 16 {
		ps = append(ps, []int{8, 2}, []int{8}) // the ten digits
	}
	return append(ps, []int{4}, []int{2}, []int{1})
}

// overPanels goes over k columns, the widest panels first. What it advances by the
// panel's width are the pointers in move. body's name is free for labels.
func (s isa) overPanels(k Register, move []Register, body func(name string, widths []int), atEnd ...func()) {
	ps := s.panels()
	for i, p := range ps {
		name := fmt.Sprint(i)
		width := 0
		for _, n := range p {
			width += n
		}
		Label("panel" + name)
		CMPQ(k, U32(width))
		JL(LabelRef(fmt.Sprint("panel", i+1)))
		body(name, p)
		for _, q := range move {
			ADDQ(U32(4*width), q)
		}
		SUBQ(U32(width), k)
		JMP(LabelRef("panel" + name))
	}
	Label(fmt.Sprint("panel", len(ps)))
	for _, f := range atEnd {
		f()
	}
	VZEROUPPER()
	RET()
}

// part is the register x as one of n numbers.
func part(x VecVirtual, n int) Register {
	switch n {
	case 16:
		return x.AsZ()
	case 8:
		return x.AsY()
	}
	return x.AsX()
}

// load and store move n numbers.
func load(m Mem, x VecVirtual, n int) {
	switch n {
	case 2:
		VMOVSD(m, x.AsX())
	case 1:
		VMOVSS(m, x.AsX())
	default:
		VMOVUPS(m, part(x, n))
	}
}

func store(x VecVirtual, m Mem, n int) {
	switch n {
	case 2:
		VMOVSD(x.AsX(), m)
	case 1:
		VMOVSS(x.AsX(), m)
	default:
		VMOVUPS(part(x, n), m)
	}
}

// gemv is sparseGemv: the panel of z stays in registers. Of narrow panels several
// nonzeros are under way at once, each with sums of its own, since an addition waits
// four cycles for the one before.
func (s isa) gemv() {
	TEXT("sparseGemv"+s.name, NOSPLIT, "func(idx *uint32, val *float32, n int, end uint32, w *float32, stride int, z *float32, k int) int")
	Pragma("noescape")
	idx, val, n := Load(Param("idx"), GP64()), Load(Param("val"), GP64()), Load(Param("n"), GP64())
	end, i := Load(Param("end"), GP32()), GP64()
	w, stride := Load(Param("w"), GP64()), Load(Param("stride"), GP64())
	z, k := Load(Param("z"), GP64()), Load(Param("k"), GP64())
	s.overPanels(k, []Register{w, z}, func(name string, widths []int) {
		unroll := min(4, 8/len(widths))
		acc := make([][]VecVirtual, unroll)
		for u := range acc {
			at := 0
			for _, n := range widths {
				a := s.vector()
				acc[u] = append(acc[u], a)
				if u == 0 {
					load(Mem{Base: z, Disp: at}, a, n)
				} else {
					VXORPS(a, a, a)
				}
				at += 4 * n
			}
		}
		XORQ(i, i)
		below := func(u int, otherwise string) {
			CMPL(Mem{Base: idx, Index: i, Scale: 4, Disp: 4 * u}, end)
			JCC(LabelRef(otherwise))
		}
		add := func(u int) {
			at, x := GP64(), s.vector()
			MOVL(Mem{Base: idx, Index: i, Scale: 4, Disp: 4 * u}, at.As32())
			IMULQ(stride, at)
			VBROADCASTSS(Mem{Base: val, Index: i, Scale: 4, Disp: 4 * u}, x)
			s.multiply(Mem{Base: w, Index: at, Scale: 1}, x, acc[u], widths)
		}
		if unroll > 1 {
			last := GP64()
			LEAQ(Mem{Base: n, Disp: -unroll}, last)
			Label("some" + name)
			CMPQ(i, last)
			JG(LabelRef("rest" + name))
			below(unroll-1, "rest"+name)
			for u := range unroll {
				add(u)
			}
			ADDQ(U32(unroll), i)
			JMP(LabelRef("some" + name))
		}
		Label("rest" + name)
		CMPQ(i, n)
		JGE(LabelRef("sum" + name))
		below(0, "sum"+name)
		add(0)
		INCQ(i)
		JMP(LabelRef("rest" + name))
		Label("sum" + name)
		at := 0
		for v, n := range widths {
			for half := unroll / 2; half > 0; half /= 2 {
				for u := range half {
					a, b := part(acc[u][v], n), part(acc[u+half][v], n)
					VADDPS(b, a, a)
				}
			}
			store(acc[0][v], Mem{Base: z, Disp: at}, n)
			at += 4 * n
		}
	}, func() { Store(i, ReturnIndex(0)) })
}

// ger is SparseGer: the panel of a*d stays in registers.
func (s isa) ger() {
	TEXT("sparseGer"+s.name, NOSPLIT, "func(a float32, idx *uint32, val *float32, n int, d *float32, w *float32, stride int, k int)")
	Pragma("noescape")
	scale := s.vector()
	VBROADCASTSS(NewParamAddr("a", 0), scale)
	idx, val, n := Load(Param("idx"), GP64()), Load(Param("val"), GP64()), Load(Param("n"), GP64())
	w, stride := Load(Param("w"), GP64()), Load(Param("stride"), GP64())
	d, k := Load(Param("d"), GP64()), Load(Param("k"), GP64())
	s.overPanels(k, []Register{w, d}, func(name string, widths []int) {
		delta := make([]VecVirtual, len(widths))
		from := Mem{Base: d}
		for v, n := range widths {
			delta[v] = s.vector()
			load(from, delta[v], n)
			VMULPS(part(scale, n), part(delta[v], n), part(delta[v], n))
			from.Disp += 4 * n
		}
		i := GP64()
		XORQ(i, i)
		Label("row" + name)
		CMPQ(i, n)
		JGE(LabelRef("end" + name))
		at, x := GP64(), s.vector()
		MOVL(Mem{Base: idx, Index: i, Scale: 4}, at.As32())
		IMULQ(stride, at)
		VBROADCASTSS(Mem{Base: val, Index: i, Scale: 4}, x)
		m := Mem{Base: w, Index: at, Scale: 1}
		for v, n := range widths {
			t := s.vector()
			load(m, t, n)
			VFMADD231PS(part(delta[v], n), part(x, n), part(t, n))
			store(t, m, n)
			m.Disp += 4 * n
		}
		INCQ(i)
		JMP(LabelRef("row" + name))
		Label("end" + name)
	})
}

// outer is sparseOuter. The products of a row are summed in registers and meet the row
// at their end: it is loaded and stored once, and nothing waits for it to arrive.
func (s isa) outer() {
	TEXT("sparseOuter"+s.name, NOSPLIT, "func(a float32, from *uint32, rows int, list *uint64, d *float32, w *float32, stride int, k int)")
	Pragma("noescape")
	scale := s.vector()
	VBROADCASTSS(NewParamAddr("a", 0), scale)
	from, rows, list := Load(Param("from"), GP64()), Load(Param("rows"), GP64()), Load(Param("list"), GP64())
	d, w := Load(Param("d"), GP64()), Load(Param("w"), GP64())
	stride, k := Load(Param("stride"), GP64()), Load(Param("k"), GP64())
	s.overPanels(k, []Register{w, d}, func(name string, widths []int) {
		e, end, row, j := GP64(), GP64(), GP64(), GP64()
		MOVL(Mem{Base: from}, e.As32())
		LEAQ(Mem{Base: list, Index: e, Scale: 8}, e)
		MOVQ(w, row)
		XORQ(j, j)
		Label("row" + name)
		MOVL(Mem{Base: from, Index: j, Scale: 4, Disp: 4}, end.As32())
		LEAQ(Mem{Base: list, Index: end, Scale: 8}, end)
		CMPQ(e, end)
		JGE(LabelRef("next" + name))
		sum := make([]VecVirtual, len(widths))
		for v := range widths {
			sum[v] = s.vector()
			VXORPS(sum[v], sum[v], sum[v])
		}
		Label("entry" + name)
		at, x := GP64(), s.vector()
		MOVL(Mem{Base: e}, at.As32())
		VBROADCASTSS(Mem{Base: e, Disp: 4}, x)
		s.multiply(Mem{Base: d, Index: at, Scale: 4}, x, sum, widths)
		ADDQ(Imm(8), e)
		CMPQ(e, end)
		JL(LabelRef("entry" + name))
		m := Mem{Base: row}
		for v, n := range widths {
			t := s.vector()
			load(m, t, n)
			VFMADD231PS(part(scale, n), part(sum[v], n), part(t, n))
			store(t, m, n)
			m.Disp += 4 * n
		}
		Label("next" + name)
		ADDQ(stride, row)
		INCQ(j)
		CMPQ(j, rows)
		JL(LabelRef("row" + name))
	})
}

// multiply adds x times the panel at m to sum.
func (s isa) multiply(m Mem, x VecVirtual, sum []VecVirtual, widths []int) {
	for v, n := range widths {
		if n >= 4 {
			VFMADD231PS(m, part(x, n), part(sum[v], n))
		} else {
			t := s.vector()
			load(m, t, n)
			VFMADD231PS(t.AsX(), x.AsX(), sum[v].AsX())
		}
		m.Disp += 4 * n
	}
}
