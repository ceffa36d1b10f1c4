package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The sizes that conv.go knows too: examples side by side, in bytes, and the channels
// of a tile.
const (
	laneBytes = 16 * 4
	tile      = 5
)

// conv makes the loops of conv_amd64.s.
func conv() {
	avx512.convRow("convRow512", 4)
	avx2.convRow("convRow256", 1)
	convGrad512()
	convGrad256()
	avx512.pool("pool512")
	avx2.pool("pool256")
	avx512.unpool("unpool512")
	avx2.unpool("unpool256")
}

// convRow keeps a tile of channels times some positions in registers; positions that
// are left over go one by one.
func (s simd) convRow(name string, positions int) {
	begin(name, "func(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)",
		name+" is ConvRow; ldc is in bytes, and without start the sums begin at c.")
	c, ldc, start, b, n := arg("c"), arg("ldc"), arg("start"), arg("b"), arg("n")
	at := strided(ldc)
	for _, p := range []int{positions, 1} {
		label := fmt.Sprintf("p%d", p)
		Label(label)
		CMPQ(n, Imm(uint64(p)))
		JL(LabelRef("end" + label))
		s.convTile(label, p, at, c, start, b)
		ADDQ(U32(p*laneBytes), c)
		ADDQ(U32(p*laneBytes), b)
		SUBQ(Imm(uint64(p)), n)
		JMP(LabelRef(label))
		Label("end" + label)
		if positions == 1 {
			break
		}
	}
	end()
}

func (s simd) convTile(label string, positions int, at func(m Mem, i int) Mem, c, start, b GPVirtual) {
	w := s.bytes()
	across := positions * laneBytes / w
	acc, x, weight := s.vectors(tile*across), s.vectors(across), s.vector()
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
		VMOVUPS(at(Mem{Base: c, Disp: i % across * w}, i/across), acc[i])
	}
	Label("go" + label)
	a, off, k, from := arg("a"), arg("off"), arg("k"), GP64()
	countdown("k"+label, k, func() {
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
	})
	for i := range acc {
		VMOVUPS(acc[i], at(Mem{Base: c, Disp: i % across * w}, i/across))
	}
}

const gradSignature = "func(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int)"

// rowLoop runs body over the positions of all rows; d and b are at the position.
func rowLoop(label string, d, b GPVirtual, body func()) {
	n, rows, dStep, bStep, left := arg("n"), arg("rows"), arg("dRow"), arg("bRow"), GP64()
	MOVQ(n, left)
	SHLQ(Imm(6), left)
	SUBQ(left, dStep)
	SUBQ(left, bStep)
	countdown("row"+label, rows, func() {
		MOVQ(n, left)
		countdown("x"+label, left, func() {
			body()
			ADDQ(Imm(laneBytes), d)
			ADDQ(Imm(laneBytes), b)
		})
		ADDQ(dStep, d)
		ADDQ(bStep, b)
	})
}

// convGrad512 keeps a tile of channels times five offsets in registers.
func convGrad512() {
	begin("convGrad512", gradSignature, "convGrad512 is ConvGrad; ldd, dRow and bRow are in bytes.")
	d, ldd, b := arg("d"), arg("ldd"), arg("b")
	at := strided(ldd)
	acc, delta, x := avx512.vectors(tile*tile), avx512.vectors(tile), ZMM()
	offsets, from := arg("off"), many(GP64, tile)
	for k := range from {
		MOVLQSX(Mem{Base: offsets, Disp: 4 * k}, from[k])
	}
	avx512.zero(acc...)
	rowLoop("", d, b, func() {
		for m := range delta {
			VMOVUPS(at(Mem{Base: d}, m), delta[m])
		}
		for k := range from {
			VMOVUPS(Mem{Base: b, Index: from[k], Scale: 4}, x)
			for m := range delta {
				VFMADD231PS(delta[m], x, acc[k*tile+m])
			}
		}
	})
	for _, v := range acc {
		high := YMM()
		VEXTRACTF64X4(Imm(1), v, high)
		VADDPS(high, v.AsY(), v.AsY())
	}
	addSums(arg("dw"), acc, true, 0)
	end()
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
	end()
}

// convGradPass adds up for the offsets ks, each in the half of the lanes at its disp.
func convGradPass(label string, ks, disps []int) {
	d, ldd, b, offsets := arg("d"), arg("ldd"), arg("b"), arg("off")
	at := strided(ldd)
	from := many(GP64, len(ks))
	for i, k := range ks {
		MOVLQSX(Mem{Base: offsets, Disp: 4 * k}, from[i])
	}
	acc, x, delta := avx2.vectors(len(ks)*tile), avx2.vectors(len(ks)), YMM()
	avx2.zero(acc...)
	rowLoop(label, d, b, func() {
		for i := range ks {
			VMOVUPS(Mem{Base: b, Index: from[i], Scale: 4, Disp: disps[i]}, x[i])
		}
		for m := range tile {
			for i := range ks {
				if i == 0 || disps[i] != disps[0] {
					VMOVUPS(at(Mem{Base: d, Disp: disps[i]}, m), delta)
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
func addSums(g GPVirtual, v []VecVirtual, wide bool, disp int) {
	high, low := XMM(), XMM()
	for _, s := range v {
		if wide {
			VEXTRACTF32X4(Imm(1), s.AsY(), high)
		} else {
			VEXTRACTF128(Imm(1), s.AsY(), high)
		}
		VADDPS(high, s.AsX(), s.AsX())
	}
	pair := func(a, b Register, low, sum Register) { // a02 b02 a13 b13
		VUNPCKLPS(b, a, low)
		VUNPCKHPS(b, a, sum)
		VADDPS(low, sum, sum)
	}
	for len(v) > 0 {
		w := []Register{v[0].AsX(), v[0].AsX(), v[0].AsX(), v[0].AsX()}
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
