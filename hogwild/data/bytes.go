package data

import (
	"hogwild/hogwild/data/format"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// byteRows are rows of unsigned bytes, which are scaled when a batch is formed.
type byteRows struct{ valued }

func init() { layouts[Bytes] = byteRows{} }

func (byteRows) inputs(s *Set, _ int) []array {
	return []array{ofRows("x8", shm.U8, &s.X8, s.Rows, s.Features)}
}

func (byteRows) values(s *Set) float64 {
	if s.skipsZeros() {
		return float64(s.Nonzeros) / float64(s.Rows)
	}
	return float64(s.Features)
}

func (byteRows) allocate(t *table, f *format.File) error {
	wide := t.Features + 8
	if f.Bytes != nil {
		wide = 8
	}
	err := t.allocateLabels(f, wide)
	if t.x8 = f.Bytes; t.x8 == nil && err == nil {
		t.x8 = format.Array[uint8](t.budget, f.Rows*t.Features, &err)
	}
	return err
}

func (byteRows) add(t *table, row *format.Row) { t.x8 = append(t.x8, row.Bytes...) }

func (byteRows) put(t *table, i int, s *Set, to int) {
	d := t.Features
	copy(s.X8[to*d:(to+1)*d], t.x8[i*d:])
}

// denseAbove is the share of non-zero bytes above which a row of bytes is formed
// dense: then walking all features in order is cheaper than naming them.
const denseAbove = 0.6

// skipsZeros reports whether rows of bytes are formed as lists of their non-zero values.
func (m *Meta) skipsZeros() bool {
	for _, a := range m.Add {
		if a != 0 {
			return false
		}
	}
	return float64(m.Nonzeros) <= denseAbove*float64(m.Rows)*float64(m.Features)
}

// decoder forms rows out of bytes.
type decoder struct {
	s        *Set
	sparse   bool
	mul, add []float32 // of each feature
	one      bool      // mul is the same for all
	idx      []uint32  // the rows of the batch, one behind the other
	val      []float32
}

func (byteRows) former(s *Set) former {
	d := &decoder{s: s, sparse: s.skipsZeros(), one: len(s.Mul) <= 1, mul: make([]float32, s.Features),
		add: make([]float32, s.Features)}
	for j := range d.mul {
		d.mul[j], d.add[j] = s.scaling(j)
	}
	return d.form
}

func (f *decoder) form(b *Batch, rows, ahead []int32) {
	d := f.s.Features
	if need := len(rows)*d + vec.Spare; need > len(f.val) {
		f.idx, f.val = make([]uint32, need), make([]float32, need)
	}
	k := 0
	for n, i := range rows {
		if n < len(ahead) {
			next := int(ahead[n]) * d
			vec.Prefetch(f.s.X8[next : next+d])
		}
		x := f.s.X8[int(i)*d : (int(i)+1)*d]
		if f.sparse {
			n := f.nonzeros(x, f.idx[k:], f.val[k:])
			b.Rows = append(b.Rows, Row{Idx: f.idx[k : k+n : k+n], Val: f.val[k : k+n : k+n]})
			k += n
			continue
		}
		vec.Widen(x, f.mul, f.add, f.val[k:])
		b.Rows = append(b.Rows, Row{Val: f.val[k : k+d]}) // products see that the rows are one block
		k += d
	}
}

// nonzeros writes the non-zero bytes of x, scaled, and returns how many there are.
func (f *decoder) nonzeros(x []uint8, idx []uint32, val []float32) int {
	if f.one {
		return vec.Nonzeros(x, f.mul[0], idx, val)
	}
	n := vec.Nonzeros(x, 1, idx, val)
	for k, i := range idx[:n] {
		val[k] *= f.mul[i]
	}
	return n
}
