package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dense makes the loops of dense_amd64.s. With AVX-512 a mask ends them at any n;
// with AVX2 n is a multiple of what a vector holds, and the caller does the rest.
func dense() {
	fetch()
	e := constants()
	for _, s := range sets {
		s.dot()
		s.axpy()
		s.scale()
		s.relu()
		s.reluMask()
		s.expSum(e)
	}
}

// fetch makes the loop that asks for the n floats at x, a cache line at a time.
func fetch() {
	TEXT("fetchLines", NOSPLIT, "func(x *float32, n int)")
	Pragma("noescape")
	Doc("fetchLines asks for the n > 0 numbers at x, to have them in the cache later.")
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	Label("line")
	PREFETCHT0(Mem{Base: x})
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JGT(LabelRef("line"))
	RET()
}

// begin opens a function over n numbers.
func (s simd) begin(name, signature, doc string) {
	TEXT(name+s.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + s.name + " is " + doc)
}

// sweep makes the loops over n numbers: body gets where its vector begins, in floats
// from i on, its number of the four in flight, and the mask of a tail, else nil.
func (s simd) sweep(n reg.Register, body func(i reg.Register, v int, tail reg.Register)) {
	i := GP64()
	XORQ(i, i)
	SUBQ(Imm(uint64(4*s.width)), n)
	JLT(LabelRef("ones"))
	Label("fours")
	for v := range 4 {
		body(i, v, nil)
	}
	ADDQ(Imm(uint64(4*s.width)), i)
	SUBQ(Imm(uint64(4*s.width)), n)
	JGE(LabelRef("fours"))
	Label("ones")
	ADDQ(Imm(uint64(3*s.width)), n)
	JLT(LabelRef("tail"))
	Label("one")
	body(i, 0, nil)
	ADDQ(Imm(uint64(s.width)), i)
	SUBQ(Imm(uint64(s.width)), n)
	JGE(LabelRef("one"))
	Label("tail")
	if s.masks {
		ADDQ(Imm(uint64(s.width)), n)
		JEQ(LabelRef("done"))
		body(i, 0, lanes(n)[0])
	}
	Label("done")
}

// at is the v-th vector of p from float i on.
func (s simd) at(p, i reg.Register, v int) Mem {
	return Mem{Base: p, Index: i, Scale: 4, Disp: 4 * s.width * v}
}

// load is the vector at m; of a tail, with zeros behind it.
func (s simd) load(m Mem, tail reg.Register) reg.VecVirtual {
	x := s.vector()
	if tail != nil {
		VMOVUPS_Z(m, tail, x)
	} else {
		VMOVUPS(m, x)
	}
	return x
}

func (s simd) store(x reg.VecVirtual, m Mem, tail reg.Register) {
	if tail != nil {
		VMOVUPS(x, tail, m)
	} else {
		VMOVUPS(x, m)
	}
}

func (s simd) dot() {
	s.begin("dot", "func(x, y *float32, n int) float32", "dotGo.")
	x, y, n := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	var sum [4]reg.VecVirtual
	for v := range sum {
		sum[v] = s.vector()
		s.zero(sum[v])
	}
	s.sweep(n, func(i reg.Register, v int, tail reg.Register) {
		VFMADD231PS(s.load(s.at(x, i, v), tail), s.load(s.at(y, i, v), tail), sum[v])
	})
	VADDPS(sum[1], sum[0], sum[0])
	VADDPS(sum[3], sum[2], sum[2])
	VADDPS(sum[2], sum[0], sum[0])
	if s.masks {
		half := YMM()
		VEXTRACTF64X4(Imm(1), sum[0], half)
		VADDPS(half, sum[0].AsY(), sum[0].AsY())
	}
	part := XMM()
	VEXTRACTF128(Imm(1), sum[0].AsY(), part)
	VADDPS(part, sum[0].AsX(), part)
	VHADDPS(part, part, part)
	VHADDPS(part, part, part)
	Store(part, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func (s simd) axpy() {
	s.begin("axpy", "func(a float32, x, y *float32, n int)", "axpyGo.")
	x, y, n := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	a := s.spread("a", 0)
	s.sweep(n, func(i reg.Register, v int, tail reg.Register) {
		to := s.at(y, i, v)
		sum := s.load(to, tail)
		VFMADD231PS(s.load(s.at(x, i, v), tail), a, sum)
		s.store(sum, to, tail)
	})
	VZEROUPPER()
	RET()
}

// spread is the argument at the offset, in every place of a vector.
func (s simd) spread(name string, offset int) reg.VecVirtual {
	a := s.vector()
	VBROADCASTSS(NewParamAddr(name, offset), a)
	return a
}

func (s simd) scale() {
	s.begin("scale", "func(a float32, x *float32, n int)", "scaleGo.")
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	a := s.spread("a", 0)
	s.sweep(n, func(i reg.Register, v int, tail reg.Register) {
		y := s.load(s.at(x, i, v), tail)
		VMULPS(a, y, y)
		s.store(y, s.at(x, i, v), tail)
	})
	VZEROUPPER()
	RET()
}

// relu relies on the maximum with a NaN being its second operand, as the manual says,
// which is z here (and first in Go's order).
func (s simd) relu() {
	s.begin("relu", "func(z, h *float32, n int)", "reluGo.")
	z, h, n := Load(Param("z"), GP64()), Load(Param("h"), GP64()), Load(Param("n"), GP64())
	zero := s.vector()
	s.zero(zero)
	s.sweep(n, func(i reg.Register, v int, tail reg.Register) {
		x := s.load(s.at(z, i, v), tail)
		VMAXPS(x, zero, x)
		s.store(x, s.at(h, i, v), tail)
	})
	VZEROUPPER()
	RET()
}

func (s simd) reluMask() {
	s.begin("reluMask", "func(h, d *float32, n int)", "reluMaskGo.")
	h, d, n := Load(Param("h"), GP64()), Load(Param("d"), GP64()), Load(Param("n"), GP64())
	const above = 6 // not less or equal: true of NaN
	zero := s.vector()
	s.zero(zero)
	s.sweep(n, func(i reg.Register, v int, tail reg.Register) {
		x, y := s.load(s.at(h, i, v), tail), s.load(s.at(d, i, v), tail)
		if s.masks {
			live := K()
			VCMPPS(Imm(above), zero, x, live)
			VMOVUPS_Z(y, live, y)
		} else {
			VCMPPS(Imm(above), zero, x, x)
			VANDPS(x, y, y)
		}
		s.store(y, s.at(d, i, v), tail)
	})
	VZEROUPPER()
	RET()
}
