package data

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"hogwild/internal/human"
)

// set streams a set, and closes it.
func (s *stream) set(set *Set) error {
	defer set.Close()
	r, rows := set.NewReader(), allRows(set.Rows)
	var ids func(i int) []float64
	if set.Kind == Pairs {
		ids = set.triple()
	}
	for part := range slices.Chunk(rows, pieceRows) {
		p := Piece{Batch: *r.Batch(part), Gaps: make([]bool, len(part))}
		for _, i := range part {
			if ids != nil {
				t := ids(int(i))
				p.IDs = append(p.IDs, [2]uint32{uint32(t[0]), uint32(t[1])})
			}
		}
		s.rows += len(part)
		if err := s.do(&p); err != nil {
			return err
		}
	}
	return nil
}

// array streams a file of images or a NumPy array, in which a column may be the labels.
func (s *stream) array(src *source, format string) error {
	read := src.images
	if format == "npy" {
		read = src.array
	}
	t, err := read()
	if err != nil {
		return err
	}
	d := s.Like.Features
	if t.Rows == 0 {
		return nil
	}
	if t.Features == d+1 {
		target := s.Target
		if target == "" {
			target = s.Was
		}
		if target == "" {
			return src.errorf("%s columns, the model takes %s: name the column of labels with --target", count(t.Features), count(d))
		}
		if err := t.takeLabels(target); err != nil {
			return err
		}
	}
	if t.Features != d {
		return src.errorf("%s per row; the model was trained on %s", human.Plural(t.Features, "feature"), count(d))
	}
	t.Scale, t.Mul, t.Add = s.Like.Scale, s.Like.Mul, s.Like.Add
	set, err := t.store(allRows(t.Rows), make([]float32, t.Rows))
	if err != nil {
		return err
	}
	return s.set(set)
}

// lines calls do with each line, valid during the call.
func (s *source) lines(r *bufio.Reader, do func(line []byte) error) error {
	var long []byte
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			had := cap(long)
			long = append(long, line...)
			// Its values take three times as much.
			if err := s.room.take(s.path, 4*int64(cap(long)-had), "a long line"); err != nil {
				return err
			}
			continue
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = line[:0]
		}
		if len(line) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// libsvm streams lines of "index:value ...", with a label before them or not.
func (s *stream) libsvm(src *source, r *bufio.Reader) error {
	p := parser{source: src, line: 1, inputs: true}
	zeroBased := s.Like.ZeroBased()
	t := &table{}
	return src.lines(r, func(line []byte) error {
		p.text, p.pos, p.start = line, 0, 0
		t.idx, t.val, t.label, t.line, t.ptr = t.idx[:0], t.val[:0], t.label[:0], t.line[:0], t.ptr[:0]
		if err := p.row(t); err != nil {
			return err
		}
		if len(t.label) == 0 { // blank, or a comment
			return nil
		}
		if p.zeroAt != nil && !zeroBased {
			return fmt.Errorf("%w: index 0, but the indices of the training data count from 1", p.zeroAt)
		}
		if !zeroBased {
			for k := range t.idx {
				t.idx[k]--
			}
		}
		return s.sparse(t.idx, t.val)
	})
}

// pairs streams lines that begin with two ids.
func (s *stream) pairs(src *source, r *bufio.Reader) error {
	p, place := parser{source: src}, s.Places
	return src.lines(r, func(line []byte) error {
		p.line++
		p.text, p.pos, p.start = line, 0, 0
		c := line[0]
		if p.atEnd() || c == '%' || s.rows == 0 && (c < '0' || c > '9') { // blank, a comment, names
			return nil
		}
		var pair [2]uint32
		for k := range pair {
			id, err := p.id()
			if err != nil {
				return err
			}
			pair[k] = id
			p.separator()
		}
		return s.pair(pair, place, p.line)
	})
}

// pairArray streams the rows of a NumPy array that begin with two ids.
func (s *stream) pairArray(src *source) error {
	a, err := src.npy()
	if err != nil {
		return err
	}
	if len(a.shape) != 2 || a.shape[1] != 2 && a.shape[1] != 3 {
		return src.errorf("an array of shape %s: want n x 2: row, column", a.shapeText())
	}
	place := s.Places
	for i := range a.shape[0] {
		var pair [2]uint32
		for c := range pair {
			v := a.at(a.shape[1]*i + c)
			if v < 0 || v > maxID || v != math.Trunc(v) {
				return src.errorf("row %d, column %d: %g: an id is a whole number from 0 to %s", i+1, c+1, v, count(maxID))
			}
			pair[c] = uint32(v)
		}
		if err := s.pair(pair, place, i+1); err != nil {
			return err
		}
	}
	return nil
}

// pair appends a pair, or a gap where the training data lacks one of its ids.
func (s *stream) pair(ids [2]uint32, place Places, line int) error {
	s.piece.IDs = append(s.piece.IDs, ids)
	nodes, ok := place.Nodes(ids)
	if !ok {
		return s.gap(fmt.Sprintf("%s:%d: the training data does not have both %d and %d", s.name(), line, ids[0], ids[1]))
	}
	s.idx, s.val = append(s.idx, nodes[:]...), append(s.val, ones[:]...)
	s.ends = append(s.ends, len(s.idx))
	return s.row(false)
}

// Places tell where ids are in a matrix, or which nodes of a graph they are.
type Places struct {
	first, second *ids
	offset        uint32
}

// Places are those of a set of pairs; of other sets there are none.
func (m *Meta) Places() Places {
	if m.Kind != Pairs {
		return Places{}
	}
	p := Places{first: idsOf(m.IDs[0]), second: idsOf(m.IDs[len(m.IDs)-1])}
	if len(m.Shape) == 2 {
		p.offset = uint32(m.Shape[0])
	}
	return p
}

// Nodes are the two inputs of a pair of ids, if the set has both.
func (p Places) Nodes(ids [2]uint32) (nodes [2]uint32, ok bool) {
	a, known := p.first.place(ids[0])
	b, both := p.second.place(ids[1])
	return [2]uint32{a, b + p.offset}, known && both
}
