package export

import (
	"os"
	"path/filepath"
	"testing"

	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// TestNPY: NumPy reads arrays of all types and shapes.
func TestNPY(t *testing.T) {
	dir := t.TempDir()
	for _, tensor := range []rundir.Tensor{
		{Name: "steps", DType: "I64", Data: []byte{7, 0, 0, 0, 1, 0, 0, 0}},
		{Name: "0.bias", DType: "BF16", Shape: []int{2}, Data: []byte{0x80, 0x3f, 0x20, 0xc0}},
		{Name: "table", DType: "U8", Shape: []int{3, 2}, Data: []byte{1, 4, 2, 5, 3, 6}},
		{Name: "half", DType: "F16", Shape: []int{1, 1, 2}, Data: []byte{0, 0x3c, 0, 0xc1}},
		{Name: "none", DType: "F32", Shape: []int{0, 4}},
	} {
		name, file, err := NPY(tensor)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	check.Python(t, "numpy", `
import sys, numpy as np
for name, want in (("steps", np.int64(7 + 2**32)), ("0.bias", np.float32([1, -2.5])), ("table", np.uint8([[1, 4], [2, 5], [3, 6]])),
                   ("half", np.float16([[[1, -2.5]]])), ("none", np.zeros((0, 4), np.float32))):
    got = np.load(f"{sys.argv[1]}/{name}.npy")
    assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), (name, got)
`, dir)
	for _, name := range []string{"", "../x", "a/b"} {
		_, _, err := NPY(rundir.Tensor{Name: name, DType: "U8", Data: []byte{1}})
		check.Error(t, err, "cannot be that of a file")
	}
}
