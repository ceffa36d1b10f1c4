package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// factor makes the loops of factor_amd64.s: Factors.Steps for rows of up to 16, 32, ...
// and 128 numbers with AVX-512, of any number with AVX2.
func factor() {
	for vectors := 1; vectors <= 8; vectors++ {
		factorSteps(vectors)
	}
	factorAVX2()
}

const near, far = 16, 64

// A factorLoop is what the loops over entries have in common, whatever their vectors.
type factorLoop struct {
	rows, idx, y, entries  GPVirtual
	w, nodes, stride       GPVirtual // stride in bytes
	n, known, bias, half   Mem
	i, r, u, v, pu, pv     GPVirtual // the entry's number, its place, its nodes and their rows
	mean, rate, miss, loss VecVirtual
	squares                VecVirtual
}

// begin opens the loop's function.
func beginFactor(name string) *factorLoop {
	TEXT(name, NOSPLIT, "func(rows *int32, n, known int, idx *uint32, y *float32, entries int, "+
		"w *float32, nodes int, bias *float32, k int, mask uint32, mean, keep, rate, most float32, half int, "+
		"coef *float32, locks *uint32, guard, tickets, count *uint64) (done int, loss float64)")
	Pragma("noescape")
	l := &factorLoop{
		rows: arg("rows"), idx: arg("idx"), y: arg("y"), entries: arg("entries"),
		w: arg("w"), nodes: arg("nodes"), stride: arg("k"), n: number("n"), known: number("known"),
		bias: number("bias"), half: number("half"),
		i: GP64(), r: GP64(), u: GP64(), v: GP64(), pv: GP64(),
		mean: XMM(), rate: XMM(), miss: XMM(), loss: XMM(),
	}
	l.pu = l.r
	SHLQ(Imm(2), l.stride)
	VMOVSS(number("mean"), l.mean)
	VMOVSS(number("rate"), l.rate)
	VXORPD(l.loss, l.loss, l.loss)
	XORQ(l.i, l.i)
	return l
}

// next begins an entry: it asks for what later ones need, and leaves the loop where there is none
// or it is outside w. lines asks for the row that begins row bytes behind w.
func (l *factorLoop) next(lines func(row Register, end string)) {
	Label("loop")
	CMPQ(l.i, l.n)
	JGE(LabelRef("done"))

	// ahead finds the entry that is by pairs later, or where there is none, this one.
	ahead := func(by int, otherwise string) {
		LEAQ(Mem{Base: l.i, Disp: by}, l.r)
		CMPQ(l.r, l.known)
		CMOVQGE(l.i, l.r)
		MOVL(Mem{Base: l.rows, Index: l.r, Scale: 4}, l.r.As32())
		CMPQ(l.r, l.entries)
		JAE(LabelRef(otherwise))
	}
	ahead(far, "near")
	PREFETCHT0(Mem{Base: l.idx, Index: l.r, Scale: 8})
	PREFETCHT0(Mem{Base: l.y, Index: l.r, Scale: 4})
	Label("near")
	ahead(near, "fetched")
	for end := range 2 {
		MOVL(Mem{Base: l.idx, Index: l.r, Scale: 8, Disp: 4 * end}, l.u.As32())
		IMULQ(l.stride, l.u)
		lines(l.u, fmt.Sprint(end))
	}

	Label("fetched")
	MOVL(Mem{Base: l.rows, Index: l.i, Scale: 4}, l.r.As32())
	CMPQ(l.r, l.entries)
	JAE(LabelRef("outside"))
	MOVL(Mem{Base: l.idx, Index: l.r, Scale: 8}, l.u.As32())
	MOVL(Mem{Base: l.idx, Index: l.r, Scale: 8, Disp: 4}, l.v.As32())
	CMPQ(l.u, l.nodes)
	JAE(LabelRef("outside"))
	CMPQ(l.v, l.nodes)
	JAE(LabelRef("outside"))

	CMPQ(l.half, Imm(writes))
	JEQ(LabelRef("resume"))
	VSUBSS(Mem{Base: l.y, Index: l.r, Scale: 4}, l.mean, l.miss)
	MOVQ(l.bias, l.pv)
	TESTQ(l.pv, l.pv)
	JZ(LabelRef("plain"))
	VADDSS(Mem{Base: l.pv, Index: l.u, Scale: 4}, l.miss, l.miss)
	VADDSS(Mem{Base: l.pv, Index: l.v, Scale: 4}, l.miss, l.miss)
	Label("plain")
	l.find()
}

// find sets pu and pv to the rows of u and v.
func (l *factorLoop) find() {
	for _, row := range [][2]Register{{l.u, l.pu}, {l.v, l.pv}} {
		MOVQ(row[0], row[1])
		IMULQ(l.stride, row[1])
		ADDQ(l.w, row[1])
	}
}

// add adds the product of the rows to miss, where a half-step that reads ends, and where a guard
// stands. squares are both rows' together: if they are more than most, miss is shortened.
func (l *factorLoop) add(product, squares VecVirtual) {
	VADDSS(product.AsX(), l.miss, l.miss)
	wide := XMM()
	VCVTSS2SD(l.miss, l.miss, wide)
	VFMADD231SD(wide, wide, l.loss)
	l.squares = squares
	VUCOMISS(number("most"), squares.AsX())
	JHI(LabelRef("long"))
	Label("short")
	CMPQ(l.half, Imm(both))
	JNE(LabelRef("between"))
}

// move makes step what the other row is multiplied by; the biases move. name keeps the
// labels of two apart.
func (l *factorLoop) move(name string, step VecVirtual) {
	VMULSS(l.rate, l.miss, step.AsX())
	bias, b := GP64(), XMM()
	MOVQ(l.bias, bias)
	TESTQ(bias, bias)
	JZ(LabelRef(name + "Unbiased"))
	for _, end := range []Register{l.u, l.v} {
		VADDSS(Mem{Base: bias, Index: end, Scale: 4}, step.AsX(), b)
		VMOVSS(b, Mem{Base: bias, Index: end, Scale: 4})
	}
	Label(name + "Unbiased")
	VBROADCASTSS(step.AsX(), step)
}

// end is the end of an entry, and of the function. Between the two lie the guards and the
// half-steps: keep stores both rows as they were read from coef on, u's first, and write moves
// those in memory by the ones stored.
func (l *factorLoop) end(step VecVirtual, guards func(), keep, write func(coef, second Register)) {
	Label("entry")
	INCQ(l.i)
	JMP(LabelRef("loop"))

	rows := func(half func(coef, second Register)) {
		coef, second := arg("coef"), GP64()
		ADDQ(Imm(4), coef)
		LEAQ(Mem{Base: coef, Index: l.stride, Scale: 1}, second)
		half(coef, second)
	}
	Label("between")
	guards()

	Label("pause")
	first := arg("coef")
	VMOVSS(l.miss, Mem{Base: first})
	rows(keep)
	JMP(LabelRef("done"))

	Label("long")
	one, bits := XMM(), GP32()
	MOVL(U32(0x3f800000), bits)
	VMOVD(bits, one)
	VSUBSS(number("most"), l.squares.AsX(), l.squares.AsX())
	VFNMADD231SS(l.squares.AsX(), l.rate, one)
	VDIVSS(one, l.miss, l.miss)
	JMP(LabelRef("short"))

	Label("resume")
	l.find()
	first = arg("coef")
	VMOVSS(Mem{Base: first}, l.miss)
	l.move("late", step)
	rows(write)
	JMP(LabelRef("entry"))

	Label("outside")
	NOTQ(l.i)
	Label("done")
	Store(l.i, ReturnIndex(0))
	Store(l.loss, ReturnIndex(1))
	end()
}

// factorSteps is Factors.Steps. Both rows of a pair lie in registers from the load to
// the store; mask says which lanes of the last vector are theirs. Entries are fetched
// far pairs ahead, and the factors of those that are near; rows has known of them, n of
// which are done. It returns how many it did: fewer where a guard does not open, and the
// complement where one is outside w.
func factorSteps(vectors int) {
	l := beginFactor(fmt.Sprintf("factorAVX512x%d", vectors))
	s, last, bits := avx512, K(), GP32()
	Load(Param("mask"), bits)
	KMOVW(bits, last)
	keep := s.spread("keep")
	l.next(func(row Register, _ string) {
		ADDQ(l.w, row)
		for line := 0; line < 64*vectors; line += 64 {
			PREFETCHT0(Mem{Base: row, Disp: line})
		}
		PREFETCHT0(Mem{Base: row, Index: l.stride, Scale: 1, Disp: -4}) // the last number's
	})
	// at is where vector c of a row lies, and its mask. The last of several vectors ends with the row, and begins in
	// the one before it: lanes behind the row would lie in lines that were not asked for, and wait for them.
	at := func(row Register, c int) (Mem, Register) {
		switch {
		case c < vectors-1:
			return Mem{Base: row, Disp: 64 * c}, nil
		case c > 0:
			return Mem{Base: row, Index: l.stride, Scale: 1, Disp: -64}, last
		}
		return Mem{Base: row}, last
	}
	load := func(row Register, c int) VecVirtual { return s.load(at(row, c)) }
	store := func(x VecVirtual, row Register, c int) {
		m, mask := at(row, c)
		s.store(x, m, mask)
	}
	p, q := make([]VecVirtual, vectors), make([]VecVirtual, vectors)
	sum, squares, others := ZMM(), ZMM(), ZMM()
	for c := range vectors {
		p[c], q[c] = load(l.pu, c), load(l.pv, c)
		if c == 0 {
			VMULPS(p[c], q[c], sum)
			VMULPS(p[c], p[c], squares)
			VMULPS(q[c], q[c], others)
		} else {
			VFMADD231PS(p[c], q[c], sum)
			VFMADD231PS(p[c], p[c], squares)
			VFMADD231PS(q[c], q[c], others)
		}
	}
	VADDPS(others, squares, squares)
	product, step := s.fold(VADDPS, sum), s.vector()
	foldQuarter(product, XMM())
	size := s.fold(VADDPS, squares)
	foldQuarter(size, XMM())
	l.add(product, size)
	l.move("now", step)
	moved := ZMM()
	move := func(at Register, c int, mine, other VecVirtual) {
		VMULPS(keep, mine, moved)
		VFMADD231PS(step, other, moved)
		store(moved, at, c)
	}
	for c := range vectors {
		move(l.pu, c, p[c], q[c])
		move(l.pv, c, q[c], p[c])
	}
	area := s.bytes() * vectors
	l.end(step, func() {
		l.guards(step, area, func() { // to both rows as they are by now
			for c := range vectors {
				pNow, qNow := load(l.pu, c), load(l.pv, c)
				move(l.pu, c, pNow, q[c])
				move(l.pv, c, qNow, p[c])
			}
		}, func(room Register) {
			for c := range vectors {
				for i, x := range [][2]VecVirtual{{p[c], q[c]}, {q[c], p[c]}} {
					to, mask := at(room, c)
					s.store(x[0], to.Offset(2*i*area), mask)
					VMULPS(keep, x[0], moved)
					VFMADD231PS(step, x[1], moved)
					s.store(moved, to.Offset((2*i+1)*area), mask)
				}
			}
		})
	}, func(coef, second Register) {
		for c := range vectors {
			store(p[c], coef, c)
			store(q[c], second, c)
		}
	}, func(coef, second Register) {
		for c := range vectors {
			p, q, pRead, qRead := load(l.pu, c), load(l.pv, c), load(coef, c), load(second, c)
			move(l.pu, c, p, qRead)
			move(l.pv, c, q, pRead)
		}
	})
}

// factorAVX2 is the same for rows of any length, which are read twice: from the first
// cache the second time. Behind whole vectors come 4, 2 and 1 numbers, as many as there
// are: the next row begins there, and a load from it would wait for a masked store,
// which AMD's processors moreover take number by number. mask has no meaning.
func factorAVX2() {
	l := beginFactor("factorAVX2")
	keep, whole, c := YMM(), GP64(), GP64()
	VBROADCASTSS(number("keep"), keep)
	MOVQ(l.stride, whole)
	ANDQ(I8(-32), whole)
	l.next(func(row Register, end string) {
		ADDQ(l.w, row)
		MOVQ(l.stride, c)
		Label("line" + end)
		PREFETCHT0(Mem{Base: row})
		ADDQ(Imm(64), row)
		SUBQ(Imm(64), c)
		JG(LabelRef("line" + end))
		PREFETCHT0(Mem{Base: row, Index: c, Scale: 1, Disp: -4}) // the last number's
	})
	load := avx2.loadPart
	sum, squares, others, high := YMM(), YMM(), YMM(), XMM()
	avx2.zero(sum, squares, others)
	l.parts("dot", c, whole, func(p, q Mem, n int) {
		x, y := load(p, n), load(q, n)
		VFMADD231PS(part(y, n), part(x, n), part(sum, n))
		VFMADD231PS(part(x, n), part(x, n), part(squares, n))
		VFMADD231PS(part(y, n), part(y, n), part(others, n))
	}, func() {
		VADDPS(others, squares, squares)
		VXORPS(others, others, others)
		for _, x := range []VecVirtual{sum, squares} {
			VEXTRACTF128(Imm(1), x, high)
			VADDPS(high, x.AsX(), x.AsX())
		}
	})
	VADDPS(others.AsX(), squares.AsX(), squares.AsX())
	foldQuarter(sum, high)
	foldQuarter(squares, high)
	l.add(sum, squares)
	step := YMM()
	l.move("now", step)
	move := func(at Mem, mine, other VecVirtual, n int) {
		moved := YMM()
		VMULPS(part(keep, n), part(mine, n), part(moved, n))
		VFMADD231PS(part(step, n), part(other, n), part(moved, n))
		storePart(moved, at, n)
	}
	l.parts("update", c, whole, func(p, q Mem, n int) {
		x, y := load(p, n), load(q, n)
		move(p, x, y, n)
		move(q, y, x, n)
	}, func() {})
	l.end(step, func() {}, func(coef, second Register) {
		l.parts("keep", c, whole, func(p, q Mem, n int) {
			x, y := load(p, n), load(q, n)
			storePart(x, Mem{Base: coef, Index: c, Scale: 1}, n)
			storePart(y, Mem{Base: second, Index: c, Scale: 1}, n)
		}, func() {})
	}, func(coef, second Register) {
		l.parts("write", c, whole, func(p, q Mem, n int) {
			x, y := load(p, n), load(q, n)
			xRead, yRead := load(Mem{Base: coef, Index: c, Scale: 1}, n), load(Mem{Base: second, Index: c, Scale: 1}, n)
			move(p, x, yRead, n)
			move(q, y, xRead, n)
		}, func() {})
	})
}

// parts goes over the numbers of both rows, n of them at a time: whole bytes by vectors
// of eight, then, after rest, what is left. c is where it is.
func (l *factorLoop) parts(name string, c, whole Register, body func(p, q Mem, n int), rest func()) {
	at := func(row Register) Mem { return Mem{Base: row, Index: c, Scale: 1} }
	XORQ(c, c)
	JMP(LabelRef(name + "Test"))
	Label(name + "Whole")
	body(at(l.pu), at(l.pv), 8)
	ADDQ(Imm(32), c)
	Label(name + "Test")
	CMPQ(c, whole)
	JL(LabelRef(name + "Whole"))
	rest()
	for _, n := range []int{4, 2, 1} {
		none := fmt.Sprint(name, n)
		TESTQ(U32(4*n), l.stride)
		JZ(LabelRef(none))
		body(at(l.pu), at(l.pv), n)
		ADDQ(Imm(uint64(4*n)), c)
		Label(none)
	}
}
