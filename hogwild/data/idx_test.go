package data

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

const (
	images3x2x2 = "\x00\x00\x08\x03\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x02" + "abcdefghijkl"
	labels3     = "\x00\x00\x08\x01\x00\x00\x00\x03" + "\x02\x00\x02"
)

func TestIDX(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "train-images-idx3-ubyte", images3x2x2)
	file(t, dir, "train-labels-idx1-ubyte.gz", packed(t, labels3))
	file(t, dir, "t10k-images-idx3-ubyte.gz", packed(t, images3x2x2))
	file(t, dir, "t10k-labels-idx1-ubyte", labels3)
	for _, path := range []string{dir, filepath.Join(dir, "train-images-idx3-ubyte")} {
		train, test := mustLoad(t, Options{Path: path, Scale: "none"})
		if train.Format != "idx" || !slices.Equal(train.Shape, []int{2, 2}) ||
			!slices.Equal(train.Classes, []string{"0", "1", "2"}) {
			t.Errorf("%+v", train.Meta)
		}
		if string(test.X8) != "abcdefghijkl" || !slices.Equal(test.Y, []float32{2, 0, 2}) {
			t.Errorf("inputs %q, labels %v", test.X8, test.Y)
		}
		x, _ := rowsOf(t, test)
		if !slices.Equal(x[1], []float32{'e', 'f', 'g', 'h'}) {
			t.Errorf("row 1 is %v", x[1])
		}
	}
}

func TestIDXErrors(t *testing.T) {
	for name, c := range map[string]struct {
		images, labels string
		says           []string
	}{
		"short":  {images3x2x2[:20], labels3, []string{"train-images-idx3-ubyte", "byte 16", "4 bytes", "12"}},
		"long":   {images3x2x2 + "x", labels3, []string{"byte 16", "13 bytes"}},
		"floats": {"\x00\x00\x0d\x03" + images3x2x2[4:], labels3, []string{"byte 2", "0x0d"}},
		"header": {images3x2x2[:9], labels3, []string{"byte 3", "9 bytes"}},
		"magic":  {"\x01" + images3x2x2[1:], labels3, []string{"byte 0"}},
		"huge":   {images3x2x2[:4] + strings.Repeat("\xff", 12), labels3, []string{"byte 8", "is too large"}},
		"labels": {labels3, labels3, []string{"labels", "name the file of the images"}},
		"count": {images3x2x2, "\x00\x00\x08\x01\x00\x00\x00\x02ab",
			[]string{"train-labels-idx1-ubyte", "2 labels", "3 images"}},
		"bad labels": {images3x2x2, labels3[:9], []string{"train-labels-idx1-ubyte", "byte 8"}},
		"no examples": {images3x2x2[:4] + "\x00\x00\x00\x00" + images3x2x2[8:16], "\x00\x00\x08\x01\x00\x00\x00\x00",
			[]string{"no rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file(t, dir, "train-images-idx3-ubyte", c.images)
			file(t, dir, "train-labels-idx1-ubyte", c.labels)
			_, _, err := Load(Options{Path: dir, Format: "idx"})
			check.Error(t, err, c.says...)
		})
	}
	_, _, err := Load(Options{Path: file(t, "", "train-images-idx3-ubyte", images3x2x2)})
	check.Error(t, err, "no labels", "train-labels-idx1-ubyte")
}

// TestPermuteRows compares rows that are permuted in place with copies of them, in orders of one cycle, of many, and of
// none.
func TestPermuteRows(t *testing.T) {
	for _, n := range []int{1, 2, 5, 3000} {
		for seed := range uint64(3) {
			rows, d := allRows(n), 7
			if seed > 0 {
				rows = shuffled(rows, seed, drawRows)
			}
			x := make([]uint8, n*d)
			for i := range x {
				x[i] = uint8(i * i >> 3)
			}
			var want []uint8
			for _, i := range rows {
				want = append(want, x[int(i)*d:int(i+1)*d]...)
			}
			if permuteRows(x, d, rows); !bytes.Equal(x, want) {
				t.Errorf("%d rows, seed %d: not the rows in their order", n, seed)
			}
		}
	}
}
