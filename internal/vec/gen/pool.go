package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Comparisons of VCMPPS: a quiet NaN is equal to nothing, and not less than anything.
const (
	equal        = 0x00
	atMost       = 0x12
	notAtMost    = 0x16
	notLess      = 0x15
	minusInf     = 0xff800000
	one          = 0x3f800000
	minusOne     = 0xbf800000
	windowsSigns = "func(out, win, z, scale *float32, n, p, row int)"
	unpoolSigns  = "func(dz, d, win, scale, sum *float32, n, p, row int)"
)

// broadcast is a vector of one number, given as its bits.
func (s simd) broadcast(bits uint32) VecVirtual {
	g, x := GP32(), s.vector()
	MOVL(U32(bits), g)
	VMOVD(g, x.AsX())
	VBROADCASTSS(x.AsX(), x)
	return x
}

// where takes from yes where p holds of x and y, and leaves the rest of z as it is.
func (s simd) where(p uint64, x, y, yes, z VecVirtual) {
	if s.masks {
		k := K()
		VCMPPS(Imm(p), y, x, k)
		VMOVAPS(yes, k, z)
		return
	}
	mask := s.vector()
	VCMPPS(Imm(p), y, x, mask)
	VBLENDVPS(mask, yes, z, z)
}

// windows runs body for each place of p x p windows, the first at place; row is in
// bytes. The places of a window are one behind the other in each of p rows.
func windows(label string, first GPVirtual, body func(place GPVirtual)) {
	p, row, place, dy, dx := arg("p"), arg("row"), GP64(), GP64(), GP64()
	MOVQ(p, dy)
	countdown("y"+label, dy, func() {
		MOVQ(first, place)
		MOVQ(p, dx)
		countdown("x"+label, dx, func() {
			body(place)
			ADDQ(Imm(laneBytes), place)
		})
		ADDQ(row, first)
	})
}

func (s simd) pool(name string) {
	begin(name, windowsSigns, name+" is Pool; row is in bytes.")
	for half := range laneBytes / s.bytes() {
		label, disp := fmt.Sprint(half), half*s.bytes()
		out, win, z, n := arg("out"), arg("win"), arg("z"), arg("n")
		inf, ones, none := s.broadcast(minusInf), s.broadcast(one), s.broadcast(minusOne)
		scale, zero, best, index, winner, x := s.vector(), s.vector(), s.vector(), s.vector(), s.vector(), s.vector()
		VMOVUPS(Mem{Base: arg("scale"), Disp: disp}, scale)
		s.zero(zero)
		step := arg("p")
		SHLQ(Imm(6), step)
		Label("n" + label)
		VMOVAPS(inf, best)
		s.zero(winner)
		s.zero(index)
		first := GP64()
		MOVQ(z, first)
		windows(label, first, func(place GPVirtual) {
			VMOVUPS(Mem{Base: place, Disp: disp}, x)
			s.where(notAtMost, x, best, index, winner)
			s.where(notAtMost, x, best, x, best)
			VADDPS(ones, index, index)
		})
		VMULPS(scale, best, best)
		s.where(atMost, best, zero, none, winner)
		s.where(atMost, best, zero, zero, best)
		VMOVUPS(best, Mem{Base: out, Disp: disp})
		VMOVUPS(winner, Mem{Base: win, Disp: disp})
		ADDQ(Imm(laneBytes), out)
		ADDQ(Imm(laneBytes), win)
		ADDQ(step, z)
		DECQ(n)
		JNZ(LabelRef("n" + label))
	}
	end()
}

func (s simd) unpool(name string) {
	begin(name, unpoolSigns, name+" is Unpool; row is in bytes.")
	for half := range laneBytes / s.bytes() {
		label, disp := fmt.Sprint(half), half*s.bytes()
		dz, d, win, n := arg("dz"), arg("d"), arg("win"), arg("n")
		ones := s.broadcast(one)
		scale, zero, sum, index, winner, delta, x := s.vector(), s.vector(), s.vector(), s.vector(), s.vector(),
			s.vector(), s.vector()
		VMOVUPS(Mem{Base: arg("scale"), Disp: disp}, scale)
		VMOVUPS(Mem{Base: arg("sum"), Disp: disp}, sum)
		s.zero(zero)
		step := arg("p")
		SHLQ(Imm(6), step)
		Label("n" + label)
		VMULPS(Mem{Base: d, Disp: disp}, scale, delta)
		VMOVUPS(Mem{Base: win, Disp: disp}, winner)
		VMOVAPS(zero, x)
		s.where(notLess, winner, zero, delta, x)
		VADDPS(x, sum, sum)
		s.zero(index)
		first := GP64()
		MOVQ(dz, first)
		windows(label, first, func(place GPVirtual) {
			VMOVAPS(zero, x)
			s.where(equal, winner, index, delta, x)
			VMOVUPS(x, Mem{Base: place, Disp: disp})
			VADDPS(ones, index, index)
		})
		ADDQ(Imm(laneBytes), d)
		ADDQ(Imm(laneBytes), win)
		ADDQ(step, dz)
		DECQ(n)
		JNZ(LabelRef("n" + label))
		VMOVUPS(sum, Mem{Base: arg("sum"), Disp: disp})
	}
	end()
}
