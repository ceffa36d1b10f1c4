package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chains is the number of running sums: a multiply-add takes four cycles and two
// start in each, so that eight are under way; the rest is reserve.
const chains = 12

// peak makes the loops of peak_amd64.s, which do nothing but multiply and add.
func peak() {
	fmaLoop("peakAVX2", func() reg.VecVirtual { return YMM() })
	fmaLoop("peakAVX512", func() reg.VecVirtual { return ZMM() })
}

// fmaLoop is n rounds of a = a*c + c for every chain, c one half: a tends to one.
func fmaLoop(name string, vector func() reg.VecVirtual) {
	TEXT(name, NOSPLIT, "func(n int)")
	n := Load(Param("n"), GP64())
	c := vector()
	half := GP32()
	MOVL(U32(0x3f000000), half)
	x := XMM()
	MOVD(half, x)
	VBROADCASTSS(x, c)
	sums := make([]reg.VecVirtual, chains)
	for i := range sums {
		sums[i] = vector()
		VMOVUPS(c, sums[i])
	}
	Label("round")
	for _, a := range sums {
		VFMADD213PS(c, c, a)
	}
	DECQ(n)
	JNZ(LabelRef("round"))
	VZEROUPPER()
	RET()
}
