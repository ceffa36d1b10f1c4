package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// factor makes the loops of factor_amd64.s: FactorSteps for rows of up to 16, 32, 48
// and 64 numbers.
func factor() {
	for _, vectors := range []int{1, 2, 3, 4} {
		factorSteps(vectors)
	}
}

const near, far = 12, 64

// factorSteps is FactorSteps. Both rows of a pair lie in registers from the load to
// the store; mask says which lanes of the last vector are theirs. Entries are fetched
// far pairs ahead, and the factors of those that are near; rows has known of them, n of
// which are done. It returns how many it did: fewer when one is outside w.
func factorSteps(vectors int) {
	TEXT(fmt.Sprintf("factorAVX512x%d", vectors), NOSPLIT, "func(rows *int32, n, known int, idx *uint32, y *float32, entries int, "+
		"w *float32, nodes int, bias *float32, k int, mask uint32, mean, keep, rate float32) (done int, loss float64)")
	Pragma("noescape")
	load := func(name string) GPVirtual {
		r := GP64()
		Load(Param(name), r)
		return r
	}
	rows, n, idx, y, entries := load("rows"), load("n"), load("idx"), load("y"), load("entries")
	w, nodes, bias, stride := load("w"), load("nodes"), load("bias"), load("k")
	SHLQ(Imm(2), stride)

	lanes, bits := K(), GP32()
	Load(Param("mask"), bits)
	KMOVW(bits, lanes)
	keep := ZMM()
	known, err := Param("known").Resolve()
	if err != nil {
		panic(err)
	}
	number := func(name string) Mem {
		p, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return p.Addr
	}
	VBROADCASTSS(number("keep"), keep)
	mean, rate, loss := XMM(), XMM(), XMM()
	VMOVSS(number("mean"), mean)
	VMOVSS(number("rate"), rate)
	VXORPD(loss, loss, loss)

	i, r, u, v := GP64(), GP64(), GP64(), GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))

	// ahead is the entry that comes so many pairs later, or where none does, this one.
	ahead := func(by int, otherwise string) {
		LEAQ(Mem{Base: i, Disp: by}, r)
		CMPQ(r, known.Addr)
		CMOVQGE(i, r)
		MOVL(Mem{Base: rows, Index: r, Scale: 4}, r.As32())
		CMPQ(r, entries)
		JAE(LabelRef(otherwise))
	}
	ahead(far, "near")
	PREFETCHT0(Mem{Base: idx, Index: r, Scale: 8})
	PREFETCHT0(Mem{Base: y, Index: r, Scale: 4})
	Label("near")
	ahead(near, "fetched")
	for end := range 2 {
		MOVL(Mem{Base: idx, Index: r, Scale: 8, Disp: 4 * end}, u.As32())
		IMULQ(stride, u)
		for line := 0; line < 64*vectors; line += 64 {
			PREFETCHT0(Mem{Base: w, Index: u, Scale: 1, Disp: line})
		}
	}

	Label("fetched")

	MOVL(Mem{Base: rows, Index: i, Scale: 4}, r.As32())
	CMPQ(r, entries)
	JAE(LabelRef("done"))
	MOVL(Mem{Base: idx, Index: r, Scale: 8}, u.As32())
	MOVL(Mem{Base: idx, Index: r, Scale: 8, Disp: 4}, v.As32())
	CMPQ(u, nodes)
	JAE(LabelRef("done"))
	CMPQ(v, nodes)
	JAE(LabelRef("done"))

	miss := XMM()
	VSUBSS(Mem{Base: y, Index: r, Scale: 4}, mean, miss)
	TESTQ(bias, bias)
	JZ(LabelRef("plain"))
	VADDSS(Mem{Base: bias, Index: u, Scale: 4}, miss, miss)
	VADDSS(Mem{Base: bias, Index: v, Scale: 4}, miss, miss)
	Label("plain")

	pu, pv := r, GP64()
	MOVQ(u, pu)
	IMULQ(stride, pu)
	ADDQ(w, pu)
	MOVQ(v, pv)
	IMULQ(stride, pv)
	ADDQ(w, pv)
	p, q := make([]VecVirtual, vectors), make([]VecVirtual, vectors)
	sum := ZMM()
	for c := range vectors {
		p[c], q[c] = ZMM(), ZMM()
		if c == vectors-1 {
			VMOVUPS_Z(Mem{Base: pu, Disp: 64 * c}, lanes, p[c])
			VMOVUPS_Z(Mem{Base: pv, Disp: 64 * c}, lanes, q[c])
		} else {
			VMOVUPS(Mem{Base: pu, Disp: 64 * c}, p[c])
			VMOVUPS(Mem{Base: pv, Disp: 64 * c}, q[c])
		}
		if c == 0 {
			VMULPS(p[c], q[c], sum)
		} else {
			VFMADD231PS(p[c], q[c], sum)
		}
	}
	half := YMM()
	VEXTRACTF64X4(Imm(1), sum, half)
	VADDPS(half, sum.AsY(), sum.AsY())
	VEXTRACTF128(Imm(1), sum.AsY(), half.AsX())
	VADDPS(half.AsX(), sum.AsX(), sum.AsX())
	VPERMILPD(Imm(1), sum.AsX(), half.AsX())
	VADDPS(half.AsX(), sum.AsX(), sum.AsX())
	VMOVSHDUP(sum.AsX(), half.AsX())
	VADDSS(half.AsX(), sum.AsX(), sum.AsX())
	VADDSS(sum.AsX(), miss, miss)

	step := ZMM()
	VMULSS(rate, miss, step.AsX())
	TESTQ(bias, bias)
	JZ(LabelRef("unbiased"))
	b := XMM()
	for _, end := range []Register{u, v} {
		VADDSS(Mem{Base: bias, Index: end, Scale: 4}, step.AsX(), b)
		VMOVSS(b, Mem{Base: bias, Index: end, Scale: 4})
	}
	Label("unbiased")
	VBROADCASTSS(step.AsX(), step)
	moved := ZMM()
	for c := range vectors {
		for _, row := range []struct {
			at          Register
			mine, other VecVirtual
		}{{pu, p[c], q[c]}, {pv, q[c], p[c]}} {
			VMULPS(keep, row.mine, moved)
			VFMADD231PS(step, row.other, moved)
			if c == vectors-1 {
				VMOVUPS(moved, lanes, Mem{Base: row.at, Disp: 64 * c})
			} else {
				VMOVUPS(moved, Mem{Base: row.at, Disp: 64 * c})
			}
		}
	}
	VCVTSS2SD(miss, miss, miss)
	VFMADD231SD(miss, miss, loss)
	INCQ(i)
	JMP(LabelRef("loop"))

	Label("done")
	Store(i, ReturnIndex(0))
	Store(loss, ReturnIndex(1))
	VZEROUPPER()
	RET()
}
