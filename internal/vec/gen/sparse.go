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
	fetch("prefetchLines", "uint8", 64) // Prefetch of n bytes, n > 0
	for _, s := range []simd{avx512, avx2} {
		s.merge()
		s.below("largest", "uint32")
		s.below("largestRow", "int32") // the same bits: a number below 0 is above all
		s.gemv()
		s.ger()
		s.outer()
		s.widen()
	}
	avx2.mergeCentered()
}

// below is the largest of n indices, n > 0: the last vector overlaps the one before
// it, and fewer indices than a vector has are taken one by one.
func (s simd) below(name, of string) {
	begin(name+s.name, "func(idx *"+of+", n int) uint32")
	idx, n := arg("idx"), arg("n")
	most, i := GP32(), GP64()
	XORL(most, most)
	CMPQ(n, U32(s.width))
	JL(LabelRef("scalar"))

	m := s.vector()
	VMOVUPS(Mem{Base: idx, Index: n, Scale: 4, Disp: -s.bytes()}, m)
	Label("vector")
	SUBQ(U32(s.width), n)
	JLE(LabelRef("fold"))
	VPMAXUD(Mem{Base: idx}, m, m)
	ADDQ(U32(s.bytes()), idx)
	JMP(LabelRef("vector"))
	Label("fold")
	y := m.AsY()
	if s.masks {
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
func (s simd) panels() [][]int {
	var ps [][]int
	for n := 8; n > 0; n /= 2 {
		p := make([]int, n)
		for i := range p {
			p[i] = s.width
		}
		ps = append(ps, p)
	}
	if s.masks {
		ps = append(ps, []int{8, 2}, []int{8}) // the ten digits
	}
	return append(ps, []int{4}, []int{2}, []int{1})
}

// overPanels goes over k columns, the widest panels first. What it advances by the
// panel's width are the pointers in move. body's name is free for labels.
func (s simd) overPanels(k Register, move []Register, body func(name string, widths []int), atEnd ...func()) {
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
	end()
}

// gemv is sparseGemv: the panel of z stays in registers. Of narrow panels several
// nonzeros are under way at once, each with sums of its own, since an addition waits
// four cycles for the one before.
func (s simd) gemv() {
	begin("sparseGemv"+s.name, "func(idx *uint32, val *float32, n int, end uint32, w *float32, stride int, z "+
		"*float32, k int) int")
	idx, val, n := arg("idx"), arg("val"), arg("n")
	end, i := Load(Param("end"), GP32()), GP64()
	w, stride := arg("w"), arg("stride")
	z, k := arg("z"), arg("k")
	s.overPanels(k, []Register{w, z}, func(name string, widths []int) {
		unroll := min(4, 8/len(widths))
		acc := make([][]VecVirtual, unroll)
		for u := range acc {
			at := 0
			for _, n := range widths {
				var a VecVirtual
				if u == 0 {
					a = s.loadPart(Mem{Base: z, Disp: at}, n)
				} else {
					a = s.vector()
					VXORPS(a, a, a)
				}
				acc[u] = append(acc[u], a)
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
			storePart(acc[0][v], Mem{Base: z, Disp: at}, n)
			at += 4 * n
		}
	}, func() { Store(i, ReturnIndex(0)) })
}

// addTo adds x times delta to the panel at m.
func (s simd) addTo(m Mem, x VecVirtual, delta []VecVirtual, widths []int) {
	for v, n := range widths {
		t := s.loadPart(m, n)
		VFMADD231PS(part(x, n), part(delta[v], n), part(t, n))
		storePart(t, m, n)
		m.Disp += 4 * n
	}
}

// ger is SparseGer: the panel of a*d stays in registers.
func (s simd) ger() {
	begin("sparseGer"+s.name, "func(a float32, idx *uint32, val *float32, n int, d *float32, w *float32, stride int, "+
		"k int)")
	scale := s.spread("a")
	idx, val, n := arg("idx"), arg("val"), arg("n")
	w, stride := arg("w"), arg("stride")
	d, k := arg("d"), arg("k")
	s.overPanels(k, []Register{w, d}, func(name string, widths []int) {
		delta := make([]VecVirtual, len(widths))
		from := Mem{Base: d}
		for v, n := range widths {
			delta[v] = s.loadPart(from, n)
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
		s.addTo(Mem{Base: w, Index: at, Scale: 1}, x, delta, widths)
		INCQ(i)
		JMP(LabelRef("row" + name))
		Label("end" + name)
	})
}

// outer is sparseOuter. The products of a row are summed in registers and meet the row
// at their end: it is loaded and stored once, and nothing waits for it to arrive.
func (s simd) outer() {
	begin("sparseOuter"+s.name, "func(a float32, from *uint32, rows int, list *uint64, d *float32, w *float32, "+
		"stride int, k int)")
	scale := s.spread("a")
	from, rows, list := arg("from"), arg("rows"), arg("list")
	d, w := arg("d"), arg("w")
	stride, k := arg("stride"), arg("k")
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
		sum := s.vectors(len(widths))
		for _, v := range sum {
			VXORPS(v, v, v)
		}
		Label("entry" + name)
		at, x := GP64(), s.vector()
		MOVL(Mem{Base: e}, at.As32())
		VBROADCASTSS(Mem{Base: e, Disp: 4}, x)
		s.multiply(Mem{Base: d, Index: at, Scale: 4}, x, sum, widths)
		ADDQ(Imm(8), e)
		CMPQ(e, end)
		JL(LabelRef("entry" + name))
		s.addTo(Mem{Base: row}, scale, sum, widths)
		Label("next" + name)
		ADDQ(stride, row)
		INCQ(j)
		CMPQ(j, rows)
		JL(LabelRef("row" + name))
	})
}

// multiply adds x times the panel at m to sum.
func (s simd) multiply(m Mem, x VecVirtual, sum []VecVirtual, widths []int) {
	for v, n := range widths {
		if n >= 4 {
			VFMADD231PS(m, part(x, n), part(sum[v], n))
		} else {
			VFMADD231PS(s.loadPart(m, n).AsX(), x.AsX(), sum[v].AsX())
		}
		m.Disp += 4 * n
	}
}
