package tuning

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/vec"
)

// The power iteration ends when a round changes the eigenvalue by less than newtonWithin of it, or after newtonRounds.
const (
	newtonRows   = 500 // rows that the curvature is taken on
	newtonRounds = 200
	newtonWithin = 1e-4
)

// Newton measures the curvature of the loss in the weights: the largest eigenvalue of its Gauss-Newton matrix, E[J' H
// J] with J the derivatives of the outputs by the weights and H the second derivatives of the loss by the outputs. That
// is E[g g'] of the gradients g of labels that the model's own outputs are taken to be the chances of (Martens 2020,
// New Insights and Perspectives on the Natural Gradient Method, section 9), so that gradients alone are needed.
//
// Of n rows it is as well the largest of the n by n matrix of the products of their gradients, over n. In a layer a
// row's gradient is the outer product of its inputs x and of the derivatives d by the outputs, so a product of two is
// x'y times d'e: the weights are never looked at one by one.
type Newton struct {
	Took time.Duration // the last measurement

	model  model.Model
	loss   model.Loss
	rows   *data.Batch // with labels of their own
	mu     []float32   // of centred inputs: gradients are on x - mu; else nil
	inputs []float32   // the products of the rows' inputs, once they are known
	seed   uint64
}

// newNewton returns nil for a model without outputs to look at, or a loss without curvature.
func newNewton(m model.Model, loss model.Loss, rows *data.Batch, mu []float32, seed uint64) *Newton {
	if _, ok := m.(model.Predictor); !ok || largestCurvature(loss) == 0 {
		return nil
	}
	own := *rows
	own.W = slices.Clone(rows.W)
	own.Y = make([]float32, len(rows.Rows))
	for i, w := range rows.W { // gradients are multiplied by each other
		own.W[i] = float32(math.Sqrt(float64(w)))
	}
	return &Newton{model: m, loss: loss, mu: mu, rows: &own, seed: seed}
}

// Largest returns the largest eigenvalue at the plain weights w; 0 if it is not finite, or for a model whose gradients
// are not outer products.
func (n *Newton) Largest(w []float32) (g float64) {
	began := time.Now()
	defer func() { n.Took = time.Since(began) }()
	n.label(w, rand.New(rand.NewPCG(n.seed, 2)))
	products := n.products(w)
	if products == nil {
		return 0
	}
	r, count := rand.New(rand.NewPCG(n.seed, 1)), len(n.rows.Rows)
	v, next := make([]float32, count), make([]float32, count)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	for range newtonRounds {
		vec.Scale(1/float32(math.Sqrt(float64(vec.Dot(v, v)))), v)
		for i := range next {
			next[i] = vec.Dot(products[i*count:(i+1)*count], v)
		}
		was := g
		g = float64(vec.Dot(v, next))
		if v, next = next, v; !(math.Abs(g-was) > newtonWithin*g) {
			break
		}
	}
	if math.IsNaN(g) || math.IsInf(g, 0) {
		return 0
	}
	return g
}

// label draws labels whose gradients have the Gauss-Newton matrix for their second moments: a class by its probability;
// for the squared loss, whose second derivative is 2, a value as far from the output as makes its gradient the root of
// 2; for the hinge loss, the class that is not predicted, as its gradient is then 1.
func (n *Newton) label(w []float32, r *rand.Rand) {
	y := n.rows.Y
	out := n.model.(model.Predictor).Predict(w, n.rows, nil)
	p, ok := n.model.(model.Prober)
	switch {
	case n.loss == model.Squared:
		for i, z := range out {
			y[i] = z + float32(math.Copysign(math.Sqrt(0.5), r.Float64()-0.5))
		}
	case n.loss == model.Hinge:
		for i, c := range out {
			y[i] = 1 - min(c, 1)
		}
	case ok:
		chances := p.Probabilities(w, n.rows, nil)
		k := len(chances) / len(y)
		for i := range y {
			y[i] = float32(draw(chances[i*k:(i+1)*k], r.Float64()))
		}
	}
}

// draw returns the class at x of the chances' sum.
func draw(chances []float32, x float64) int {
	for c, p := range chances {
		if x -= float64(p); x < 0 {
			return c
		}
	}
	return len(chances) - 1
}

// products returns g'h of the gradients g and h of each pair of rows, over their number.
func (n *Newton) products(w []float32) (sum []float32) {
	var g model.Gradient
	n.model.Grad(w, n.rows, &g)
	count := len(n.rows.Rows)
	for i := range g.Parts {
		p := &g.Parts[i]
		if p.X == nil {
			return nil
		}
		if i == 0 {
			sum = make([]float32, count*count)
			if n.inputs == nil {
				n.inputs = pairs(p.X, p.In, n.mu)
			}
		}
		x := n.inputs
		if i > 0 {
			x = pairs(p.X, p.In, nil)
		}
		d := make([]data.Row, count) // over the number of rows, both of two
		for row := range d {
			d[row].Val = p.D[row*p.Out : (row+1)*p.Out]
		}
		bias := float32(0)
		if p.Bias >= 0 {
			bias = 1
		}
		for at, product := range pairs(d, p.Out, nil) {
			sum[at] += (x[at] + bias) * product * float32(count)
		}
	}
	return sum
}

// pairs returns the products of each pair of rows less mu, unless that is nil.
func pairs(rows []data.Row, width int, mu []float32) []float32 {
	n := len(rows)
	sum, y, shift, square := make([]float32, n*n), make([]float32, width), along(rows, mu), vec.Dot(mu, mu)
	for i, x := range rows {
		fill(y, x)
		for j := range i + 1 {
			z := inner(rows[j], y) - shift[i] - shift[j] + square
			sum[i*n+j], sum[j*n+i] = z, z
		}
	}
	return sum
}

// fill sets y to a row.
func fill(y []float32, x data.Row) {
	clear(y)
	if x.Idx == nil {
		copy(y, x.Val)
	}
	for k, j := range x.Idx {
		y[j] += x.Val[k]
	}
}
