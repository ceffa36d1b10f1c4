package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The sizes that conv.go knows too: examples side by side, in bytes, and the channels
// of a tile.
const (
	laneBytes = 16 * 4
	tile      = 5
)

// conv makes the loops of conv_amd64.s.
func conv() {
	convRow("convRow512", ZMM, 4)
	convRow("convRow256", YMM, 1)
	convGrad512()
	convGrad256()
	pool("pool512", ZMM)
	pool("pool256", YMM)
	unpool("unpool512", ZMM)
	unpool("unpool256", YMM)
}

// vector is a kind of register: as many as there are bytes in one.
type vector func() reg.VecVirtual

// bytes is the size of a vector.
func bytes(v vector) int { return int(v().Size()) }

func many[R any](register func() R, n int) []R {
	all := make([]R, n)
	for i := range all {
		all[i] = register()
	}
	return all
}

func arg(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

func begin(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}

// channels are the addresses of tile channels, stride bytes apart, from base on.
func channels(base, stride reg.GPVirtual) func(m, disp int) Mem {
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	return func(m, disp int) Mem {
		switch m {
		case 0:
			return Mem{Base: base, Disp: disp}
		case 3:
			return Mem{Base: base, Index: three, Scale: 1, Disp: disp}
		}
		return Mem{Base: base, Index: stride, Scale: uint8(m), Disp: disp}
	}
}

// convRow keeps a tile of channels times some positions in registers; positions that
// are left over go one by one.
func convRow(name string, v vector, positions int) {
	begin(name, "func(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)",
		name+" is ConvRow; ldc is in bytes, and without start the sums begin at c.")
	c, ldc, start, b, n := arg("c"), arg("ldc"), arg("start"), arg("b"), arg("n")
	at := channels(c, ldc)
	for _, p := range []int{positions, 1} {
		label := fmt.Sprintf("p%d", p)
		Label(label)
		CMPQ(n, Imm(uint64(p)))
		JL(LabelRef("end" + label))
		convTile(label, v, p, at, start, b)
		ADDQ(U32(p*laneBytes), c)
		ADDQ(U32(p*laneBytes), b)
		SUBQ(Imm(uint64(p)), n)
		JMP(LabelRef(label))
		Label("end" + label)
		if positions == 1 {
			break
		}
	}
	VZEROUPPER()
	RET()
}

func convTile(label string, v vector, positions int, at func(m, disp int) Mem, start, b reg.GPVirtual) {
	w := bytes(v)
	across := positions * laneBytes / w
	acc, x, weight := many(v, tile*across), many(v, across), v()
	TESTQ(start, start)
	JZ(LabelRef("add" + label))
	for m := range tile {
		VBROADCASTSS(Mem{Base: start, Disp: 4 * m}, acc[m*across])
		for j := 1; j < across; j++ {
			VMOVAPS(acc[m*across], acc[m*across+j])
		}
	}
	JMP(LabelRef("go" + label))
	Label("add" + label)
	for i := range acc {
		VMOVUPS(at(i/across, i%across*w), acc[i])
	}
	Label("go" + label)
	a, off, k, from := arg("a"), arg("off"), arg("k"), GP64()
	Label("k" + label)
	MOVLQSX(Mem{Base: off}, from)
	for j := range x {
		VMOVUPS(Mem{Base: b, Index: from, Scale: 4, Disp: j * w}, x[j])
	}
	for m := range tile {
		VBROADCASTSS(Mem{Base: a, Disp: 4 * m}, weight)
		for j := range x {
			VFMADD231PS(x[j], weight, acc[m*across+j])
		}
	}
	ADDQ(Imm(4*tile), a)
	ADDQ(Imm(4), off)
	DECQ(k)
	JNZ(LabelRef("k" + label))
	for i := range acc {
		VMOVUPS(acc[i], at(i/across, i%across*w))
	}
}

const gradSignature = "func(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int)"

// rowLoop runs body over the positions of all rows; d and b are at the position.
func rowLoop(label string, d, b reg.GPVirtual, body func()) {
	n, rows, dStep, bStep, left := arg("n"), arg("rows"), arg("dRow"), arg("bRow"), GP64()
	MOVQ(n, left)
	SHLQ(Imm(6), left)
	SUBQ(left, dStep)
	SUBQ(left, bStep)
	Label("row" + label)
	MOVQ(n, left)
	Label("x" + label)
	body()
	ADDQ(Imm(laneBytes), d)
	ADDQ(Imm(laneBytes), b)
	DECQ(left)
	JNZ(LabelRef("x" + label))
	ADDQ(dStep, d)
	ADDQ(bStep, b)
	DECQ(rows)
	JNZ(LabelRef("row" + label))
}

// convGrad512 keeps a tile of channels times five offsets in registers.
func convGrad512() {
	begin("convGrad512", gradSignature, "convGrad512 is ConvGrad; ldd, dRow and bRow are in bytes.")
	d, ldd, b := arg("d"), arg("ldd"), arg("b")
	at := channels(d, ldd)
	acc, delta, x := many(ZMM, tile*tile), many(ZMM, tile), ZMM()
	from := make([]reg.GPVirtual, tile)
	offsets := arg("off")
	for k := range from {
		from[k] = GP64()
		MOVLQSX(Mem{Base: offsets, Disp: 4 * k}, from[k])
	}
	for _, v := range acc {
		VPXORD(v, v, v)
	}
	rowLoop("", d, b, func() {
		for m := range delta {
			VMOVUPS(at(m, 0), delta[m])
		}
		for k := range from {
			VMOVUPS(Mem{Base: b, Index: from[k], Scale: 4}, x)
			for m := range delta {
				VFMADD231PS(delta[m], x, acc[k*tile+m])
			}
		}
	})
	var sums []reg.VecVirtual
	for _, v := range acc {
		high := YMM()
		VEXTRACTF64X4(Imm(1), v, high)
		VADDPS(high, v.AsY(), v.AsY())
		sums = append(sums, v)
	}
	addSums(arg("dw"), sums, true, 0)
	VZEROUPPER()
	RET()
}

// convGrad256 has registers for ten sums: of two offsets in half of the lanes, or of the
// last offset in all of them.
func convGrad256() {
	begin("convGrad256", gradSignature, "convGrad256 is ConvGrad; ldd, dRow and bRow are in bytes.")
	for k := 0; k+1 < tile; k += 2 {
		for _, half := range []int{0, 32} {
			convGradPass(fmt.Sprint(k, "h", half), []int{k, k + 1}, []int{half, half})
		}
	}
	convGradPass("last", []int{tile - 1, tile - 1}, []int{0, 32})
	VZEROUPPER()
	RET()
}

// convGradPass adds up for the offsets ks, each in the half of the lanes at its disp.
func convGradPass(label string, ks, disps []int) {
	d, ldd, b, offsets := arg("d"), arg("ldd"), arg("b"), arg("off")
	at := channels(d, ldd)
	from := many(GP64, len(ks))
	for i, k := range ks {
		MOVLQSX(Mem{Base: offsets, Disp: 4 * k}, from[i])
	}
	acc, x, delta := many(YMM, len(ks)*tile), many(YMM, len(ks)), YMM()
	for _, v := range acc {
		VXORPS(v, v, v)
	}
	rowLoop(label, d, b, func() {
		for i := range ks {
			VMOVUPS(Mem{Base: b, Index: from[i], Scale: 4, Disp: disps[i]}, x[i])
		}
		for m := range tile {
			for i := range ks {
				if i == 0 || disps[i] != disps[0] {
					VMOVUPS(at(m, disps[i]), delta)
				}
				VFMADD231PS(delta, x[i], acc[i*tile+m])
			}
		}
	})
	for i, k := range ks {
		addSums(arg("dw"), acc[i*tile:(i+1)*tile], false, 4*tile*k)
	}
}

// addSums adds the sum of the eight numbers in each of v to one number at g. Above
// register 15 there are no horizontal additions, so four sums are made by shuffles.
func addSums(g reg.GPVirtual, v []reg.VecVirtual, wide bool, disp int) {
	high, low := XMM(), XMM()
	for _, s := range v {
		if wide {
			VEXTRACTF32X4(Imm(1), s.AsY(), high)
		} else {
			VEXTRACTF128(Imm(1), s.AsY(), high)
		}
		VADDPS(high, s.AsX(), s.AsX())
	}
	pair := func(a, b reg.Register, low, sum reg.Register) { // a02 b02 a13 b13
		VUNPCKLPS(b, a, low)
		VUNPCKHPS(b, a, sum)
		VADDPS(low, sum, sum)
	}
	for len(v) > 0 {
		w := []reg.Register{v[0].AsX(), v[0].AsX(), v[0].AsX(), v[0].AsX()}
		for i := range min(4, len(v)) {
			w[i] = v[i].AsX()
		}
		pair(w[0], w[1], low, high)
		pair(w[2], w[3], low, w[2])
		VSHUFPS(Imm(0x44), w[2], high, low)
		VSHUFPS(Imm(0xee), w[2], high, high)
		VADDPS(low, high, high)
		if len(v) < 4 { // what is left over is one: v is as long as a multiple of four, and one
			VADDSS(Mem{Base: g, Disp: disp}, high, high)
			VMOVSS(high, Mem{Base: g, Disp: disp})
			return
		}
		VADDPS(Mem{Base: g, Disp: disp}, high, high)
		VMOVUPS(high, Mem{Base: g, Disp: disp})
		v, disp = v[4:], disp+16
	}
}
