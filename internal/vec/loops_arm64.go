//go:build !noasm

package vec

import (
	"fmt"
	"math"
)

// This file is the way from a loop to its assembly on arm64, whose processors all have NEON. Each
// function is called only where use names it, with slices that are checked and not empty.

func best() ISA { return NEON }

// has reports whether this processor has the set.
func has(s ISA) bool { return s <= NEON }

// atMost is the best set, up to s, that there is a version of the loop for.
func atMost(_ Loop, s ISA) ISA { return min(s, NEON) }

func dotFast(x, y []float32) float32     { return dotNEON(&x[0], &y[0], len(x)) }
func axpyFast(a float32, x, y []float32) { axpyNEON(a, &x[0], &y[0], len(x)) }
func dot4Fast(x0, x1, x2, x3, w []float32) (z0, z1, z2, z3 float32) {
	return dot4NEON(&x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
}

func axpy4Fast(a0, a1, a2, a3 float32, x0, x1, x2, x3, w []float32) {
	axpy4NEON(a0, a1, a2, a3, &x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
}

func scaleFast(a float32, x []float32) { scaleNEON(a, &x[0], len(x)) }
func reluFast(z, h []float32)          { reluNEON(&z[0], &h[0], len(z)) }
func reluMaskFast(h, d []float32)      { reluMaskNEON(&h[0], &d[0], len(h)) }
func fetch(x []float32)                { fetchLines(&x[0], len(x)) }
func prefetch(x []uint8)               { prefetchLines(&x[0], len(x)) }

// expTable is what exp is computed from: the lowest x, 1/log 2, what rounds to a whole
// number, log 2 in two parts, and the series. gen/exp.go says how.
var expTable = func() (t [5 + 13]float64) {
	copy(t[:], []float64{-700, math.Log2E, 3 << 51, 6.93147180369123816490e-01, 1.90821492927058770002e-10})
	f := 1.0
	for k := range t[5:] {
		t[5+k] = 1 / f
		f *= float64(k + 1)
	}
	return t
}()

func expSumFast(z []float32, m float32) float64 { return expSumNEON(&z[0], len(z), m, &expTable[0]) }

// gemmShape returns AVX2's shape: 24 vectors of sums, 4 of the panel.
func gemmShape() shape { return shape{rows: 6, columns: 16, lanes: 8} }

func packFast(n, k int, src []float32, ld int, dst []float32) { packNEON(n, k, &src[0], ld, &dst[0]) }

func packTFast(k int, src []float32, ld int, dst []float32, nr int) {
	packTNEON(k, &src[0], ld, &dst[0], nr)
}

func tileFast(count, next, m, n, k int, alpha float32, a, b grid, c []float32, ldc int, _ grid) {
	for i := range count {
		tileNEON(m, n, k, alpha, &a.v[i*next], a.row, a.col, &b.v[0], b.row, &c[i*m*ldc], ldc)
	}
}

// guards is false: these loops stop between the halves.
func (l *Linear) guards(*Guard) bool  { return false }
func (f *Factors) guards(*Guard) bool { return false }

func (l *Linear) fewFast(w []float32, bias *float32, rows []int32, lr float32, h half, coef *float32,
	_ *Guard) (done int, sum, product float32) {
	var ptr *int64
	var idx *uint32
	if l.Width == 0 {
		ptr, idx = &l.Ptr[0], &l.Idx[0]
	}
	shrink, weight, class := first(l.WeightDecay), first(l.Weight), first(l.Class)
	switch loss, n, half := int(l.Loss), len(rows), int(h); {
	case l.Width > 0 && shrink != nil:
		sum, product = denseDecayNEON(loss, &rows[0], &l.soon[0], n, ptr, idx, l.Width, &l.Val[0], &l.Y[0], &w[0], bias,
			shrink, weight, class, lr, l.BiasStep, half, coef)
	case l.Width > 0:
		sum, product = denseStepsNEON(loss, &rows[0], &l.soon[0], n, ptr, idx, l.Width, &l.Val[0], &l.Y[0], &w[0], bias,
			nil, weight, class, lr, l.BiasStep, half, coef)
	case shrink != nil:
		sum, product = linearDecayNEON(loss, &rows[0], &l.soon[0], n, ptr, idx, 0, &l.Val[0], &l.Y[0], &w[0], bias,
			shrink, weight, class, lr, l.BiasStep, half, coef)
	default:
		sum, product = linearStepsNEON(loss, &rows[0], &l.soon[0], n, ptr, idx, 0, &l.Val[0], &l.Y[0], &w[0], bias,
			nil, weight, class, lr, l.BiasStep, half, coef)
	}
	return len(rows), sum, product
}

func (l *Linear) outputsFast(ptr []int64, w []float32, bias float32, z []float32) {
	l.outputsGo(ptr, w, bias, z)
}

// stepsFast is Factors.Steps, or a half of it.
func (f *Factors) stepsFast(rows []int32, idx []uint32, y []float32, s FactorRate, h half, coef *float32,
	_ *Guard) (done int, loss float64) {
	done, loss = factorNEON(&rows[0], len(rows), cap(rows), &idx[0], &y[0], len(y), &f.W[0], f.nodes, first(f.Bias),
		f.K, f.Mean, s.Keep, s.Rate, s.most(f.Bias != nil), int(h), coef)
	if done < len(rows) {
		panic(fmt.Sprintf("vec: entry %d of %d is outside the %d nodes", rows[done], len(y), f.nodes))
	}
	return done, loss
}

func convRowFast(c []float32, ldc int, a, start, b []float32, off []int32, n int) {
	convRowNEON(&c[0], ldc, &a[0], first(start), &b[0], &off[0], len(off), n)
}

func convGradFast(g, d []float32, ldd int, b []float32, off []int32, n, rows, dRow, bRow int) {
	convGradNEON(&g[0], &d[0], ldd, &b[0], &off[0], n, rows, dRow, bRow)
}

func poolFast(out, win, z, scale []float32, n, p, row int) {
	poolNEON(&out[0], &win[0], &z[0], &scale[0], n, p, row)
}

func unpoolFast(dz, d, win, scale, sum []float32, n, p, row int) {
	unpoolNEON(&dz[0], &d[0], &win[0], &scale[0], &sum[0], n, p, row)
}

func mergeFast(shared, mine, base []float32) {
	mergeNEON(&shared[0], &mine[0], &base[0], len(shared))
}

func mergeCenteredFast(shared, mine, base, mu, s, learned, merged []float32) {
	mergeCenteredNEON(&shared[0], &mine[0], &base[0], &mu[0], len(mu), &s[0], &learned[0], &merged[0], len(s))
}

func momentumFast(w, v, g []float32, mu, rate float32) {
	momentumNEON(&w[0], &v[0], &g[0], len(g), mu, rate)
}

func adaGradFast(w, s, g []float32, rate, eps float32) {
	adaGradNEON(&w[0], &s[0], &g[0], len(g), rate, eps)
}

func adamFast(w, m, v, g []float32, c AdamStep) {
	adamNEON(&w[0], &m[0], &v[0], &g[0], len(g), c.Rate, c.Beta1, 1-c.Beta1, c.Beta2, 1-c.Beta2, c.Unbias, c.Eps)
}

func (c *Columns) addFast(x []float32, rows, d int) {
	columnsNEON(&x[0], &c.From[0], &c.Sum[0], rows, d, padded(d))
}

func (s *Scaling) applyFast(x []float32, rows, d int) {
	scaledNEON(&x[0], &s.mul[0], &s.add[0], &s.Seen[0], rows, d)
}

func largestRowFast(rows []int32) uint32 { return largestRowGo(rows) }

func largestFast(idx []uint32) uint32 { return largestNEON(&idx[0], len(idx)) }

func sparseGemvFast(idx []uint32, val []float32, end uint32, w, z []float32) int {
	return sparseGemvNEON(&idx[0], &val[0], len(idx), end, &w[0], &z[0], len(z))
}

func sparseGerFast(a float32, idx []uint32, val, d, w []float32) {
	sparseGerNEON(a, &idx[0], &val[0], len(idx), &d[0], &w[0], len(d))
}

func (l *lists) addOuterFast(a float32, d []float32, k int, w []float32) {
	sparseOuterNEON(a, &l.from[0], len(w)/k, &l.entry[0], &d[0], &w[0], k)
}

// places are, for each byte of eight bits, the numbers of the bits that are set, in order.
var places = func() (t [256][8]uint8) {
	for bits := range t {
		n := 0
		for i := range 8 {
			if bits>>i&1 != 0 {
				t[bits][n] = uint8(i)
				n++
			}
		}
	}
	return t
}()

func nonzerosFast(x []uint8, mul float32, idx []uint32, val []float32) int {
	return nonzerosNEON(&x[0], len(x), mul, &idx[0], &val[0], &places[0][0])
}

// widenFast is Widen; it returns how many numbers it did.
func widenFast(x []uint8, mul, add, y []float32) int {
	if len(x) > 0 {
		widenNEON(&x[0], &mul[0], &add[0], &y[0], len(x))
	}
	return len(x)
}

func differFast(p, q, r, nextP, nextQ, nextR []float32) (x, own, apart float32) {
	return differNEON(&p[0], &q[0], &r[0], len(p), &nextP[0], &nextQ[0], &nextR[0])
}

func partFast(p, q, r []float32, keepP, keepQ, keepR, stepP, stepQ, stepR float32) {
	partNEON(&p[0], &q[0], &r[0], len(p), keepP, keepQ, keepR, stepP, stepQ, stepR)
}
