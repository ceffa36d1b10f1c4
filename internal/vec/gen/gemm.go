package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// simd is an instruction set: its vectors, and how many rows of two vectors of sums
// its registers hold beside what feeds them.
type simd struct {
	name   string
	width  int // floats in a vector
	rows   int
	masks  bool
	vector func() reg.VecVirtual
}

var sets = []simd{
	{"AVX2", 8, 6, false, YMM},
	{"AVX512", 16, 14, true, ZMM},
}

// gemm makes the loops of gemm_amd64.s.
func gemm() {
	for _, s := range sets {
		s.tile()
		s.pack()
		s.packT()
		s.strip()
	}
}

// tile makes the micro-kernel: m x n sums in registers while it walks along k. There
// is one loop for each m and number of vectors, so that an edge costs what it is.
func (s simd) tile() {
	TEXT("tile"+s.name, NOSPLIT, "func(count, next, m, n, k int, alpha float32, a *float32, ars, acs int, b, c *float32, ldc int)")
	Pragma("noescape")
	n := "n of 8 or 16"
	if s.masks {
		n = "n up to 32"
	}
	Doc(fmt.Sprintf("tile%s is c[i*ldc+j] += alpha * sum over p < k of a[i*ars+p*acs]*b[p*nr+j], for i < m", s.name),
		fmt.Sprintf("and j < n; m up to %d, %s, k from 1; nr is n rounded up to whole vectors.", s.rows, n),
		"So for count tiles, one below the other; from one to the next a advances by next.")
	m, columns := Load(Param("m"), GP64()), Load(Param("n"), GP64())
	var masks []reg.OpmaskVirtual
	if s.masks {
		masks = lanes(columns)
	}
	CMPQ(columns, Imm(uint64(s.width)))
	JGT(LabelRef("two"))
	for vectors := 1; vectors <= 2; vectors++ {
		if vectors == 2 {
			Label("two")
		}
		for rows := s.rows; rows > 1; rows-- {
			CMPQ(m, Imm(uint64(rows)))
			JEQ(LabelRef(fmt.Sprintf("tile%dx%d", rows, vectors)))
		}
		for rows := 1; rows <= s.rows; rows++ {
			Label(fmt.Sprintf("tile%dx%d", rows, vectors))
			s.sums(rows, vectors, masks)
		}
	}
}

// lanes are the masks of the first n of 32 floats.
func lanes(n reg.Register) []reg.OpmaskVirtual {
	ones := GP32()
	MOVL(U32(1<<32-1), ones)
	BZHIL(n.(reg.GP).As32(), ones, ones)
	lo, hi := K(), K()
	KMOVW(ones, lo)
	SHRL(Imm(16), ones)
	KMOVW(ones, hi)
	return []reg.OpmaskVirtual{lo, hi}
}

// sums makes the tile of rows x vectors.
func (s simd) sums(rows, vectors int, masks []reg.OpmaskVirtual) {
	again := fmt.Sprintf("again%dx%d", rows, vectors)
	Label(again)
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		for range vectors {
			v := s.vector()
			s.zero(v)
			acc[r] = append(acc[r], v)
		}
	}
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	SHLQ(Imm(2), ldc)
	next := GP64()
	MOVQ(c, next)
	for range rows {
		for v := range vectors {
			PREFETCHT0(Mem{Base: next, Disp: 4 * s.width * v})
		}
		ADDQ(ldc, next)
	}
	s.walk(acc)
	alpha := s.vector()
	VBROADCASTSS(number("alpha"), alpha)
	// All are loaded before the first is stored: a masked store delays a load from the
	// bytes that its mask leaves out, where narrow rows continue.
	MOVQ(c, next)
	for r := range acc {
		for v, sum := range acc[r] {
			at := Mem{Base: next, Disp: 4 * s.width * v}
			if s.masks {
				VFMADD213PS(at, alpha, masks[v], sum)
			} else {
				VFMADD213PS(at, alpha, sum)
			}
		}
		ADDQ(ldc, next)
	}
	for r := range acc {
		for v, sum := range acc[r] {
			s.store(sum, Mem{Base: c, Disp: 4 * s.width * v}, tail(masks, v))
		}
		ADDQ(ldc, c)
	}
	a, by := Load(Param("a"), GP64()), Load(Param("next"), GP64())
	LEAQ(Mem{Base: a, Index: by, Scale: 4}, a)
	MOVQ(a, number("a"))
	MOVQ(c, number("c"))
	DECQ(number("count"))
	JNZ(LabelRef(again))
	VZEROUPPER()
	RET()
}

// tail is the mask of vector v, nil without masks.
func tail(masks []reg.OpmaskVirtual, v int) reg.Register {
	if masks == nil {
		return nil
	}
	return masks[v]
}

// zero clears v.
func (s simd) zero(v reg.VecVirtual) {
	if s.masks {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

// walk makes the loop over k: acc[r][v] += a[r] * b[v]. Row r of a is at p, or beyond the
// seventh at q, plus up to six strides. With AVX2 two steps are made at once: counting would
// take a fifteenth of the time of twelve sums, on units that multiply too.
func (s simd) walk(acc [][]reg.VecVirtual) {
	const half = 7
	rows, vectors := len(acc), len(acc[0])
	p, stride, step := Load(Param("a"), GP64()), Load(Param("ars"), GP64()), Load(Param("acs"), GP64())
	b, k := Load(Param("b"), GP64()), Load(Param("k"), GP64())
	SHLQ(Imm(2), stride)
	SHLQ(Imm(2), step)
	stride3, stride5, q := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 4}, stride5)
	if rows > half {
		LEAQ(Mem{Base: p, Index: stride, Scale: 1}, q)
		LEAQ(Mem{Base: q, Index: stride3, Scale: 2}, q)
	}
	row := func(r int) Mem {
		base := p
		if r >= half {
			base, r = q, r-half
		}
		switch r {
		case 0:
			return Mem{Base: base}
		case 3, 6:
			return Mem{Base: base, Index: stride3, Scale: uint8(r / 3)}
		case 5:
			return Mem{Base: base, Index: stride5, Scale: 1}
		}
		return Mem{Base: base, Index: stride, Scale: uint8(r)}
	}
	steps := func(n int) {
		for u := range n {
			var bs []reg.VecVirtual
			for v := range vectors {
				bs = append(bs, s.vector())
				VMOVUPS(Mem{Base: b, Disp: 4 * s.width * (u*vectors + v)}, bs[v])
			}
			for r := range acc {
				x := s.vector()
				VBROADCASTSS(row(r), x)
				for v, sum := range acc[r] {
					VFMADD231PS(bs[v], x, sum)
				}
			}
			ADDQ(step, p)
			if rows > half {
				ADDQ(step, q)
			}
		}
		ADDQ(U32(4*s.width*vectors*n), b)
	}
	label := func(name string) string { return fmt.Sprintf("%s%dx%d", name, rows, vectors) }
	if !s.masks {
		SUBQ(Imm(2), k)
		JLT(LabelRef(label("odd")))
		Label(label("walk"))
		steps(2)
		SUBQ(Imm(2), k)
		JGE(LabelRef(label("walk")))
		Label(label("odd"))
		ADDQ(Imm(2), k)
		JEQ(LabelRef(label("walked")))
		steps(1)
		Label(label("walked"))
		return
	}
	Label(label("walk"))
	steps(1)
	DECQ(k)
	JNZ(LabelRef(label("walk")))
}

// pack makes the copy of a panel: k rows of n floats that lie ld apart, one behind
// the other.
func (s simd) pack() {
	TEXT("pack"+s.name, NOSPLIT, "func(n, k int, src *float32, ld int, dst *float32)")
	Pragma("noescape")
	if s.masks {
		Doc("packAVX512 is packGo for n up to 32.")
	} else {
		Doc("packAVX2 is packGo for n of 8 or 16.")
	}
	n, k := Load(Param("n"), GP64()), Load(Param("k"), GP64())
	src, ld, dst := Load(Param("src"), GP64()), Load(Param("ld"), GP64()), Load(Param("dst"), GP64())
	SHLQ(Imm(2), ld)
	var masks []reg.OpmaskVirtual
	if s.masks {
		masks = lanes(n)
	}
	CMPQ(n, Imm(uint64(s.width)))
	JGT(LabelRef("two"))
	for vectors := 1; vectors <= 2; vectors++ {
		loop := "one"
		if vectors == 2 {
			loop = "two"
		}
		Label(loop)
		for v := range vectors {
			x, from := s.vector(), Mem{Base: src, Disp: 4 * s.width * v}
			if s.masks {
				VMOVUPS_Z(from, masks[v], x)
			} else {
				VMOVUPS(from, x)
			}
			VMOVUPS(x, Mem{Base: dst, Disp: 4 * s.width * v})
		}
		ADDQ(ld, src)
		ADDQ(Imm(uint64(4*s.width*vectors)), dst)
		DECQ(k)
		JNZ(LabelRef(loop))
		VZEROUPPER()
		RET()
	}
}

// packT makes the transpose of one vector's width of rows. Four floats of rows i,
// i+4, i+8, i+12 become the four parts of vector i, and four such vectors a transpose
// of 4 x 4 in each part.
func (s simd) packT() {
	TEXT("packT"+s.name, NOSPLIT, "func(k int, src *float32, ld int, dst *float32, nr int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("packT%s is packTGo for %d rows, the first of the nr of dst, and k a multiple of 4.", s.name, s.width))
	k, src, ld := Load(Param("k"), GP64()), Load(Param("src"), GP64()), Load(Param("ld"), GP64())
	dst, nr := Load(Param("dst"), GP64()), Load(Param("nr"), GP64())
	SHLQ(Imm(2), ld)
	SHLQ(Imm(2), nr)
	ld3, nr3 := GP64(), GP64()
	LEAQ(Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	LEAQ(Mem{Base: nr, Index: nr, Scale: 2}, nr3)
	at := func(base, stride, stride3 reg.Register, i int) Mem {
		switch i {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: stride3, Scale: 1}
		}
		return Mem{Base: base, Index: stride, Scale: uint8(i)}
	}
	Label("four")
	rows := GP64()
	MOVQ(src, rows)
	var x [4]reg.VecVirtual
	for part := range s.width / 4 {
		for i := range 4 {
			from := at(rows, ld, ld3, i)
			switch {
			case part == 0:
				x[i] = s.vector()
				VMOVUPS(from, x[i].AsX())
			case s.masks:
				VINSERTF32X4(Imm(uint64(part)), from, x[i], x[i])
			default:
				VINSERTF128(Imm(1), from, x[i], x[i])
			}
		}
		LEAQ(Mem{Base: rows, Index: ld, Scale: 4}, rows)
	}
	var pair, out [4]reg.VecVirtual // pairs of rows, then of pairs
	for i := range 4 {
		pair[i], out[i] = s.vector(), s.vector()
	}
	VUNPCKLPS(x[1], x[0], pair[0])
	VUNPCKHPS(x[1], x[0], pair[1])
	VUNPCKLPS(x[3], x[2], pair[2])
	VUNPCKHPS(x[3], x[2], pair[3])
	for i := range 2 {
		VUNPCKLPD(pair[i+2], pair[i], out[2*i])
		VUNPCKHPD(pair[i+2], pair[i], out[2*i+1])
	}
	for i := range 4 {
		VMOVUPS(out[i], at(dst, nr, nr3, i))
	}
	ADDQ(Imm(16), src)
	LEAQ(Mem{Base: dst, Index: nr, Scale: 4}, dst)
	SUBQ(Imm(4), k)
	JNZ(LabelRef("four"))
	VZEROUPPER()
	RET()
}

// strip makes the copy of k rows of a few floats that lie ld apart. A whole vector is read
// and written of each: the next one overwrites what is beyond its floats.
func (s simd) strip() {
	TEXT("strip"+s.name, NOSPLIT, "func(n, k int, src *float32, ld int, dst *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("strip%s is packGo with nr = n, n up to %d; it reads and writes up to %d beyond the last.", s.name, s.width, s.width))
	n, k := Load(Param("n"), GP64()), Load(Param("k"), GP64())
	src, ld, dst := Load(Param("src"), GP64()), Load(Param("ld"), GP64()), Load(Param("dst"), GP64())
	SHLQ(Imm(2), ld)
	SHLQ(Imm(2), n)
	Label("loop")
	x := s.vector()
	VMOVUPS(Mem{Base: src}, x)
	VMOVUPS(x, Mem{Base: dst})
	ADDQ(ld, src)
	ADDQ(n, dst)
	DECQ(k)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
