package model

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// Dual takes the steps of dual coordinate ascent (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008; Yu, Huang, Lin 2011)
// for a linear model with one output on sparse rows. Row i has a dual variable a from 0 to C, its weight over l2 n, and
// the weights are the sum of a y x over all rows: a step sets the a of its row to the best value given all others, and
// adds the difference times y x to the weights. A bias is the weight of a feature that is always 1.
//
// The dual variables lie in memory that all workers share. A row is in one worker's chunk at a time, so that no
// other worker writes its variable meanwhile. The variable of a row that is skipped for now, since it stays at a bound,
// has its sign bit set.
type Dual struct {
	*mlp
	z      vec.Linear // computes w.x, and adds to w
	a      []float64
	square []float32 // |x|^2 of the rows seen so far; 0: of one that was not
	c      float64
	// Workers that train copies of the weights take the same direction at the same time. Each steps as if spread of
	// them did what it does, and counts its own part alone when it merges.
	spread float64

	epoch         int
	factor, shift uint64   // of the permutation of the rows: see row
	source        rand.PCG // of the order of rows in hand
	bounds
	kept   []float64 // the bounds in shared memory, which snapshots have: a resumed run skips the same rows
	active []int32
}

// bounds are by what rows are skipped in an epoch, and what they will be in the next one.
type bounds struct {
	top, bottom     float64 // a row at a bound is skipped if its gradient lies beyond them: see clipped
	highest, lowest float64 // gradients of this epoch
	seen            float64 // how many rows gave them
	of              float64 // the epoch, from 1; 0: none yet
}

// keep keeps the bounds.
func (d *Dual) keep() { copy(d.kept, []float64{d.top, d.bottom, d.highest, d.lowest, d.seen, d.of}) }

// HasDual reports whether the solver knows the dual of a loss.
func (l Loss) HasDual() bool { return l == Hinge || l == SquaredHinge || l == Logistic }

// NewDual returns m, a linear model, with steps on the dual variables a of the rows of a set. Its bounds are kept in
// kept.
func NewDual(m Model, set *data.Set, a, kept []float64, l2, spread float64) *Dual {
	d := &Dual{mlp: m.(*mlp), a: a, c: 1 / (l2 * float64(len(a))), spread: max(1, spread), epoch: -1,
		square: make([]float32, len(a)), active: make([]int32, 0, 128), kept: kept,
		bounds: bounds{kept[0], kept[1], kept[2], kept[3], kept[4], kept[5]}}
	d.z = vec.Linear{Loss: vec.LinearSquared, Ptr: set.Ptr, Idx: set.Idx, Val: set.Val, Y: make([]float32, len(a))}
	if d.stages[0].bias >= 0 {
		d.z.BiasStep = 1
	}
	return d
}

// SuitsDual reports whether there are such steps on a set.
func SuitsDual(m Model, set *data.Set) bool {
	l, ok := m.(*mlp)
	if !ok {
		return false
	}
	_, copied := l.alone(set)
	return copied
}

// Suits returns true: see SuitsDual.
func (d *Dual) Suits(*data.Set) (steps, copied bool) { return true, true }

// Choose lists the rows that take their turn, in another order, for Steps: in pass 0, all that are not skipped.
// The order depends on the first row, so that a resumed run has the same.
func (d *Dual) Choose(rows []int32, epoch, pass int) []int32 {
	d.begin(epoch)
	d.active = d.active[:0]
	all := pass == 0 && epoch%revisit == 0
	if pass == 0 {
		d.seen += float64(len(rows))
	}
	if len(rows) > 0 {
		d.source.Seed(uint64(epoch)<<32|uint64(rows[0]), uint64(pass))
	}
	draw := rand.New(&d.source)
	for _, i := range rows {
		// The order ends with the same rows in each epoch. Always trained last, on the copy of one, they do not settle.
		if i += int32(d.shift); i < 0 || int(i) >= len(d.a) {
			i -= int32(len(d.a))
		}
		if all || !math.Signbit(d.a[i]) {
			d.active = append(d.active, i)
		}
	}
	for k := len(d.active) - 1; k > 0; k-- {
		at := draw.IntN(k + 1)
		d.active[k], d.active[at] = d.active[at], d.active[k]
	}
	return d.active
}

// Steps takes the steps of the rows.
func (d *Dual) Steps(w []float32, set *data.Set, rows []int32, s Step) float64 {
	d.begin(s.Epoch)
	defer d.keep()
	var total float64
	matrix, bias := d.stages[0].matrix(w), d.biasIn(w, s)
	for k, i := range rows {
		idx := set.Idx[set.Ptr[i]:set.Ptr[i+1]]
		if len(idx) > short {
			coef, loss := d.read(matrix, bias, set, rows[k:])
			if coef != 0 {
				d.z.Write(matrix, bias, i, 1, coef)
			}
			total += loss
			continue
		}
		val := set.Val[set.Ptr[i]:][:len(idx)]
		coef, loss := d.step(set, i, dot(matrix, idx, val)+d.z.BiasStep**bias)
		total += loss
		if coef != 0 {
			for k, j := range idx {
				matrix[j] += coef * val[k]
			}
			*bias += coef * d.z.BiasStep
		}
	}
	return total
}

// short is how many features a row has at most whose step takes less time than calls of package vec.
const short = 32

// dot returns w.x of a row.
func dot(w []float32, idx []uint32, val []float32) float32 {
	var even, odd float32
	k := 0
	for ; k+1 < len(idx) && k+1 < len(val); k += 2 {
		even += w[idx[k]] * val[k]
		odd += w[idx[k+1]] * val[k+1]
	}
	if k < len(idx) {
		even += w[idx[k]] * val[k]
	}
	return even + odd
}

// Read computes a step, and writes the row's dual variable.
func (d *Dual) Read(w []float32, set *data.Set, rows []int32, s Step, coef []float32,
	_ *vec.Guard) (done int, loss, p float64) {
	d.begin(s.Epoch)
	defer d.keep()
	i := d.row(rows[0])
	d.seen++
	if coef[0] = 0; d.epoch%revisit != 0 && math.Signbit(d.a[i]) {
		return 0, 0, 1
	}
	d.active = append(d.active[:0], i)
	coef[0], loss = d.read(d.stages[0].matrix(w), d.biasIn(w, s), set, d.active)
	return 0, loss, 1
}

// Write adds the step to the weights.
func (d *Dual) Write(w []float32, _ *data.Set, row int32, s Step, coef []float32) {
	d.z.Write(d.stages[0].matrix(w), d.biasIn(w, s), d.row(row), 1, coef[0])
}

// WriteAtomic does what Write does, by compare-and-swap.
func (d *Dual) WriteAtomic(w []uint32, _ *data.Set, row int32, _ Step, coef []float32) {
	var bias *uint32
	if b := d.stages[0].bias; b >= 0 {
		bias = &w[b]
	}
	from := d.stages[0].weight
	d.z.WriteAtomic(w[from:from+d.stages[0].in], bias, d.row(row), 1, coef[0])
}

// Touched appends the weights of the row's features, and the bias.
func (d *Dual) Touched(set *data.Set, row int32, ranges []Range) []Range {
	return d.mlp.Touched(set, d.row(row), ranges)
}

// row returns the row that is trained when it is the turn of row i: a permutation, another in each epoch. The order
// that all solvers share keeps 64 rows together, and a pass of coordinate ascent over rows that are much alike is worth
// far less where the same ones follow each other each time.
func (d *Dual) row(i int32) int32 { return int32((d.factor*uint64(i) + d.shift) % uint64(len(d.a))) }

// revisit is how many epochs lie between two in which no row is skipped.
const revisit = 10

// begin begins an epoch: rows are skipped by the gradients of the last one.
func (d *Dual) begin(epoch int) {
	if epoch == d.epoch {
		return
	}
	d.epoch = epoch
	n := uint64(len(d.a))
	draw := rand.New(rand.NewPCG(uint64(epoch), n))
	d.shift, d.factor = draw.Uint64N(n), 1+draw.Uint64N(n)
	for gcd(d.factor, n) > 1 {
		d.factor = 1 + draw.Uint64N(n)
	}
	now := float64(epoch + 1)
	if d.of == now { // within the epoch
		return
	}
	if few := d.seen < float64(n/16); !few || d.of == 0 { // few say little of what the others' gradients are
		d.top, d.bottom = math.Inf(1), math.Inf(-1)
		if d.seen > 0 && d.highest > 0 {
			d.top = d.highest
		}
		if d.seen > 0 && d.lowest < 0 {
			d.bottom = d.lowest
		}
		d.seen, d.highest, d.lowest = 0, math.Inf(-1), math.Inf(1)
	}
	d.of = now
}

// gcd returns the greatest common divisor.
func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// read computes the step of the first of rows: what it adds to the weights is coef x.
func (d *Dual) read(w []float32, bias *float32, set *data.Set, rows []int32) (coef float32, loss float64) {
	d.z.Read(w, bias, rows, &coef) // 2 (0 - w.x)
	return d.step(set, rows[0], -coef/2)
}

// step does what read does, for row i with this w.x.
func (d *Dual) step(set *data.Set, i int32, wx float32) (coef float32, loss float64) {
	y := float64(2*set.Y[i] - 1)
	z := y * float64(wx)
	if d.square[i] == 0 {
		d.square[i] = norm2(set, i) + d.z.BiasStep
	}
	q, a, next, c, weight := float64(d.square[i])*d.spread, math.Abs(d.a[i]), 0.0, d.c, 1.0
	if set.Weighted() {
		if weight = float64(set.WeightOf(i)); weight == 0 {
			return 0, 0
		}
		c *= weight
	}
	switch d.loss {
	case Hinge:
		next = d.clipped(a, z-1, q, c)
		loss = max(0, 1-z)
	case SquaredHinge:
		next = d.clipped(a, z-1+a/(2*c), q+1/(2*c), math.Inf(1))
		loss = max(0, 1-z) * max(0, 1-z)
	default:
		if i%few == 0 { // one in few is counted: an exponential takes a quarter of a step
			loss = few * (max(0, -z) + math.Log1p(math.Exp(-math.Abs(z))))
		}
		next = c * bestOfLogistic(a/c, z, q*c)
	}
	if z != z {
		return 0, z
	}
	d.a[i] = next
	return float32((math.Abs(next) - a) * y * d.spread), weight * loss
}

// clipped returns the best value from 0 to most of the dual variable a, whose gradient is g and its second derivative
// q. It has its sign bit set when the row is skipped from now on.
func (d *Dual) clipped(a, g, q, most float64) float64 {
	switch down := g; {
	case a <= 0:
		if g > d.top {
			return math.Copysign(a, -1)
		}
		down = min(g, 0)
		d.highest, d.lowest = max(d.highest, down), min(d.lowest, down)
	case a >= most:
		if g < d.bottom {
			return math.Copysign(a, -1)
		}
		down = max(g, 0)
		d.highest, d.lowest = max(d.highest, down), min(d.lowest, down)
	default:
		d.highest, d.lowest = max(d.highest, g), min(d.lowest, g)
	}
	return max(0, min(most, a-g/q))
}

// bestOfLogistic returns the b that minimizes q/2 (b-a)^2 + z (b-a) + b log b + (1-b) log(1-b), by a few steps of
// Newton's method from a; where that is at a bound, from the b of q = 0.
func bestOfLogistic(a, z, q float64) float64 {
	b := a
	if b <= 0 || b >= 1 {
		b = max(1e-12, min(1-1e-12, 1/(1+math.Exp(z))))
	}
	for range 10 {
		next := b - (q*(b-a)+z+math.Log(b/(1-b)))/(q+1/(b*(1-b)))
		switch { // it overshoots where the curvature falls
		case next <= 0:
			next = b / 10
		case next >= 1:
			next = 1 - (1-b)/10
		}
		move := math.Abs(next - b)
		if b = next; move <= 0.05*min(b, 1-b) { // what is left is of the second order
			break
		}
	}
	return b
}

// norm2 returns |x|^2 of a row.
func norm2(set *data.Set, i int32) (sum float32) {
	for _, v := range set.Val[set.Ptr[i]:set.Ptr[i+1]] {
		sum += v * v
	}
	return sum
}
