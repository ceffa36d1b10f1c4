package format

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// array is the content of a NumPy .npy file: its shape, and its elements in C order
// as they lie in the file.
type array struct {
	*Source
	shape []int
	dtype string // see sizes
	order binary.ByteOrder
	raw   []byte
}

// rowsOf is an array of n rows of inputs, and of labels: a column of it, or another array.
type rowsOf struct {
	*array
	File
	labels *array // nil: a column, or none
	column int    // of labels, from 0; -1: none
	d, i   int    // elements of a row; the next row
	x8     []uint8
	x      []float32
}

// openNPY reads the inputs X, an array of n rows, and the labels: the column of X that is the target, or see labelsOf.
// uint8 stays bytes.
func openNPY(s *Source, o Options) (*File, error) {
	a, err := readArray(s)
	if err != nil {
		return nil, err
	}
	if len(a.shape) < 2 {
		return nil, s.Errorf("an array of shape %s: want n rows x d features", a.shapeText())
	}
	if err := Countable(s.Path, a.shape[0], 0); err != nil {
		return nil, err
	}
	r := &rowsOf{array: a, column: -1, d: len(a.raw) / a.size() / max(a.shape[0], 1)}
	r.Format, r.Kind, r.Rows, r.Features, r.Next = "npy", Floats, a.shape[0], r.d, r.next
	if a.dtype == "u1" {
		r.Kind, r.Bytes = Bytes, a.raw
	}
	if len(a.shape) > 2 {
		r.Shape = a.shape[1:]
	}
	target := o.Target
	switch {
	case r.Rows == 0 || r.d == 0 || o.Inputs && r.d != o.Like.Features+1:
		return &r.File, nil
	case o.Inputs:
		if target = cmp.Or(target, o.Was); target == "" {
			return nil, s.Errorf("%s columns, the model takes %s: name the column of labels with --target", count(r.d),
				count(o.Like.Features))
		}
	}
	if target != "" {
		err = r.takeColumn(target)
	} else {
		r.labels, err = labelsOf(s, r.Rows)
	}
	return &r.File, err
}

// takeColumn makes a column of the inputs the labels.
func (r *rowsOf) takeColumn(target string) error {
	c, err := strconv.Atoi(target)
	if err != nil || c < 1 || c > r.d || r.Shape != nil {
		return r.Errorf("target %q: want the number of a column, 1 to %d", target, r.d)
	}
	r.column, r.Bytes, r.Labels = c-1, nil, "target column "+target
	r.Features--
	return nil
}

// labelsOf reads the labels of an array of n rows: X_train.npy has them in y_train.npy, X_test.npy in y_test.npy.
func labelsOf(s *Source, n int) (*array, error) {
	dir, base := filepath.Split(strings.TrimSuffix(s.Path, ".gz"))
	if base != "X_train.npy" && base != "X_test.npy" {
		return nil, s.Errorf("no labels: name the column of labels with --target, or a folder with X_train.npy, " +
			"y_train.npy, X_test.npy and y_test.npy; in Python hogwild.train(X, y) takes arrays")
	}
	labels := dir + "y" + base[1:]
	path := Existing(labels)
	if path == "" {
		return nil, s.Errorf("no labels: there is no %s beside it", filepath.Base(labels))
	}
	src, err := Read(path, s.Budget)
	if err != nil {
		return nil, err
	}
	y, err := readArray(src)
	if err != nil {
		return nil, err
	}
	if k := len(y.raw) / y.size(); k != n || y.shape[0] != k {
		return nil, src.Errorf("labels of shape %s for the %s rows in %s: want one each (of one-hot labels "+
			"y.argmax(1))", y.shapeText(), count(n), s.Path)
	}
	return y, nil
}

// next reads the next row.
func (r *rowsOf) next(row *Row) error {
	if r.i == r.Rows {
		return io.EOF
	}
	from := r.i * r.d
	if r.i++; r.Kind == Bytes {
		row.Bytes = r.raw[from : from+r.d]
		if r.column >= 0 {
			row.Label = float64(row.Bytes[r.column])
			r.x8 = append(append(r.x8[:0], row.Bytes[:r.column]...), row.Bytes[r.column+1:]...)
			row.Bytes = r.x8
		}
	} else {
		r.x = r.x[:0]
		for j := range r.d {
			v := r.at(from + j)
			if r.x = append(r.x, float32(v)); !finite(v) {
				return r.Errorf("row %d, column %d: %g: want a finite number, at most 3.4e38", r.i, j+1, v)
			}
		}
		if r.column >= 0 {
			row.Label = float64(r.x[r.column])
			r.x = slices.Delete(r.x, r.column, r.column+1)
		}
		row.Val = r.x
	}
	if r.labels != nil {
		if row.Label = r.labels.at(r.i - 1); !finite(row.Label) {
			return r.labels.Errorf("row %d: label %g: want a finite number", r.i, row.Label)
		}
	}
	return nil
}

var npyHeader = regexp.MustCompile(
	`^\s*\{\s*'descr':\s*'([<>|=]?)(\w+)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d,\s]*)\),?\s*\}\s*$`)

// readArray parses the file: "\x93NUMPY", a version of two bytes, the length of the header
// (uint16, from version 2 on uint32), the header as a Python dict, the elements
// (numpy.org, numpy.lib.format).
func readArray(s *Source) (*array, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	b := s.Text
	if len(b) < 12 || string(b[:6]) != "\x93NUMPY" {
		return nil, s.Errorf("not a .npy file, which starts with \\x93NUMPY")
	}
	head, from := int(binary.LittleEndian.Uint16(b[8:])), 10
	if b[6] > 1 {
		head, from = int(binary.LittleEndian.Uint32(b[8:])), 12
	}
	if head > len(b)-from {
		return nil, s.Errorf("a header of %s bytes in a file of %s; the file is damaged or incomplete",
			count(head), count(len(b)))
	}
	m := npyHeader.FindSubmatch(b[from : from+head])
	if m == nil {
		return nil, s.Errorf("header %.80q: want one array of numbers", b[from:from+head])
	}
	a := &array{Source: s, dtype: string(m[2]), order: binary.LittleEndian, raw: b[from+head:]}
	if string(m[1]) == ">" {
		a.order = binary.BigEndian
	}
	if a.size() == 0 {
		return nil, s.Errorf("elements of type %s%s: want numbers of at most 64 bits; save classes that are texts or "+
			"objects as numpy.unique(y, return_inverse=True)[1], other numbers as x.astype('<f4'); or call "+
			"hogwild.train(X, y) in Python, which takes them", m[1], a.dtype)
	}
	want, fields := a.size(), strings.FieldsFunc(string(m[4]), func(r rune) bool {
		return r == ',' ||
			unicode.IsSpace(r)
	})
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n > 0 && want > (1<<48)/n {
			return nil, s.Errorf("shape (%s) is too large", strings.Join(fields, ", "))
		}
		a.shape, want = append(a.shape, n), want*n
	}
	if len(a.raw) != want || len(a.shape) == 0 {
		return nil, s.Errorf("%s bytes of elements, but shape (%s) of %s makes %s; the file is damaged or incomplete",
			count(len(a.raw)), strings.Join(fields, ", "), a.dtype, count(want))
	}
	if string(m[3]) != "True" || len(a.shape) == 1 {
		return a, nil
	}
	return a, a.transpose()
}

// transpose puts the elements of an array in Fortran order into C order.
func (a *array) transpose() error {
	if err := a.Budget.Take(a.Path, int64(len(a.raw)), "the array in C order"); err != nil {
		return err
	}
	raw, size, at := make([]byte, 0, len(a.raw)), a.size(), make([]int, len(a.shape))
	for len(raw) < len(a.raw) {
		from, step := 0, 1
		for i, n := range a.shape {
			from, step = from+at[i]*step, step*n
		}
		raw = append(raw, a.raw[from*size:(from+1)*size]...)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i] = (at[i] + 1) % a.shape[i]; at[i] > 0 {
				break
			}
		}
	}
	a.raw = raw
	return nil
}

// sizes are the bytes of the elements that are read.
var sizes = map[string]int{"b1": 1, "u1": 1, "i1": 1, "u2": 2, "i2": 2, "f2": 2, "u4": 4, "i4": 4, "f4": 4, "u8": 8,
	"i8": 8, "f8": 8}

// size returns the bytes of an element, 0 for a type that is not read.
func (a *array) size() int { return sizes[a.dtype] }

// at returns element k.
func (a *array) at(k int) float64 {
	b := a.raw[a.size()*k:]
	switch a.dtype {
	case "u1", "b1":
		return float64(b[0])
	case "i1":
		return float64(int8(b[0]))
	case "u2":
		return float64(a.order.Uint16(b))
	case "i2":
		return float64(int16(a.order.Uint16(b)))
	case "f2":
		return half(a.order.Uint16(b))
	case "u4":
		return float64(a.order.Uint32(b))
	case "i4":
		return float64(int32(a.order.Uint32(b)))
	case "f4":
		return float64(math.Float32frombits(a.order.Uint32(b)))
	case "u8":
		return float64(a.order.Uint64(b))
	case "i8":
		return float64(int64(a.order.Uint64(b)))
	}
	return math.Float64frombits(a.order.Uint64(b))
}

// half returns the number of a float16.
func half(bits uint16) float64 {
	exponent, digits := int(bits>>10&31), float64(bits&1023)
	v := math.Ldexp(1024+digits, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(digits, -24)
	case exponent == 31 && digits > 0:
		return math.NaN()
	case exponent == 31:
		v = math.Inf(1)
	}
	if bits>>15 > 0 {
		return -v
	}
	return v
}

func (a *array) shapeText() string {
	parts := make([]string, len(a.shape))
	for i, n := range a.shape {
		parts[i] = strconv.Itoa(n)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
