package main

import (
	"fmt"
	"math"
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// words makes the loops of words_amd64.s: steps on rows of two tables, of any length.
func words() {
	for _, s := range sets {
		s.wordsSteps()
		s.wordsCopy()
		s.wordsDots()
		s.wordsMove()
		s.gatherRows()
		s.scatterRows()
	}
	wordsPlan()
	fetchRows()
}

// columns are the places of the numbers of a row.
type columns struct {
	s        simd
	k        Mem       // bytes of a row
	c, whole GPVirtual // a place; the end of the whole vectors
}

// A place is n numbers of a row.
type place struct {
	c Register
	n int
}

// columns begins with the length of a row in k, which it makes bytes.
func (s simd) columns(k GPVirtual) *columns {
	r := &columns{s: s, k: AllocLocal(8), c: GP64(), whole: GP64()}
	SHLQ(Imm(2), k)
	MOVQ(k, r.k)
	MOVQ(k, r.whole)
	ANDQ(I8(-s.bytes()), r.whole)
	return r
}

// each goes over all numbers of rows, by whole vectors, and then by parts of one: what a masked store has written
// cannot be loaded before it has left the processor's queue, and a masked load may wait for a line that was not asked
// for.
func (r *columns) each(name string, body func(p place)) {
	XORQ(r.c, r.c)
	r.rest(name, body)
}

// rest is each from c on.
func (r *columns) rest(name string, body func(p place)) {
	JMP(LabelRef(name + "Test"))
	Label(name + "Whole")
	body(place{r.c, r.s.width})
	ADDQ(I8(r.s.bytes()), r.c)
	Label(name + "Test")
	CMPQ(r.c, r.whole)
	JL(LabelRef(name + "Whole"))
	for n := r.s.width / 2; n > 0; n /= 2 {
		none := fmt.Sprint(name, n)
		TESTB(U8(4*n), r.k)
		JZ(LabelRef(none))
		body(place{r.c, n})
		ADDQ(Imm(uint64(4*n)), r.c)
		Label(none)
	}
}

func (p place) at(row Register) Mem { return Mem{Base: row, Index: p.c, Scale: 1} }

// loadAt are the numbers at m, and zeros behind them.
func (s simd) loadAt(p place, m Mem) VecVirtual {
	if p.n == s.width {
		return s.load(m, nil)
	}
	x := s.vector()
	VXORPS(x, x, x) // or avo takes the upper half for what it was before
	switch p.n {
	case 2:
		VMOVSD(m, x.AsX())
	case 1:
		VMOVSS(m, x.AsX())
	default:
		VMOVUPS(m, part(x, p.n))
	}
	return x
}

// addProduct is sum += x times the numbers at m.
func (s simd) addProduct(p place, m Mem, x, sum VecVirtual) {
	if p.n == s.width {
		VFMADD231PS(m, x, sum)
	} else {
		VFMADD231PS(s.loadAt(p, m), x, sum)
	}
}

// addAt is sum += the numbers at m.
func (s simd) addAt(p place, m Mem, sum VecVirtual) {
	if p.n == s.width {
		VADDPS(m, sum, sum)
	} else {
		VADDPS(s.loadAt(p, m), sum, sum)
	}
}

// wordConstants are the numbers that the loops share, each in eight places or as they stand.
type wordConstants struct {
	ends                                       Mem // eight times -1, and eight zeros: masks of the first numbers
	earlier                                    [batch - 1]Mem
	signs                                      Mem // of the labels: of the first batch of a group, and of others
	sign, one, most, log2e, ln2hi, ln2lo, ones Mem
	series                                     [7]Mem
}

var wordsConstants = sync.OnceValue(func() (w wordConstants) {
	ints := func(name string, v ...int32) Mem {
		m := GLOBL(name, RODATA|NOPTR)
		for i, x := range v {
			DATA(4*i, I32(x))
		}
		return m
	}
	all := func(name string, x float32) Mem {
		v := make([]int32, 8)
		for i := range v {
			v[i] = int32(math.Float32bits(x))
		}
		return ints(name, v...)
	}
	ends := make([]int32, 16)
	for i := range 8 {
		ends[i] = -1
	}
	w.ends, w.ones = ints("wordsEnds", ends...), ints("wordsOnes", ends[:8]...)
	for r := range w.earlier {
		v := make([]int32, 8)
		for i := range v {
			if v[i] = 7; i > r {
				v[i] = int32(i - r - 1)
			}
		}
		w.earlier[r] = ints(fmt.Sprint("wordsEarlier", r), v...)
	}
	signs := make([]int32, 16)
	for i := 1; i < 16; i++ {
		signs[i] = math.MinInt32
	}
	w.signs = ints("wordsSigns", signs...)
	w.sign, w.one = all("wordsSign", float32(math.Copysign(0, -1))), all("wordsOne", 1)
	w.most, w.log2e = all("wordsMost", 87), all("wordsLog2e", -math.Log2E)
	w.ln2hi, w.ln2lo = all("wordsLn2hi", 0.693359375), all("wordsLn2lo", -2.12194440e-4) // as in Cephes' expf
	for k, f := 0, 1.0; k < len(w.series); k++ {
		w.series[k] = all(fmt.Sprint("wordsSeries", k), float32(1/f))
		f *= float64(k + 1)
	}
	return w
})

// from returns the vector that begins n numbers before the middle of the table at m.
func from(m Mem, n GPVirtual) Mem {
	at, by := GP64(), GP64()
	LEAQ(m, at)
	MOVQ(U32(8), by)
	SUBQ(n, by)
	return Mem{Base: at, Index: by, Scale: 4}
}

// A wordLoss is the running sum of the linear part of the losses, and the product of the rest.
type wordLoss struct{ linear, product VecVirtual }

func newWordLoss() wordLoss {
	l := wordLoss{YMM(), YMM()}
	VXORPD(l.linear, l.linear, l.linear)
	one := GP64()
	MOVQ(U64(math.Float64bits(1)), one)
	VMOVQ(one, l.product.AsX())
	VBROADCASTSD(l.product.AsX(), l.product)
	return l
}

// store returns both.
func (l wordLoss) store(index int) {
	high := XMM()
	VEXTRACTF128(Imm(1), l.linear, high)
	VADDPD(high, l.linear.AsX(), l.linear.AsX())
	VHADDPD(l.linear.AsX(), l.linear.AsX(), l.linear.AsX())
	Store(l.linear.AsX(), ReturnIndex(index))
	VEXTRACTF128(Imm(1), l.product, high)
	VMULPD(high, l.product.AsX(), l.product.AsX())
	VPERMILPD(Imm(1), l.product.AsX(), high)
	VMULSD(high, l.product.AsX(), l.product.AsX())
	Store(l.product.AsX(), ReturnIndex(index+1))
}

// sixSums are the sums of the numbers of each of six vectors, which are lost.
func (s simd) sixSums(v []VecVirtual) VecVirtual {
	if s.masks {
		for _, x := range v {
			half := YMM()
			VEXTRACTF64X4(Imm(1), x, half)
			VADDPS(half, x.AsY(), x.AsY())
		}
	}
	y := func(i int) Register { return v[i].AsY() }
	VHADDPS(y(1), y(0), y(0))
	VHADDPS(y(3), y(2), y(2))
	VHADDPS(y(5), y(4), y(4))
	VHADDPS(y(2), y(0), y(0))
	VHADDPS(y(4), y(4), y(4))
	lo, hi := YMM(), YMM()
	VPERM2F128(Imm(0x20), y(4), y(0), lo)
	VPERM2F128(Imm(0x31), y(4), y(0), hi)
	VADDPS(hi, lo, lo)
	return lo
}

// logistic makes of the products x the coefficients of a step, (label - sigmoid(x)) lr, and adds up the losses; none
// marks numbers that have no meaning. With t = exp(-|x|), and z = x for the label 1 and -x for 0, sigmoid(-z) is
// 1/(1+t) or t/(1+t), and the loss max(-z, 0) + log(1+t).
func (l wordLoss) logistic(x, none, signs VecVirtual, lr Mem) VecVirtual {
	w := wordsConstants()
	z, a, n, t, g, zero := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VXORPS(signs, x, z)
	VMOVUPS(w.sign, a)
	VANDNPS(x, a, a)
	VMOVUPS(w.most, t)
	VMINPS(a, t, a) // NaN stays
	VMULPS(w.log2e, a, n)
	VROUNDPS(Imm(8), n, n)
	VXORPS(w.sign, a, a)
	VFNMADD231PS(w.ln2hi, n, a)
	VFNMADD231PS(w.ln2lo, n, a)
	square, second, third := YMM(), YMM(), YMM()
	VMULPS(a, a, square)
	for i, sum := range []VecVirtual{t, second, third} {
		VMOVUPS(w.series[2*i+1], sum)
		VFMADD213PS(w.series[2*i], a, sum)
	}
	VFMADD231PS(w.series[6], square, third)
	VFMADD231PS(third, square, second)
	VFMADD231PS(second, square, t)
	VCVTPS2DQ(n, n)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, t, t)
	one, d := YMM(), YMM()
	VMOVUPS(w.one, one)
	VADDPS(one, t, d)
	VBLENDVPS(z, one, t, g)
	VBROADCASTSS(lr, n)
	VMULPS(n, g, g)
	VDIVPS(d, g, g)
	VXORPS(signs, g, g)
	VANDNPS(g, none, g)

	VXORPS(w.sign, z, z)
	VXORPS(zero, zero, zero)
	VMAXPS(z, zero, z) // NaN stays
	VANDNPS(z, none, z)
	VANDNPS(t, none, t)
	VADDPS(one, t, t)
	high, wide := XMM(), YMM()
	VEXTRACTF128(Imm(1), z, high)
	VADDPS(high, z.AsX(), z.AsX())
	VCVTPS2PD(z.AsX(), wide)
	VADDPD(wide, l.linear, l.linear)
	VEXTRACTF128(Imm(1), t, high)
	VMULPS(high, t.AsX(), t.AsX())
	VCVTPS2PD(t.AsX(), wide)
	VMULPD(wide, l.product, l.product)
	return g
}

// A wordTable finds rows of a table by vectors of their numbers.
type wordTable struct{ base, stride, last, zero Mem }

// table keeps what finding takes: in each number of a vector of 32 bytes.
func table(base, rows, stride, zero Mem) wordTable {
	t := wordTable{AllocLocal(32), AllocLocal(32), AllocLocal(32), AllocLocal(32)}
	x, r := YMM(), GP64()
	for _, p := range [][2]Mem{{base, t.base}, {stride, t.stride}, {zero, t.zero}} {
		VPBROADCASTQ(p[0], x)
		VMOVDQU(x, p[1])
	}
	MOVQ(rows, r)
	DECQ(r)
	VMOVQ(r, x.AsX())
	VPBROADCASTD(x.AsX(), x)
	VMOVDQU(x, t.last)
	return t
}

// find stores the addresses of six rows at to; zero's, where none is set.
func (t wordTable) find(rows, none VecVirtual, to Mem) {
	for half := range 2 {
		r, m := YMM(), YMM()
		if half == 0 {
			VPMOVZXDQ(rows.AsX(), r)
			VPMOVSXDQ(none.AsX(), m)
		} else {
			VEXTRACTI128(Imm(1), rows, r.AsX())
			VEXTRACTI128(Imm(1), none, m.AsX())
			VPMOVZXDQ(r.AsX(), r)
			VPMOVSXDQ(m.AsX(), m)
		}
		VPMULUDQ(t.stride, r, r)
		VPADDQ(t.base, r, r)
		VBLENDVPD(m, t.zero, r, r)
		VMOVDQU(r, to.Offset(32*half))
	}
}

// some are the first n of the numbers from at on, n up to 8, all others NoTarget; none marks them.
func some(at Mem, n GPVirtual) (rows, none VecVirtual) {
	w := wordsConstants()
	mask, ones := YMM(), YMM()
	rows, none = YMM(), YMM()
	VMOVDQU(from(w.ends, n), mask)
	VPMASKMOVD(at, mask, rows)
	VMOVDQU(w.ones, ones)
	VPXOR(ones, mask, mask)
	VPOR(mask, rows, rows)
	VPCMPEQD(ones, rows, none)
	return rows, none
}
