package model

import (
	"math"

	"hogwild/internal/vec"
)

// graphScore is how a fact is scored: a query is made of the known entity e and the relation r, and compared with the
// candidate c. All have k numbers; complex ones are k/2 real parts and then k/2 imaginary ones.
//
//	distmult  <e*r, c>                                  Yang et al. 2015
//	complex   Re <e*r, conj c>                          Trouillon et al. 2016
//	transe    -|e + r - c|, the sum of absolute values  Bordes et al. 2013
//	rotate    -|e*exp(ir) - c|, the sum of absolute values of complex numbers; r has k/2 angles  Sun et al. 2019
type graphScore string

const (
	complexScore graphScore = "complex"
	distMult     graphScore = "distmult"
	transE       graphScore = "transe"
	rotatE       graphScore = "rotate"
)

// graphScores are their names.
var graphScores = []string{string(complexScore), string(distMult), string(transE), string(rotatE)}

// distance reports whether a score is a negative distance, and no product.
func (s graphScore) distance() bool { return s == transE || s == rotatE }

// pairs reports whether numbers are complex.
func (s graphScore) pairs() bool { return s == complexScore || s == rotatE }

// relation returns how many of k numbers a relation has.
func (s graphScore) relation(k int) int {
	if s == rotatE {
		return k / 2
	}
	return k
}

// query sets q to the query of entity e and relation r.
func (s graphScore) query(e, r, q []float32) {
	k := len(q)
	switch h := k / 2; s {
	case distMult:
		for j, v := range e {
			q[j] = v * r[j]
		}
	case transE:
		for j, v := range e {
			q[j] = v + r[j]
		}
	case complexScore:
		for j := range h {
			q[j], q[h+j] = e[j]*r[j]-e[h+j]*r[h+j], e[j]*r[h+j]+e[h+j]*r[j]
		}
	case rotatE:
		for j := range h {
			sin, cos := turn(r[j])
			q[j], q[h+j] = e[j]*cos-e[h+j]*sin, e[j]*sin+e[h+j]*cos
		}
	}
}

func turn(angle float32) (sin, cos float32) {
	s, c := math.Sincos(float64(angle))
	return float32(s), float32(c)
}

// back adds to de and dr the gradient of e and r, by dq, the gradient of the query.
func (s graphScore) back(e, r, dq, de, dr []float32) {
	switch h := len(dq) / 2; s {
	case distMult:
		for j, d := range dq {
			de[j] += d * r[j]
			dr[j] += d * e[j]
		}
	case transE:
		vec.Axpy(1, dq, de)
		vec.Axpy(1, dq, dr)
	case complexScore:
		for j := range h {
			d, i := dq[j], dq[h+j]
			de[j] += d*r[j] + i*r[h+j]
			de[h+j] += i*r[j] - d*r[h+j]
			dr[j] += d*e[j] + i*e[h+j]
			dr[h+j] += i*e[j] - d*e[h+j]
		}
	case rotatE:
		for j := range h {
			sin, cos := turn(r[j])
			d, i := dq[j], dq[h+j]
			de[j] += d*cos + i*sin
			de[h+j] += i*cos - d*sin
			dr[j] += -d*(e[j]*sin+e[h+j]*cos) + i*(e[j]*cos-e[h+j]*sin)
		}
	}
}

// compare sets z to the scores of all candidates, rows of k numbers, for each of the queries.
func (s graphScore) compare(work *vec.Workspace, queries, candidates []float32, k int, z []float32) {
	if !s.distance() {
		work.MulT(queries, candidates, k, z)
		return
	}
	for i := range z {
		n := len(candidates) / k
		z[i] = -s.apart(queries[i/n*k:][:k], candidates[i%n*k:][:k])
	}
}

// one returns the score of a query and a candidate.
func (s graphScore) one(q, c []float32) float32 {
	if s.distance() {
		return -s.apart(q, c)
	}
	return vec.Dot(q, c)
}

// oneBack adds d times the gradient of one.
func (s graphScore) oneBack(d float32, q, c, dq, dc []float32) {
	if s.distance() {
		s.apartBack(-d, q, c, dq, dc)
		return
	}
	vec.Axpy(d, c, dq)
	vec.Axpy(d, q, dc)
}

// apart returns the distance of a query and a candidate.
func (s graphScore) apart(q, c []float32) (sum float32) {
	c = c[:len(q)]
	if s == transE {
		for j, v := range q {
			sum += float32(math.Abs(float64(v - c[j])))
		}
		return sum
	}
	h := len(q) / 2
	for j := range h {
		x, y := q[j]-c[j], q[h+j]-c[h+j]
		sum += float32(math.Sqrt(float64(x*x + y*y)))
	}
	return sum
}

// compareBack adds the gradient of the queries and of the candidates to dq and dc, by dz, the gradient of the scores.
func (s graphScore) compareBack(work *vec.Workspace, q, c []float32, k int, dz []vec.Row, dq, dc []float32) {
	if !s.distance() {
		work.Mul(dz, c, k, dq)
		work.AddOuter(1, dz, q, k, dc)
		return
	}
	for i, row := range dz {
		for j, d := range row.Val {
			if d != 0 {
				s.apartBack(-d, q[i*k:][:k], c[j*k:][:k], dq[i*k:][:k], dc[j*k:][:k])
			}
		}
	}
}

// apartBack adds d times the gradient of the distance.
func (s graphScore) apartBack(d float32, q, c, dq, dc []float32) {
	h := len(q) / 2
	c, dq, dc = c[:len(q)], dq[:len(q)], dc[:len(q)]
	if s == transE {
		for j, v := range q {
			g := float32(0)
			if v != c[j] {
				g = float32(math.Copysign(float64(d), float64(d)*float64(v-c[j])))
			}
			dq[j] += g
			dc[j] -= g
		}
		return
	}
	for j := range h {
		x, y := q[j]-c[j], q[h+j]-c[h+j]
		if far := float32(math.Sqrt(float64(x*x + y*y))); far > 0 {
			x, y = d*x/far, d*y/far
			dq[j], dq[h+j] = dq[j]+x, dq[h+j]+y
			dc[j], dc[h+j] = dc[j]-x, dc[h+j]-y
		}
	}
}
