package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// chains is the number of running sums: a multiply-add takes four cycles and two
// start in each, so that eight are under way; the rest is reserve.
const chains = 12

// peak makes the loops of peak_amd64.s, which do nothing but multiply and add.
func peak() {
	for _, s := range sets {
		s.peak()
	}
}

// peak is n rounds of a = a*c + c for every chain, c one half: a tends to one.
func (s simd) peak() {
	TEXT("peak"+s.name, NOSPLIT, "func(n int)")
	n := arg("n")
	c := s.vector()
	half := GP32()
	MOVL(U32(0x3f000000), half)
	x := XMM()
	MOVD(half, x)
	VBROADCASTSS(x, c)
	sums := s.vectors(chains)
	for _, a := range sums {
		VMOVUPS(c, a)
	}
	Label("round")
	for _, a := range sums {
		VFMADD213PS(c, c, a)
	}
	DECQ(n)
	JNZ(LabelRef("round"))
	end()
}
