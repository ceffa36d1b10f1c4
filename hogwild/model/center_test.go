package model_test

import (
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestCentringSkipsZeros: rows stay sparse, in what is read and in what is written.
func TestCentringSkipsZeros(t *testing.T) {
	set, test, err := data.Load(data.Options{Path: "digits:300", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer test.Close()
	m, err := model.New(model.Options{Name: "softmax", Bias: true, Center: true, Mean: set.Mean}, set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	var g model.Gradient
	m.Grad(make([]float32, model.Size(m.Params())), set.NewReader().Batch([]int32{0, 1, 2}), &g)
	for _, x := range g.Parts[0].X {
		if x.Idx == nil || len(x.Idx) >= set.Features {
			t.Errorf("a row of %d features has %d in the gradient", set.Features, len(x.Val))
		}
	}
}
