package model

import (
	"math"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// LeastSquares reports whether the model is a linear regression, whose optimum is the solution of linear equations.
func (s Spec) LeastSquares() bool { return s.Family() == Linear && s.Loss == Squared }

// linear is one layer, z = x W + bias, as it lies in w. Alone, under a loss, it is
// the linear model: softmax, logistic, hinge, linear and l1.
type linear struct {
	in, out int
	weight  int // where W begins, in x out
	bias    int // where the bias begins, -1 without one
	center  int // on centred inputs: where s begins (see Center), else -1
}

// end returns where the layer's weights end in w.
func (l *linear) end() int {
	switch {
	case l.center >= 0:
		return l.center + l.out
	case l.bias >= 0:
		return l.bias + l.out
	}
	return l.weight + l.in*l.out
}

func (l *linear) matrix(w []float32) []float32 {
	end := l.weight + l.in*l.out
	return w[l.weight:end:end]
}

// forward computes z (b x out) from the rows x, and m (see Center) of each. A zero
// input costs nothing when it is left out of its row.
func (l *linear) forward(s *vec.Workspace, w []float32, x []data.Row, m, z []float32) {
	if l.out == 1 && l.bias >= 0 && l.center < 0 {
		bias := w[l.bias]
		for i := range z[:len(x)] {
			z[i] = bias
		}
		s.Mul(x, l.matrix(w), 1, z)
		return
	}
	for i := range x {
		zi := z[i*l.out : (i+1)*l.out]
		if l.bias >= 0 {
			copy(zi, w[l.bias:])
		} else {
			clear(zi)
		}
		if l.center >= 0 {
			vec.Axpy(-m[i], w[l.center:l.center+l.out], zi)
		}
	}
	s.Mul(x, l.matrix(w), l.out, z)
}

// backward computes dx (b x in), the derivatives with respect to the inputs, from
// d, those with respect to the outputs: dx[i][j] = W[j] . d[i]. The inputs are units
// after a ReLU: to those that are dead nothing flows, and those that sparse rows leave
// out are.
func (l *linear) backward(s *vec.Workspace, w []float32, x []data.Row, d, dx []float32) {
	matrix := l.matrix(w)
	dx = dx[:len(x)*l.in]
	if x[0].Idx == nil {
		s.MulT(d[:len(x)*l.out], matrix, l.out, dx)
		for i, r := range x {
			vec.ReLUMask(r.Val, dx[i*l.in:(i+1)*l.in])
		}
		return
	}
	clear(dx)
	for i, r := range x {
		di, dxi := d[i*l.out:(i+1)*l.out], dx[i*l.in:(i+1)*l.in]
		for _, j := range r.Idx {
			dxi[j] = vec.Dot(di, matrix[int(j)*l.out:])
		}
	}
}

// init draws weights and bias from U(-1/sqrt(in), 1/sqrt(in)), as PyTorch's
// nn.Linear does.
func (l *linear) init(w []float32, s *source) {
	drawn := min(l.weight+(l.in+1)*l.out, l.end())
	s.uniform(w[l.weight:drawn], float32(1/math.Sqrt(float64(l.in))))
	clear(w[drawn:l.end()]) // on centred inputs: s
}
