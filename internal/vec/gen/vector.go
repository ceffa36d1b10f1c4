package main

import (
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// simd is an instruction set: its vectors, and how many rows of two vectors of sums its registers
// hold next to what feeds them.
type simd struct {
	name   string
	width  int // floats in a vector
	rows   int
	masks  bool
	vector func() VecVirtual
}

var (
	avx2   = simd{"AVX2", 8, 6, false, YMM}
	avx512 = simd{"AVX512", 16, 14, true, ZMM}
	sets   = []simd{avx2, avx512}
)

// bytes is the size of a vector.
func (s simd) bytes() int { return 4 * s.width }

// vectors are n of them.
func (s simd) vectors(n int) []VecVirtual { return many(s.vector, n) }

func many[R any](register func() R, n int) []R {
	all := make([]R, n)
	for i := range all {
		all[i] = register()
	}
	return all
}

// begin opens a function.
func begin(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

// end returns from one that has used vectors.
func end() {
	VZEROUPPER()
	RET()
}

// arg is the parameter in a register; number is where it lies.
func arg(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

func number(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// spread is the parameter in every place of a vector.
func (s simd) spread(name string) VecVirtual {
	a := s.vector()
	VBROADCASTSS(number(name), a)
	return a
}

// lanes are the masks of the first n of two vectors' floats, where there are masks.
func (s simd) lanes(n Register) []Register {
	if !s.masks {
		return nil
	}
	ones := GP32()
	MOVL(U32(1<<32-1), ones)
	BZHIL(n.(GP).As32(), ones, ones)
	lo, hi := K(), K()
	KMOVW(ones, lo)
	SHRL(Imm(16), ones)
	KMOVW(ones, hi)
	return []Register{lo, hi}
}

// ends returns masks for the vectors of n floats; the last may end early: with AVX2 the sign of each float of a vector.
func (s simd) ends(n GPVirtual, vectors int) []Register {
	if s.masks {
		return s.lanes(n)
	}
	over, at, mask := GP64(), GP64(), s.vector()
	MOVQ(U32(s.width*vectors), over)
	SUBQ(n, over)
	LEAQ(endOfAVX2(), at)
	VMOVUPS(Mem{Base: at, Index: over, Scale: 4}, mask)
	return append(make([]Register, vectors-1), mask)
}

// endOfAVX2 is a vector of ones, and zeros behind it.
var endOfAVX2 = sync.OnceValue(func() Mem {
	m := GLOBL("endOfAVX2", RODATA|NOPTR)
	for i := range 15 {
		DATA(4*i, I32(min(0, i/8-1)))
	}
	return m
})

// tail is the mask of vector v, or nil.
func tail(masks []Register, v int) Register {
	if masks == nil {
		return nil
	}
	return masks[v]
}

// load is the vector at m; of a tail, with zeros behind it.
func (s simd) load(m Mem, tail Register) VecVirtual {
	x := s.vector()
	switch {
	case tail == nil:
		VMOVUPS(m, x)
	case s.masks:
		VMOVUPS_Z(m, tail, x)
	default:
		VMASKMOVPS(m, tail, x)
	}
	return x
}

// addScaled is sum = alpha * sum + the vector at m.
func (s simd) addScaled(m Mem, tail Register, alpha, sum VecVirtual) {
	switch {
	case tail == nil:
		VFMADD213PS(m, alpha, sum)
	case s.masks:
		VFMADD213PS(m, alpha, tail, sum)
	default:
		VFMADD213PS(s.load(m, tail), alpha, sum)
	}
}

func (s simd) store(x VecVirtual, m Mem, tail Register) {
	switch {
	case tail == nil:
		VMOVUPS(x, m)
	case s.masks:
		VMOVUPS(x, tail, m)
	default:
		VMASKMOVPS(x, tail, m)
	}
}

// part is the register x as one of n numbers.
func part(x VecVirtual, n int) Register {
	switch n {
	case 16:
		return x.AsZ()
	case 8:
		return x.AsY()
	}
	return x.AsX()
}

// loadPart and storePart move n numbers.
func (s simd) loadPart(m Mem, n int) VecVirtual {
	x := s.vector()
	switch n {
	case 2:
		VMOVSD(m, x.AsX())
	case 1:
		VMOVSS(m, x.AsX())
	default:
		VMOVUPS(m, part(x, n))
	}
	return x
}

func storePart(x VecVirtual, m Mem, n int) {
	switch n {
	case 2:
		VMOVSD(x.AsX(), m)
	case 1:
		VMOVSS(x.AsX(), m)
	default:
		VMOVUPS(part(x, n), m)
	}
}

// zero sets vectors to zero.
func (s simd) zero(all ...VecVirtual) {
	for _, v := range all {
		if s.masks {
			VPXORD(v, v, v)
		} else {
			VXORPS(v, v, v)
		}
	}
}

// fold adds up the parts of v, each of 16 bytes. v is lost.
func (s simd) fold(add func(...Op), v VecVirtual) VecVirtual {
	sum := XMM()
	if s.masks {
		half := YMM()
		VEXTRACTF64X4(Imm(1), v, half)
		add(half, v.AsY(), v.AsY())
		VEXTRACTF32X4(Imm(1), v.AsY(), sum) // registers above 15 too
	} else {
		VEXTRACTF128(Imm(1), v.AsY(), sum)
	}
	add(sum, v.AsX(), sum)
	return sum
}

// foldQuarter makes the first of x the sum of four.
func foldQuarter(x, t VecVirtual) {
	VPERMILPD(Imm(1), x.AsX(), t.AsX())
	VADDPS(t.AsX(), x.AsX(), x.AsX())
	VMOVSHDUP(x.AsX(), t.AsX())
	VADDSS(t.AsX(), x.AsX(), x.AsX())
}

// strided are the addresses i strides behind m, for i up to 4.
func strided(stride Register) func(m Mem, i int) Mem {
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	return func(m Mem, i int) Mem {
		switch i {
		case 0:
		case 3:
			m.Index, m.Scale = three, 1
		default:
			m.Index, m.Scale = stride, uint8(i)
		}
		return m
	}
}

// countdown repeats body n times; n, which is more than 0, is lost.
func countdown(label string, n Register, body func()) {
	Label(label)
	body()
	DECQ(n)
	JNZ(LabelRef(label))
}
