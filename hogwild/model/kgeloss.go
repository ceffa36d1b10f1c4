package model

import (
	"math"

	"hogwild/internal/vec"
)

// lossOf returns the loss of one side of a fact, of the scores z of negatives and the true one's, and by the latter its
// derivative; z becomes the gradient.
func (m *kge) lossOf(z []float32, own float32) (loss float64, d float32) {
	if m.loss == SampledSoftmax {
		all := vec.Softmax(z) // and the true one:
		loss = softplus(all - float64(own))
		share := sigmoid(float32(all - float64(own)))
		vec.Scale(float32(share), z)
		return loss, float32(-share)
	}
	margin := 0.
	if m.t.score.distance() {
		margin = selfMargin
	}
	copy(m.p, z)
	vec.Softmax(m.p)
	for j, p := range m.p {
		x := float64(z[j]) + margin
		if z[j] = 0; p > 0 {
			loss += float64(p) * softplus(x)
			z[j] = p * float32(sigmoid(float32(x)))
		}
	}
	x := float64(own) + margin
	return loss + softplus(-x), float32(sigmoid(float32(x)) - 1)
}

// softplus returns log(1 + exp(x)).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// regularize adds to g the gradient of the regularizers of a row.
func (m *kge) regularize(row, g []float32) {
	if m.l2 != 0 {
		vec.Axpy(m.l2, row, g)
	}
	h := len(row) / 2
	switch {
	case m.n3 == 0:
	case m.t.score.pairs():
		for j := range h {
			x, y := row[j], row[h+j]
			a := m.n3 * float32(math.Sqrt(float64(x*x+y*y)))
			g[j], g[h+j] = g[j]+a*x, g[h+j]+a*y
		}
	default:
		for j, x := range row {
			g[j] += m.n3 * x * float32(math.Abs(float64(x)))
		}
	}
}
