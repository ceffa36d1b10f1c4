package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// nonzeros is Nonzeros, 64 bytes at a time: the bytes that are not zero are moved
// together, and their places with them, then both are widened, 16 at a time. At least
// 32 are written, and the next 64 bytes write behind those that count.
func nonzeros() {
	places := GLOBL("places", RODATA|NOPTR)
	for i := range 64 {
		DATA(i, U8(i))
	}
	begin("nonzerosVBMI2", "func(x *uint8, n int, mul float32, idx *uint32, val *float32) int")
	x, n := arg("x"), arg("n")
	mul := ZMM()
	VBROADCASTSS(number("mul"), mul)
	idx, val := arg("idx"), arg("val")
	place, base, step := ZMM(), ZMM(), ZMM()
	VMOVDQU8(places, place)
	VPXORQ(base, base, base)
	found, ones, most := GP64(), GP64(), GP64()
	XORQ(found, found)
	MOVQ(I32(-1), ones)
	MOVQ(U32(64), most)
	VPBROADCASTD(most.As32(), step)

	Label("chunk")
	TESTQ(n, n)
	JLE(LabelRef("done"))
	room, lanes := GP64(), K()
	MOVQ(n, room)
	CMPQ(room, most)
	CMOVQGT(most, room)
	BZHIQ(room, ones, room)
	KMOVQ(room, lanes)
	bytes, at := ZMM(), ZMM()
	VMOVDQU8_Z(Mem{Base: x}, lanes, bytes)
	VPTESTMB(bytes, bytes, lanes)
	KMOVQ(lanes, room)
	POPCNTQ(room, room)
	VPCOMPRESSB_Z(bytes, lanes, bytes)
	VPCOMPRESSB_Z(place, lanes, at)
	for g := range 4 {
		if g == 2 {
			CMPQ(room, Imm(32))
			JLE(LabelRef("next"))
		}
		v, j, part := ZMM(), ZMM(), XMM()
		VEXTRACTI32X4(Imm(uint64(g)), bytes, part)
		VPMOVZXBD(part, v)
		VCVTDQ2PS(v, v)
		VMULPS(mul, v, v)
		VMOVUPS(v, Mem{Base: val, Index: found, Scale: 4, Disp: 64 * g})
		VEXTRACTI32X4(Imm(uint64(g)), at, part)
		VPMOVZXBD(part, j)
		VPADDD(base, j, j)
		VMOVDQU32(j, Mem{Base: idx, Index: found, Scale: 4, Disp: 64 * g})
	}
	Label("next")
	ADDQ(room, found)
	VPADDD(step, base, base)
	ADDQ(Imm(64), x)
	SUBQ(Imm(64), n)
	JMP(LabelRef("chunk"))
	Label("done")
	Store(found, ReturnIndex(0))
	end()
}

// nonzerosAVX2 is Nonzeros of n bytes, a multiple of 8, eight at a time: a table says for each set
// of eight bytes in which places those that are not zero lie, first to last; they and their places
// are moved together by it. Eight are written, and the next write behind those that count.
func nonzerosAVX2() {
	places := GLOBL("placesOf", RODATA|NOPTR)
	for set := range 256 {
		at := 8 * set
		for i := range 8 {
			if set>>i&1 == 1 {
				DATA(at, U8(i))
				at++
			}
		}
		for ; at < 8*set+8; at++ {
			DATA(at, U8(0))
		}
	}
	begin("nonzerosAVX2", "func(x *uint8, n int, mul float32, idx *uint32, val *float32) int")
	x, n := arg("x"), arg("n")
	mul := YMM()
	VBROADCASTSS(number("mul"), mul)
	idx, val := arg("idx"), arg("val")
	table, j, found, word := GP64(), GP64(), GP64(), GP64()
	LEAQ(places, table)
	XORQ(j, j)
	XORQ(found, found)
	zero, lanes, set := XMM(), XMM(), GP32()
	VPXOR(zero, zero, zero)

	Label("word")
	CMPQ(j, n)
	JGE(LabelRef("done"))
	MOVQ(Mem{Base: x, Index: j, Scale: 1}, word)
	TESTQ(word, word)
	JZ(LabelRef("next"))
	base, place, v := YMM(), YMM(), YMM()
	VMOVQ(word, lanes)
	VPMOVZXBD(lanes, v)
	VPCMPEQB(zero, lanes, lanes)
	VPMOVMSKB(lanes, set)
	XORL(U32(0xffff), set) // the upper eight bytes are zero
	VPMOVZXBD(Mem{Base: table, Index: set.As64(), Scale: 8}, place)
	VPERMD(v, place, v)
	VCVTDQ2PS(v, v)
	VMULPS(mul, v, v)
	VMOVUPS(v, Mem{Base: val, Index: found, Scale: 4})
	VMOVD(j.As32(), base.AsX())
	VPBROADCASTD(base.AsX(), base)
	VPADDD(base, place, place)
	VMOVDQU(place, Mem{Base: idx, Index: found, Scale: 4})
	POPCNTL(set, set)
	ADDQ(set.As64(), found)
	Label("next")
	ADDQ(Imm(8), j)
	JMP(LabelRef("word"))
	Label("done")
	Store(found, ReturnIndex(0))
	end()
}

// widen is Widen of n bytes, a multiple of the vector's lanes.
func (s simd) widen() {
	begin("widen"+s.name, "func(x *uint8, mul, add, y *float32, n int)")
	x, mul, add := arg("x"), arg("mul"), arg("add")
	y, n, i := arg("y"), arg("n"), GP64()
	XORQ(i, i)
	Label("vector")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	v := s.vector()
	VPMOVZXBD(Mem{Base: x, Index: i, Scale: 1}, v)
	VCVTDQ2PS(v, v)
	VMULPS(Mem{Base: mul, Index: i, Scale: 4}, v, v)
	VADDPS(Mem{Base: add, Index: i, Scale: 4}, v, v)
	VMOVUPS(v, Mem{Base: y, Index: i, Scale: 4})
	ADDQ(U32(s.width), i)
	JMP(LabelRef("vector"))
	Label("done")
	end()
}
