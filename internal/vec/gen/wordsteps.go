package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// batch is how many rows of Out are stepped at once: their sums, and factors of rows, lie in registers of AVX2.
const batch = 6

// What a plan says of a batch: the addresses of its rows and of the input, where the signs of its labels lie, which
// of its targets are none, and what the input's move begins with, what it is added to, and where it goes.
const (
	planInput = 8 * batch
	planSigns = planInput + 8
	planNone  = planSigns + 8
	planFrom  = planNone + 32
	planBase  = planFrom + 8
	planTo    = planBase + 8
	planBytes = planTo + 16
)

// wordsPlan makes the plan of Words.Window: for each of n inputs, or for in where these are nil, its group of
// targets, in batches of up to six that are all different. So what is to be found out lies behind the loop that
// steps, which has to wait for itself often enough. It returns the number of batches, and the complement of an
// input's where a row is outside.
func wordsPlan() {
	begin("wordsPlan", "func(in *float32, ins int, out *float32, outs, k int, inputs *uint32, n int, targets *uint32, "+
		"group int, e, zero, plan *float32) (batches int)")
	w := wordsConstants()
	stride := AllocLocal(8)
	i, to, at, in, left, count, bits, ones := GP64(), arg("plan"), arg("targets"), GP64(), GP64(), GP64(), GP64(), YMM()
	k := arg("k")
	SHLQ(Imm(2), k)
	MOVQ(k, stride)
	t := table(number("out"), number("outs"), stride, number("zero"))
	VMOVDQU(w.ones, ones)
	XORQ(i, i)
	Label("input")
	MOVQ(number("in"), in)
	list, x := arg("inputs"), GP64()
	TESTQ(list, list)
	JZ(LabelRef("found"))
	MOVL(Mem{Base: list, Index: i, Scale: 4}, x.As32())
	CMPQ(x, number("ins"))
	JAE(LabelRef("outside"))
	IMULQ(stride, x)
	ADDQ(x, in)
	Label("found")
	MOVQ(number("group"), left)
	source, signs := arg("zero"), GP64()
	XORQ(signs, signs)

	Label("batch")
	MOVQ(U32(batch), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	rows, none := some(Mem{Base: at}, count)
	// What stands among those before begins another batch.
	same, equal := YMM(), YMM()
	VPXOR(same, same, same)
	for _, earlier := range w.earlier {
		VMOVDQU(earlier, equal)
		VPERMD(rows, equal, equal)
		VPCMPEQD(rows, equal, equal)
		VPOR(equal, same, same)
	}
	VPANDN(same, none, same)
	VMOVMSKPS(same, bits.As32())
	TESTL(bits.As32(), bits.As32())
	JZ(LabelRef("different")) // so that what follows need not wait for the count
	TZCNTL(bits.As32(), count.As32())
	VPXOR(from(w.ends, count), ones, equal)
	VPOR(equal, rows, rows)
	VPOR(equal, none, none)
	Label("different")
	VMOVDQU(t.last, equal)
	VPMINUD(rows, equal, equal)
	VPCMPEQD(rows, equal, equal)
	VPOR(none, equal, equal)
	VMOVMSKPS(equal, bits.As32())
	CMPL(bits.As32(), U32(255))
	JNE(LabelRef("outside"))
	t.find(rows, none, Mem{Base: to})
	MOVQ(in, Mem{Base: to, Disp: planInput})
	MOVQ(signs, Mem{Base: to, Disp: planSigns})
	VMOVDQU(none, Mem{Base: to, Disp: planNone})
	MOVQ(source, Mem{Base: to, Disp: planFrom})
	MOVQ(number("e"), source)
	MOVQ(U32(32), signs)
	base, goal := arg("zero"), GP64()
	MOVQ(source, goal)
	LEAQ(Mem{Base: at, Index: count, Scale: 4}, at)
	SUBQ(count, left)
	JG(LabelRef("more"))
	MOVQ(number("inputs"), x)
	TESTQ(x, x)
	CMOVQNE(in, base)
	CMOVQNE(in, goal)
	Label("more")
	MOVQ(base, Mem{Base: to, Disp: planBase})
	MOVQ(goal, Mem{Base: to, Disp: planTo})
	ADDQ(I32(planBytes), to)
	TESTQ(left, left)
	JG(LabelRef("batch"))
	INCQ(i)
	CMPQ(i, number("n"))
	JL(LabelRef("input"))
	SUBQ(number("plan"), to)
	SHRQ(Imm(7), to)
	Store(to, ReturnIndex(0))
	end()
	Label("outside")
	NOTQ(i)
	Store(i, ReturnIndex(0))
	end()
}

// wordsSteps takes the steps of a plan, or where they are nothing but the loss, adds that up.
func (s simd) wordsSteps() {
	begin("wordsSteps"+s.name, "func(plan *float32, batches, k int, lr float32, e *float32, loss int, "+
		"ahead *float32, known int) (linear, product float64)")
	w := wordsConstants()
	r := s.columns(arg("k"))
	plan, coef, loss := arg("plan"), AllocLocal(32), newWordLoss()

	Label("batch")
	row, in := many(GP64, batch), GP64()
	for j := range row {
		MOVQ(Mem{Base: plan, Disp: 8 * j}, row[j])
	}
	MOVQ(Mem{Base: plan, Disp: planInput}, in)
	sum := s.vectors(batch)
	clearAll(sum)
	r.each("dot", func(p place) {
		h := s.loadAt(p, p.at(in))
		for j := range row {
			s.addProduct(p, p.at(row[j]), h, sum[j])
		}
	})
	signs, none, by := YMM(), YMM(), GP64()
	LEAQ(w.signs, by)
	ADDQ(Mem{Base: plan, Disp: planSigns}, by)
	VMOVUPS(Mem{Base: by}, signs)
	VMOVUPS(Mem{Base: plan, Disp: planNone}, none)
	VMOVUPS(loss.logistic(s.sixSums(sum), none, signs, number("lr")), coef)
	CMPQ(number("loss"), Imm(0))
	JNE(LabelRef("stepped"))
	// While these come, memory is asked for rows of a later batch, and for the right to write them: a line that was asked
	// for to be read would be on the way twice where another core has written it.
	ahead := arg("ahead")
	DECQ(number("known"))
	JLT(LabelRef("fetched"))
	XORQ(r.c, r.c)
	Label("line")
	for j := range batch + 1 {
		MOVQ(Mem{Base: ahead, Disp: 8 * j}, RAX)
		ADDQ(r.c, RAX)
		fetchToWrite()
	}
	ADDQ(I8(64), r.c)
	CMPQ(r.c, r.k)
	JL(LabelRef("line"))
	ADDQ(I32(planBytes), ahead)
	MOVQ(ahead, number("ahead"))
	Label("fetched")
	factors := s.vectors(batch)
	for j := range factors {
		VBROADCASTSS(coef.Offset(4*j), factors[j])
	}
	source, base, to := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: plan, Disp: planFrom}, source)
	MOVQ(Mem{Base: plan, Disp: planBase}, base)
	MOVQ(Mem{Base: plan, Disp: planTo}, to)
	step := func(p place, j int, h, e VecVirtual) {
		o := s.loadAt(p, p.at(row[j]))
		VFMADD231PS(factors[j], o, e)
		VFMADD231PS(factors[j], h, o)
		storePart(o, p.at(row[j]), p.n)
	}
	r.each("move", func(p place) {
		h, e := s.loadAt(p, p.at(in)), s.loadAt(p, p.at(source))
		for j := 0; j < batch; j++ {
			step(p, j, h, e)
		}
		s.addAt(p, p.at(base), e)
		storePart(e, p.at(to), p.n)
	})
	Label("stepped")
	ADDQ(I32(planBytes), plan)
	DECQ(number("batches"))
	JNZ(LabelRef("batch"))
	loss.store(0)
	end()
}

// fetchToWrite is PREFETCHW (AX), which neither avo nor Go's assembler knows.
func fetchToWrite() {
	for i, b := range []uint8{0x0f, 0x0d, 0x08} {
		one := &ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(b)}}
		if i == 0 {
			one.Inputs = []Op{RAX}
		}
		Instruction(one)
	}
}

// rowOf sets to to the address of row number i of list, which is lost.
func rowOf(list, i Register, stride, base Mem, to Register) {
	MOVL(Mem{Base: list, Index: i, Scale: 4}, to.(GPVirtual).As32())
	IMULQ(stride, to)
	ADDQ(base, to)
}

// wordsCopy copies n rows of w to x; what stands for no row is left out. It returns how many rows it did: fewer where
// one is outside.
func (s simd) wordsCopy() {
	begin("wordsCopy"+s.name, "func(w *float32, rows, k int, idx *uint32, n int, x *float32, stride int) (done int)")
	r := s.columns(arg("k"))
	idx, x, i, row, none := arg("idx"), arg("x"), GP64(), GP64(), GP32()
	XORQ(i, i)
	MOVL(U32(1<<32-1), none)
	Label("row")
	CMPQ(i, number("n"))
	JGE(LabelRef("done"))
	MOVL(Mem{Base: idx, Index: i, Scale: 4}, row.As32())
	CMPL(row.As32(), none)
	JEQ(LabelRef("next"))
	CMPQ(row, number("rows"))
	JAE(LabelRef("done"))
	IMULQ(r.k, row)
	ADDQ(number("w"), row)
	r.each("copy", func(p place) { storePart(s.loadAt(p, p.at(row)), p.at(x), p.n) })
	Label("next")
	ADDQ(number("stride"), x)
	INCQ(i)
	JMP(LabelRef("row"))
	Label("done")
	Store(i, ReturnIndex(0))
	end()
}

// wordsDots sets coef to the coefficients of a step of m rows x against six of o, eight numbers a row: see logistic.
// targets are n, of the first six at most; a row of x or o has stride bytes, whole vectors. signs is 0 for the first
// batch, else 32.
func (s simd) wordsDots() {
	TEXT("wordsDots"+s.name, NOSPLIT, "func(x *float32, m int, o *float32, stride int, targets *uint32, n, signs int, "+
		"lr float32, coef *float32) (linear, product float64)")
	Pragma("noescape")
	w := wordsConstants()
	signs, by := YMM(), GP64()
	LEAQ(w.signs, by)
	ADDQ(number("signs"), by)
	VMOVUPS(Mem{Base: by}, signs)
	_, none := some(Mem{Base: arg("targets")}, arg("n"))
	x, stride, g, m := arg("x"), arg("stride"), arg("coef"), arg("m")
	row := many(GP64, batch)
	MOVQ(number("o"), row[0])
	for j := 1; j < batch; j++ {
		LEAQ(Mem{Base: row[j-1], Index: stride, Scale: 1}, row[j])
	}
	loss := newWordLoss()
	c := GP64()
	countdown("input", m, func() {
		sum := s.vectors(batch)
		clearAll(sum)
		XORQ(c, c)
		Label("dot")
		h := s.load(Mem{Base: x, Index: c, Scale: 1}, nil)
		for j := range row {
			VFMADD231PS(Mem{Base: row[j], Index: c, Scale: 1}, h, sum[j])
		}
		ADDQ(I8(s.bytes()), c)
		CMPQ(c, stride)
		JL(LabelRef("dot"))
		VMOVUPS(loss.logistic(s.sixSums(sum), none, signs, number("lr")), Mem{Base: g})
		ADDQ(stride, x)
		ADDQ(Imm(32), g)
	})
	loss.store(0)
	end()
}

// wordsMove adds to the rows inputs of in, m of them, coef times the rows of o, and to the rows targets of out, n of
// six, coef' times the rows of x, where coef is from wordsDots. All indices have been checked.
func (s simd) wordsMove() {
	TEXT("wordsMove"+s.name, NOSPLIT, "func(in, out *float32, k int, inputs *uint32, m int, targets *uint32, n int, "+
		"x, o *float32, stride int, coef *float32)")
	Pragma("noescape")
	r := s.columns(arg("k"))
	stride, inputs, targets, row, i, none := arg("stride"), arg("inputs"), arg("targets"), GP64(), GP64(), GP64()
	body := func(name string, places ...func(base Register) (Mem, place)) {
		old, sum := make([][]VecVirtual, batch), make([][]VecVirtual, batch)
		x, g := arg("x"), arg("coef")
		MOVQ(number("o"), row)
		for j := range old {
			for _, at := range places {
				m, p := at(row)
				old[j] = append(old[j], s.loadAt(p, m))
			}
			sum[j] = s.vectors(len(places))
			clearAll(sum[j])
			if j < batch-1 {
				ADDQ(stride, row)
			}
		}
		XORQ(i, i)
		Label(name + "Input")
		rowOf(inputs, i, r.k, number("in"), row)
		var h, mine []VecVirtual
		for _, at := range places {
			m, p := at(x)
			h = append(h, s.loadAt(p, m))
			m, p = at(row)
			mine = append(mine, s.loadAt(p, m))
		}
		for j := range old {
			factor := s.vector()
			VBROADCASTSS(Mem{Base: g, Disp: 4 * j}, factor)
			for v := range places {
				VFMADD231PS(factor, old[j][v], mine[v])
				VFMADD231PS(factor, h[v], sum[j][v])
			}
		}
		for v, at := range places {
			m, p := at(row)
			storePart(mine[v], m, p.n)
		}
		ADDQ(stride, x)
		ADDQ(Imm(32), g)
		INCQ(i)
		CMPQ(i, number("m"))
		JL(LabelRef(name + "Input"))
		for j := range sum {
			left := fmt.Sprint(name, "Left", j)
			CMPQ(number("n"), Imm(uint64(j)))
			JLE(LabelRef(name + "Stepped"))
			MOVL(Mem{Base: targets, Disp: 4 * j}, row.As32())
			CMPL(row.As32(), none.As32())
			JEQ(LabelRef(left))
			IMULQ(r.k, row)
			ADDQ(number("out"), row)
			for v, at := range places {
				m, p := at(row)
				s.addAt(p, m, sum[j][v])
				storePart(sum[j][v], m, p.n)
			}
			Label(left)
		}
		Label(name + "Stepped")
	}
	MOVQ(I32(-1), none)
	XORQ(r.c, r.c)
	if s.masks { // two vectors at a time
		JMP(LabelRef("pairs"))
		Label("pair")
		body("pair", func(base Register) (Mem, place) {
			return Mem{Base: base, Index: r.c, Scale: 1}, place{r.c, s.width}
		},
			func(base Register) (Mem, place) {
				return Mem{Base: base, Index: r.c, Scale: 1, Disp: s.bytes()}, place{r.c, s.width}
			})
		ADDQ(I32(2*s.bytes()), r.c)
		Label("pairs")
		two := GP64()
		LEAQ(Mem{Base: r.c, Disp: 2 * s.bytes()}, two)
		CMPQ(two, r.whole)
		JLE(LabelRef("pair"))
	}
	part := 0
	r.rest("one", func(p place) {
		part++
		body(fmt.Sprint("one", part), func(base Register) (Mem, place) { return p.at(base), p })
	})
	end()
}

// fetchRows asks for n rows of w, but for what stands for none.
func fetchRows() {
	begin("fetchRows", "func(w *float32, rows, k int, idx *uint32, n int)")
	idx, n, k, row, c := arg("idx"), arg("n"), arg("k"), GP64(), GP64()
	rows, w := arg("rows"), arg("w")
	SHLQ(Imm(2), k)
	Label("row")
	MOVL(Mem{Base: idx}, row.As32())
	CMPQ(row, rows)
	JAE(LabelRef("next"))
	IMULQ(k, row)
	ADDQ(w, row)
	XORQ(c, c)
	Label("line")
	PREFETCHT0(Mem{Base: row, Index: c, Scale: 1})
	ADDQ(I8(64), c)
	CMPQ(c, k)
	JL(LabelRef("line"))
	PREFETCHT0(Mem{Base: row, Index: k, Scale: 1, Disp: -4})
	Label("next")
	ADDQ(Imm(4), idx)
	DECQ(n)
	JNZ(LabelRef("row"))
	end()
}

// gatherRows adds n rows of w to h; four at a time, while those that come next are asked for.
func (s simd) gatherRows() {
	begin("gatherRows"+s.name, "func(w *float32, k int, idx *uint32, n int, h *float32)")
	r := s.columns(arg("k"))
	w, idx, n, h := number("w"), arg("idx"), arg("n"), arg("h")
	const at = 4
	row := many(GP64, at)
	zero, soon := GP64(), GP64()
	add := func(name string, rows []GPVirtual) {
		for j := range rows {
			MOVL(Mem{Base: idx, Disp: 4 * j}, rows[j].As32())
			IMULQ(r.k, rows[j])
			ADDQ(w, rows[j])
		}
		XORQ(zero, zero)
		r.each(name, func(p place) {
			x := s.loadAt(p, p.at(h))
			for j := range rows {
				s.addAt(p, p.at(rows[j]), x)
			}
			storePart(x, p.at(h), p.n)
		})
		ADDQ(I8(int8(4*len(rows))), idx)
		SUBQ(I8(int8(len(rows))), n)
	}
	_ = soon
	JMP(LabelRef("many"))
	Label("four")
	add("four", row)
	Label("many")
	CMPQ(n, I8(at))
	JGE(LabelRef("four"))
	JMP(LabelRef("few"))
	Label("one")
	add("one", row[:1])
	Label("few")
	TESTQ(n, n)
	JG(LabelRef("one"))
	end()
}

// scatterRows adds a times e to n rows of w, while those that come next are asked for.
func (s simd) scatterRows() {
	begin("scatterRows"+s.name, "func(w *float32, k int, idx *uint32, n int, a float32, e *float32)")
	r := s.columns(arg("k"))
	w, idx, n, e := number("w"), arg("idx"), arg("n"), arg("e")
	a := s.spread("a")
	row, soon, i, then := GP64(), GP64(), GP64(), GP64()
	XORQ(i, i)
	Label("row")
	rowOf(idx, i, r.k, w, row)
	const ahead = 4
	LEAQ(Mem{Base: i, Disp: ahead}, then)
	CMPQ(then, n)
	CMOVQGE(i, then)
	rowOf(idx, then, r.k, w, soon)
	r.each("add", func(p place) {
		x := s.loadAt(p, p.at(row))
		s.addProduct(p, p.at(e), a, x)
		storePart(x, p.at(row), p.n)
		PREFETCHT0(p.at(soon))
	})
	INCQ(i)
	CMPQ(i, n)
	JL(LabelRef("row"))
	end()
}

// clearAll is zero in an instruction that avo knows to read nothing.
func clearAll(all []VecVirtual) {
	for _, x := range all {
		VXORPS(x, x, x)
	}
}
