package saved

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// TestByHand: weights that somebody wrote predict 3a - b + 1, and have the loss of that on rows whose values are it,
// give or take a half.
func TestByHand(t *testing.T) {
	dir := t.TempDir()
	weights, rows := filepath.Join(dir, "plane.safetensors"), filepath.Join(dir, "rows.csv")
	err := rundir.WriteTensors(weights, nil, []rundir.Tensor{
		rundir.FloatTensor("0.weight", []int{1, 2}, []float32{3, -1}),
		rundir.FloatTensor("0.bias", []int{1}, []float32{1})})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for i := range 40 {
		a, b := i%7, i%5
		fmt.Fprintf(&text, "%d,%d,%g\n", a, b, float64(3*a-b)+1.5-float64(i%2))
	}
	if err := os.WriteFile(rows, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	d := Description{Model: "linear", Scale: "none"}
	got, err := EvalAs(weights, d, rows, "auto", "y")
	if err != nil || got.Examples != 40 || math.Abs(*got.RMSE-0.5) > 1e-6 {
		t.Errorf("%+v, %v", got, err)
	}
	d.Train, d.Target = rows, "y"
	s, err := OpenAs(weights, d)
	if err != nil {
		t.Fatal(err)
	}
	y, err := s.Predict([]float32{10, 4}, []float32{0, 0.5})
	if err != nil || y[0] != 27 || y[1] != 0.5 {
		t.Errorf("predicted %v, %v; want 27 and 0.5", y, err)
	}
}
