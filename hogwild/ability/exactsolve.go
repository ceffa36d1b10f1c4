package ability

import (
	"errors"
	"math"
	"slices"

	"hogwild/hogwild/data"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
)

// problem is the least mean of (x'w + c - y)² + l2 |w|² over the rows. Without a bias c is 0, else the rows are taken
// less their means. A vector has w and, last, c.
type problem struct {
	set      *data.Set
	bias     bool
	l2       float64
	cores    int
	variance float64 // of the targets, without a bias about 0

	// of X'X/n: above the diagonal the matrix, below it L with L L' = matrix + l2 + ridge, as float32 has them
	m                []float32
	diagonal, pivots []float32 // of the matrix, and of L
}

const (
	mostCores = 16  // each adds up a matrix of its own
	blockRows = 256 // rows at once

	leastOver = 1e-5 // of the targets' variance: R2 does not show less
	mostSteps = 100
	idle      = 1e-7 // of the loss, or of that part of the variance: steps that gain less
	mostIdle  = 2    // of these in a row end the search
	// Ways in which a column varies by less than 3e-6 of what it does are the rounding of float32: a penalty has their
	// weights stay small.
	rounding = 1e-11
	constant = 1e-7 // of its mean: a column that varies by less has the weight 0
)

// errHuge says that float32 does not hold the columns' squares.
var errHuge = errors.New("the columns are too large: leave --scale out")

// each has f see all rows by blocks, on all cores: x, the targets y and how to weigh them, and on which core that is.
func (p *problem) each(f func(core int, x, y []float32, b *data.Batch)) error {
	d, errs := p.set.Features, make([]error, p.cores)
	machine.Each(p.cores, func(core int) {
		reader, ids, x := p.set.NewReader(), make([]int32, 0, blockRows), make([]float32, blockRows*d)
		errs[core] = p.set.Guard(func() {
			end := (core + 1) * p.set.Rows / p.cores
			for at := core * p.set.Rows / p.cores; at < end; at += len(ids) {
				ids = ids[:0]
				for i := at; i < min(at+blockRows, end); i++ {
					ids = append(ids, int32(i))
				}
				b := reader.Batch(ids)
				for i, row := range b.Rows {
					to := x[i*d : (i+1)*d]
					if row.Idx == nil {
						copy(to, row.Val)
					} else {
						clear(to)
						vec.SparseAxpy(1, row.Idx, row.Val, to)
					}
					if p.bias {
						vec.Axpy(-1, p.set.Mean, to)
					}
				}
				f(core, x[:len(ids)*d], b.Y, b)
			}
		})
	})
	return errors.Join(errs...)
}

// pass returns the mean of e² over the rows, e = x'w + c - targets y, and half of the gradient of that and of the
// penalty. The sums are in float64.
func (p *problem) pass(w []float64, targets float64) (square float64, gradient []float64, err error) {
	d, n := p.set.Features, float64(p.set.Rows)
	sums := make([]float64, p.cores*(d+2))
	err = p.each(func(core int, x, y []float32, b *data.Batch) {
		g := sums[core*(d+2) : (core+1)*(d+2)]
		for i, yi := range y {
			row := x[i*d : (i+1)*d]
			e := w[d] + dot(row, w) - targets*float64(yi)
			a := float64(b.WeightOf(i))
			g[d], g[d+1] = g[d]+a*e, g[d+1]+a*e*e
			axpy(a*e, row, g)
		}
	})
	gradient = make([]float64, d+2)
	for g := range slices.Chunk(sums, d+2) {
		axpy(1/n, g, gradient)
	}
	square, gradient = gradient[d+1], gradient[:d+1]
	if !p.bias {
		gradient[d] = 0
	}
	for j, of := range p.diagonal {
		gradient[j] += (p.l2 + rounding*float64(of)) * w[j]
	}
	return square, gradient, err
}

// solve returns the plain model's best weights by conjugate gradients, a pass for each step. The factor of the
// matrix makes them few: it is good to 1e-6 or so, and steps are left for what lies below. Columns that add up to
// others, as the columns of a category's levels do, share a weight, since it starts at zero.
func (p *problem) solve() (w []float64, err error) {
	if err := p.factorize(); err != nil {
		return nil, err
	}
	w = make([]float64, p.set.Features+1)
	for _, y := range p.set.Y {
		if p.bias {
			w[len(w)-1] += float64(y) / float64(p.set.Rows)
		}
	}
	loss, r, err := p.pass(w, 1)
	p.variance = loss
	z := p.precondition(r)
	way := append([]float64(nil), z...)
	for step, idles := 0, 0; err == nil && step < mostSteps && idles < mostIdle; step++ {
		var q []float64
		if _, q, err = p.pass(way, 0); err != nil {
			break
		}
		along, curvature := dot(way, r), dot(way, q)
		if !(curvature > 0) {
			break
		}
		a, was, last := along/curvature, dot(z, r), z
		axpy(-a, way, w)
		loss -= a * along
		if idles++; a*along > idle*max(loss, leastOver*p.variance) {
			idles = 0
		}
		axpy(-a, q, r)
		z = p.precondition(r)
		b := (dot(z, r) - dot(last, r)) / was
		for j := range way {
			way[j] = z[j] + b*way[j]
		}
	}
	if d := len(w) - 1; p.bias {
		w[d] -= dot(p.set.Mean, w)
	}
	return w, err
}

// score returns the loss of a plain model's weights, and the objective.
func (p *problem) score(plain []float32) (loss, objective float64, err error) {
	d := p.set.Features
	w := make([]float64, d+1)
	axpy(1, plain, w)
	if p.bias {
		w[d] += dot(p.set.Mean, w)
	}
	loss, _, err = p.pass(w, 1)
	return loss, loss + p.l2*dot(w[:d], w), err
}

// factorize adds up the matrix, and factorizes it with the least ridge that float32 can do with.
func (p *problem) factorize() error {
	d := p.set.Features
	work, parts := make([]vec.Workspace, p.cores), make([]float32, p.cores*d*d)
	err := p.each(func(core int, x, y []float32, b *data.Batch) {
		rows := make([]vec.Row, len(y))
		for i := range rows {
			if rows[i].Val = x[i*d : (i+1)*d]; b.W != nil {
				vec.Scale(float32(math.Sqrt(float64(b.W[i]))), rows[i].Val)
			}
		}
		work[core].AddOuter(1/float32(p.set.Rows), rows, x, d, parts[core*d*d:(core+1)*d*d])
	})
	p.m, p.diagonal, p.pivots = parts[:d*d], make([]float32, d), make([]float32, d)
	for part := range slices.Chunk(parts[d*d:], d*d) {
		vec.Axpy(1, part, p.m)
	}
	for j := range d {
		if p.diagonal[j] = p.m[j*d+j]; p.bias && p.diagonal[j] <= constant*constant*p.set.Mean[j]*p.set.Mean[j] {
			p.diagonal[j] = 0
		}
	}
	for ridge := float32(1e-6); err == nil && !p.cholesky(ridge); ridge *= 10 {
		if ridge > 1 {
			return errHuge
		}
	}
	return err
}

// cholesky makes L; false: with this ridge rounding leaves a square that is none.
func (p *problem) cholesky(ridge float32) bool {
	d := len(p.diagonal)
	for i, of := range p.diagonal {
		row := p.m[i*d : i*d+i]
		for j := range row {
			row[j] = (p.m[j*d+i] - vec.Dot(row[:j], p.m[j*d:])) / p.pivots[j]
		}
		square := of*(1+ridge) + float32(p.l2) - vec.Dot(row, row)
		if of == 0 { // it has no part in what follows, and no weight
			clear(row)
			square = float32(math.Inf(1))
		} else if !(square > of*ridge/4) {
			return false
		}
		p.pivots[i] = float32(math.Sqrt(float64(square)))
	}
	return true
}

// precondition returns z with L L' z = r. The number of c, whose curvature is 1, is as it was.
func (p *problem) precondition(r []float64) []float64 {
	d := len(p.diagonal)
	z, all := make([]float32, d), append([]float64(nil), r...)
	for i := range z {
		z[i] = (float32(r[i]) - vec.Dot(z[:i], p.m[i*d:])) / p.pivots[i]
	}
	for i := d - 1; i >= 0; i-- {
		z[i] /= p.pivots[i]
		vec.Axpy(-z[i], p.m[i*d:i*d+i], z)
		all[i] = float64(z[i])
	}
	return all
}

func dot[T float32 | float64](x []T, y []float64) (sum float64) {
	for j, v := range x {
		sum += float64(v) * y[j]
	}
	return sum
}

// axpy does y += a x.
func axpy[T float32 | float64](a float64, x []T, y []float64) {
	for j, v := range x {
		y[j] += a * float64(v)
	}
}
