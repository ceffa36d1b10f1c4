package data

import (
	"slices"

	"hogwild/internal/vec"
)

// denseAbove is the share of non-zero bytes above which a row of bytes is formed
// dense: then walking all features in order is cheaper than naming them.
const denseAbove = 0.6

// Reader forms batches of a set. It owns its scratch memory: it serves one goroutine.
type Reader struct {
	s     *Set
	batch Batch
	Epoch int // of the batches to come: windows of words are drawn anew in each

	windows *Windows

	// Of bytes: how rows are formed, and the rows of the batch, one behind the other.
	sparse   bool
	mul, add []float32 // of each feature
	one      bool      // mul is the same for all
	idx      []uint32
	val      []float32
	ahead    []int32 // of the rows that Ahead named, those that have not been asked for
}

// ones are the values of every pair.
var ones = [2]float32{1, 1}

// NewReader makes a Reader; any number of them may read one set at the same time.
func (s *Set) NewReader() *Reader {
	r := &Reader{s: s, batch: Batch{Features: s.Features}}
	if s.Kind != Bytes {
		return r
	}
	r.sparse = s.skipsZeros()
	r.one = len(s.Mul) <= 1
	r.mul, r.add = make([]float32, s.Features), make([]float32, s.Features)
	for j := range r.mul {
		r.mul[j], r.add[j] = s.scaling(j)
	}
	return r
}

// skipsZeros reports whether rows of bytes are formed as lists of their non-zero values.
func (m *Meta) skipsZeros() bool {
	for _, a := range m.Add {
		if a != 0 {
			return false
		}
	}
	return float64(m.Nonzeros) <= denseAbove*float64(m.Rows)*float64(m.Features)
}

// ValuesPerRow is how many inputs a row lists on average, of which each costs a step its
// multiply-adds: the stored ones of sparse rows, all of dense rows, but the non-zero ones
// where the zeros of dense rows are skipped; of pairs 1.
func (s *Set) ValuesPerRow() float64 {
	switch {
	case s.Kind == Pairs || s.Kind == Tokens:
		return 1
	case s.Kind == Sparse:
		return float64(len(s.Val)) / float64(s.Rows)
	case s.Kind == Bytes && s.skipsZeros():
		return float64(s.Nonzeros) / float64(s.Rows)
	}
	return float64(s.Features)
}

// lead is how many rows before its turn a row is asked for: memory takes as long as forming a few
// of them. Of numbers it is the first near ones: the processor sees by itself where these lead.
const lead, near = 4, 128

// Ahead names the rows of the calls of Batch to come, in order, so that those calls
// can ask memory for them in time. They belong to the Reader until the next Ahead.
func (r *Reader) Ahead(rows []int32) { r.ahead = rows[min(lead, len(rows)):] }

// prefetch asks memory for the next row.
func (r *Reader) prefetch() {
	if len(r.ahead) == 0 {
		return
	}
	d := r.s.Features
	if from := int(r.ahead[0]) * d; r.s.Kind == Floats {
		vec.PrefetchFloats(r.s.X[from : from+min(d, near)])
	} else {
		vec.Prefetch(r.s.X8[from : from+d])
	}
	r.ahead = r.ahead[1:]
}

// Batch is the given rows of the set, in that order; valid until the next call. It
// allocates nothing once it has met its largest batch.
func (r *Reader) Batch(rows []int32) *Batch {
	s, b := r.s, &r.batch
	b.Rows, b.Y, b.M, b.ID = b.Rows[:0], b.Y[:0], b.M[:0], rows
	if s.Kind == Tokens {
		return r.windowsOf(rows)
	}
	for _, i := range rows {
		b.Y = append(b.Y, s.Y[i])
	}
	s.standard.to(b.Y)
	if s.M != nil {
		for _, i := range rows {
			b.M = append(b.M, s.M[i])
		}
	}
	switch s.Kind {
	case Sparse:
		for _, i := range rows {
			from, to := s.Ptr[i], s.Ptr[i+1]
			b.Rows = append(b.Rows, Row{Idx: s.Idx[from:to:to], Val: s.Val[from:to:to]})
		}
	case Floats:
		d := s.Features
		for _, i := range rows {
			r.prefetch()
			from := int(i) * d
			b.Rows = append(b.Rows, Row{Val: s.X[from : from+d : from+d]})
		}
	case Pairs:
		for _, i := range rows {
			b.Rows = append(b.Rows, Row{Idx: s.Idx[2*i : 2*i+2 : 2*i+2], Val: ones[:]})
		}
	default:
		r.decode(rows)
	}
	return b
}

// decode forms rows out of bytes.
func (r *Reader) decode(rows []int32) {
	d, b := r.s.Features, &r.batch
	if need := len(rows)*d + vec.Spare; need > len(r.val) {
		r.idx, r.val = make([]uint32, need), make([]float32, need)
	}
	k := 0
	for _, i := range rows {
		r.prefetch()
		x := r.s.X8[int(i)*d : (int(i)+1)*d]
		if r.sparse {
			n := r.nonzeros(x, r.idx[k:], r.val[k:])
			b.Rows = append(b.Rows, Row{Idx: r.idx[k : k+n : k+n], Val: r.val[k : k+n : k+n]})
			k += n
			continue
		}
		vec.Widen(x, r.mul, r.add, r.val[k:])
		b.Rows = append(b.Rows, Row{Val: r.val[k : k+d]}) // products see that the rows are one block
		k += d
	}
}

// nonzeros writes the non-zero bytes of x, scaled, and returns how many there are.
func (r *Reader) nonzeros(x []uint8, idx []uint32, val []float32) int {
	if r.one {
		return vec.Nonzeros(x, r.mul[0], idx, val)
	}
	n := vec.Nonzeros(x, 1, idx, val)
	for k, i := range idx[:n] {
		val[k] *= r.mul[i]
	}
	return n
}

// windowsOf forms a batch of words.
func (r *Reader) windowsOf(rows []int32) *Batch {
	b := &r.batch
	if r.windows == nil {
		r.windows = NewWindows(r.s)
	}
	b.Windows, b.Epoch = b.Windows[:0], r.Epoch
	for _, i := range rows {
		w := r.windows.At(i, r.Epoch)
		b.Rows, b.Y = append(b.Rows, Row{}), append(b.Y, 0)
		b.Windows = append(b.Windows, Window{slices.Clone(w.Inputs), slices.Clone(w.Targets)})
	}
	return b
}
