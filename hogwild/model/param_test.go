package model

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/data"
)

// TestOrder is the layout of files, by hand: a weight is out x in there, and
// in x out in memory.
func TestOrder(t *testing.T) {
	m, err := New(Options{Name: "mlp:2", Bias: true}, data.Meta{Name: "t", Features: 3})
	if err != nil {
		t.Fatal(err)
	}
	ps := m.Params()
	want := []Param{
		{Name: "0.weight", Shape: []int{2, 3}, Transposed: true, Decay: true},
		{Name: "0.bias", Shape: []int{2}},
		{Name: "2.weight", Shape: []int{1, 2}, Transposed: true, Decay: true},
		{Name: "2.bias", Shape: []int{1}},
	}
	if d := cmp.Diff(want, ps); d != "" {
		t.Error(d)
	}
	if got := Offsets(ps); !slices.Equal(got, []int{0, 6, 8, 10}) || Size(ps) != 11 {
		t.Errorf("offsets %v, size %d", got, Size(ps))
	}
	w := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	tensors := [][]float32{{1, 3, 5, 2, 4, 6}, {7, 8}, {9, 10}, {11}}
	if d := cmp.Diff(tensors, Export(ps, w)); d != "" {
		t.Error(d)
	}
}

func TestRoundTrip(t *testing.T) {
	ps := []Param{
		{Name: "a", Shape: []int{7, 5}, Transposed: true},
		{Name: "b", Shape: []int{3, 2, 4}, Transposed: true},
		{Name: "c", Shape: []int{4, 3}},
		{Name: "d", Shape: []int{6}, Transposed: true},
		{Name: "e", Shape: []int{0, 6}, Transposed: true},
	}
	w := make([]float32, Size(ps))
	for i := range w {
		w[i] = rand.Float32()
	}
	tensors, back := Export(ps, w), make([]float32, len(w))
	if err := Import(ps, tensors, back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w, back) {
		t.Errorf("got %v back from %v", back, w)
	}

	tensors[2] = tensors[2][1:]
	err := Import(ps, tensors, back)
	if err == nil || !strings.Contains(err.Error(), "tensor c has 11 elements") {
		t.Errorf("a short tensor: %v", err)
	}
	if err := Import(ps, tensors[1:], back); err == nil {
		t.Error("a tensor too few: no error")
	}
	if err := Import(ps, tensors, back[1:]); err == nil {
		t.Error("a weight too few: no error")
	}
}
