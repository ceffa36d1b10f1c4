package vec

import "fmt"

// Factors is a matrix in factors: one row of K numbers for each of its rows and
// columns, together the nodes. The entry at node u and node v is
//
//	z = Mean + sum W[u*K+c] * W[v*K+c] + Bias[u] + Bias[v]
type Factors struct {
	K    int
	W    []float32 // nodes x K
	Bias []float32 // one a node; nil: there are none
	Mean float32
}

// Row is the factors of a node.
func (f *Factors) Row(u uint32) []float32 { return row(f.W, int(u), f.K)[:f.K] }

// At is z at nodes u and v.
func (f *Factors) At(u, v uint32) float32 {
	z := Dot(f.Row(u), f.Row(v)) + f.Mean
	if f.Bias != nil {
		z += f.Bias[u] + f.Bias[v]
	}
	return z
}

// FactorRate is how a step moves: Keep is what it leaves of a factor, and Rate how far
// it goes. For the squared loss at learning rate lr they are 1 - lr*l2 and -2*lr.
type FactorRate struct{ Keep, Rate float32 }

// Steps goes over the entries that rows lists, one after the other, entry r being
// at nodes idx[2*r] and idx[2*r+1] with the value y[r]:
//
//	e = z - y[r]; p, q = Keep*p + Rate*e*q, Keep*q + Rate*e*p
//
// and each bias moves by Rate*e. It returns the sum of e*e.
//
// Where the factors of an entry lie is known long before they are needed, but no
// processor foresees it: they are fetched some entries ahead, and the entries before
// them. That is why they need no order in which near ones share factors. Behind the
// length of rows, as far as its capacity goes, may stand those that come next: they are
// fetched, and nothing else.
func (f *Factors) Steps(rows []int32, idx []uint32, y []float32, s FactorRate) (sum float64) {
	idx = idx[:2*len(y)]
	f.check()
	if use[LoopFactor] != Plain && f.K <= factorWidest && len(rows) > 0 {
		return f.stepsFast(rows, idx, y, s)
	}
	for _, r := range rows {
		sum += f.step(idx[2*r], idx[2*r+1], y[r], s)
	}
	return sum
}

// step is one entry's.
func (f *Factors) step(u, v uint32, y float32, s FactorRate) float64 {
	p, q := f.Row(u), f.Row(v)
	e := f.At(u, v) - y
	a := s.Rate * e
	q = q[:len(p)]
	for c, pc := range p {
		qc := q[c]
		p[c], q[c] = s.Keep*pc+a*qc, s.Keep*qc+a*pc
	}
	if f.Bias != nil {
		f.Bias[u] += a
		f.Bias[v] += a
	}
	return float64(e) * float64(e)
}

// check refuses biases that are not one a node.
func (f *Factors) check() {
	if nodes := len(f.W) / f.K; f.Bias != nil && len(f.Bias) != nodes {
		panic(fmt.Sprintf("vec: %d biases for %d nodes", len(f.Bias), nodes))
	}
}
