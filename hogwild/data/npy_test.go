package data

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hogwild/internal/check"
)

// npy returns an array as numpy.save writes it.
func npy(t testing.TB, descr, shape string, order string, elements any) string {
	t.Helper()
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, order, shape)
	text := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	bytes := binary.ByteOrder(binary.LittleEndian)
	if descr[0] == '>' {
		bytes = binary.BigEndian
	}
	text, err := binary.Append(append(text, head...), bytes, elements)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNPY(t *testing.T) {
	for _, c := range []struct {
		descr string
		x     any
		kind  Kind
	}{
		{"|u1", []uint8{1, 2, 3, 4, 5, 6}, Bytes},
		{"<i4", []int32{1, 2, 3, 4, 5, 6}, Floats},
		{"<i8", []int64{1, 2, 3, 4, 5, 6}, Floats},
		{"<f4", []float32{1, 2, 3, 4, 5, 6}, Floats},
		{"<f8", []float64{1, 2, 3, 4, 5, 6}, Floats},
		{"|i1", []int8{1, 2, 3, 4, 5, 6}, Floats},
		{"<u2", []uint16{1, 2, 3, 4, 5, 6}, Floats},
		{">i2", []int16{1, 2, 3, 4, 5, 6}, Floats},
		{"<u4", []uint32{1, 2, 3, 4, 5, 6}, Floats},
		{">u8", []uint64{1, 2, 3, 4, 5, 6}, Floats},
		{"<f2", []uint16{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600}, Floats},
		{">f4", []float32{1, 2, 3, 4, 5, 6}, Floats},
	} {
		dir := t.TempDir()
		file(t, dir, "X_train.npy", npy(t, c.descr, "3, 2", "False", c.x))
		file(t, dir, "y_train.npy", npy(t, "<i8", "3,", "False", []int64{-1, 1, 1}))
		file(t, dir, "X_test.npy", packed(t, npy(t, c.descr, "3, 2", "False", c.x)))
		file(t, dir, "y_test.npy", npy(t, "|u1", "3, 1", "False", []uint8{1, 1, 1}))
		for _, path := range []string{dir, filepath.Join(dir, "X_train.npy")} {
			train, test := mustLoad(t, Options{Path: path, Scale: "none"})
			x, y := rowsOf(t, test)
			if train.Kind != c.kind || !slices.Equal(slices.Concat(x...), []float32{1, 2, 3, 4, 5, 6}) ||
				!slices.Equal(y, []float32{1, 1, 1}) {
				t.Errorf("%s: %s, x %v, y %v", c.descr, train.Kind, x, y)
			}
		}
	}
}

func TestNPYTargetColumn(t *testing.T) {
	path := file(t, "", "rows.npy", npy(t, "<f4", "2, 3", "False", []float32{1, 7, 2, 3, 8, 4}))
	tab, err := open(path, Options{Target: "2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.x, []float32{1, 2, 3, 4}) || !slices.Equal(tab.label, []float64{7, 8}) || tab.Features != 2 {
		t.Errorf("x %v, labels %v", tab.x, tab.label)
	}
	_, err = open(path, Options{Target: "4"}, nil)
	check.Error(t, err, "rows.npy", `"4"`, "1 to 3")
}

func TestNPYErrors(t *testing.T) {
	x := []float32{1, 2, 3, 4}
	y := npy(t, "<i8", "2,", "False", []int64{1, 2})
	for name, c := range map[string]struct {
		x, y string
		says []string
	}{
		"texts":   {npy(t, "<f4", "2, 2", "False", x), npy(t, "<U1", "2,", "False", x[:2]), []string{"numpy.unique"}},
		"one-hot": {npy(t, "<f4", "2, 2", "False", x), npy(t, "<f4", "2, 2", "False", x), []string{"y.argmax(1)"}},
		"type":    {npy(t, "<c8", "2, 2", "False", x), y, []string{"<c8", "numbers of at most 64 bits"}},
		"record":  {npy(t, "[('a', '<f4')]", "2, 2", "False", x), y, []string{"header"}},
		"short":   {npy(t, "<f4", "2, 2", "False", x[:3]), y, []string{"12 bytes", "(2, 2)", "16"}},
		"vector":  {npy(t, "<f4", "4,", "False", x), y, []string{"(4)", "n rows x d features"}},
		"scalar":  {npy(t, "<f4", "", "False", x[:1]), y, []string{"shape ()"}},
		"infinite": {npy(t, "<f8", "2, 2", "False", []float64{1, 2, 3, 1e39}), y,
			[]string{"row 2, column 2", "1e+39"}},
		"labels": {npy(t, "<f4", "2, 2", "False", x), npy(t, "<i8", "3,", "False", []int64{1, 2, 3}),
			[]string{"y_train.npy", "(3)", "2 rows"}},
		"no labels": {npy(t, "<f4", "2, 2", "False", x), "", []string{"no y_train.npy beside it"}},
		"header":    {"\x93NUMPY\x01\x00\xff\xff{}", y, []string{"65,535", "damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "", "X_train.npy", c.x)
			if c.y != "" {
				file(t, filepath.Dir(path), "y_train.npy", c.y)
			}
			_, err := open(path, Options{}, nil)
			check.Error(t, err, append(c.says, filepath.Dir(path))...)
		})
	}
}

// TestNPYAlone: no other array is guessed to be the labels of one.
func TestNPYAlone(t *testing.T) {
	dir := t.TempDir()
	path := file(t, dir, "X.npy", npy(t, "<f4", "2, 2", "False", []float32{1, 2, 3, 4}))
	file(t, dir, "y.npy", npy(t, "<i8", "2,", "False", []int64{1, 2}))
	_, err := open(path, Options{}, nil)
	check.Error(t, err, path, "no labels", "--target", "hogwild.train(X, y)")
}

// What NumPy itself writes is read.
func TestNPYByNumPy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no python3 with numpy")
	}
	dir := t.TempDir()
	script := `import numpy as n
n.save("X_train.npy", n.arange(24, dtype="f4").reshape(4, 2, 3)); n.save("y_train.npy", n.array([0, 1, 0, 1]))`
	cmd := exec.Command(python, "-c", script)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	tab, err := open(filepath.Join(dir, "X_train.npy"), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tab.Rows != 4 || !slices.Equal(tab.Shape, []int{2, 3}) || tab.x[23] != 23 ||
		!slices.Equal(tab.label, []float64{0, 1, 0, 1}) {
		t.Errorf("%+v", tab)
	}
}

// TestNPYKinds: labels may be truth values, inputs negative, large or small halves, and arrays in Fortran order.
func TestNPYKinds(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "X_train.npy", npy(t, "<f2", "2, 3", "True", []uint16{0xbc00, 1, 0x7bff, 0xb555, 0x8000, 0x3400}))
	file(t, dir, "y_train.npy", npy(t, "|b1", "2,", "False", []bool{true, false}))
	tab, err := open(filepath.Join(dir, "X_train.npy"), Options{}, nil)
	if err != nil || !slices.Equal(tab.x, []float32{-1, 65504, 0, 0x1p-24, -0.33325195, 0.25}) ||
		!slices.Equal(tab.label, []float64{1, 0}) {
		t.Errorf("x %v, labels %v, %v", tab.x, tab.label, err)
	}
	images := make([]uint8, 24) // numpy.arange(24).reshape(2, 3, 4) in Fortran order
	for i := range images {
		images[i] = uint8(i%2*12 + i/2%3*4 + i/6)
	}
	file(t, dir, "X_train.npy", npy(t, "|u1", "2, 3, 4", "True", images))
	tab, err = open(filepath.Join(dir, "X_train.npy"), Options{}, nil)
	if err != nil || tab.x8[1] != 1 || tab.x8[23] != 23 {
		t.Errorf("images %v, %v", tab.x8, err)
	}
}
