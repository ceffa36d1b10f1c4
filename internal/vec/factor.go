package vec

import (
	"fmt"
	"math"
)

// Factors is a matrix in factors: one row of K numbers for each of its rows and
// columns, together the nodes. The entry at node u and node v is
//
//	z = Mean + sum W[u*K+c] * W[v*K+c] + Bias[u] + Bias[v]
type Factors struct {
	K    int
	W    []float32 // nodes x K
	Bias []float32 // one a node; nil: there are none
	Mean float32

	nodes int      // rows of W: a division takes as long as half a step
	one   [1]int32 // the entry of Write
	ends  *ends    // of WriteAtomic
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

// most returns how large |p|^2 + |q|^2 may be, lest a step with these rows overshoot.
func (s FactorRate) most(biased bool) float32 {
	most := float32(math.Inf(1))
	if s.Rate < 0 {
		most = -1 / s.Rate
	}
	if biased {
		most -= 2
	}
	return most
}

// Steps goes over the entries that rows lists, one after the other, entry r being
// at nodes idx[2*r] and idx[2*r+1] with the value y[r]:
//
//	e = z - y[r]; p, q = Keep*p + Rate*e*q, Keep*q + Rate*e*p
//
// and each bias moves by Rate*e. It returns the sum of e*e. Such a step changes z by about
// Rate*e*(|p|^2 + |q|^2), and 2*Rate*e by biases. Where that is more than e the step would overshoot,
// and steps like it diverge: it is shortened to reach y[r], by an e that is smaller in the second line.
//
// Where the factors of an entry lie is known long before they are needed, but no
// processor foresees it: they are fetched some entries ahead, and the entries before
// them. That is why they need no order in which near ones share factors. Behind the
// length of rows, as far as its capacity goes, may stand those that come next: they are
// fetched, and nothing else.
func (f *Factors) Steps(rows []int32, idx []uint32, y []float32, s FactorRate) (sum float64) {
	f.check(idx, y)
	if len(rows) > 0 && !f.plain() {
		_, sum = f.stepsFast(rows, idx, y, s, both, nil, nil)
		return sum
	}
	for _, r := range rows {
		u, v := idx[2*r], idx[2*r+1]
		e := f.At(u, v) - y[r]
		f.step(u, v, f.shortened(e, u, v, s), f.Row(u), f.Row(v), s)
		sum += float64(e) * float64(e)
	}
	return sum
}

// shortened is e with which a step does not overshoot.
func (f *Factors) shortened(e float32, u, v uint32, s FactorRate) float32 {
	p, q := f.Row(u), f.Row(v)
	if over := Dot(p, p) + Dot(q, q) - s.most(f.Bias != nil); over > 0 {
		e /= 1 - s.Rate*over
	}
	return e
}

// Coefs is how many coefficients the half-steps of rows of k numbers have: e, shortened, and both
// rows as they were read.
func Coefs(k int) int { return 1 + 2*k }

// Read is the half of a step on the first of rows that reads. It returns e*e. What stands
// behind that row is fetched, as it is by Steps.
func (f *Factors) Read(rows []int32, idx []uint32, y, coef []float32, s FactorRate) float64 {
	f.check(idx, y)
	coef = coef[:Coefs(f.K)]
	if !f.plain() {
		_, sum := f.stepsFast(rows[:1], idx, y, s, reads, &coef[0], nil)
		return sum
	}
	u, v := idx[2*rows[0]], idx[2*rows[0]+1]
	e := f.At(u, v) - y[rows[0]]
	coef[0] = f.shortened(e, u, v, s)
	copy(coef[1:], f.Row(u))
	copy(coef[1+f.K:], f.Row(v))
	return float64(e) * float64(e)
}

// Guarded takes steps on rows, each under the guard, until that lets it no further, and of the next
// row the half that reads. It returns how many it has done.
func (f *Factors) Guarded(rows []int32, idx []uint32, y, coef []float32, s FactorRate,
	g *Guard) (done int, sum float64) {
	if f.plain() || !f.guards(g) {
		return 0, f.Read(rows, idx, y, coef, s)
	}
	f.check(idx, y)
	coef = coef[:Coefs(f.K)]
	return f.stepsFast(rows, idx, y, s, g.kind, &coef[0], g)
}

// Write is the half of a step on the entry of a row that writes: what Keep leaves of the
// factors as they are, and Rate times the others as they were read.
func (f *Factors) Write(row int32, idx []uint32, y, coef []float32, s FactorRate) {
	f.check(idx, y)
	coef = coef[:Coefs(f.K)]
	if !f.plain() {
		f.one[0] = row
		f.stepsFast(f.one[:], idx, y, s, writes, &coef[0], nil)
		return
	}
	f.step(idx[2*row], idx[2*row+1], coef[0], coef[1:1+f.K], coef[1+f.K:], s)
}

// WriteAtomic is Write to the bits of the factors and of the biases, unless those are nil,
// by compare-and-swap: the step is taken on a copy of the two nodes, by the same loop.
func (f *Factors) WriteAtomic(w, bias []uint32, u, v uint32, coef []float32, s FactorRate) {
	k := f.K
	if f.ends == nil {
		f.ends = &ends{was: make([]float32, 2*(k+1)), to: Factors{K: k, W: make([]float32, 2*k)},
			bias: make([]float32, 2)}
	}
	e := f.ends
	if e.to.Bias = nil; bias != nil {
		e.to.Bias = e.bias
	}
	for i, node := range [2]uint32{u, v} {
		load(e.to.W[i*k:(i+1)*k], w[int(node)*k:])
		if bias != nil {
			load(e.bias[i:i+1], bias[node:])
		}
	}
	copy(e.was, e.to.W)
	copy(e.was[2*k:], e.bias)
	e.to.Write(0, pair[:], pair0[:], coef, s)
	for i, node := range [2]uint32{u, v} {
		ReplaceAtomic(w[int(node)*k:], e.was[i*k:], e.to.W[i*k:(i+1)*k])
		if bias != nil {
			ReplaceAtomic(bias[node:], e.was[2*k+i:], e.bias[i:i+1])
		}
	}
}

// ends is a copy of the two nodes of an entry, before a step and after it.
type ends struct {
	was  []float32 // both rows, and both biases
	to   Factors
	bias []float32
}

// pair and pair0 are the entry 0, between the nodes 0 and 1.
var (
	pair  = [2]uint32{0, 1}
	pair0 [1]float32
)

// plain reports whether the steps are taken in plain Go.
func (f *Factors) plain() bool { return use[LoopFactor] == Plain }

// step moves both rows, each by the other one as it was read; e is the entry's.
func (f *Factors) step(u, v uint32, e float32, pRead, qRead []float32, s FactorRate) {
	p, q := f.Row(u), f.Row(v)
	a := float32(s.Rate * e) // or arm64 fuses it with what follows
	q, pRead, qRead = q[:len(p)], pRead[:len(p)], qRead[:len(p)]
	for c, pc := range p {
		qc := q[c]
		p[c], q[c] = float32(s.Keep*pc)+float32(a*qRead[c]), float32(s.Keep*qc)+float32(a*pRead[c])
	}
	if f.Bias != nil {
		f.Bias[u] += a
		f.Bias[v] += a
	}
}

// check refuses entries without an index for each end, and biases that are not one a node.
func (f *Factors) check(idx []uint32, y []float32) {
	_ = idx[:2*len(y)]
	if f.nodes*f.K != len(f.W) {
		f.nodes = len(f.W) / f.K
	}
	if f.Bias != nil && len(f.Bias) != f.nodes {
		panic(fmt.Sprintf("vec: %d biases for %d nodes", len(f.Bias), f.nodes))
	}
}
