package data

import (
	"encoding/binary"
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
	*source
	shape []int
	dtype string // u1, i4, i8, f4 or f8, little-endian
	raw   []byte
}

// decodeNPY reads the inputs X, an array of n rows, and the labels: from y.npy
// beside it, or from the column of X that is the target. uint8 stays bytes.
func decodeNPY(src *source, target string) (*table, error) {
	t, err := src.array()
	if err != nil || t.Rows == 0 || t.Features == 0 {
		return t, err
	}
	if target != "" {
		return t, t.takeLabels(target)
	}
	names := labelNames(src.path)
	path := existing(names...)
	if path == "" || src.path == stdinTitle {
		return nil, src.errorf("no labels: there is no %s beside it; add it, or name a column with --target", baseNames(names))
	}
	return t, t.readLabels(path)
}

// array is a table without labels.
func (s *source) array() (*table, error) {
	x, err := s.npy()
	if err != nil {
		return nil, err
	}
	if len(x.shape) < 2 {
		return nil, s.errorf("an array of shape %s: want n rows x d features", x.shapeText())
	}
	if err := countable(s.path, x.shape[0], 0); err != nil {
		return nil, err
	}
	t := newTable(s, "npy", Floats)
	t.Rows, t.Features = x.shape[0], len(x.raw)/x.size()/max(x.shape[0], 1)
	if len(x.shape) > 2 {
		t.Shape = x.shape[1:]
	}
	return t, x.inputs(t)
}

// inputs copies the elements, checked, into t.
func (a *array) inputs(t *table) error {
	if a.dtype == "u1" {
		t.Kind, t.x8 = Bytes, a.raw
		return nil
	}
	if err := t.takeRows(t.Rows, 4*t.Features); err != nil {
		return err
	}
	x, err := newArray[float32](t.room, t.Rows*t.Features)
	if err != nil {
		return err
	}
	t.x = x[:t.Rows*t.Features]
	for k := range t.x {
		v := a.at(k)
		if t.x[k] = float32(v); !finite(float64(t.x[k])) {
			return a.errorf("row %d, column %d: %g: want a finite number, at most 3.4e38", k/t.Features+1, k%t.Features+1, v)
		}
	}
	return nil
}

func (t *table) readLabels(path string) error {
	src, err := read(path, t.room)
	if err != nil {
		return err
	}
	y, err := src.npy()
	if err != nil {
		return err
	}
	n := len(y.raw) / y.size()
	if n != t.Rows || y.shape[0] != n {
		return src.errorf("labels of shape %s for the %s rows in %s: want one each", y.shapeText(), count(t.Rows), t.Name)
	}
	if err := t.takeRows(n, 8); err != nil {
		return err
	}
	t.label = make([]float64, 0, n)
	for i := range n {
		v := y.at(i)
		if !finite(float64(float32(v))) {
			return src.errorf("row %d: label %g: want a finite number", i+1, v)
		}
		t.label = append(t.label, v)
	}
	return nil
}

// takeLabels makes a column of the inputs the labels.
func (t *table) takeLabels(target string) error {
	c, err := strconv.Atoi(target)
	d := t.Features
	if err != nil || c < 1 || c > d || t.Shape != nil {
		return (&source{path: t.Name}).errorf("target %q: want the number of a column, 1 to %d", target, d)
	}
	t.each(allRows(t.Rows), func(j int, v float64) {
		if j == c-1 {
			t.label = append(t.label, v)
		}
	})
	x8, err := newArray[uint8](t.room, len(t.x8))
	if err != nil {
		return err
	}
	t.x8, t.x = withoutColumn(x8, t.x8, c-1, d), withoutColumn(t.x[:0], t.x, c-1, d)
	t.Features--
	t.target = "target column " + target
	return nil
}

// withoutColumn appends x without a column to kept.
func withoutColumn[T any](kept, x []T, c, d int) []T {
	for i := 0; i < len(x); i += d {
		kept = append(append(kept, x[i:i+c]...), x[i+c+1:i+d]...)
	}
	return kept
}

// inputName finds the part of a name that says "inputs": X, or images.
var inputName = regexp.MustCompile(`(^|[_.-])([Xx]|images)([_.-])`)

// labelNames are the files in which the labels of an inputs file may lie.
func labelNames(path string) []string {
	dir, base := filepath.Split(strings.TrimSuffix(path, ".gz"))
	names := []string{}
	for _, y := range []string{"y", "Y", "labels"} {
		if name := inputName.ReplaceAllString(base, "${1}"+y+"${3}"); name != base {
			names = append(names, dir+name)
		}
	}
	return append(names, dir+"y.npy")
}

func baseNames(paths []string) string {
	var names []string
	for _, p := range paths {
		if name := filepath.Base(p); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

var npyHeader = regexp.MustCompile(`^\s*\{\s*'descr':\s*'([<>|=]?)(\w+)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d,\s]*)\),?\s*\}\s*$`)

// npy parses the file: "\x93NUMPY", a version of two bytes, the length of the header
// (uint16, from version 2 on uint32), the header as a Python dict, the elements
// (numpy.org, numpy.lib.format).
func (s *source) npy() (*array, error) {
	b := s.text
	if len(b) < 12 || string(b[:6]) != "\x93NUMPY" {
		return nil, s.errorf("not a .npy file, which starts with \\x93NUMPY")
	}
	head, from := int(binary.LittleEndian.Uint16(b[8:])), 10
	if b[6] > 1 {
		head, from = int(binary.LittleEndian.Uint32(b[8:])), 12
	}
	if head > len(b)-from {
		return nil, s.errorf("a header of %s bytes in a file of %s; the file is damaged or incomplete", count(head), count(len(b)))
	}
	m := npyHeader.FindSubmatch(b[from : from+head])
	if m == nil {
		return nil, s.errorf("header %.80q: want one array of numbers", b[from:from+head])
	}
	a := &array{source: s, dtype: string(m[2]), raw: b[from+head:]}
	switch order := string(m[1]); {
	case order == ">":
		return nil, s.errorf("elements of type >%s are big-endian: save it again with x.astype('<%s')", a.dtype, a.dtype)
	case string(m[3]) == "True":
		return nil, s.errorf("the array is in Fortran order: save it again with numpy.ascontiguousarray(x)")
	case a.size() == 0:
		return nil, s.errorf("elements of type %s%s: want u1, i4, i8, f4 or f8; save it again with x.astype('<f4')", order, a.dtype)
	}
	want, fields := a.size(), strings.FieldsFunc(string(m[4]), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n > 0 && want > (1<<48)/n {
			return nil, s.errorf("shape (%s) is too large", strings.Join(fields, ", "))
		}
		a.shape, want = append(a.shape, n), want*n
	}
	if len(a.raw) != want || len(a.shape) == 0 {
		return nil, s.errorf("%s bytes of elements, but shape (%s) of %s makes %s; the file is damaged or incomplete",
			count(len(a.raw)), strings.Join(fields, ", "), a.dtype, count(want))
	}
	return a, nil
}

// size is the bytes of an element, 0 for a type that is not read.
func (a *array) size() int {
	return map[string]int{"u1": 1, "i4": 4, "i8": 8, "f4": 4, "f8": 8}[a.dtype]
}

// at is element k.
func (a *array) at(k int) float64 {
	switch a.dtype {
	case "u1":
		return float64(a.raw[k])
	case "i4":
		return float64(int32(binary.LittleEndian.Uint32(a.raw[4*k:])))
	case "i8":
		return float64(int64(binary.LittleEndian.Uint64(a.raw[8*k:])))
	case "f4":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.raw[4*k:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(a.raw[8*k:]))
}

func (a *array) shapeText() string {
	parts := make([]string, len(a.shape))
	for i, n := range a.shape {
		parts[i] = strconv.Itoa(n)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
