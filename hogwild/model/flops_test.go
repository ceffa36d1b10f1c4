package model

import (
	"testing"

	"hogwild/hogwild/data"
)

// TestFlops: what a step costs, counted by hand.
func TestFlops(t *testing.T) {
	digits := data.Meta{Name: "digits", Kind: data.Bytes, Rows: 10, Features: 784, Shape: []int{28, 28},
		Classes: make([]string, 10)}
	two := digits
	two.Classes = two.Classes[:2]
	pairs := data.Meta{Name: "ratings", Kind: data.Pairs, Rows: 10, Features: 30, Shape: []int{10, 20}}
	for _, c := range []struct {
		name   string
		set    data.Meta
		values float64
		want   float64
	}{
		{"softmax", digits, 150, 2 * (2 * 150 * 10)}, // z = x W, then X'D
		{"softmax", digits, 784, 2 * (2 * 784 * 10)},
		{"logistic", two, 74.5, 2 * (2 * 74.5)},
		{"mlp:128", digits, 150, 2 * (2*150*128 + 3*128*10)},
		{"mlp:256,32", digits, 784, 2 * (2*784*256 + 3*256*32 + 3*32*10)},
		// 28 x 28, kernels of 5: 24 x 24 places, pooled to 12 x 12; then 8 x 8, pooled to
		// 4 x 4, of 20 channels: 320 inputs.
		{"convnet", digits, 150, 2 * (2*10*25*24*24 + 3*10*20*25*8*8 + 3*320*50 + 3*50*10)},
		// 26 x 26 places; the pooling takes 24 x 24: 8 x 8 of 3 channels.
		{"conv:3@3p3", digits, 784, 2 * (2*3*9*24*24 + 3*192*10)},
		{"factor:32", pairs, 1, 0},
	} {
		m, err := New(Options{Name: c.name, Bias: true}, c.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := Flops(m, c.values); got != c.want {
			t.Errorf("%s with %v values: %v, want %v", c.name, c.values, got, c.want)
		}
	}
}
