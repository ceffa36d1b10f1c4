package vec

import "math"

// Pairwise are the tables of a model that ranks items for users: a row of K numbers for each of them, and a bias for
// each item. The score of item i for user u is User[u].Item[i] + Bias[i]. Others may write them at the same time.
type Pairwise struct {
	K                int
	User, Item, Bias []float32

	// Of each row, and of each bias, one more than the sum of its mean squared gradients; nil: the rate is the same for
	// all.
	UserSum, ItemSum, BiasSum []float32
}

// PairwiseRate is the learning rate, and what a step takes away from the rows of a user, of the item that is to have
// the higher score and of the one that is to have the lower, and from their biases.
type PairwiseRate struct{ LR, User, Positive, Negative, Bias float32 }

// pairwiseAhead is how many steps before their turn rows are fetched.
const pairwiseAhead = 4

// Steps takes a step for each user, item and other item, three numbers each, one after the other:
//
//	x = p.(q - r) + b - c; z = 1/(1 + e^x)
//	p += LR (z (q - r) - User p); q += LR (z p - Positive q); r += LR (-z p - Negative r)
//	b += LR (z - Bias b); c += LR (-z - Bias c)
//
// by the values that all had before. Where there are sums, the rate of a row is LR over the root of its sum, to which
// the mean square of what z is multiplied by, times z^2, is added then. It returns the sum of -log(1 - z). With pull
// z is pull[k] in the k-th step, and the sum says nothing.
func (f *Pairwise) Steps(triples []uint32, pull []float32, s PairwiseRate) (loss float64) {
	product, n := 1.0, len(triples)/3
	for k := range n {
		t, next := (*[3]uint32)(triples[3*k:]), (*[3]uint32)(triples[3*min(k+pairwiseAhead, n-1):])
		if k == 0 {
			f.fetch(triples[3:min(len(triples), 3*pairwiseAhead)])
		}
		x, own, apart := f.differ(t, next)
		x += f.Bias[t[1]] - f.Bias[t[2]]
		var z float32
		if pull != nil {
			z = pull[k]
		} else {
			e := expBelow(-math.Abs(float64(x)))
			rest := 1 + e
			if product *= rest; x < 0 {
				loss -= float64(x)
				e = 1
			}
			z = float32(e / rest)
			if product > 1e300 || product != product {
				loss, product = loss+math.Log(product), 1
			}
		}
		f.part(t, z, own, apart, s)
	}
	return loss + math.Log(product)
}

// expBelow is e^x, x <= 0 or NaN, within 1e-9 of it, and 0 below -700: x is n log 2 + r, and e^r its series. math.Exp
// takes as long as half a step.
func expBelow(x float64) float64 {
	if !(x > -700) {
		return 0 * max(x, -700) // 0, or NaN
	}
	n := math.Floor(x*math.Log2E + 0.5)
	r := x - n*math.Ln2
	e := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720+r*(1./5040+r*(1./40320))))))))
	return e * math.Float64frombits(uint64(1023+int64(n))<<52)
}

// rows returns the rows of a step.
func (f *Pairwise) rows(t *[3]uint32) (p, q, r []float32) {
	k := f.K
	return row(f.User, int(t[0]), k)[:k], row(f.Item, int(t[1]), k)[:k], row(f.Item, int(t[2]), k)[:k]
}

// fetch asks memory for the rows of steps.
func (f *Pairwise) fetch(triples []uint32) {
	if use[LoopPairwise] == Plain {
		return
	}
	for ; len(triples) > 0; triples = triples[3:] {
		p, q, r := f.rows((*[3]uint32)(triples))
		PrefetchFloats(p)
		PrefetchFloats(q)
		PrefetchFloats(r)
	}
}

// differ returns p.(q - r), p.p and (q - r).(q - r), and asks memory for the rows of a step to come.
func (f *Pairwise) differ(t, next *[3]uint32) (x, own, apart float32) {
	p, q, r := f.rows(t)
	if use[LoopPairwise] != Plain {
		a, b, c := f.rows(next)
		return differFast(p, q, r, a, b, c)
	}
	for c, pc := range p {
		d := q[c] - r[c]
		x, own, apart = x+pc*d, own+pc*pc, apart+d*d
	}
	return x, own, apart
}

// part moves the rows of a step, q and r apart.
func (f *Pairwise) part(t *[3]uint32, z, own, apart float32, s PairwiseRate) {
	p, q, r := f.rows(t)
	lp, lq, lr, lb, lc := s.LR, s.LR, s.LR, s.LR, s.LR
	b, c := &f.Bias[t[1]], &f.Bias[t[2]]
	if f.UserSum != nil {
		square := z * z / float32(f.K)
		lp = f.adapt(&f.UserSum[t[0]], square*apart, s.LR)
		lq = f.adapt(&f.ItemSum[t[1]], square*own, s.LR)
		lr = f.adapt(&f.ItemSum[t[2]], square*own, s.LR)
		lb, lc = f.adapt(&f.BiasSum[t[1]], z*z, s.LR), f.adapt(&f.BiasSum[t[2]], z*z, s.LR)
	}
	*b += lb * (z - s.Bias**b)
	*c -= lc * (z + s.Bias**c)
	keepP, keepQ, keepR := 1-lp*s.User, 1-lq*s.Positive, 1-lr*s.Negative
	lp, lq, lr = lp*z, lq*z, -lr*z
	if use[LoopPairwise] != Plain {
		partFast(p, q, r, keepP, keepQ, keepR, lp, lq, lr)
		return
	}
	for i, a := range p {
		d := q[i] - r[i]
		p[i] = keepP*a + lp*d
		q[i] = keepQ*q[i] + lq*a
		r[i] = keepR*r[i] + lr*a
	}
}

// adapt returns the rate of a row, and adds to its sum.
func (f *Pairwise) adapt(sum *float32, square, lr float32) float32 {
	was := *sum
	*sum = was + square
	return lr / sqrt(was)
}

// Score is the score of an item for a user.
func (f *Pairwise) Score(user, item uint32) float32 {
	return Dot(row(f.User, int(user), f.K)[:f.K], row(f.Item, int(item), f.K)[:f.K]) + f.Bias[item]
}
