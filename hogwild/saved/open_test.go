package saved

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestReason: what an error says is whole, with what other programs and names have in it, but for what to do.
func TestReason(t *testing.T) {
	for _, x := range []struct {
		err  error
		want string
	}{
		{&cured{"a; b.csv has changed", "name a file"}, "a; b.csv has changed"},
		{config.Usage("%w", &cured{"a; b.csv has changed", "name a file"}), "a; b.csv has changed"},
		{errors.New("data: a; b.csv: no such file"), "data: a; b.csv: no such file"},
	} {
		if got := reason(x.err); got != x.want {
			t.Errorf("%v: %q, want %q", x.err, got, x.want)
		}
	}
	folder := t.TempDir()
	changed := filepath.Join(folder, "my; own.csv")
	s := &Saved{path: "w", config: config.Config{Data: changed, Model: "linear", Scale: "none"}}
	if err := os.WriteFile(changed, []byte("a,y\n1,2\n3,5\n4,8\n5,9\n6,1\n7,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.readAgain(); err == nil || reason(err) != changed+" has changed since the run that saved w" {
		t.Errorf("%v", err)
	}
}

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
