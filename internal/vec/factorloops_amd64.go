//go:build !noasm

package vec

import "fmt"

// factorSteps is the type of the loops in factor_amd64.s.
type factorSteps = func(rows *int32, n, known int, idx *uint32, y *float32, entries int,
	w *float32, nodes int, bias *float32, k int, mask uint32, mean, keep, rate float32) (done int, loss float64)

// factorLoop is the fastest loop for rows of k numbers; nil: plain Go.
func factorLoop(k int) factorSteps {
	switch {
	case !avx512 || k > 64:
		return nil
	case k > 48:
		return factorAVX512x4
	case k > 32:
		return factorAVX512x3
	case k > 16:
		return factorAVX512x2
	}
	return factorAVX512x1
}

// run does the steps of rows by a loop.
func (f *Factors) run(loop factorSteps, rows []int32, idx []uint32, y []float32, s FactorRate) float64 {
	nodes, bias := len(f.W)/f.K, (*float32)(nil)
	if len(rows) == 0 {
		return 0
	}
	if f.Bias != nil {
		bias = &f.Bias[0]
	}
	mask := uint32(1)<<((f.K-1)%16+1) - 1
	n, loss := loop(&rows[0], len(rows), cap(rows), &idx[0], &y[0], len(y), &f.W[0], nodes, bias, f.K, mask, f.Mean, s.Keep, s.Rate)
	if n < len(rows) {
		panic(fmt.Sprintf("vec: entry %d of %d is outside the %d nodes", rows[n], len(y), nodes))
	}
	return loss
}
