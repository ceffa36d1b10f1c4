package vec

// The products of dense matrices, after Goto and van de Geijn (Anatomy of
// High-Performance Matrix Multiplication, ACM TOMS 34, 2008). A panel of the right
// operand, up to depth x 32, is copied to where it stays in the L1 cache; tiles of
// the result then sit in registers while their rows of the left operand and the panel go
// by. The left operand is read where it lies, or as it is gathered, in either direction:
// X and X' cost the same. All this is for vector instructions: without them the products go
// row by row, which is their reference.

const (
	// depth is how much of the inner dimension is taken at once: a panel of 32 columns
	// is then 32 KiB, of an L1 cache of 48; one of 16, as AVX2 has, half of the smallest.
	depth = 256
	// rowsAtOnce and columnsAtOnce bound the copy of X. A weight is read and written once for this
	// many rows of a batch.
	rowsAtOnce    = depth
	columnsAtOnce = 2048
	// spare is how much behind a matrix the copy of its last column may read.
	spare = 16
	// packFrom: up to this many tiles, one below the other, take the right operand from where it lies. The copy would
	// take a quarter of the time of a batch of eight.
	packFrom  = 2
	rowsAhead = 2 // asked for while a row is copied: from memory, it takes as long
)

// grid is a matrix: element i, j is v[i*row+j*col].
type grid struct {
	v        []float32
	row, col int
}

func (g grid) from(i, j int) grid { return grid{g.v[i*g.row+j*g.col:], g.row, g.col} }

// tiles is the scratch memory of dense products.
type tiles struct {
	x      []float32 // rows of X, gathered
	strips []float32 // its columns, as tiles take them
	panel  [depth * 32]float32
	edge   [8 * 32]float32 // a tile that sticks out
}

// shape is what tiles a set of instructions has.
type shape struct {
	rows, columns int  // the largest tile that the registers hold
	lanes         int  // of a vector
	anyWidth      bool // a tile ends at any column; else after half of the columns, or all

	// strip is packGo with nr = n up to rows; it reads and writes up to spare beyond the
	// last. nil: there is none.
	strip func(n, k int, src []float32, ld int, dst []float32)
}

// product is C += alpha A B: A is m x k, B is k x n, C the first n of ldc columns.
func (s *tiles) product(m, n, k int, alpha float32, a, b grid, c []float32, ldc int) {
	t := gemmShape()
	columns, blocks := t.columns, ceilDiv(k, depth)
	few := b.col == 1 && m <= packFrom*t.rows
	for block := range blocks {
		k0, k1 := block*k/blocks, (block+1)*k/blocks
		part := a.from(0, k0)
		strips := t.strip != nil && a.row == 1 && a.col > 1 && n > columns // gathered, and met more than once
		if strips {
			s.cut(t, m, k1-k0, part)
		}
		for j := 0; j < n; j += columns {
			width := min(columns, n-j)
			nr := columns
			if width <= columns/2 {
				nr = columns / 2
			}
			panel := grid{s.panel[:], nr, 1}
			if few && width == nr {
				panel = b.from(k0, j)
			} else {
				s.pack(t, k1-k0, width, nr, b.from(k0, j))
			}
			ahead := grid{v: s.panel[:]} // none: the rows of a transpose lie as they are copied
			switch {
			case b.col > 1:
			case j+columns < n:
				ahead = b.from(k0, j+columns)
			case k1 < k:
				ahead = b.from(k1, 0)
			}
			for _, b := range split(m, t.rows) {
				if b.count == 0 {
					continue
				}
				rows, next := part.from(b.from, 0), b.rows*a.row
				if strips {
					rows, next = grid{s.strips[b.from*(k1-k0):], 1, b.rows}, b.rows*(k1-k0)
				}
				s.column(t, b.count, next, b.rows, width, nr, k1-k0, alpha, rows, panel, c[b.from*ldc+j:], ldc, ahead)
			}
		}
	}
}

// bands are count bands of equal height, one below the other.
type bands struct{ from, count, rows int }

// split cuts m rows into bands of most at most: of equal height, or, the later ones, one
// less.
func split(m, most int) [2]bands {
	n := ceilDiv(m, most)
	if n == 0 {
		return [2]bands{}
	}
	rows := ceilDiv(m, n)
	tall := m - n*(rows-1)
	return [2]bands{{0, tall, rows}, {tall * rows, n - tall, rows - 1}}
}

// cut copies the m rows of a, which is a transpose, to strips: one a band of rows, k columns
// of them one behind the other. Each column lies in memory of its own otherwise, often in
// a page of its own, and every panel would go there again: on 256 rows of 784 numbers the
// products take a sixth longer then, both with AVX2 and with AVX-512.
func (s *tiles) cut(t shape, m, k int, a grid) {
	if need := m*k + spare; need > len(s.strips) {
		s.strips = make([]float32, need)
	}
	for _, b := range split(m, t.rows) {
		for i := range b.count {
			i0 := b.from + i*b.rows
			_ = a.v[i0+(k-1)*a.col+spare-1]
			t.strip(b.rows, k, a.v[i0:], a.col, s.strips[i0*k:])
		}
	}
}

// pack copies n columns of b to the panel: k rows of nr; the numbers beyond n are not defined.
func (s *tiles) pack(t shape, k, n, nr int, b grid) {
	_ = b.v[(k-1)*b.row+(n-1)*b.col]
	switch {
	case b.col == 1 && (t.anyWidth || n == nr):
		packFast(n, k, b.v, b.row, s.panel[:])
	case b.col == 1:
		packGo(n, k, b.v, b.row, s.panel[:], nr)
	default:
		s.packT(t.lanes, k, n, nr, b.v, b.col)
	}
}

// packT packs b whose columns are the rows of v.
func (s *tiles) packT(lanes, k, n, nr int, v []float32, ld int) {
	j, k4 := 0, k&^3
	for ; k4 > 0 && j+lanes <= n; j += lanes {
		packTFast(k4, v[j*ld:], ld, s.panel[j:], nr)
		packTGo(lanes, k4, k, v[j*ld:], ld, s.panel[j:], nr)
	}
	if j < n {
		packTGo(n-j, 0, k, v[j*ld:], ld, s.panel[j:], nr)
	}
}

// packGo is dst[p*nr+j] = src[p*ld+j] for p < k and j < n.
func packGo(n, k int, src []float32, ld int, dst []float32, nr int) {
	for p := range k {
		copy(dst[p*nr:p*nr+n], src[p*ld:])
	}
}

// packTGo is dst[p*nr+j] = src[j*ld+p] for from <= p < k and j < n.
func packTGo(n, from, k int, src []float32, ld int, dst []float32, nr int) {
	for j := range n {
		for p := from; p < k; p++ {
			dst[p*nr+j] = src[j*ld+p]
		}
	}
}

// column adds count tiles, one below the other, by the panel, to c. From one to the next a
// advances by next numbers. Meanwhile k rows of ahead are asked for.
func (s *tiles) column(t shape, count, next, m, n, nr, k int, alpha float32, a, b grid, c []float32, ldc int,
	ahead grid) {
	_ = b.v[(k-1)*b.row+nr-1]
	_, _ = a.v[(count-1)*next+(m-1)*a.row+(k-1)*a.col], c[(count*m-1)*ldc+n-1]
	if t.anyWidth || n == nr {
		tileFast(count, next, m, n, k, alpha, a, b, c, ldc, ahead)
		return
	}
	for i := range count {
		clear(s.edge[:m*nr])
		tileFast(1, 0, m, nr, k, alpha, grid{a.v[i*next:], a.row, a.col}, b, s.edge[:], nr, ahead)
		for j := range m {
			Axpy(1, s.edge[j*nr:j*nr+n], c[(i*m+j)*ldc:])
		}
	}
}

// gather copies columns from:to of the rows to s.x, an odd number of cache lines apart,
// so that a column of them does not meet in a few sets of the cache. Rows that lie behind one
// another are not copied, unless they are whole pairs of lines: it took a fifth of softmax's time.
func (s *tiles) gather(x []Row, from, to int) grid {
	if v, d := inOne(x), len(x[0].Val); v != nil && d%32 != 0 {
		return grid{v[from:], d, 1}
	}
	ld := ceilDiv(to-from, 16)*16 | 16
	if need := len(x)*ld + spare; need > len(s.x) {
		s.x = make([]float32, need)
	}
	for i, r := range x {
		if ahead := i + rowsAhead; ahead < len(x) {
			PrefetchFloats(x[ahead].Val[from:to])
		}
		copy(s.x[i*ld:i*ld+to-from], r.Val[from:to:len(r.Val)])
	}
	return grid{s.x, ld, 1}
}

// inOne is the slice of rows that lie one behind the other, with spare room behind the last, or nil.
func inOne(x []Row) []float32 {
	d, v := len(x[0].Val), x[0].Val[:cap(x[0].Val)]
	if len(v) < len(x)*d+spare {
		return nil
	}
	for i, r := range x {
		if len(r.Val) != d || &r.Val[0] != &v[i*d] {
			return nil
		}
	}
	return v
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
