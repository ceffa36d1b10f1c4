package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

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
	begin("tile"+s.name, "func(count, next, m, n, k int, alpha float32, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc "+
		"int, ahead *float32, ldAhead int)",
		fmt.Sprintf("tile%s is c[i*ldc+j] += alpha * sum over p < k of a[i*ars+p*acs]*b[p*ldb+j], for i < m", s.name),
		fmt.Sprintf("and j < n; m up to %d, n up to %d, k from 1. Of b it reads whole vectors.", s.rows, 2*s.width),
		"So for count tiles, one below the other; from one to the next a advances by next. Meanwhile it asks for",
		"k rows as wide as those of b, from ahead on.")
	m, columns := arg("m"), arg("n")
	var masks []Register
	if s.masks {
		masks = s.lanes(columns)
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

// sums makes the tile of rows x vectors.
func (s simd) sums(rows, vectors int, masks []Register) {
	label := func(name string) string { return fmt.Sprintf("%s%dx%d", name, rows, vectors) }
	Label(label("again"))
	acc := make([][]VecVirtual, rows)
	for r := range acc {
		for range vectors {
			v := s.vector()
			s.zero(v)
			acc[r] = append(acc[r], v)
		}
	}
	c, ldc := arg("c"), arg("ldc")
	SHLQ(Imm(2), ldc)
	next := GP64()
	MOVQ(c, next)
	for range rows {
		for v := range vectors {
			PREFETCHT0(Mem{Base: next, Disp: s.bytes() * v})
		}
		ADDQ(ldc, next)
	}
	s.walk(acc)
	alpha := s.spread("alpha")
	if !s.masks { // stores by a mask take AMD's AVX2 twelve cycles
		n := arg("n")
		TESTQ(U32(s.width-1), n)
		JZ(LabelRef(label("whole")))
		s.addTile(acc, alpha, c, ldc, s.ends(n, vectors))
		JMP(LabelRef(label("next")))
		Label(label("whole"))
	}
	s.addTile(acc, alpha, c, ldc, masks)
	Label(label("next"))
	a, by := arg("a"), arg("next")
	LEAQ(Mem{Base: a, Index: by, Scale: 4}, a)
	MOVQ(a, number("a"))
	MOVQ(c, number("c"))
	panel := arg("b") // is near: once is enough
	MOVQ(panel, number("ahead"))
	MOVQ(U32(0), number("ldAhead"))
	DECQ(number("count"))
	JNZ(LabelRef(label("again")))
	end()
}

// addTile is c += alpha * acc, and moves c below the tile. All of c is loaded before the first is
// stored: a masked store delays a load from the bytes that its mask leaves out, where narrow rows
// continue.
func (s simd) addTile(acc [][]VecVirtual, alpha VecVirtual, c, ldc GPVirtual, masks []Register) {
	next := GP64()
	MOVQ(c, next)
	for r := range acc {
		for v, sum := range acc[r] {
			s.addScaled(Mem{Base: next, Disp: s.bytes() * v}, tail(masks, v), alpha, sum)
		}
		ADDQ(ldc, next)
	}
	for r := range acc {
		for v, sum := range acc[r] {
			s.store(sum, Mem{Base: c, Disp: s.bytes() * v}, tail(masks, v))
		}
		ADDQ(ldc, c)
	}
}

// walk makes the loop over k: acc[r][v] += a[r] * b[v]. Row r of a is at p, or beyond the
// seventh at q, plus up to six strides. What becomes the next panel is asked for to the second
// level of cache: from the third, its copy would take a seventh of the time of wide layers. With
// AVX2 two steps are made at once: counting would take a fifteenth of the time of twelve sums, on
// units that multiply too.
func (s simd) walk(acc [][]VecVirtual) {
	const half = 7
	rows, vectors := len(acc), len(acc[0])
	p, stride, step := arg("a"), arg("ars"), arg("acs")
	b, k := arg("b"), arg("k")
	SHLQ(Imm(2), stride)
	SHLQ(Imm(2), step)
	ahead, apart := arg("ahead"), arg("ldAhead")
	SHLQ(Imm(2), apart)
	ldb := arg("ldb")
	SHLQ(Imm(2), ldb)
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
			var bs []VecVirtual
			for v := range vectors {
				bs = append(bs, s.vector())
				at := Mem{Base: b, Disp: s.bytes() * v}
				if u == 1 {
					at.Index, at.Scale = ldb, 1
				}
				VMOVUPS(at, bs[v])
			}
			for line := 0; line < s.bytes()*vectors; line += 64 {
				PREFETCHT1(Mem{Base: ahead, Disp: line})
			}
			ADDQ(apart, ahead)
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
		LEAQ(Mem{Base: b, Index: ldb, Scale: uint8(n)}, b)
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
	begin("pack"+s.name, "func(n, k int, src *float32, ld int, dst *float32)",
		fmt.Sprintf("pack%s is packGo for n up to %d.", s.name, 2*s.width))
	n, k := arg("n"), arg("k")
	src, ld, dst := arg("src"), arg("ld"), arg("dst")
	SHLQ(Imm(2), ld)
	CMPQ(n, Imm(uint64(s.width)))
	JGT(LabelRef("fromtwo"))
	for vectors := 1; vectors <= 2; vectors++ {
		loop := "one"
		if vectors == 2 {
			loop = "two"
		}
		Label("from" + loop)
		masks := s.ends(n, vectors)
		Label(loop)
		for v := range vectors {
			x := s.load(Mem{Base: src, Disp: s.bytes() * v}, tail(masks, v))
			VMOVUPS(x, Mem{Base: dst, Disp: s.bytes() * v})
		}
		ADDQ(ld, src)
		ADDQ(Imm(uint64(s.bytes()*vectors)), dst)
		DECQ(k)
		JNZ(LabelRef(loop))
		end()
	}
}

// packT makes the transpose of one vector's width of rows. Four floats of rows i,
// i+4, i+8, i+12 become the four parts of vector i, and four such vectors a transpose
// of 4 x 4 in each part.
func (s simd) packT() {
	begin("packT"+s.name, "func(k int, src *float32, ld int, dst *float32, nr int)",
		fmt.Sprintf("packT%s is packTGo for %d rows, the first of the nr of dst, and k a multiple of 4.",
			s.name, s.width))
	k, src, ld := arg("k"), arg("src"), arg("ld")
	dst, nr := arg("dst"), arg("nr")
	SHLQ(Imm(2), ld)
	SHLQ(Imm(2), nr)
	from, to, rows := strided(ld), strided(nr), GP64()
	Label("four")
	MOVQ(src, rows)
	var x [4]VecVirtual
	for part := range s.width / 4 {
		for i := range 4 {
			from := from(Mem{Base: rows}, i)
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
	var pair, out [4]VecVirtual // pairs of rows, then of pairs
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
		VMOVUPS(out[i], to(Mem{Base: dst}, i))
	}
	ADDQ(Imm(16), src)
	LEAQ(Mem{Base: dst, Index: nr, Scale: 4}, dst)
	SUBQ(Imm(4), k)
	JNZ(LabelRef("four"))
	end()
}

// strip makes the copy of k rows of a few floats that lie ld apart. A whole vector is read
// and written of each: the next one overwrites what is beyond its floats.
func (s simd) strip() {
	begin("strip"+s.name, "func(n, k int, src *float32, ld int, dst *float32)",
		fmt.Sprintf("strip%s is packGo with nr = n, n up to %d; it reads and writes up to %d beyond the last.", s.name,
			s.width, s.width))
	n, k := arg("n"), arg("k")
	src, ld, dst := arg("src"), arg("ld"), arg("dst")
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
	end()
}
