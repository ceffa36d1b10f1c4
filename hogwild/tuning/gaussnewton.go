package tuning

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// newtonRounds are the power iterations of a first measurement.
const newtonRounds = 30

// newton measures the curvature of the loss in the weights: the largest eigenvalue of its Gauss-Newton matrix,
// E[J' H J] with J the derivatives of the outputs by the weights and H those of the loss by the outputs. That is E[g g'] of the
// gradients g of labels that the model's own outputs are taken to be the chances of (Martens 2020, New Insights and Perspectives
// on the Natural Gradient Method, section 9), so that gradients alone are needed, of any model.
type newton struct {
	model model.Model
	loss  model.Loss
	rows  *data.Batch // with labels of their own
	mu    []float32   // of centred inputs: gradients are those of x - mu; else nil
	v     []float64   // the direction found so far, one long
}

// newNewton begins in a random direction; nil for a model without outputs to look at, or a loss without curvature.
func newNewton(m model.Model, loss model.Loss, rows *data.Batch, mu []float32, weights int, seed uint64) *newton {
	if _, ok := m.(model.Predictor); !ok || largestCurvature(loss) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 1))
	n := &newton{model: m, loss: loss, mu: mu, v: make([]float64, weights)}
	own := *rows
	own.Y = make([]float32, len(rows.Rows))
	n.rows = &own
	for i := range n.v {
		n.v[i] = r.NormFloat64()
	}
	return n
}

// largest is the largest eigenvalue at the weights w, after so many power iterations. The next call goes on from the
// direction that this one has found.
func (n *newton) largest(w []float32, rounds int, seed uint64) (g float64) {
	n.label(w, rand.New(rand.NewPCG(seed, 2)))
	for range rounds {
		normalize(n.v)
		next := n.times(w)
		g = 0
		for i, a := range n.v {
			g += a * next[i]
		}
		n.v = next
	}
	return g
}

// label draws labels whose gradients have the Gauss-Newton matrix for their second moments: a class by its probability; for the
// squared loss, whose second derivative is 2, a value as far from the output as makes its gradient the root of 2; for the hinge
// loss, the class that is not predicted, as its gradient is then 1.
func (n *newton) label(w []float32, r *rand.Rand) {
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

// draw is the class at x of the chances' sum.
func draw(chances []float32, x float64) int {
	for c, p := range chances {
		if x -= float64(p); x < 0 {
			return c
		}
	}
	return len(chances) - 1
}

// times is the matrix times v.
func (n *newton) times(w []float32) []float64 {
	next := make([]float64, len(n.v))
	var g model.Gradient
	n.model.Grad(w, n.rows, &g)
	if len(g.Parts) > 0 && g.Parts[0].X != nil {
		n.add(&g, next)
		return next
	}
	one := *n.rows
	for i := range n.rows.Rows { // a dense gradient is of all rows: take them one by one
		one.Rows, one.Y = n.rows.Rows[i:i+1], n.rows.Y[i:i+1]
		n.model.Grad(w, &one, &g)
		n.addDense(&g, next)
	}
	return next
}

// addDense adds the product of a gradient g of one row: g (g'v) over the number of rows.
func (n *newton) addDense(g *model.Gradient, next []float64) {
	s := 0.0
	for i := range g.Parts {
		p := &g.Parts[i]
		s += dot(p.G, n.v[p.Offset:])
	}
	s /= float64(len(n.rows.Rows))
	for i := range g.Parts {
		p := &g.Parts[i]
		for j, a := range p.G {
			next[p.Offset+j] += s * float64(a)
		}
	}
}

// add adds the product of each row's gradient. Its factors x and d are in the parts, d over the number of rows.
func (n *newton) add(g *model.Gradient, next []float64) {
	count := float64(len(n.rows.Rows))
	shift := make([][]float64, len(g.Parts))
	pulled := make([][]float64, len(g.Parts)) // of mu, what it takes in the end
	for i := range g.Parts {
		p := &g.Parts[i]
		shift[i], pulled[i] = make([]float64, p.Out), make([]float64, p.Out)
		if p.Bias >= 0 {
			copy(shift[i], n.v[p.Bias:p.Bias+p.Out])
		}
		if i == 0 {
			for j, m := range n.mu {
				for o := range p.Out {
					shift[i][o] -= float64(m) * n.v[p.Offset+j*p.Out+o]
				}
			}
		}
	}
	for row := range n.rows.Rows {
		s := 0.0
		for i := range g.Parts {
			p := &g.Parts[i]
			d := p.D[row*p.Out : (row+1)*p.Out]
			s += dot(d, shift[i])
			each(p.X[row], func(j int, x float64) { s += x * dot(d, n.v[p.Offset+j*p.Out:]) })
		}
		s *= count // of the two d, one is over the rows
		for i := range g.Parts {
			p := &g.Parts[i]
			d := p.D[row*p.Out : (row+1)*p.Out]
			each(p.X[row], func(j int, x float64) { addTo(next[p.Offset+j*p.Out:], s*x, d) })
			addTo(pulled[i], s, d)
		}
	}
	for i := range g.Parts {
		p := &g.Parts[i]
		for o, a := range pulled[i] {
			if p.Bias >= 0 {
				next[p.Bias+o] += a
			}
			if i == 0 {
				for j, m := range n.mu {
					next[p.Offset+j*p.Out+o] -= float64(m) * a
				}
			}
		}
	}
}

// each calls f with the inputs of a row that are not zero.
func each(x data.Row, f func(j int, x float64)) {
	for k, a := range x.Val {
		switch {
		case a == 0:
		case x.Idx != nil:
			f(int(x.Idx[k]), float64(a))
		default:
			f(k, float64(a))
		}
	}
}

func addTo(sum []float64, a float64, d []float32) {
	for o, b := range d {
		sum[o] += a * float64(b)
	}
}
