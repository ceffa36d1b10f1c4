package format

import (
	"encoding/binary"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// openIDX reads images of bytes and the labels that lie next to them. An IDX file
// (yann.lecun.com/exdb/mnist) is two zero bytes, a type, the number of dimensions,
// the dimensions as big-endian uint32, the elements.
func openIDX(s *Source, o Options) (*File, error) {
	shape, x, err := readIDX(s)
	if err != nil {
		return nil, err
	}
	if len(shape) < 2 {
		return nil, s.Errorf("byte 3: labels (one dimension), not images: name the file of the images")
	}
	if err := Countable(s.Path, shape[0], 0); err != nil {
		return nil, err
	}
	f := &File{Known: Known{Format: "idx", Kind: Bytes, Features: len(x) / max(shape[0], 1)}, Rows: shape[0], Bytes: x}
	if len(shape) > 2 {
		f.Shape = shape[1:]
	}
	var y []uint8
	if !o.Inputs {
		if y, err = labelsBeside(s, f.Rows); err != nil {
			return nil, err
		}
		if len(y) > 0 {
			f.Classes = Numbered(int(slices.Max(y)) + 1)
		}
	}
	i := 0
	f.Next = func(row *Row) error {
		if i == f.Rows {
			return io.EOF
		}
		if y != nil {
			row.Label = float64(y[i])
		}
		i++
		return nil
	}
	return f, nil
}

// readIDX returns the dimensions and the elements of the file, checked against its size.
func readIDX(s *Source) (shape []int, elements []uint8, err error) {
	if err := s.complete(); err != nil {
		return nil, nil, err
	}
	b := s.Text
	if len(b) < 4 || b[0] != 0 || b[1] != 0 {
		return nil, nil, s.Errorf("byte 0: not an IDX file, which starts with two zero bytes")
	}
	if b[2] != 0x08 {
		return nil, nil, s.Errorf("byte 2: elements of type 0x%02x; only unsigned bytes (0x08) are read", b[2])
	}
	head, want := 4+4*int(b[3]), 1
	if b[3] == 0 || len(b) < head {
		return nil, nil, s.Errorf("byte 3: %d dimensions in a file of %s bytes", b[3], count(len(b)))
	}
	for at := 4; at < head; at += 4 {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > 0 && want > (1<<40)/n {
			return nil, nil, s.Errorf("byte %d: a dimension of %s is too large; the file is damaged", at, count(n))
		}
		shape, want = append(shape, n), want*n
	}
	if len(b)-head != want {
		return nil, nil, s.Errorf("byte %d: %s bytes of elements, but its dimensions %v make %s; the file is damaged "+
			"or incomplete",
			head, count(len(b)-head), shape, count(want))
	}
	return shape, b[head:], nil
}

// labelsBeside reads the labels of a file of n images: train-labels-idx1-ubyte for
// train-images-idx3-ubyte.
func labelsBeside(s *Source, n int) ([]uint8, error) {
	dir, base := filepath.Split(s.Path)
	name := strings.TrimSuffix(base, ".gz")
	name = strings.ReplaceAll(strings.Replace(name, "images", "labels", 1), "idx3", "idx1")
	path := Existing(dir + name)
	if path == "" || name == base {
		return nil, s.Errorf("no labels beside it: looked for %s and %s.gz", name, name)
	}
	labels, err := Read(path, s.Budget)
	if err != nil {
		return nil, err
	}
	_, y, err := readIDX(labels)
	if err == nil && len(y) != n {
		err = labels.Errorf("byte 4: %s labels for the %s images in %s", count(len(y)), count(n), s.Path)
	}
	return y, err
}

// Numbered returns "0", "1", ... for k classes.
func Numbered(k int) []string {
	names := make([]string, k)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
