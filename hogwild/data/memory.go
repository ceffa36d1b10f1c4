package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"

	"hogwild/hogwild/data/format"
)

// Memory is a data set in the program's memory: rows with labels, or the entries of a matrix. A run
// copies it once, scaled, into the memory that all workers share; it neither keeps nor changes the
// original. A dense row is a Row without Idx; it may be a view of a larger array. A sparse row lists
// the features that are not zero, in ascending order.
type Memory struct {
	Name  string      // for messages and the run folder; "" is memory
	Rows  []Row       // inputs, all dense or all sparse
	Pairs [][2]uint32 // instead of Rows: the row and the column of each entry, or the two nodes of each edge
	Y     []float32   // of each row its label, value or, with Classes, number of its class; predictions need none

	W        []float32 // by what the loss of each row or pair is multiplied in training; nil: by 1
	Features int       // of a row; 0: as many as the rows have
	Columns  []string  // names of the features
	Classes  []string  // names of the classes; nil: labels are classes or values as in a file
	Shape    []int     // of an image in a row: height, width; or channels, height, width
}

// checksum returns the SHA-256 of all numbers and names, by which a resumed run knows its data again.
func (m *Memory) checksum() string {
	h := sha256.New()
	b := make([]byte, 0, 1<<16)
	put := func(v uint32) {
		if b = binary.LittleEndian.AppendUint32(b, v); len(b) == cap(b) {
			h.Write(b)
			b = b[:0]
		}
	}
	for _, row := range m.Rows {
		put(uint32(len(row.Val)))
		for _, j := range row.Idx {
			put(j)
		}
		for _, v := range row.Val {
			put(math.Float32bits(v))
		}
	}
	for _, p := range m.Pairs {
		put(p[0])
		put(p[1])
	}
	for _, v := range append(m.Y[:len(m.Y):len(m.Y)], m.W...) {
		put(math.Float32bits(v))
	}
	h.Write(b)
	fmt.Fprintf(h, "%d %q %q %v", m.Features, m.Columns, m.Classes, m.Shape)
	return hex.EncodeToString(h.Sum(nil))
}

// table returns the rows and labels; like is nil for training data.
func (m *Memory) table(src *format.Source, like *Meta) (*table, error) {
	t := newTable(src, "memory", m.kind())
	t.rows, t.Rows, t.Columns, t.Classes = m.Rows, len(m.Rows), m.Columns, m.Classes
	if len(m.Shape) > 1 {
		t.Shape = m.Shape
	}
	if err := format.Countable(src.Path, len(m.Rows), m.Features); err != nil {
		return nil, err
	}
	if len(m.Y) != len(m.Rows) {
		return nil, src.Errorf("%s labels for %s rows", count(len(m.Y)), count(len(m.Rows)))
	}
	if err := m.checkWeights(src, len(m.Rows)); err != nil {
		return nil, err
	}
	if m.W != nil && like == nil {
		t.weight, t.Weight = m.W, inMemory
	}
	if t.Features = m.Features; like != nil {
		t.Features = like.Features
	}
	if err := m.check(src, t.Kind, &t.Features); err != nil {
		return nil, err
	}
	if like != nil && t.Sparse() && !like.Sparse() {
		return nil, src.Errorf("sparse rows, the training data has dense ones")
	}
	if t.Columns != nil && len(t.Columns) != t.Features {
		return nil, src.Errorf("%s names of %s features", count(len(t.Columns)), count(t.Features))
	}
	return t, m.labels(src, t, like)
}

// inMemory is the Meta.Weight of weights that no file has.
const inMemory = "memory"

func (m *Memory) checkWeights(src *format.Source, rows int) error {
	if m.W != nil && len(m.W) != rows {
		return src.Errorf("%s weights for %s rows", count(len(m.W)), count(rows))
	}
	return checkWeights(m.W, src.Path, nil)
}

// labels sets the labels of t: numbers of classes that are named are settled, others are looked at as
// in a file.
func (m *Memory) labels(src *format.Source, t *table, like *Meta) error {
	if m.Classes == nil {
		for _, v := range m.Y {
			t.label = append(t.label, float64(v))
		}
		return nil
	}
	for i, v := range m.Y {
		if v != float32(int(v)) || v < 0 || int(v) >= len(m.Classes) {
			return src.Errorf("row %d: label %g: want the number of a class, 0 to %d", i, v, len(m.Classes)-1)
		}
	}
	if like != nil && !slices.Equal(m.Classes, like.Classes) {
		return src.Errorf("classes %s, the training data has %s", format.Some(m.Classes), format.Some(like.Classes))
	}
	t.y = m.Y
	return nil
}

// check refuses rows that are not what they should be, and finds out how many features they have
// where it is not known.
func (m *Memory) check(src *format.Source, kind Kind, features *int) error {
	width := *features
	for i, r := range m.Rows {
		switch {
		case kind.Sparse() && (len(r.Idx) != len(r.Val)):
			return src.Errorf("row %d: %d indices of %d values", i, len(r.Idx), len(r.Val))
		case kind == Floats && width == 0:
			width = len(r.Val)
		}
		if kind == Floats && len(r.Val) != width {
			return src.Errorf("row %d: %s inputs, want %s", i, count(len(r.Val)), count(width))
		}
		for k, v := range r.Val {
			if !finite(float64(v)) {
				return src.Errorf("row %d: input %d is %g: want a finite number", i, k, v)
			}
		}
		for k, j := range r.Idx {
			if k > 0 && j <= r.Idx[k-1] || j > format.MaxIndex || *features > 0 && int(j) >= *features {
				return src.Errorf("row %d: index %d: want ascending ones below %s", i, j, count(max(*features, 0)))
			}
			width = max(width, int(j)+1)
		}
	}
	for i, v := range m.Y {
		if !finite(float64(v)) {
			return src.Errorf("row %d: label %g: want a finite number", i, v)
		}
	}
	*features = width
	return nil
}

// triples returns the pairs as a file; edges without weights have 1.
func (m *Memory) triples(src *format.Source) *format.File {
	f := &format.File{Known: format.Known{Format: "memory", Kind: Pairs}, Rows: len(m.Pairs)}
	if m.W != nil {
		f.Weight = inMemory
	}
	i, bad := 0, m.checkWeights(src, len(m.Pairs))
	f.Next = func(row *format.Row) error {
		switch row.Label, row.Weight = 1, 1; {
		case bad != nil:
			return bad
		case i == len(m.Pairs):
			return io.EOF
		case m.Y != nil && len(m.Y) != len(m.Pairs):
			return src.Errorf("%s values for %s pairs", count(len(m.Y)), count(len(m.Pairs)))
		case m.Y != nil:
			row.Label = float64(m.Y[i])
		}
		if m.W != nil {
			row.Weight = float64(m.W[i])
		}
		if row.IDs = m.Pairs[i]; max(row.IDs[0], row.IDs[1]) > format.MaxID {
			return src.Errorf("pair %d: %d: an id is at most %s", i, max(row.IDs[0], row.IDs[1]), count(format.MaxID))
		}
		if !finite(row.Label) {
			return src.Errorf("pair %d: value %g: want a finite number", i, row.Label)
		}
		i++
		return nil
	}
	return f
}

// kind reports whether the rows are dense or sparse.
func (m *Memory) kind() Kind {
	if slices.ContainsFunc(m.Rows, func(r Row) bool { return r.Idx != nil }) {
		return Sparse
	}
	return Floats
}
