package vec

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// Linear is a linear model with one output z = w.x + bias, as it is trained by SGD on single
// rows. Row i has the label Y[i], and is Val[Ptr[i]:Ptr[i+1]] at Idx[Ptr[i]:Ptr[i+1]]; where Width is
// not 0 it is dense, Val[i*Width:(i+1)*Width].
type Linear struct {
	Loss  LinearLoss
	Ptr   []int64
	Idx   []uint32
	Width int
	Val   []float32
	Y     []float32
	// WeightDecay is nil, or as long as the weights: before a step at rate lr each weight of
	// its row is multiplied by 1 - min(1, lr WeightDecay[j]).
	WeightDecay []float32
	// SoftThreshold is nil, or as long as the weights: after a step at rate lr each weight of its
	// row is moved towards zero by lr SoftThreshold[j] at most.
	SoftThreshold []float32
	// Weight and Class are nil, or what the loss of row i, and so its derivative, is multiplied by: Weight[i], and
	// Class[Y[i]], whose index is not looked at. What the loss is of a row of weight 0 does not matter.
	Weight, Class []float32
	// BiasStep is the step of the bias relative to the weights'.
	BiasStep float32

	soon    [few + 2*lead]int32 // the rows behind the next ones
	columns []uint32            // of dense rows, where they are listed
}

// LinearLoss is the loss of one example, as a function of z and of its label y.
type LinearLoss int

// The losses. The first two are for the labels 0 and 1; t is -1 and 1 for these.
const (
	LinearLogistic LinearLoss = iota // log(1 + exp(-t z))
	LinearHinge                      // max(0, 1 - t z)
	LinearSquared                    // (z - y)^2
	LinearAbsolute                   // |z - y|
)

// few is how many rows the loops below take at once: the product of as many
// probabilities of one half and more is no smaller than a float32 can be.
const few = 64

// lead is how many rows before its turn memory is asked for a row. Sixteen rows of a dozen numbers
// take as long as memory does, and rows of some hundred fit well into the second cache.
const lead = 16

// Steps takes a step on each of rows, one after the other: w -= lr dloss/dw, and so the bias. It
// returns the summed loss, each at the weights before its step. Indices are not looked at: l's must
// lie below len(w). Behind the length of rows, as far as its capacity goes, may stand those that
// come next: they are fetched, and nothing else.
//
// A step waits for the one before it, from whose stores it loads. So the loop takes as long as a
// chain: load, dot, exponential, division, multiply, store. It is the same for all levels of AVX,
// and logarithms are kept out of it: the loss is taken of a product. And the rows are fetched in
// time: without that long ones take twice as long, and so do short ones that some milliseconds of
// other work have driven from the caches.
func (l *Linear) Steps(w []float32, bias *float32, rows []int32, lr float32) float64 {
	l.check(rows, len(w))
	var total float64
	for len(rows) > 0 {
		n := min(few, len(rows))
		l.look(rows[:cap(rows)][min(lead, cap(rows)):])
		_, sum, product := l.few(w, bias, rows[:n], lr, both, nil, nil)
		total += float64(sum) - math.Log(float64(product))
		rows = rows[n:]
	}
	return total
}

// Read is the half of a step on the first of rows that reads: it sets the coefficient, minus
// the derivative of the loss with respect to z. The loss is sum - log(p): p is from 1/2 to 1,
// and one logarithm will do for many steps. What stands behind that row is fetched, as it
// is by Steps.
func (l *Linear) Read(w []float32, bias *float32, rows []int32, coef *float32) (sum, p float32) {
	l.checkOne(rows[0], len(w))
	ahead := rows[:cap(rows)]
	l.soon[0], l.soon[lead] = 0, 0 // the loop looks at these two
	if len(ahead) > lead && l.has(ahead[lead]) {
		l.soon[0] = ahead[lead]
	}
	if len(ahead) > 2*lead && l.has(ahead[2*lead]) {
		l.soon[lead] = ahead[2*lead]
	}
	_, sum, p = l.few(w, bias, rows[:1], 0, reads, coef, nil)
	return sum, p
}

// Guarded takes steps on up to 64 rows, each under the guard, until that lets it no further, and of
// the next row the half that reads. It returns how many it has done.
func (l *Linear) Guarded(w []float32, bias *float32, rows []int32, lr float32, coef *float32,
	g *Guard) (done int, sum, p float32) {
	if l.plain(len(w)) || !l.guards(g) {
		sum, p = l.Read(w, bias, rows, coef)
		return 0, sum, p
	}
	rows = rows[:min(few, len(rows)):cap(rows)]
	l.check(rows, len(w))
	l.look(rows[:cap(rows)][min(lead, cap(rows)):])
	return l.few(w, bias, rows, lr, g.kind, coef, g)
}

// Write is the half of a step on a row that writes.
func (l *Linear) Write(w []float32, bias *float32, row int32, lr, coef float32) {
	rows := [1]int32{row}
	l.checkOne(row, len(w))
	l.few(w, bias, rows[:], lr, writes, &coef, nil)
}

// WriteAtomic is Write on the bits of the weights and of the bias, unless that is nil: each
// by one compare-and-swap.
func (l *Linear) WriteAtomic(w []uint32, bias *uint32, row int32, lr, coef float32) {
	rows := [1]int32{row}
	l.check(rows[:], len(w))
	fused, a := !l.plain(len(w)), lr*coef
	if a == 0 && l.WeightDecay == nil && l.SoftThreshold == nil {
		return
	}
	idx, val := l.row(row)
	for k, j := range idx {
		for p, done := &w[j], false; !done; {
			was := atomic.LoadUint32(p)
			x := math.Float32frombits(was)
			if l.WeightDecay != nil {
				x = madd(fused, -min(1, lr*l.WeightDecay[j]), x, x)
			}
			x = madd(fused, a, val[k], x)
			if l.SoftThreshold != nil {
				most := lr * l.SoftThreshold[j]
				x -= max(-most, min(most, x))
			}
			done = atomic.CompareAndSwapUint32(p, was, math.Float32bits(x))
		}
	}
	for done := bias == nil; !done; {
		was := atomic.LoadUint32(bias)
		done = atomic.CompareAndSwapUint32(bias, was,
			math.Float32bits(l.moved(math.Float32frombits(was), lr, coef, fused)))
	}
}

// Outputs sets z to what the model puts out for as many rows, from one on: z = w.x + bias. Indices are
// not looked at.
func (l *Linear) Outputs(w []float32, bias float32, from int, z []float32) {
	if k := l.Width; k > 0 {
		for i := range z {
			z[i] = bias + Dot(l.Val[(from+i)*k:(from+i+1)*k], w)
		}
		return
	}
	ptr := l.Ptr[from : from+len(z)+1]
	if len(z) > 0 && !l.plain(len(w)) {
		l.outputsFast(ptr, w, bias, z)
		return
	}
	l.outputsGo(ptr, w, bias, z)
}

func (l *Linear) outputsGo(ptr []int64, w []float32, bias float32, z []float32) {
	for i := range z {
		z[i] = bias + SparseDot(l.Idx[ptr[i]:ptr[i+1]], l.Val[ptr[i]:ptr[i+1]], w)
	}
}

// moved is the bias after a step.
func (l *Linear) moved(bias, lr, coef float32, fused bool) float32 {
	if fused {
		return fma32(lr*coef, l.BiasStep, bias)
	}
	return bias + l.BiasStep*lr*coef
}

// check panics if one of rows is not there, or the regularizers are not of n weights.
func (l *Linear) check(rows []int32, n int) {
	if !l.hasAll(rows) {
		i := slices.IndexFunc(rows, func(i int32) bool { return !l.has(i) })
		panic(fmt.Sprintf("vec: row %d of %d", rows[i], len(l.Y)))
	}
	if l.WeightDecay != nil && len(l.WeightDecay) < n || l.SoftThreshold != nil && len(l.SoftThreshold) < n {
		panic("vec: WeightDecay or SoftThreshold is shorter than the weights")
	}
	if n < l.Width {
		panic(fmt.Sprintf("vec: %d weights for rows of %d numbers", n, l.Width))
	}
	if l.Weight != nil && len(l.Weight) < len(l.Y) {
		panic(fmt.Sprintf("vec: the weights of %d rows for %d", len(l.Weight), len(l.Y)))
	}
}

// checkOne is check of a row.
func (l *Linear) checkOne(i int32, n int) {
	if !l.has(i) || l.WeightDecay != nil || l.SoftThreshold != nil || l.Weight != nil || n < l.Width {
		l.check([]int32{i}, n)
	}
}

// has reports whether there is a row i.
func (l *Linear) has(i int32) bool {
	return uint(i) < uint(len(l.Y)) && (len(l.Ptr) > len(l.Y) || l.Width > 0 && len(l.Val) >= l.Width*len(l.Y))
}

// row is row i; a dense one lists all columns.
func (l *Linear) row(i int32) (idx []uint32, val []float32) {
	if l.Width > 0 {
		for j := len(l.columns); j < l.Width; j++ {
			l.columns = append(l.columns, uint32(j))
		}
		return l.columns, l.Val[int(i)*l.Width:]
	}
	from, to := l.Ptr[i], l.Ptr[i+1]
	return l.Idx[from:to:to], l.Val[from:to:to]
}

// hasAll reports whether there are all of rows, by their largest as a number without sign.
func (l *Linear) hasAll(rows []int32) bool {
	return len(rows) == 0 || uint64(largestRow(rows)) < uint64(len(l.Y)) && l.has(0)
}

// largestRow is Largest of rows, which are not none.
func largestRow(rows []int32) uint32 {
	if use[LoopLargest] != Plain {
		return largestRowFast(rows)
	}
	return largestRowGo(rows)
}

func largestRowGo(rows []int32) (most uint32) {
	for _, i := range rows {
		most = max(most, uint32(i))
	}
	return most
}

// look sets soon to the rows that are to be fetched: some row where there are no more.
func (l *Linear) look(rows []int32) {
	clear(l.soon[copy(l.soon[:], rows):])
	if l.hasAll(l.soon[:]) {
		return
	}
	for k, i := range l.soon {
		if !l.has(i) {
			l.soon[k] = 0
		}
	}
}

// plain reports whether the steps on n weights are taken in plain Go.
func (l *Linear) plain(n int) bool {
	return use[LoopLinear] == Plain || l.SoftThreshold != nil || len(l.Val) == 0 || n == 0
}

// few takes up to few steps, or half of one. The loss is sum - log(product).
func (l *Linear) few(w []float32, bias *float32, rows []int32, lr float32, h half, coef *float32,
	g *Guard) (done int, sum, product float32) {
	if l.plain(len(w)) {
		sum, product = l.fewGo(w, bias, rows, lr, h, coef)
		return len(rows), sum, product
	}
	return l.fewFast(w, bias, rows, lr, h, coef, g)
}

func (l *Linear) fewGo(w []float32, bias *float32, rows []int32, lr float32, h half,
	coef *float32) (sum, product float32) {
	product = 1
	for _, i := range rows {
		idx, val := l.row(i)
		var down float32
		if h == writes {
			down = *coef
		} else {
			loss, p, d := l.Loss.at(*bias+SparseDot(idx, val, w), l.Y[i])
			if a := l.weight(i); a == 0 {
				loss, p, d = 0, 1, 0
			} else if a != 1 {
				loss, p, d = a*(loss-float32(math.Log(float64(p)))), 1, a*d
			}
			sum, product, down = sum+loss, product*p, -d
		}
		if h == reads {
			*coef = down
			continue
		}
		if l.WeightDecay != nil {
			for _, j := range idx {
				w[j] -= min(1, lr*l.WeightDecay[j]) * w[j]
			}
		}
		if down != 0 {
			SparseAxpy(lr*down, idx, val, w)
			*bias = l.moved(*bias, lr, down, false)
		}
		if l.SoftThreshold != nil {
			for _, j := range idx {
				most := lr * l.SoftThreshold[j]
				w[j] -= max(-most, min(most, w[j]))
			}
		}
	}
	return sum, product
}

// weight is what the loss of row i is multiplied by.
func (l *Linear) weight(i int32) float32 {
	a := float32(1)
	if l.Weight != nil {
		a = l.Weight[i]
	}
	if l.Class != nil {
		a *= l.Class[int(l.Y[i])]
	}
	return a
}

// first is where v begins; nil of none.
func first(v []float32) *float32 {
	if len(v) == 0 {
		return nil
	}
	return &v[0]
}

// at is the loss, less the logarithm of p, and its derivative with respect to z.
func (l LinearLoss) at(z, y float32) (loss, p, d float32) {
	t := 2*y - 1
	switch l {
	case LinearLogistic:
		e := float32(math.Exp(max(-87, min(87, float64(t*z)))))
		miss := 1 / (1 + e) // the probability of the other class
		return max(0, -t*z), max(miss, e*miss), -t * miss
	case LinearHinge:
		if m := 1 - t*z; !(m <= 0) { // as NaN is not
			return m, 1, -t
		}
		return 0, 1, 0
	case LinearSquared:
		return (z - y) * (z - y), 1, 2 * (z - y)
	}
	switch e := z - y; {
	case e > 0:
		return e, 1, 1
	case e < 0:
		return -e, 1, -1
	default:
		return e, 1, 0 // 0 or NaN
	}
}
