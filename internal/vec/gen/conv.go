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
	avx512.convGradPass("", []int{0, 1, 2, 3, 4}, make([]int, tile))
	end()
}

// convGrad256 has registers for ten sums: of two offsets in half of the lanes, or of the
// last offset in all of them.
func convGrad256() {
	begin("convGrad256", gradSignature, "convGrad256 is ConvGrad; ldd, dRow and bRow are in bytes.")
	for k := 0; k+1 < tile; k += 2 {
		for _, half := range []int{0, 32} {
			avx2.convGradPass(fmt.Sprint(k, "h", half), []int{k, k + 1}, []int{half, half})
		}
	}
	avx2.convGradPass("last", []int{tile - 1, tile - 1}, []int{0, 32})
	end()
}

// convGradPass adds up for the offsets ks, each in the vector of the lanes at its disp.
func (s simd) convGradPass(label string, ks, disps []int) {
	d, ldd, b, offsets := arg("d"), arg("ldd"), arg("b"), arg("off")
	at := strided(ldd)
	from := many(GP64, len(ks))
	for i, k := range ks {
		MOVLQSX(Mem{Base: offsets, Disp: 4 * k}, from[i])
	}
	acc, x, delta := s.vectors(len(ks)*tile), s.vectors(len(ks)), s.vector()
	s.zero(acc...)
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
		s.addSums(Mem{Base: arg("dw"), Disp: 4 * tile * k}, acc[i*tile:(i+1)*tile])
	}
}

// addSums adds the sum of the numbers in each of tile vectors to one number at g. Above
// register 15 there are no horizontal additions, so four sums are made by shuffles.
func (s simd) addSums(g Mem, v []VecVirtual) {
	high, low := XMM(), XMM()
	for _, sum := range v {
		if s.masks {
			half := YMM()
			VEXTRACTF64X4(Imm(1), sum, half)
			VADDPS(half, sum.AsY(), sum.AsY())
			VEXTRACTF32X4(Imm(1), sum.AsY(), high)
		} else {
			VEXTRACTF128(Imm(1), sum.AsY(), high)
		}
		VADDPS(high, sum.AsX(), sum.AsX())
	}
	pair := func(a, b VecVirtual, sum Register) { // a02 b02 a13 b13
		VUNPCKLPS(b.AsX(), a.AsX(), low)
		VUNPCKHPS(b.AsX(), a.AsX(), sum)
		VADDPS(low, sum, sum)
	}
	pair(v[0], v[1], high)
	pair(v[2], v[3], v[2].AsX())
	VSHUFPS(Imm(0x44), v[2].AsX(), high, low)
	VSHUFPS(Imm(0xee), v[2].AsX(), high, high)
	VADDPS(low, high, high)
	VADDPS(g, high, high)
	VMOVUPS(high, g)
	g.Disp += 16
	pair(v[4], v[4], high)
	VSHUFPS(Imm(0xee), high, high, low)
	VADDSS(low, high, high)
	VADDSS(g, high, high)
	VMOVSS(high, g)
}
