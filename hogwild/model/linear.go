package model

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// linear is one layer, z = x W + bias, as it lies in w. Alone, under a loss, it is
// the linear model: softmax, logistic, hinge, linear and l1.
type linear struct {
	in, out int
	weight  int // where W begins, in x out
	bias    int // where the bias begins, -1 without one
}

// end is where the layer's weights end in w.
func (l *linear) end() int {
	if l.bias >= 0 {
		return l.bias + l.out
	}
	return l.weight + l.in*l.out
}

func (l *linear) matrix(w []float32) []float32 {
	end := l.weight + l.in*l.out
	return w[l.weight:end:end]
}

// forward computes z (b x out) from the rows x. A zero input costs nothing when it
// is left out of its row.
func (l *linear) forward(w []float32, x []data.Row, z []float32) {
	matrix := l.matrix(w)
	for i, r := range x {
		zi := z[i*l.out : (i+1)*l.out]
		if l.bias >= 0 {
			copy(zi, w[l.bias:])
		} else {
			clear(zi)
		}
		if r.Idx == nil {
			vec.Gemv(r.Val, matrix, zi)
		} else {
			vec.SparseGemv(r.Idx, r.Val, matrix, zi)
		}
	}
}

// backward computes dx (b x in), the derivatives with respect to the inputs, from
// d, those with respect to the outputs: dx[i][j] = W[j] . d[i]. It does so for the
// inputs that x lists; to the others, units that are dead, nothing flows.
func (l *linear) backward(w []float32, x []data.Row, d, dx []float32) {
	matrix := l.matrix(w)
	for i, r := range x {
		di, dxi := d[i*l.out:(i+1)*l.out], dx[i*l.in:(i+1)*l.in]
		clear(dxi)
		for _, j := range r.Idx {
			dxi[j] = vec.Dot(di, matrix[int(j)*l.out:])
		}
	}
}

// init draws weights and bias from U(-1/sqrt(in), 1/sqrt(in)), as PyTorch's
// nn.Linear does.
func (l *linear) init(w []float32, r *rand.Rand) {
	bound := float32(1 / math.Sqrt(float64(l.in)))
	for i := l.weight; i < l.end(); i++ {
		w[i] = (2*r.Float32() - 1) * bound
	}
}
