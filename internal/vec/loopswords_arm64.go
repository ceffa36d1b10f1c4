//go:build !noasm

package vec

import "fmt"

// stepsFast steps count inputs, or h if that is not nil, which it leaves with the move in e, against a group of n
// targets each, or none of them. The loss is the sum of linear and log product.
func (w *Words) stepsFast(h []float32, inputs []uint32, count int, targets []uint32, n int, lr float32,
	onlyLoss bool) (linear, product float64) {
	rows, none := len(w.Out)/w.K, 0
	for _, t := range targets {
		if int(t) >= rows && t != NoTarget {
			panic(fmt.Sprintf("vec: target %d of %d", t, rows))
		}
	}
	if onlyLoss {
		none = 1
	}
	product = 1
	for i := range count {
		in := h
		if h == nil {
			in = row(w.In, int(inputs[i]), w.K)
		}
		clear(w.e)
		l, p := wordsNEON(&in[0], &w.Out[0], w.K, &targets[i*n], n, lr, &w.e[0], none, &expTable[0])
		linear, product = linear+l, product*p
		if h == nil && !onlyLoss {
			axpyNEON(1, &w.e[0], &in[0], w.K)
		}
	}
	return linear, product
}

// blockFast is Block: there is no loop for it, but its products are.
func (w *Words) blockFast(inputs, targets []uint32, lr float32) float64 {
	return w.blockGo(inputs, targets, lr)
}

func (w *Words) fetchFast(inputs, targets []uint32) {
	for i, list := range [][]uint32{inputs, targets} {
		table := [][]float32{w.In, w.Out}[i]
		for _, j := range list {
			if at := int(j) * w.K; at < len(table) {
				fetchLines(&table[at], w.K)
			}
		}
	}
}

func gatherFast(w []float32, k int, idx []uint32, h []float32) {
	gatherRowsNEON(&w[0], k, &idx[0], len(idx), &h[0])
}

func scatterFast(w []float32, k int, idx []uint32, a float32, e []float32) {
	scatterRowsNEON(&w[0], k, &idx[0], len(idx), a, &e[0])
}
