package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
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
func broadcast(v vector, bits uint32) reg.VecVirtual {
	g, x := GP32(), v()
	MOVL(U32(bits), g)
	VMOVD(g, x.AsX())
	VBROADCASTSS(x.AsX(), x)
	return x
}

// where takes from yes where p holds of x and y, and leaves the rest of z as it is.
func where(v vector, p uint64, x, y, yes, z reg.VecVirtual) {
	if bytes(v) == 64 {
		k := K()
		VCMPPS(Imm(p), y, x, k)
		VMOVAPS(yes, k, z)
		return
	}
	mask := v()
	VCMPPS(Imm(p), y, x, mask)
	VBLENDVPS(mask, yes, z, z)
}

// windows runs body for each place of p x p windows, the first at place; row is in
// bytes. The places of a window are one behind the other in each of p rows.
func windows(label string, first reg.GPVirtual, body func(place reg.GPVirtual)) {
	p, row, place, dy, dx := arg("p"), arg("row"), GP64(), GP64(), GP64()
	MOVQ(p, dy)
	Label("y" + label)
	MOVQ(first, place)
	MOVQ(p, dx)
	Label("x" + label)
	body(place)
	ADDQ(Imm(laneBytes), place)
	DECQ(dx)
	JNZ(LabelRef("x" + label))
	ADDQ(row, first)
	DECQ(dy)
	JNZ(LabelRef("y" + label))
}

func pool(name string, v vector) {
	begin(name, windowsSigns, name+" is Pool; row is in bytes.")
	for half := range laneBytes / bytes(v) {
		label, disp := fmt.Sprint(half), half*bytes(v)
		out, win, z, n := arg("out"), arg("win"), arg("z"), arg("n")
		inf, ones, none := broadcast(v, minusInf), broadcast(v, one), broadcast(v, minusOne)
		scale, zero, best, index, winner, x := v(), v(), v(), v(), v(), v()
		VMOVUPS(Mem{Base: arg("scale"), Disp: disp}, scale)
		xor(zero)
		step := arg("p")
		SHLQ(Imm(6), step)
		Label("n" + label)
		VMOVAPS(inf, best)
		xor(winner)
		xor(index)
		first := GP64()
		MOVQ(z, first)
		windows(label, first, func(place reg.GPVirtual) {
			VMOVUPS(Mem{Base: place, Disp: disp}, x)
			where(v, notAtMost, x, best, index, winner)
			where(v, notAtMost, x, best, x, best)
			VADDPS(ones, index, index)
		})
		VMULPS(scale, best, best)
		where(v, atMost, best, zero, none, winner)
		where(v, atMost, best, zero, zero, best)
		VMOVUPS(best, Mem{Base: out, Disp: disp})
		VMOVUPS(winner, Mem{Base: win, Disp: disp})
		ADDQ(Imm(laneBytes), out)
		ADDQ(Imm(laneBytes), win)
		ADDQ(step, z)
		DECQ(n)
		JNZ(LabelRef("n" + label))
	}
	VZEROUPPER()
	RET()
}

func xor(x reg.VecVirtual) {
	if x.Size() == 64 {
		VPXORD(x, x, x)
		return
	}
	VXORPS(x, x, x)
}

func unpool(name string, v vector) {
	begin(name, unpoolSigns, name+" is Unpool; row is in bytes.")
	for half := range laneBytes / bytes(v) {
		label, disp := fmt.Sprint(half), half*bytes(v)
		dz, d, win, n := arg("dz"), arg("d"), arg("win"), arg("n")
		ones := broadcast(v, one)
		scale, zero, sum, index, winner, delta, x := v(), v(), v(), v(), v(), v(), v()
		VMOVUPS(Mem{Base: arg("scale"), Disp: disp}, scale)
		VMOVUPS(Mem{Base: arg("sum"), Disp: disp}, sum)
		xor(zero)
		step := arg("p")
		SHLQ(Imm(6), step)
		Label("n" + label)
		VMULPS(Mem{Base: d, Disp: disp}, scale, delta)
		VMOVUPS(Mem{Base: win, Disp: disp}, winner)
		VMOVAPS(zero, x)
		where(v, notLess, winner, zero, delta, x)
		VADDPS(x, sum, sum)
		xor(index)
		first := GP64()
		MOVQ(dz, first)
		windows(label, first, func(place reg.GPVirtual) {
			VMOVAPS(zero, x)
			where(v, equal, winner, index, delta, x)
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
	VZEROUPPER()
	RET()
}
