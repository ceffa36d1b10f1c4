package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// What linear.go has of its own for dense rows: their numbers lie side by side, and so do the
// weights, so that eight go at once. What the row before has stored by eights is loaded by eights.

// fetchDense is fetchRow of dense rows. Of a long one it asks for the first lines: from there on the
// processor sees by itself where this leads.
func fetchDense(soon, width Register) {
	const line, most = 64, 256 // bytes, and numbers
	number, at, n := GP64(), GP64(), GP64()
	MOVLQSX(Mem{Base: soon, Disp: 4 * lead}, number)
	y, val := arg("y"), arg("val")
	PREFETCHT0(Mem{Base: y, Index: number, Scale: 4})
	MOVLQSX(Mem{Base: soon}, at)
	ADDQ(Imm(4), soon)
	IMULQ(width, at)
	LEAQ(Mem{Base: val, Index: at, Scale: 4}, at)
	MOVL(U32(most), n.As32())
	CMPQ(width, n)
	CMOVQLT(width, n)
	Label("fetch")
	PREFETCHT1(Mem{Base: at})
	ADDQ(Imm(line), at)
	SUBQ(Imm(line/4), n)
	JG(LabelRef("fetch"))
	PREFETCHT1(Mem{Base: at, Index: n, Scale: 4, Disp: -4}) // the last number's line
}

// eights goes over the row by eights from i on, which it leaves behind them.
func (r row) eights(name string, i Register, body func()) {
	SUBQ(Imm(8), r.n)
	JMP(LabelRef(name + "Test"))
	Label(name)
	body()
	ADDQ(Imm(8), i)
	Label(name + "Test")
	CMPQ(i, r.n)
	JLE(LabelRef(name))
	ADDQ(Imm(8), r.n)
}

// dotMany is the sum over the eights of a row, in four vectors while there are 32 numbers.
func (r row) dotMany(i Register) Register {
	sums, v := avx2.vectors(4), YMM()
	for _, sum := range sums {
		VXORPS(sum, sum, sum)
	}
	add := func(k int) {
		VMOVUPS(r.value(i, 8*k), v)
		VFMADD231PS(r.weight(i, nil, 8*k), v, sums[k])
	}
	SUBQ(Imm(32), r.n)
	JL(LabelRef("dot32Done"))
	Label("dot32")
	for k := range sums {
		add(k)
	}
	ADDQ(Imm(32), i)
	CMPQ(i, r.n)
	JLE(LabelRef("dot32"))
	Label("dot32Done")
	ADDQ(Imm(32), r.n)
	r.eights("dot8", i, func() { add(0) })
	for k := 3; k > 0; k-- { // the first, which is the last to be complete, last
		VADDPS(sums[k], sums[k-1], sums[k-1])
	}
	sum := avx2.fold(VADDPS, sums[0])
	foldQuarter(sum, XMM())
	return sum
}

// axpyMany is axpy of the eights of a row; shrink is nil without decay.
func (r row) axpyMany(name string, i, a, lr, shrink Register) {
	step, rate, one, x, s := YMM(), YMM(), YMM(), YMM(), YMM()
	VBROADCASTSS(a.(VecVirtual).AsX(), step)
	if shrink != nil {
		VBROADCASTSS(lr.(VecVirtual).AsX(), rate)
		VBROADCASTSS(constant("one", 1), one)
	}
	r.eights(name+"axpy8", i, func() {
		at := r.weight(i, nil, 0)
		VMOVUPS(at, x)
		if shrink != nil {
			VMULPS(Mem{Base: shrink, Index: i, Scale: 4}, rate, s)
			VMINPS(one, s, s)
			VFNMADD231PS(x, s, x)
		}
		VFMADD231PS(r.value(i, 0), step, x)
		VMOVUPS(x, at)
	})
}
