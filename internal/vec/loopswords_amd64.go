//go:build !noasm

package vec

import (
	"fmt"
	"math"
)

// stepsFast steps count inputs, or h if that is not nil, which it leaves with the move in e, against a group of n
// targets each, or none of them. The loss is the sum of linear and log product.
func (w *Words) stepsFast(h []float32, inputs []uint32, count int, targets []uint32, n int, lr float32,
	onlyLoss bool) (linear, product float64) {
	plan := aligned(&w.plan, planFloats*len(targets))
	in, list, none := &w.In[0], (*uint32)(nil), 0
	if h != nil {
		in = &h[0]
	} else {
		list = &inputs[0]
	}
	if onlyLoss {
		none = 1
	}
	batches := wordsPlan(in, len(w.In)/w.K, &w.Out[0], len(w.Out)/w.K, w.K, list, count, &targets[0], n, &w.e[0],
		&w.zero[0], &plan[0])
	if batches < 0 {
		panic(fmt.Sprintf("vec: input %d of %v, or one of its targets in %v, is outside the tables", ^batches,
			inputs, targets))
	}
	const ahead = 2 // batches whose rows have been asked for
	next, known := plan[planFloats*min(ahead, len(targets)-1):], max(0, batches-ahead)
	if use[LoopWords] == AVX512 {
		return wordsStepsAVX512(&plan[0], batches, w.K, lr, &w.e[0], none, &next[0], known)
	}
	return wordsStepsAVX2(&plan[0], batches, w.K, lr, &w.e[0], none, &next[0], known)
}

// planFloats is how long the plan of a batch is.
const planFloats = 32

// six is how many targets the loop of Block takes at once, and eight how many coefficients these have.
const six, eight = 6, 8

// blockFast is Block by copies of rows that begin with lines of the cache and end with zeros.
func (w *Words) blockFast(inputs, targets []uint32, lr float32) (loss float64) {
	m, n := len(inputs), len(targets)
	stride, batches := (w.K+15)&^15, (n+six-1)/six
	if w.stride != stride {
		w.x, w.o, w.stride = nil, nil, stride
	}
	x, o, g := aligned(&w.x, m*stride), aligned(&w.o, batches*six*stride), aligned(&w.g, batches*m*eight)
	w.copyFast(w.In, inputs, x)
	w.copyFast(w.Out, targets, o)
	for b := range batches {
		t, o := targets[six*b:min(n, six*b+six)], o[six*b*stride:]
		for i := 0; i < m; i += most / eight {
			count := min(m-i, most/eight)
			linear, product := w.dotsFast(x[i*stride:], count, o, t, b, lr, g[(b*m+i)*eight:])
			loss += linear + logOf(product)
		}
	}
	for b := range batches {
		w.moveFast(inputs, targets[six*b:min(n, six*b+six)], x, o[six*b*stride:], g[b*m*eight:])
	}
	if !(loss <= math.MaxFloat64) {
		w.stride = 0 // what is left in copies would be multiplied by 0 where the next ones have no row
	}
	return loss
}

// copyFast copies rows of a table, checked, to x.
func (w *Words) copyFast(table []float32, idx []uint32, x []float32) {
	loop := wordsCopyAVX2
	if use[LoopWords] == AVX512 {
		loop = wordsCopyAVX512
	}
	rows := len(table) / w.K
	if done := loop(&table[0], rows, w.K, &idx[0], len(idx), &x[0], 4*w.stride); done < len(idx) {
		panic(fmt.Sprintf("vec: row %d of a matrix of %d rows of %d", idx[done], rows, w.K))
	}
}

// dotsFast sets g to the coefficients of m rows of x and up to six of o, the rows of targets, which are their batch
// number b. It returns the loss, as stepsFast.
func (w *Words) dotsFast(x []float32, m int, o []float32, targets []uint32, b int, lr float32,
	g []float32) (linear, product float64) {
	signs := min(b, 1) * 32
	if use[LoopWords] == AVX512 {
		return wordsDotsAVX512(&x[0], m, &o[0], 4*w.stride, &targets[0], len(targets), signs, lr, &g[0])
	}
	return wordsDotsAVX2(&x[0], m, &o[0], 4*w.stride, &targets[0], len(targets), signs, lr, &g[0])
}

// moveFast moves the rows inputs by the rows of o, and targets by the rows of x, which are copies.
func (w *Words) moveFast(inputs, targets []uint32, x, o, g []float32) {
	if use[LoopWords] == AVX512 {
		wordsMoveAVX512(&w.In[0], &w.Out[0], w.K, &inputs[0], len(inputs), &targets[0], len(targets), &x[0], &o[0],
			4*w.stride, &g[0])
	} else {
		wordsMoveAVX2(&w.In[0], &w.Out[0], w.K, &inputs[0], len(inputs), &targets[0], len(targets), &x[0], &o[0],
			4*w.stride, &g[0])
	}
}

func gatherFast(w []float32, k int, idx []uint32, h []float32) {
	if use[LoopRows] == AVX512 {
		gatherRowsAVX512(&w[0], k, &idx[0], len(idx), &h[0])
	} else {
		gatherRowsAVX2(&w[0], k, &idx[0], len(idx), &h[0])
	}
}

func scatterFast(w []float32, k int, idx []uint32, a float32, e []float32) {
	if use[LoopRows] == AVX512 {
		scatterRowsAVX512(&w[0], k, &idx[0], len(idx), a, &e[0])
	} else {
		scatterRowsAVX2(&w[0], k, &idx[0], len(idx), a, &e[0])
	}
}

func (w *Words) fetchFast(inputs, targets []uint32) {
	fetchRows(&w.In[0], len(w.In)/w.K, w.K, &inputs[0], len(inputs))
	fetchRows(&w.Out[0], len(w.Out)/w.K, w.K, &targets[0], len(targets))
}
