package data

import (
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

func libsvm(text string, like *Meta) (*table, error) {
	return decode(textOf(text), Options{Format: "libsvm"}, like)
}

func TestLIBSVM(t *testing.T) {
	tab, err := libsvm("# made by hand\n+1 1:0.5 3:-2e-1 # first\n\n-1\r\n  2\t9:1 4:.25 5:0\n3 10:1e3", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tab.Rows != 4 || tab.Features != 10 || tab.Kind != Sparse {
		t.Errorf("%d rows x %d, %s", tab.Rows, tab.Features, tab.Kind)
	}
	for name, ok := range map[string]bool{
		"labels":  slices.Equal(tab.label, []float64{1, -1, 2, 3}),
		"lines":   slices.Equal(tab.line, []int32{2, 4, 5, 6}),
		"offsets": slices.Equal(tab.ptr, []int64{0, 2, 2, 4, 5}),
		"indices": slices.Equal(tab.idx, []uint32{0, 2, 3, 8, 9}),
		"values":  slices.Equal(tab.val, []float32{.5, -.2, .25, 1, 1000}),
	} {
		if !ok {
			t.Errorf("%s are wrong: %+v", name, tab)
		}
	}
}

func TestLIBSVMZeroBased(t *testing.T) {
	tab, err := libsvm("1 0:1 7:2\n2 3:1\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tab.Features != 8 || !slices.Equal(tab.idx, []uint32{0, 7, 3}) || !slices.Contains(tab.Notes, noteZeroBased) {
		t.Errorf("%d features, indices %v, notes %q", tab.Features, tab.idx, tab.Notes)
	}
	like := tab.Meta
	if tab, err = libsvm("1 3:1\n", &like); err != nil || tab.idx[0] != 3 || tab.Features != 8 {
		t.Errorf("like the training data: index %d of %d features, %v", tab.idx[0], tab.Features, err)
	}
	_, err = libsvm("1 1:1\n2 4:1 0:1\n", &Meta{Features: 8, Kind: Sparse})
	check.Error(t, err, "file:2:7", "count from 1")
}

func TestLIBSVMBeyondTheTrainingWidth(t *testing.T) {
	tab, err := libsvm("1 1:1 9:1\n2 2:1 3:1 4:1\n3\n", &Meta{Features: 3, Kind: Sparse})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.idx, []uint32{0, 1, 2}) || !slices.Equal(tab.ptr, []int64{0, 1, 3, 3}) || tab.Features != 3 {
		t.Errorf("indices %v, offsets %v", tab.idx, tab.ptr)
	}
	if len(tab.Notes) != 1 || !strings.Contains(tab.Notes[0], "dropped 2 values") {
		t.Errorf("notes %q", tab.Notes)
	}
}

func TestLIBSVMDense(t *testing.T) {
	tab, err := libsvm("1 1:1 2:2\n2 2:3\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tab.Kind != Floats || !slices.Equal(tab.x, []float32{1, 2, 0, 3}) {
		t.Errorf("%s %v", tab.Kind, tab.x)
	}
}

func TestLIBSVMErrors(t *testing.T) {
	for text, says := range map[string][]string{
		"1 1:1\n1 2:1 x:3\n":      {"file:2:7", `"x:3"`, "INDEX:VALUE"},
		"1 1:1\n1 2:one\n":        {"file:2:5", `"one"`, "number"},
		"1 5\n":                   {"file:1:3", "INDEX:VALUE"},
		"1 5: 3\n":                {"file:1:5", "number"},
		"one 1:1\n":               {"file:1:1", `"one"`, "--format"},
		"1,2 1:1\n":               {"file:1:1", `"1,2"`},
		"1 1:1\n\n1 3:1 2:1 3:2":  {"file:3:1", "index 3", "twice"},
		"1 2:1 2:1":               {"file:1:1", "index 2", "twice"},
		"2 qid:1 1:1\n":           {"file:1:3", "qid", "remove"},
		"1 1:nan\n":               {"file:1:5", "finite"},
		"1 1:1e39\n":              {"file:1:5", "finite"},
		"inf 1:1\n":               {"file:1:1", "finite"},
		"1 9999999999:1\n":        {"file:1:3", "9999999999"},
		"1 99999999999999999999:": {"file:1:3", "99999999999999999999"},
		"1 -1:1\n":                {"file:1:3", "INDEX:VALUE"},
		"1 1:1:1\n":               {"file:1:5", `"1:1"`},
	} {
		_, err := libsvm(text, nil)
		t.Run(text, func(t *testing.T) { check.Error(t, err, says...) })
	}
}
