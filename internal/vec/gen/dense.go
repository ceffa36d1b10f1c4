package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dense makes the loops of dense_amd64.s. With AVX-512 a mask ends them at any n;
// with AVX2 n is a multiple of what a vector holds, and the caller does the rest.
func dense() {
	fetch("fetchLines", "float32", 16, "fetchLines asks for the n > 0 numbers at x, to have them in the cache later.")
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

// fetch makes a loop that asks for the n numbers at x, perLine of them in a cache line.
func fetch(name, of string, perLine uint64, doc ...string) {
	begin(name, "func(x *"+of+", n int)", doc...)
	x, n := arg("x"), arg("n")
	Label("line")
	PREFETCHT0(Mem{Base: x})
	ADDQ(Imm(64), x)
	SUBQ(Imm(perLine), n)
	JG(LabelRef("line"))
	RET()
}

// sweep makes the loops over n numbers: body gets where its vector begins, in floats
// from i on, its number of the four in flight, and the mask of a tail, else nil.
func (s simd) sweep(n Register, body func(i Register, v int, tail Register)) {
	i := GP64()
	XORQ(i, i)
	SUBQ(Imm(uint64(s.bytes())), n)
	JLT(LabelRef("ones"))
	Label("fours")
	for v := range 4 {
		body(i, v, nil)
	}
	ADDQ(Imm(uint64(s.bytes())), i)
	SUBQ(Imm(uint64(s.bytes())), n)
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
		body(i, 0, s.lanes(n)[0])
	}
	Label("done")
}

// at is the v-th vector of p from float i on.
func (s simd) at(p, i Register, v int) Mem {
	return Mem{Base: p, Index: i, Scale: 4, Disp: s.bytes() * v}
}

func (s simd) dot() {
	begin("dot"+s.name, "func(x, y *float32, n int) float32", "dot"+s.name+" is dotGo.")
	x, y, n := arg("x"), arg("y"), arg("n")
	sum := s.vectors(4)
	s.zero(sum...)
	s.sweep(n, func(i Register, v int, tail Register) {
		VFMADD231PS(s.load(s.at(x, i, v), tail), s.load(s.at(y, i, v), tail), sum[v])
	})
	VADDPS(sum[1], sum[0], sum[0])
	VADDPS(sum[3], sum[2], sum[2])
	VADDPS(sum[2], sum[0], sum[0])
	part := s.fold(VADDPS, sum[0])
	VHADDPS(part, part, part)
	VHADDPS(part, part, part)
	Store(part, ReturnIndex(0))
	end()
}

func (s simd) axpy() {
	begin("axpy"+s.name, "func(a float32, x, y *float32, n int)", "axpy"+s.name+" is axpyGo.")
	x, y, n := arg("x"), arg("y"), arg("n")
	a := s.spread("a")
	s.sweep(n, func(i Register, v int, tail Register) {
		to := s.at(y, i, v)
		sum := s.load(to, tail)
		VFMADD231PS(s.load(s.at(x, i, v), tail), a, sum)
		s.store(sum, to, tail)
	})
	end()
}

func (s simd) scale() {
	begin("scale"+s.name, "func(a float32, x *float32, n int)", "scale"+s.name+" is scaleGo.")
	x, n := arg("x"), arg("n")
	a := s.spread("a")
	s.sweep(n, func(i Register, v int, tail Register) {
		y := s.load(s.at(x, i, v), tail)
		VMULPS(a, y, y)
		s.store(y, s.at(x, i, v), tail)
	})
	end()
}

// relu relies on the maximum with a NaN being its second operand, as the manual says,
// which is z here (and first in Go's order).
func (s simd) relu() {
	begin("relu"+s.name, "func(z, h *float32, n int)", "relu"+s.name+" is reluGo.")
	z, h, n := arg("z"), arg("h"), arg("n")
	zero := s.vector()
	s.zero(zero)
	s.sweep(n, func(i Register, v int, tail Register) {
		x := s.load(s.at(z, i, v), tail)
		VMAXPS(x, zero, x)
		s.store(x, s.at(h, i, v), tail)
	})
	end()
}

func (s simd) reluMask() {
	begin("reluMask"+s.name, "func(h, d *float32, n int)", "reluMask"+s.name+" is reluMaskGo.")
	h, d, n := arg("h"), arg("d"), arg("n")
	const above = 6 // not less or equal: true of NaN
	zero := s.vector()
	s.zero(zero)
	s.sweep(n, func(i Register, v int, tail Register) {
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
	end()
}
