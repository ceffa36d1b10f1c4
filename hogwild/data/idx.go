package data

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// decodeIDX reads images of bytes and the labels that lie beside them. An IDX file
// (yann.lecun.com/exdb/mnist) is two zero bytes, a type, the number of dimensions,
// the dimensions as big-endian uint32, the elements.
func decodeIDX(src *source) (*table, error) {
	t, err := src.images()
	if err != nil {
		return nil, err
	}
	labels, err := src.labelsBeside()
	if err != nil {
		return nil, err
	}
	_, y, err := labels.idx()
	if err != nil {
		return nil, err
	}
	if len(y) != t.Rows {
		return nil, labels.errorf("byte 4: %s labels for the %s images in %s", count(len(y)), count(t.Rows), src.path)
	}
	if err := t.room.take(src.path, int64(len(y))*8, count(len(y))+" labels"); err != nil {
		return nil, err
	}
	t.label = make([]float64, 0, len(y))
	for _, v := range y {
		t.label = append(t.label, float64(v))
	}
	if len(y) > 0 {
		t.Classes = numbered(int(slices.Max(y)) + 1)
	}
	return t, nil
}

// images is a table without labels.
func (s *source) images() (*table, error) {
	shape, x, err := s.idx()
	if err != nil {
		return nil, err
	}
	if len(shape) < 2 {
		return nil, s.errorf("byte 3: labels (one dimension), not images: name the file of the images")
	}
	if err := countable(s.path, shape[0], 0); err != nil {
		return nil, err
	}
	t := newTable(s, "idx", Bytes)
	t.Rows, t.Features, t.x8 = shape[0], len(x)/max(shape[0], 1), x
	if len(shape) > 2 {
		t.Shape = shape[1:]
	}
	return t, nil
}

// idx is the dimensions and the elements of the file, checked against its size.
func (s *source) idx() (shape []int, elements []uint8, err error) {
	b := s.text
	if len(b) < 4 || b[0] != 0 || b[1] != 0 {
		return nil, nil, s.errorf("byte 0: not an IDX file, which starts with two zero bytes")
	}
	if b[2] != 0x08 {
		return nil, nil, s.errorf("byte 2: elements of type 0x%02x; only unsigned bytes (0x08) are read", b[2])
	}
	head, want := 4+4*int(b[3]), 1
	if b[3] == 0 || len(b) < head {
		return nil, nil, s.errorf("byte 3: %d dimensions in a file of %s bytes", b[3], count(len(b)))
	}
	for at := 4; at < head; at += 4 {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > 0 && want > (1<<40)/n {
			return nil, nil, s.errorf("byte %d: a dimension of %s is too large; the file is damaged", at, count(n))
		}
		shape, want = append(shape, n), want*n
	}
	if len(b)-head != want {
		return nil, nil, s.errorf("byte %d: %s bytes of elements, but its dimensions %v make %s; the file is damaged or incomplete",
			head, count(len(b)-head), shape, count(want))
	}
	return shape, b[head:], nil
}

// labelsBeside reads the labels of an images file: train-labels-idx1-ubyte for
// train-images-idx3-ubyte.
func (s *source) labelsBeside() (*source, error) {
	dir, base := filepath.Split(s.path)
	name := strings.TrimSuffix(base, ".gz")
	name = strings.ReplaceAll(strings.Replace(name, "images", "labels", 1), "idx3", "idx1")
	path := existing(dir + name)
	if path == "" || name == base {
		return nil, s.errorf("no labels beside it: looked for %s and %s.gz", name, name)
	}
	return read(path, s.room)
}

// numbered is "0", "1", ... for k classes.
func numbered(k int) []string {
	names := make([]string, k)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
