package tuning

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/vec"
)

// A rehearsal is the beginning of a run as one worker would train it, on weights that are thrown away: a network's
// curvature does not stay as it is at its first weights, and grows most in the first epoch. It takes rehearsedLeast to
// rehearsedMost examples, and within these about rehearsedProducts products.
const (
	rehearsedLeast, rehearsedMost = 1000, 20000
	rehearsedProducts             = 2e9

	rehearsals = 4 // how often the curvature is taken
	diverged   = 2 // times the first loss
)

// NewNewton measures the curvature in the weights of a network on its training rows; nil for other models, for a
// network too large to rehearse, or where no curvature is known.
func NewNewton(c *config.Config, spec model.Spec, m model.Model, set *data.Set, f Facts) *Newton {
	if !spec.Family().Rehearses() || c.Optimizer.Adaptive() || tooLarge(spec, f) {
		return nil
	}
	mu := []float32(nil)
	if centers(c, f) {
		mu = set.Mean
	}
	return newNewton(m, spec.Loss, head(set, newtonRows), mu, c.Seed)
}

// Rehearse returns the largest curvature that a network meets when it begins to learn, as n measures it; 0 if n is nil.
// It takes the rate and the batch of Choose with f.
func Rehearse(c *config.Config, spec model.Spec, n *Newton, set *data.Set, f Facts) (g float64) {
	if n == nil {
		return 0
	}
	p := &rehearsal{Config: c, model: n.model, set: set, reader: set.NewReader(),
		batch: stepBatch(c, spec, f), mu: n.mu}
	p.w = make([]float32, f.Weights)
	p.model.Init(p.w, c.Seed)
	rows := head(set, newtonRows)
	first := p.model.Eval(p.w, rows).Loss
	g = n.Largest(p.w)
	examples := min(max(rehearsedProducts/len(p.w), rehearsedLeast), rehearsedMost, c.Epochs*set.Rows)
	for i := range rehearsals {
		if !p.train(max(1, (examples/p.batch)>>(rehearsals-max(1, i)))) ||
			!(p.model.Eval(p.w, rows).Loss <= diverged*first) {
			break // the curvature of weights that grow without bound says nothing about a smaller rate
		}
		g = max(g, n.Largest(p.w))
	}
	return g
}

// rehearsal is weights that learn.
type rehearsal struct {
	*config.Config
	model  model.Model
	set    *data.Set
	reader *data.Reader
	batch  int
	mu     []float32
	w      []float32
	at     int // the next row
	work   vec.Workspace
}

// train takes steps of plain SGD, and reports whether all losses were finite.
func (p *rehearsal) train(steps int) bool {
	lr := p.LR
	if p.Optimizer == config.Momentum {
		lr /= 1 - p.Momentum
	}
	rows := make([]int32, p.batch)
	var g model.Gradient
	for range steps {
		for i := range rows {
			rows[i] = int32(p.at % p.set.Rows)
			p.at++
		}
		b := p.reader.Batch(rows)
		if loss := p.model.Grad(p.w, b, &g); math.IsNaN(loss) || math.IsInf(loss, 0) {
			return false
		}
		for i := range g.Parts {
			p.step(&g.Parts[i], b, float32(-lr), i == 0)
		}
	}
	return true
}

// step adds a times a part of the gradient; on centred inputs x - mu a first layer's W takes the outer product with
// these, and its bias b = c - W mu what is left of the gradient of c.
func (p *rehearsal) step(part *model.Part, b *data.Batch, a float32, first bool) {
	w := p.w[part.Offset : part.Offset+part.In*part.Out]
	p.work.AddOuter(a, part.X, part.D, part.Out, w)
	sum, bias := make([]float32, part.Out), make([]float32, part.Out)
	for i := range part.X {
		d := part.D[i*part.Out : (i+1)*part.Out]
		vec.Axpy(1, d, sum)
		if first && p.mu != nil {
			vec.Axpy(p.excess(b, i), d, bias)
		}
	}
	if first && p.mu != nil {
		for j, m := range p.mu {
			vec.Axpy(-a*m, sum, w[j*part.Out:(j+1)*part.Out])
		}
	}
	if part.Bias >= 0 {
		vec.Axpy(a, sum, p.w[part.Bias:part.Bias+part.Out])
		vec.Axpy(a, bias, p.w[part.Bias:part.Bias+part.Out])
	}
}

// excess returns -(x - mu)'mu of a row.
func (p *rehearsal) excess(b *data.Batch, i int) float32 {
	s := 0.0
	for _, m := range p.mu {
		s += float64(m) * float64(m)
	}
	return float32(s) - inner(b.Rows[i], p.mu)
}
