package data

import "encoding/binary"

// denseAbove is the share of non-zero bytes above which a row of bytes is formed
// dense: then walking all features in order is cheaper than naming them.
const denseAbove = 0.6

// Reader forms batches of a set. It owns its scratch memory: it serves one goroutine.
type Reader struct {
	s        *Set
	batch    Batch
	sparse   bool         // bytes: form sparse rows
	value    [256]float32 // bytes: what a byte is worth
	mul, add []float32    // bytes: applied to value, nil or d each
	idx      []uint32     // bytes: the rows of the batch, one behind the other
	val      []float32
}

// ones are the values of every pair.
var ones = [2]float32{1, 1}

// NewReader makes a Reader; any number of them may read one set at the same time.
func (s *Set) NewReader() *Reader {
	r := &Reader{s: s, batch: Batch{Features: s.Features}}
	if s.Kind != Bytes {
		return r
	}
	r.sparse = float64(s.Nonzeros) <= denseAbove*float64(s.Rows)*float64(s.Features)
	for _, a := range s.Add {
		r.sparse = r.sparse && a == 0
	}
	for b := range r.value {
		r.value[b] = float32(b)
	}
	if max(len(s.Mul), len(s.Add)) > 1 {
		r.mul, r.add = make([]float32, s.Features), make([]float32, s.Features)
		for j := range r.mul {
			r.mul[j], r.add[j] = s.scaling(j)
		}
		return r
	}
	mul, add := s.scaling(0)
	for b := range r.value {
		r.value[b] = float32(b)*mul + add
	}
	return r
}

// scaling is Mul and Add of feature j.
func (m *Meta) scaling(j int) (mul, add float32) {
	at := func(v []float32, none float32) float32 {
		switch len(v) {
		case 0:
			return none
		case 1:
			return v[0]
		}
		return v[j]
	}
	return at(m.Mul, 1), at(m.Add, 0)
}

// Batch is the given rows of the set, in that order; valid until the next call. It
// allocates nothing once it has met its largest batch.
func (r *Reader) Batch(rows []int32) *Batch {
	s, b := r.s, &r.batch
	b.Rows, b.Y, b.M = b.Rows[:0], b.Y[:0], b.M[:0]
	for _, i := range rows {
		b.Y = append(b.Y, s.Y[i])
	}
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
	if need := len(rows) * d; need > len(r.val) {
		r.idx, r.val = make([]uint32, need), make([]float32, need)
	}
	k := 0
	for _, i := range rows {
		x := r.s.X8[int(i)*d : (int(i)+1)*d]
		if r.sparse {
			n := r.nonzeros(r.idx[k:k+d], r.val[k:k+d], x)
			b.Rows = append(b.Rows, Row{Idx: r.idx[k : k+n : k+n], Val: r.val[k : k+n : k+n]})
			k += n
			continue
		}
		r.all(r.val[k:k+d], x)
		b.Rows = append(b.Rows, Row{Val: r.val[k : k+d : k+d]})
		k += d
	}
}

// all sets val to the scaled bytes of x.
func (r *Reader) all(val []float32, x []uint8) {
	for j, v := range x {
		val[j] = r.value[v]
	}
	for j, m := range r.mul {
		val[j] = val[j]*m + r.add[j]
	}
}

// nonzeros writes the non-zero bytes of x, scaled, and returns how many there are.
// It skips words of eight zeros, of which most of an image consists. Of any other
// word it writes all eight bytes, and moves on behind those that are not zero: no
// branch depends on a single byte, whose zeros no processor can foretell. (Finding
// the non-zero bytes by TrailingZeros64 takes 1.6 times as long on MNIST.)
func (r *Reader) nonzeros(idx []uint32, val []float32, x []uint8) int {
	n, j := 0, 0
	for ; j+8 <= len(x); j += 8 {
		word := binary.LittleEndian.Uint64(x[j:])
		if word == 0 {
			continue
		}
		for i := range uint32(8) {
			v := uint8(word)
			word >>= 8
			idx[n], val[n] = uint32(j)+i, r.value[v]
			n += int((uint32(v) + 255) >> 8)
		}
	}
	for ; j < len(x); j++ {
		if x[j] != 0 {
			idx[n], val[n] = uint32(j), r.value[x[j]]
			n++
		}
	}
	if r.mul != nil {
		for k, i := range idx[:n] {
			val[k] *= r.mul[i]
		}
	}
	return n
}
