package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The kinds of Loss, as package vec numbers them.
const (
	lossLogistic = iota
	lossHinge
	lossSquared
	lossAbsolute
)

// exp2 are the coefficients of 2^f on [-1/2, 1/2], constant first: least relative error
// at Chebyshev's points, 2e-7 at most.
var exp2 = [6]float32{1.00000012, 0.693146944, 0.240221202, 0.0555071309, 0.00967554096, 0.00132764713}

// atanh are the coefficients of 2 atanh(s)/s by s^2 on [0, 1/9], constant first: relative error 8e-9 at most.
var atanh = [5]float32{2, 0.6666632, 0.40024596, 0.27965158, 0.2815778}

// What a loop does with a step: package vec calls it half.
const (
	both   = iota // reads and writes
	reads         // stores the coefficients, and writes nothing
	writes        // takes the coefficients, and reads nothing
	locked        // both, under a guard: see guard.go
	ordered
	atomic
)

// linear makes the loops of linear_amd64.s: see Linear.Steps. All of it is scalar for sparse rows:
// such a row has a dozen numbers, and loads of single weights take what the row before has just
// stored, which a gather over them would wait for. Dense rows: denserows.go.
func linear() {
	for _, dense := range []bool{false, true} {
		name := map[bool]string{false: "linear", true: "dense"}[dense]
		steps(name+"Steps", false, dense)
		steps(name+"Decay", true, dense)
	}
	outputs()
}

// row is where the example in hand lies.
type row struct {
	idx, val, w Register // without idx it is dense
	n           Register // numbers in it
}

func (r row) value(i Register, k int) Mem {
	return Mem{Base: r.val, Index: i, Scale: 4, Disp: 4 * k}
}

// weight returns the operand of the weight of number i+k; j is free for its index.
func (r row) weight(i, j Register, k int) Mem {
	if r.idx == nil {
		return Mem{Base: r.w, Index: i, Scale: 4, Disp: 4 * k}
	}
	MOVL(Mem{Base: r.idx, Index: i, Scale: 4, Disp: 4 * k}, j.(GPVirtual).As32())
	return Mem{Base: r.w, Index: j, Scale: 4}
}

// place points to the row of a number. of is where rows begin, or how wide they are.
func (r row) place(number, of Register) {
	from := GP64()
	if r.idx == nil {
		MOVQ(of, r.n)
		MOVQ(of, from)
		IMULQ(number, from)
	} else {
		MOVQ(Mem{Base: of, Index: number, Scale: 8}, from)
		MOVQ(Mem{Base: of, Index: number, Scale: 8, Disp: 8}, r.n)
		SUBQ(from, r.n)
		Load(Param("idx"), r.idx)
		LEAQ(Mem{Base: r.idx, Index: from, Scale: 4}, r.idx)
	}
	Load(Param("val"), r.val)
	LEAQ(Mem{Base: r.val, Index: from, Scale: 4}, r.val)
}

// steps is the loop over the rows; with decay the weights of each shrink before its step.
// A half-step leaves the loop after the derivative, or enters it there: two branches a row,
// which are foreseen. A step under a guard that opens writes like any other; left are the rows
// that come behind the last one read.
func steps(name string, decay, dense bool) {
	rowsAt, of := "ptr *int64, idx *uint32, ", "ptr"
	if dense {
		rowsAt, of = "width int, ", "width"
	}
	signature := "func(loss int, rows, soon *int32, n int, " + rowsAt + "val, y, w, bias, shrink, " +
		"weight, class *float32, lr, biasStep float32, half int, coef *float32, lock *uint32, guard, tickets, count *uint64) (sum, " +
		"product float32, left int)"
	begin(name, signature)
	rows, soon, n := arg("rows"), arg("soon"), arg("n")
	ptr, w, bias := arg(of), arg("w"), arg("bias")
	lr := Load(Param("lr"), XMM())
	sum, product, weighted := XMM(), XMM(), XMM()
	VXORPS(sum, sum, sum)
	VXORPS(weighted, weighted, weighted)
	VMOVSS(constant("one", 1), product)
	half := number("half")

	Label("next")
	SUBQ(Imm(1), n)
	JL(LabelRef("done"))
	r := row{val: GP64(), w: w, n: GP64()}
	if !dense {
		r.idx = GP64()
	}
	number := GP64()
	MOVLQSX(Mem{Base: rows}, number)
	ADDQ(Imm(4), rows)
	r.place(number, ptr)
	a := XMM() // what the row is multiplied by, and added to the weights
	CMPQ(half, Imm(writes))
	JEQ(LabelRef("resume"))
	if dense {
		fetchDense(soon, ptr)
	} else {
		fetchRow(soon, ptr)
	}
	y := XMM()
	labels := arg("y")
	VMOVSS(Mem{Base: labels, Index: number, Scale: 4}, y)

	z := r.dot(bias)
	derivative(z, y, a, sum, product)
	weigh(rows, a, sum, product, weighted)
	CMPQ(half, Imm(both))
	JNE(LabelRef("between"))
	Label("write")
	r.write("", a, lr, bias, decay, plainly)
	JMP(LabelRef("next"))

	Label("between")
	CMPQ(half, Imm(atomic))
	JEQ(LabelRef("swap"))
	CMPQ(half, Imm(locked))
	JEQ(LabelRef("lock"))
	CMPQ(half, Imm(ordered))
	JNE(LabelRef("pause"))
	turn()
	count()
	r.write("ordered", a, lr, bias, decay, plainly)
	nextTurn(func(Register) {
		TESTQ(n, n)
		JZ(LabelRef("next"))
	}, "stop")
	JMP(LabelRef("next"))
	Label("stop")
	DECQ(n)
	JMP(LabelRef("done"))
	Label("lock")
	lock := oneLock()
	count()
	r.write("locked", a, lr, bias, decay, plainly)
	MOVL(U32(0), Mem{Base: lock})
	asleep(lock, "slept")
	JMP(LabelRef("next"))
	Label("slept")
	slept()
	JMP(LabelRef("stop"))
	Label("swap")
	count()
	r.write("swapped", a, lr, bias, decay, swapped)
	JMP(LabelRef("next"))

	Label("resume")
	coef := arg("coef")
	VMOVSS(Mem{Base: coef}, a)
	JMP(LabelRef("write"))
	Label("pause")
	coef = arg("coef")
	VMOVSS(a, Mem{Base: coef})

	Label("done")
	if dense {
		VZEROUPPER()
	}
	VADDSS(weighted, sum, sum)
	Store(sum, ReturnIndex(0))
	Store(product, ReturnIndex(1))
	Store(n, ReturnIndex(2))
	RET()
}

// outputs is Linear.Outputs: nothing is written that a later row reads, so four weights at once are
// gathered into a vector, by loads of one each. (The gather instructions take longer.)
func outputs() {
	begin("linearOutputs", "func(ptr *int64, n int, idx *uint32, val, w *float32, bias float32, z *float32)")
	ptr, n, z := arg("ptr"), arg("n"), arg("z")
	r, next := row{idx: arg("idx"), val: arg("val"), w: arg("w")}, GP64()
	index := func(i Register, k int) Mem { return Mem{Base: r.idx, Index: i, Scale: 4, Disp: 4 * k} }
	weight := func(j Register) Mem { return Mem{Base: r.w, Index: j, Scale: 4} }
	bias := Load(Param("bias"), XMM())
	at, end := GP64(), GP64()
	MOVQ(Mem{Base: ptr}, at)
	Label("row")
	SUBQ(Imm(1), n)
	JL(LabelRef("done"))
	MOVQ(Mem{Base: ptr, Disp: 8}, end)
	ADDQ(Imm(8), ptr)
	sums := []VecVirtual{XMM(), XMM()}
	VMOVAPS(bias, sums[0])
	VXORPS(sums[1], sums[1], sums[1])
	for _, vectors := range []int{2, 1} {
		name := fmt.Sprint("numbers", 4*vectors)
		Label(name)
		LEAQ(Mem{Base: at, Disp: 4 * vectors}, next)
		CMPQ(next, end)
		JG(LabelRef(name + "Done"))
		if vectors == 2 { // rows come from memory once a pass: they are not to drive the weights from the second cache
			PREFETCHNTA(index(at, 1024))
			PREFETCHNTA(r.value(at, 1024))
		}
		for v := range vectors {
			x := XMM()
			for k := range 2 { // two indices by one load
				i, j := GP64(), GP64()
				MOVQ(index(at, 4*v+2*k), j)
				MOVL(j.As32(), i.As32())
				SHRQ(Imm(32), j)
				if k == 0 {
					VMOVSS(weight(i), x)
				} else {
					VINSERTPS(Imm(2<<4), weight(i), x, x)
				}
				VINSERTPS(Imm(uint64(2*k+1)<<4), weight(j), x, x)
			}
			VFMADD231PS(r.value(at, 4*v), x, sums[v])
		}
		MOVQ(next, at)
		JMP(LabelRef(name))
		Label(name + "Done")
	}
	Label("number")
	CMPQ(at, end)
	JGE(LabelRef("sum"))
	j, v := GP64(), XMM()
	MOVL(index(at, 0), j.As32())
	VMOVSS(r.value(at, 0), v)
	VMULSS(weight(j), v, v) // zeros above it
	VADDPS(v, sums[1], sums[1])
	INCQ(at)
	JMP(LabelRef("number"))
	Label("sum")
	VADDPS(sums[1], sums[0], sums[0])
	foldQuarter(sums[0], v)
	VMOVSS(sums[0], Mem{Base: z})
	ADDQ(Imm(4), z)
	JMP(LabelRef("row"))
	Label("done")
	RET()
}

// lead is how many rows before its turn a row is asked for, as package vec has it.
const lead = 16

// fetchRow asks memory for the row at soon, the first lines of it at once, as few rows are
// longer, and twice as far ahead for its label and for where it lies. It goes to the second
// level of cache: sixteen rows of 140 numbers would take more than half of a first level
// of 32 KiB, where the weights are wanted.
func fetchRow(soon, ptr Register) {
	number, from, n, y := GP64(), GP64(), GP64(), GP64()
	MOVLQSX(Mem{Base: soon, Disp: 4 * lead}, number)
	Load(Param("y"), y)
	PREFETCHT0(Mem{Base: y, Index: number, Scale: 4})
	PREFETCHT0(Mem{Base: ptr, Index: number, Scale: 8})
	MOVLQSX(Mem{Base: soon}, number)
	ADDQ(Imm(4), soon)
	MOVQ(Mem{Base: ptr, Index: number, Scale: 8}, from)
	MOVQ(Mem{Base: ptr, Index: number, Scale: 8, Disp: 8}, n)
	SUBQ(from, n)
	idx, val := arg("idx"), arg("val")
	LEAQ(Mem{Base: idx, Index: from, Scale: 4}, idx)
	LEAQ(Mem{Base: val, Index: from, Scale: 4}, val)
	const line = 64 // bytes, 16 numbers
	lines := func(k int) {
		PREFETCHT1(Mem{Base: idx, Disp: k * line})
		PREFETCHT1(Mem{Base: val, Disp: k * line})
	}
	lines(0)
	lines(1)
	SUBQ(Imm(2*line/4), n)
	JLE(LabelRef("fetched"))
	Label("fetch")
	lines(2)
	ADDQ(Imm(line), idx)
	ADDQ(Imm(line), val)
	SUBQ(Imm(line/4), n)
	JG(LabelRef("fetch"))
	Label("fetched")
}

// dot is the bias plus the row times the weights.
func (r row) dot(bias Register) VecVirtual {
	var acc [4]VecVirtual
	for k := range acc {
		acc[k] = XMM()
		if k > 0 {
			VXORPS(acc[k], acc[k], acc[k])
		}
	}
	VMOVSS(Mem{Base: bias}, acc[0])
	i, j, v := GP64(), GP64(), XMM()
	XORQ(i, i)
	var many Register
	if r.idx == nil {
		many = r.dotMany(i)
	}
	r.numbers("dot", i, func(k, sum int) {
		at := r.weight(i, j, k)
		VMOVSS(r.value(i, k), v)
		VFMADD231SS(at, v, acc[sum])
	})
	VADDSS(acc[1], acc[0], acc[0])
	VADDSS(acc[3], acc[2], acc[2])
	VADDSS(acc[2], acc[0], acc[0])
	if r.idx == nil {
		VADDSS(many, acc[0], acc[0])
	}
	return acc[0]
}

// numbers goes over the row from i on, four numbers at a time, and then one by one: body's number is
// the k-th from i on, for one of four sums.
func (r row) numbers(name string, i Register, body func(k, sum int)) {
	SUBQ(Imm(4), r.n)
	CMPQ(i, r.n)
	JG(LabelRef(name + "Rest"))
	Label(name + "4")
	for k := range 4 {
		body(k, k)
	}
	ADDQ(Imm(4), i)
	CMPQ(i, r.n)
	JLE(LabelRef(name + "4"))
	Label(name + "Rest")
	ADDQ(Imm(4), r.n)
	JMP(LabelRef(name + "Test"))
	Label(name + "1")
	body(0, 1)
	INCQ(i)
	Label(name + "Test")
	CMPQ(i, r.n)
	JL(LabelRef(name + "1"))
}

// write is the half that writes: a and the row make the step of the weights and of the bias.
// change says how one of these is changed; name keeps the labels of several apart.
func (r row) write(name string, a, lr, bias Register, decay bool, change func(at Mem, by func(x Register))) {
	VMULSS(lr, a, a)
	r.axpy(name, a, lr, decay, change)
	step := XMM()
	VMOVSS(number("biasStep"), step)
	change(Mem{Base: bias}, func(x Register) { VFMADD231SS(a, step, x) })
	Label(name + "Written")
}

// plainly changes the number at a place.
func plainly(at Mem, by func(x Register)) {
	x := XMM()
	VMOVSS(at, x)
	by(x)
	VMOVSS(x, at)
}

// axpy is w += a row, and before that w -= min(1, lr shrink) w.
func (r row) axpy(name string, a, lr Register, decay bool, change func(at Mem, by func(x Register))) {
	i, j, s, one := GP64(), GP64(), XMM(), XMM()
	var shrink Register
	if decay {
		shrink = arg("shrink")
		VMOVSS(constant("one", 1), one)
	} else {
		VXORPS(s, s, s)
		VUCOMISS(s, a)
		JEQ(LabelRef(name + "Written")) // a hinge that is satisfied
	}
	XORQ(i, i)
	if r.idx == nil && name != "swapped" {
		r.axpyMany(name, i, a, lr, shrink)
	}
	r.numbers(name+"axpy", i, func(k, _ int) {
		at := r.weight(i, j, k)
		change(at, func(x Register) {
			if decay {
				at.Base = shrink
				VMULSS(at, lr, s)
				VMINSS(one, s, s)
				VFNMADD231SS(x, s, x)
			}
			VFMADD231SS(r.value(i, k), a, x)
		})
	})
}

// derivative sets a to minus the derivative of the loss at z for the label y, and adds
// the loss to sum, less the logarithm of what it multiplies product by.
func derivative(z, y, a, sum, product Register) {
	t, x := XMM(), XMM()
	kind := arg("loss")
	CMPQ(kind, U32(lossSquared))
	JGE(LabelRef("value"))
	VADDSS(y, y, t)
	VSUBSS(constant("one", 1), t, t) // 1 for class 1, -1 for class 0
	CMPQ(kind, U32(lossHinge))
	JEQ(LabelRef("hinge"))

	// Logistic: e = exp(t z), and a = t/(1+e). The loss is max(0, -t z) plus
	// log(1 + min(e, 1/e)), minus the logarithm of the larger of 1/(1+e) and e/(1+e).
	// What waits for z is as little as can be: a factor of t rounds nothing.
	e, miss, own := XMM(), XMM(), XMM()
	VMULSS(constant("log2e", math.Log2E), t, x)
	VMULSS(z, x, x)
	scalarExp2(x, e)
	VADDSS(constant("one", 1), e, own)
	VDIVSS(own, t, a)
	VMULSS(z, t, x)
	VMULSS(t, a, miss)
	VMULSS(e, miss, own)
	VMAXSS(own, miss, own)
	VMULSS(own, product, product)
	zero := XMM()
	VXORPS(zero, zero, zero)
	VSUBSS(x, zero, x)
	VMAXSS(x, zero, x)
	VADDSS(x, sum, sum)
	JMP(LabelRef("step"))

	Label("hinge")
	VMULSS(z, t, x)
	VMOVSS(constant("one", 1), e)
	VSUBSS(x, e, x) // 1 - t z, positive or NaN where there is a loss
	VXORPS(a, a, a)
	VUCOMISS(x, a)
	JCC(LabelRef("step"))
	VMOVAPS(t, a)
	VADDSS(x, sum, sum)
	JMP(LabelRef("step"))

	Label("value")
	VSUBSS(z, y, x) // y - z
	CMPQ(kind, U32(lossAbsolute))
	JEQ(LabelRef("absolute"))
	VADDSS(x, x, a)
	VFMADD231SS(x, x, sum)
	JMP(LabelRef("step"))

	Label("absolute")
	sign := XMM()
	VMOVSS(constant("sign", math.Float32frombits(1<<31)), sign)
	VANDPS(sign, x, a)
	VXORPS(a, x, x) // |y - z|
	VADDSS(x, sum, sum)
	VMOVSS(constant("one", 1), t)
	VORPS(t, a, a)
	VXORPS(t, t, t)
	VUCOMISS(t, x)
	JNE(LabelRef("step"))
	VXORPS(a, a, a)
	Label("step")
}

// weigh multiplies a by the weight of the row before rows, and adds to weighted as many times its loss, which
// it takes from sum and product; what does not wait for a takes no time. Of a row of weight 0 a and the loss do not
// matter.
func weigh(rows, a, sum, product, weighted Register) {
	ofRows, ofClasses, i := arg("weight"), arg("class"), GP64()
	MOVQ(ofRows, i)
	ORQ(ofClasses, i)
	JZ(LabelRef("weighed"))
	by, loss, u, s, q, p := XMM(), XMM(), XMM(), XMM(), XMM(), XMM()
	one := constant("one", 1)
	MOVLQSX(Mem{Base: rows, Disp: -4}, i)
	VMOVSS(one, by)
	TESTQ(ofRows, ofRows)
	JZ(LabelRef("weighClass"))
	VMOVSS(Mem{Base: ofRows, Index: i, Scale: 4}, by)
	Label("weighClass")
	TESTQ(ofClasses, ofClasses)
	JZ(LabelRef("weigh"))
	labels := arg("y")
	VCVTTSS2SIQ(Mem{Base: labels, Index: i, Scale: 4}, i)
	VMULSS(Mem{Base: ofClasses, Index: i, Scale: 4}, by, by)
	Label("weigh")
	VSUBSS(one, product, u) // the logarithm is 2 atanh(s)
	VADDSS(one, product, s)
	VDIVSS(s, u, s)
	VMULSS(s, s, q)
	VMOVSS(constant("atanh_4", atanh[4]), p)
	for i := 3; i >= 0; i-- {
		VFMADD213SS(constant(fmt.Sprint("atanh_", i), atanh[i]), q, p)
	}
	VMULSS(s, p, p)
	VSUBSS(p, sum, loss)
	VXORPS(sum, sum, sum)
	VMOVSS(one, product)
	VCMPSS(Imm(4), sum, by, u) // by != 0
	VANDPS(u, loss, loss)
	VANDPS(u, a, a)
	VFMADD231SS(by, loss, weighted)
	VMULSS(by, a, a)
	Label("weighed")
}

// scalarExp2 is e = 2^y, for |y| up to 126: y is a whole number n plus f, and n is added to the exponent of 2^f. Larger
// ones are rare: a branch that is foreseen takes no time.
func scalarExp2(y, e Register) {
	n, f, g, least, most := XMM(), XMM(), XMM(), XMM(), XMM()
	VMOVSS(constant("most", 126), most)
	VMOVSS(constant("sign", math.Float32frombits(1<<31)), n)
	VANDNPS(y, n, n)
	VUCOMISS(n, most)
	JCC(LabelRef("within"))
	VMOVSS(constant("least", -126), least)
	VMAXSS(y, least, y) // of a NaN and a number these two give the first operand
	VMINSS(y, most, y)
	Label("within")
	VADDSS(constant("magic", 3<<22), y, n) // 1.5 x 2^23: the sum is rounded to a whole number
	VSUBSS(constant("magic", 3<<22), n, f)
	VSUBSS(f, y, f)
	VPSLLD(Imm(23), n, n)
	c := func(i int) VecVirtual {
		v := XMM()
		VMOVSS(constant("exp2_"+string(rune('0'+i)), exp2[i]), v)
		return v
	}
	low, mid, high := c(0), c(2), c(4)
	VMULSS(f, f, g)
	VFMADD231SS(constant("exp2_1", exp2[1]), f, low)
	VFMADD231SS(constant("exp2_3", exp2[3]), f, mid)
	VFMADD231SS(constant("exp2_5", exp2[5]), f, high)
	VFMADD231SS(g, high, mid)
	VFMADD231SS(g, mid, low)
	VPADDD(n, low, e)
}

var linearConstants = map[string]Mem{}

// constant is a number in read-only memory.
func constant(name string, v float32) Mem {
	if _, ok := linearConstants[name]; !ok {
		linearConstants[name] = ConstData("linear_"+name, F32(v))
	}
	return linearConstants[name]
}
