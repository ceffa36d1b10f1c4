//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The reference of the kernels on pairs: random entries or edges, and steps on them in plain
// float64, over dense gradients and with a projection that sorts.

// pairs is a problem with its numbers. With cut the nodes have points of a simplex.
type pairs struct {
	nodes, k  int
	cut       bool
	biased    bool
	l2        float64
	optimizer string
	keep      bool // add the gradient up instead of stepping
	batches   []int

	idx            []uint32
	y, lr, w       []float32
	rows, start    []int32
	first, second  []float64 // the optimizer's state after the reference's steps
	weights, steps []float64 // and the weights, and the losses
}

// drawPairs has few nodes, so that a batch has some twice.
func drawPairs(p pairs, seed uint64) *pairs {
	r := rand.New(rand.NewPCG(seed, 11))
	half := p.nodes / 2
	for range 40 {
		p.idx = append(p.idx, uint32(r.IntN(half)), uint32(half+r.IntN(p.nodes-half)))
		p.y = append(p.y, 1+r.Float32())
	}
	for range p.nodes {
		x := make([]float64, p.k)
		for c := range x {
			x[c] = r.NormFloat64() / math.Sqrt(float64(p.k))
		}
		if p.cut {
			for c := range x {
				x[c] = r.Float64() / float64(p.k) * 2
			}
			x = project(x)
		}
		for _, v := range x {
			p.w = append(p.w, float32(v))
		}
	}
	if p.biased {
		for range p.nodes {
			p.w = append(p.w, float32(r.NormFloat64()))
		}
	}
	if !p.cut {
		p.w = append(p.w, .7)
	}
	p.start = []int32{0}
	for _, b := range p.batches {
		for range b {
			p.rows = append(p.rows, int32(r.IntN(len(p.y))))
		}
		p.start, p.lr = append(p.start, int32(len(p.rows))), append(p.lr, .02+.1*r.Float32())
	}
	return &p
}

// project is the nearest point of the simplex (Duchi et al. 2008, figure 1).
func project(x []float64) []float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	sum, t := -1.0, 0.0
	for i, v := range sorted {
		if sum += v; v > sum/float64(i+1) {
			t = sum / float64(i+1)
		}
	}
	near := make([]float64, len(x))
	for i, v := range x {
		near[i] = max(0, v-t)
	}
	return near
}

// reference takes the steps, one after the other.
func (p *pairs) reference() {
	p.weights, p.steps = widen(p.w), nil
	p.first, p.second = make([]float64, len(p.w)), make([]float64, len(p.w))
	kept := make([]float64, len(p.w))
	for i, lr := range p.lr {
		g, loss := p.gradient(p.weights, p.rows[p.start[i]:p.start[i+1]])
		p.steps = append(p.steps, loss)
		switch {
		case p.keep:
			for j, v := range g {
				kept[j] += v
			}
		case p.cut:
			p.move(g, float64(lr))
		default:
			p.step(g, float64(lr), float64(i+1))
		}
	}
	if p.keep {
		p.first = kept
	}
}

// gradient returns the gradient of the rows' mean loss, and their summed loss.
func (p *pairs) gradient(w []float64, rows []int32) (g []float64, loss float64) {
	g = make([]float64, len(w))
	share := 1 / float64(len(rows))
	for _, row := range rows {
		u, v, y := int(p.idx[2*row]), int(p.idx[2*row+1]), float64(p.y[row])
		a, b := w[u*p.k:(u+1)*p.k], w[v*p.k:(v+1)*p.k]
		if p.cut {
			for c := range a {
				loss += y / 2 * math.Abs(a[c]-b[c])
				s := 0.0
				if a[c] != b[c] {
					s = math.Copysign(y/2*share, a[c]-b[c])
				}
				g[u*p.k+c] += s
				g[v*p.k+c] -= s
			}
			continue
		}
		e := w[len(w)-1] - y
		bias := p.nodes * p.k
		if p.biased {
			e += w[bias+u] + w[bias+v]
		}
		for c := range a {
			e += a[c] * b[c]
		}
		loss += e * e
		for c := range a {
			g[u*p.k+c] += share * (2*e*b[c] + p.l2*a[c])
			g[v*p.k+c] += share * (2*e*a[c] + p.l2*b[c])
		}
		if p.biased {
			g[bias+u] += share * 2 * e
			g[bias+v] += share * 2 * e
		}
	}
	return g, loss
}

// move is a step of plain SGD and a projection, of the nodes that have a gradient.
func (p *pairs) move(g []float64, lr float64) {
	for v := p.k; v < p.nodes; v++ { // behind the terminals
		x := p.weights[v*p.k : (v+1)*p.k]
		touched := false
		for c := range x {
			x[c] -= lr * g[v*p.k+c]
			touched = touched || g[v*p.k+c] != 0
		}
		if touched {
			copy(x, project(x))
		}
	}
}

const (
	pairMu, pairBeta1, pairBeta2 = .9, .8, .99
	pairEpsilon                  = 1e-8
)

// step takes the step of the t-th gradient; the mean stays.
func (p *pairs) step(g []float64, lr, t float64) {
	for i, gi := range g[:len(g)-1] {
		m, v := &p.first[i], &p.second[i]
		switch p.optimizer {
		case "sgd":
			p.weights[i] -= lr * gi
		case "momentum":
			*m = pairMu**m + gi
			p.weights[i] -= lr * *m
		case "adagrad":
			if gi != 0 {
				*m += gi * gi
				p.weights[i] -= lr * gi / (math.Sqrt(*m) + pairEpsilon)
			}
		case "adam":
			*m = pairBeta1**m + (1-pairBeta1)*gi
			*v = pairBeta2**v + (1-pairBeta2)*gi*gi
			p.weights[i] -= lr / (1 - math.Pow(pairBeta1, t)) * *m /
				(math.Sqrt(*v/(1-math.Pow(pairBeta2, t))) + pairEpsilon)
		}
	}
}
