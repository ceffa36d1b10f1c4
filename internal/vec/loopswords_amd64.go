//go:build !noasm

package vec

import "fmt"

// stepsFast is Words.Window for count groups of n targets. It returns how many it did, and the complement where a row is
// outside; and the loss, the sum of linear and log product.
func (w *Words) stepsFast(h []float32, inputs []uint32, count int, targets []uint32, n int, lr float32,
	mode int) (done int, linear, product float64) {
	in, list := &w.In[0], (*uint32)(nil)
	if h != nil {
		in = &h[0]
	} else {
		list = &inputs[0]
	}
	ins, outs := len(w.In)/w.K, len(w.Out)/w.K
	if use[LoopWords] == AVX512 {
		return wordsStepsAVX512(in, ins, &w.Out[0], outs, w.K, list, count, &targets[0], n, lr, &w.e[0], &w.zero[0], mode)
	}
	return wordsStepsAVX2(in, ins, &w.Out[0], outs, w.K, list, count, &targets[0], n, lr, &w.e[0], &w.zero[0], mode)
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

// dotsFast sets g to the coefficients of m rows of x and up to six of o, those of targets, the batch number b of these. It
// returns the loss, as stepsFast.
func (w *Words) dotsFast(x []float32, m int, o []float32, targets []uint32, b int, lr float32,
	g []float32) (linear, product float64) {
	signs := min(b, 1) * 32
	if use[LoopWords] == AVX512 {
		return wordsDotsAVX512(&x[0], m, &o[0], 4*w.stride, &targets[0], len(targets), signs, lr, &g[0])
	}
	return wordsDotsAVX2(&x[0], m, &o[0], 4*w.stride, &targets[0], len(targets), signs, lr, &g[0])
}

// moveFast moves the rows inputs by those of o, and targets by those of x, which are copies.
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
