package model

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// congruent returns n numbers in [-1, 1), as numbers does in testdata/convnet.py.
func congruent(n int, s uint64) []float32 {
	x := make([]float32, n)
	for i := range x {
		s = (s*1103515245 + 12345) % (1 << 31)
		x[i] = float32(float64(s)/(1<<30) - 1)
	}
	return x
}

// TestConvNetIsPyTorchs holds names, shapes, loss and gradients against what
// testdata/convnet.py had from PyTorch.
func TestConvNetIsPyTorchs(t *testing.T) {
	var want struct {
		Loss      float64
		Gradients []struct {
			Name         string
			Shape        []int
			Sum, Squares float64
			Some         []float64
		}
	}
	text, err := os.ReadFile("testdata/convnet.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	meta := data.Meta{Name: "images", Features: 784, Shape: []int{28, 28}, Classes: make([]string, 10)}
	s, err := Resolve(Options{Name: "convnet", Bias: true}, meta)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Net.Convs {
		s.Net.Convs[i].Drop = 0
	}
	s.Net.Hidden[0].Drop = 0
	m := s.New()
	ps := m.Params()
	w, tensors := make([]float32, Size(ps)), make([][]float32, len(ps))
	for i, p := range ps {
		tensors[i] = congruent(p.Len(), uint64(i+1))
		for j := range tensors[i] {
			tensors[i][j] /= 8
		}
	}
	if err := Import(ps, tensors, w); err != nil {
		t.Fatal(err)
	}
	b, x := &data.Batch{Features: 784, Y: []float32{3, 1, 4, 1, 5}}, congruent(5*784, 100)
	for i := range b.Y {
		b.Rows = append(b.Rows, data.Row{Val: x[i*784 : (i+1)*784]})
	}
	var g Gradient
	if got := m.Grad(w, b, &g) / 5; math.Abs(got-want.Loss) > 1e-5 {
		t.Errorf("loss %v, want %v", got, want.Loss)
	}
	got := Export(ps, materialise(&g, len(w)))
	for i, p := range want.Gradients {
		if ps[i].Name != p.Name || !slices.Equal(ps[i].Shape, p.Shape) {
			t.Fatalf("parameter %d is %s %v, want %s %v", i, ps[i].Name, ps[i].Shape, p.Name, p.Shape)
		}
		var sum, squares float64
		for j, v := range got[i] {
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
			if size := math.Sqrt(p.Squares / float64(len(got[i]))); j%97 == 0 &&
				math.Abs(float64(v)-p.Some[j/97]) > 1e-5*size {
				t.Errorf("%s[%d]: %v, want %v", p.Name, j, v, p.Some[j/97])
			}
		}
		if near := 1e-5 * math.Sqrt(p.Squares*float64(len(got[i]))); math.Abs(sum-p.Sum) > near ||
			math.Abs(squares-p.Squares) > 1e-5*p.Squares {
			t.Errorf("%s: sum %v and squares %v, want %v and %v", p.Name, sum, squares, p.Sum, p.Squares)
		}
	}
}
