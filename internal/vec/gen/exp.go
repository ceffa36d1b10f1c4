package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// exponential computes exp(x) in float64: x = n ln 2 + r with |r| <= ln(2)/2, and exp(r) by its
// series up to r^12, whose next term is below 2e-16. Adding 1.5 * 2^52 rounds to an integer and
// leaves it in the lowest bits, from where a shift brings it to the exponent. ln 2 is in two parts,
// the first of so few bits that its product with n is exact (as in FreeBSD's e_exp.c).
type exponential struct {
	lowest, perTwo, round, ln2hi, ln2lo Mem
	series                              [13]Mem
}

// constants writes them down, each as often as the widest vector holds it.
func constants() (e exponential) {
	constant := func(name string, v float64) Mem {
		m := GLOBL(name, RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, F64(v))
		}
		return m
	}
	e.lowest, e.perTwo, e.round = constant("lowest", -700), constant("perTwo", math.Log2E), constant("round", 3<<51)
	e.ln2hi, e.ln2lo = constant("ln2hi", 6.93147180369123816490e-01), constant("ln2lo", 1.90821492927058770002e-10)
	for k, f := 0, 1.0; k < len(e.series); k++ {
		e.series[k] = constant(fmt.Sprint("series", k), 1/f)
		f *= float64(k + 1)
	}
	return e
}

// exp is exp(x), and exp(-700) for any smaller x; x is lost.
func (s simd) exp(e exponential, x VecVirtual) VecVirtual {
	t, n, y := s.vector(), s.vector(), s.vector()
	VMOVUPD(e.lowest, t)
	VMAXPD(x, t, x) // NaN stays
	VMOVUPD(e.round, t)
	VFMADD231PD(e.perTwo, x, t)
	VSUBPD(e.round, t, n)
	VFNMADD231PD(e.ln2hi, n, x)
	VFNMADD231PD(e.ln2lo, n, x)
	VMOVUPD(e.series[12], y)
	for k := 11; k >= 0; k-- {
		VFMADD213PD(e.series[k], x, y)
	}
	VPSLLQ(Imm(52), t, t)
	VPADDQ(t, y, y)
	return y
}

// expSum makes the loop of softmax.
func (s simd) expSum(e exponential) {
	n := "a multiple of 4"
	if s.masks {
		n = "any number"
	}
	begin("expSum"+s.name, "func(z *float32, n int, m float32) float64", "expSum"+s.name+" is expSumGo; n is "+n+".")
	z, count := arg("z"), arg("n")
	m, sum := s.vector(), s.vector()
	one := XMM()
	Load(Param("m"), one)
	VCVTSS2SD(one, one, one)
	VBROADCASTSD(one, m)
	s.zero(sum)
	body := func(tail Register) {
		x := s.widened(Mem{Base: z}, tail)
		VSUBPD(m, x, x)
		y := s.exp(e, x)
		if tail != nil {
			VADDPD(y, sum, tail, sum)
		} else {
			VADDPD(y, sum, sum)
		}
		s.narrowed(y, Mem{Base: z}, tail)
	}
	half := uint64(s.width / 2)
	SUBQ(Imm(half), count)
	JLT(LabelRef("tail"))
	Label("loop")
	body(nil)
	ADDQ(Imm(4*half), z)
	SUBQ(Imm(half), count)
	JGE(LabelRef("loop"))
	Label("tail")
	if s.masks {
		ADDQ(Imm(half), count)
		JEQ(LabelRef("done"))
		body(s.lanes(count)[0])
		Label("done")
	}
	s.total(sum)
}

// widened are the float32 at m as float64.
func (s simd) widened(m Mem, tail Register) VecVirtual {
	x := s.vector()
	if tail != nil {
		VMOVUPS_Z(m, tail, x.AsY())
		VCVTPS2PD(x.AsY(), x)
	} else {
		VCVTPS2PD(m, x)
	}
	return x
}

// narrowed writes x, which is lost, to m as float32.
func (s simd) narrowed(x VecVirtual, m Mem, tail Register) {
	switch {
	case !s.masks:
		VCVTPD2PSY(x, x.AsX())
		VMOVUPS(x.AsX(), m)
	case tail == nil:
		VCVTPD2PS(x, x.AsY())
		VMOVUPS(x.AsY(), m)
	default:
		VCVTPD2PS(x, x.AsY())
		VMOVUPS(x.AsY(), tail, m)
	}
}

// total returns the sum of the float64 in v.
func (s simd) total(v VecVirtual) {
	part := s.fold(VADDPD, v)
	VHADDPD(part, part, part)
	Store(part, ReturnIndex(0))
	end()
}
