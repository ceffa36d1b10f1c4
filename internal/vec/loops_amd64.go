//go:build !noasm

package vec

import (
	"fmt"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd gen && go run . dense -out ../dense_amd64.s -stubs ../dense_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . sparse -out ../sparse_amd64.s -stubs ../sparse_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . gemm -out ../gemm_amd64.s -stubs ../gemm_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . linear -out ../linear_amd64.s -stubs ../linear_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . factor -out ../factor_amd64.s -stubs ../factor_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run . words -out ../words_amd64.s -stubs ../words_amd64.go -pkg vec"
//go:generate sh -c "cd gen && go run ./clang -out .."

// This file is the way from a loop to its assembly on x86-64. Each function is called
// only where use names a set other than Plain, with slices that are checked and not empty.

// best is the best set of this processor.
func best() ISA {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI1 || !x.HasBMI2:
		return Plain
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	case !x.HasAVX512VBMI2:
		return AVX512
	}
	return VBMI2
}

// has reports whether this processor has the set.
func has(s ISA) bool { return s <= best() && s != NEON }

// atMost is the best set, up to s, that there is a version of the loop for.
func atMost(l Loop, s ISA) ISA {
	switch l {
	case LoopNonzeros:
		if s == AVX512 {
			return AVX2
		}
		return s
	case LoopLinear, LoopMergeCentered, LoopFetch:
		return min(s, AVX2)
	}
	return min(s, AVX512)
}

func dotFast(x, y []float32) float32 {
	if use[LoopDot] == AVX512 {
		return dotAVX512(&x[0], &y[0], len(x))
	}
	n := len(x) &^ 7
	return dotAVX2(&x[0], &y[0], n) + dotGo(x[n:], y[n:])
}

func axpyFast(a float32, x, y []float32) {
	if use[LoopAxpy] == AVX512 {
		axpyAVX512(a, &x[0], &y[0], len(x))
		return
	}
	n := len(x) &^ 7
	axpyAVX2(a, &x[0], &y[0], n)
	axpyGo(a, x[n:], y[n:])
}

func dot4Fast(x0, x1, x2, x3, w []float32) (z0, z1, z2, z3 float32) {
	if use[LoopDot] == AVX512 {
		return dot4AVX512(&x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
	}
	return dot4AVX2(&x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
}

func axpy4Fast(a0, a1, a2, a3 float32, x0, x1, x2, x3, w []float32) {
	if use[LoopAxpy] == AVX512 {
		axpy4AVX512(a0, a1, a2, a3, &x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
	} else {
		axpy4AVX2(a0, a1, a2, a3, &x0[0], &x1[0], &x2[0], &x3[0], &w[0], len(w))
	}
}

func scaleFast(a float32, x []float32) {
	if use[LoopScale] == AVX512 {
		scaleAVX512(a, &x[0], len(x))
		return
	}
	n := len(x) &^ 7
	scaleAVX2(a, &x[0], n)
	scaleGo(a, x[n:])
}

func reluFast(z, h []float32) {
	if use[LoopReLU] == AVX512 {
		reluAVX512(&z[0], &h[0], len(z))
		return
	}
	n := len(z) &^ 7
	reluAVX2(&z[0], &h[0], n)
	reluGo(z[n:], h[n:])
}

func reluMaskFast(h, d []float32) {
	if use[LoopReLUMask] == AVX512 {
		reluMaskAVX512(&h[0], &d[0], len(h))
		return
	}
	n := len(h) &^ 7
	reluMaskAVX2(&h[0], &d[0], n)
	reluMaskGo(h[n:], d[n:])
}

func expSumFast(z []float32, m float32) float64 {
	if use[LoopExpSum] == AVX512 {
		return expSumAVX512(&z[0], len(z), m)
	}
	n := len(z) &^ 3
	return expSumAVX2(&z[0], n, m) + expSumGo(z[n:], m)
}

func fetch(x []float32) { fetchLines(&x[0], len(x)) }

func prefetch(x []uint8) { prefetchLines(&x[0], len(x)) }

// gemmShape: masks end a tile at any column.
func gemmShape() shape {
	if use[LoopGemm] == AVX512 {
		return shape{rows: 14, columns: 32, lanes: 16, anyWidth: true, strip: stripFast}
	}
	return shape{rows: 6, columns: 16, lanes: 8, anyWidth: true, strip: stripFast}
}

func packFast(n, k int, src []float32, ld int, dst []float32) {
	if use[LoopGemm] == AVX512 {
		packAVX512(n, k, &src[0], ld, &dst[0])
	} else {
		packAVX2(n, k, &src[0], ld, &dst[0])
	}
}

func packTFast(k int, src []float32, ld int, dst []float32, nr int) {
	if use[LoopGemm] == AVX512 {
		packTAVX512(k, &src[0], ld, &dst[0], nr)
	} else {
		packTAVX2(k, &src[0], ld, &dst[0], nr)
	}
}

func stripFast(n, k int, src []float32, ld int, dst []float32) {
	if use[LoopGemm] == AVX512 {
		stripAVX512(n, k, &src[0], ld, &dst[0])
	} else {
		stripAVX2(n, k, &src[0], ld, &dst[0])
	}
}

func tileFast(count, next, m, n, k int, alpha float32, a, b grid, c []float32, ldc int, ahead grid) {
	if use[LoopGemm] == AVX512 {
		tileAVX512(count, next, m, n, k, alpha, &a.v[0], a.row, a.col, &b.v[0], b.row, &c[0], ldc,
			&ahead.v[0], ahead.row)
	} else {
		tileAVX2(count, next, m, n, k, alpha, &a.v[0], a.row, a.col, &b.v[0], b.row, &c[0], ldc,
			&ahead.v[0], ahead.row)
	}
}

// fewFast: the loops are the same for all levels of AVX. They are called by their names: through a
// variable Go's compiler would not see that no argument escapes.
func (l *Linear) fewFast(w []float32, bias *float32, rows []int32, lr float32, h half, coef *float32,
	g *Guard) (done int, sum, product float32) {
	lock, words, tickets, count := g.parts()
	shrink, weight, class := first(l.WeightDecay), first(l.Weight), first(l.Class)
	var left int
	switch loss, n, half := int(l.Loss), len(rows), int(h); {
	case l.Width > 0 && shrink != nil:
		sum, product, left = denseDecay(loss, &rows[0], &l.soon[0], n, l.Width, &l.Val[0], &l.Y[0], &w[0], bias,
			shrink, weight, class, lr, l.BiasStep, half, coef, lock, words, tickets, count)
	case l.Width > 0:
		sum, product, left = denseSteps(loss, &rows[0], &l.soon[0], n, l.Width, &l.Val[0], &l.Y[0], &w[0], bias,
			nil, weight, class, lr, l.BiasStep, half, coef, lock, words, tickets, count)
	case shrink != nil:
		sum, product, left = linearDecay(loss, &rows[0], &l.soon[0], n, &l.Ptr[0], &l.Idx[0], &l.Val[0], &l.Y[0], &w[0],
			bias, shrink, weight, class, lr, l.BiasStep, half, coef, lock, words, tickets, count)
	default:
		sum, product, left = linearSteps(loss, &rows[0], &l.soon[0], n, &l.Ptr[0], &l.Idx[0], &l.Val[0], &l.Y[0], &w[0],
			bias, nil, weight, class, lr, l.BiasStep, half, coef, lock, words, tickets, count)
	}
	return len(rows) - 1 - left, sum, product
}

func (l *Linear) outputsFast(ptr []int64, w []float32, bias float32, z []float32) {
	linearOutputs(&ptr[0], len(z), &l.Idx[0], &l.Val[0], &w[0], bias, &z[0])
}

// guards reports whether the loop can take its steps under a guard: of locks under one alone.
func (l *Linear) guards(g *Guard) bool {
	return g != nil && (g.kind != locked || 4*uint64(len(g.locks)) == g.words[1])
}

// factor512 are the loops for rows of one to eight vectors of AVX-512: more do not fit into its registers.
var factor512 = all(factorAVX512x1, factorAVX512x2, factorAVX512x3, factorAVX512x4, factorAVX512x5, factorAVX512x6,
	factorAVX512x7, factorAVX512x8)

func all[F any](loops ...F) []F { return loops }

// inRegisters reports whether one of them takes the rows.
func (f *Factors) inRegisters() bool { return use[LoopFactor] == AVX512 && f.K <= 16*len(factor512) }

// stepsFast is Factors.Steps, or a half of it.
func (f *Factors) stepsFast(rows []int32, idx []uint32, y []float32, s FactorRate, h half, coef *float32,
	g *Guard) (done int, loss float64) {
	loop := factorAVX2
	if f.inRegisters() {
		loop = factor512[(f.K-1)/16]
	}
	mask := uint32(1)<<((f.K-1)%16+1) - 1 // of the last vector's lanes: the first ones, or of several vectors the last
	if f.K > 16 {
		mask <<= 15 - (f.K-1)%16
	}
	locks, words, tickets, count := g.parts()
	if h == atomically {
		coef = &g.room[0]
	}
	done, loss = loop(&rows[0], len(rows), cap(rows), &idx[0], &y[0], len(y), &f.W[0], f.nodes, first(f.Bias), f.K,
		mask, f.Mean, s.Keep, s.Rate, s.most(f.Bias != nil), int(h), coef, locks, words, tickets, count)
	if done < 0 {
		panic(fmt.Sprintf("vec: entry %d of %d is outside the %d nodes", rows[^done], len(y), f.nodes))
	}
	return done, loss
}

// guards reports whether the loop can take its steps under a guard: the rows of both nodes lie
// in registers, and nothing else is written.
func (f *Factors) guards(g *Guard) bool {
	return g != nil && f.inRegisters() && f.Bias == nil && g.covers(len(f.W))
}

func convRowFast(c []float32, ldc int, a, start, b []float32, off []int32, n int) {
	if use[LoopConvRow] == AVX512 {
		convRowAVX512(&c[0], ldc, &a[0], first(start), &b[0], &off[0], len(off), n)
	} else {
		convRowAVX2(&c[0], ldc, &a[0], first(start), &b[0], &off[0], len(off), n)
	}
}

func convGradFast(g, d []float32, ldd int, b []float32, off []int32, n, rows, dRow, bRow int) {
	if use[LoopConvGrad] == AVX512 {
		convGradAVX512(&g[0], &d[0], ldd, &b[0], &off[0], n, rows, dRow, bRow)
	} else {
		convGradAVX2(&g[0], &d[0], ldd, &b[0], &off[0], n, rows, dRow, bRow)
	}
}

func poolFast(out, win, z, scale []float32, n, p, row int) {
	if use[LoopPool] == AVX512 {
		poolAVX512(&out[0], &win[0], &z[0], &scale[0], n, p, row)
	} else {
		poolAVX2(&out[0], &win[0], &z[0], &scale[0], n, p, row)
	}
}

func unpoolFast(dz, d, win, scale, sum []float32, n, p, row int) {
	if use[LoopUnpool] == AVX512 {
		unpoolAVX512(&dz[0], &d[0], &win[0], &scale[0], &sum[0], n, p, row)
	} else {
		unpoolAVX2(&dz[0], &d[0], &win[0], &scale[0], &sum[0], n, p, row)
	}
}

func mergeFast(shared, mine, base []float32) {
	if use[LoopMerge] == AVX512 {
		mergeAVX512(&shared[0], &mine[0], &base[0], len(shared))
	} else {
		mergeAVX2(&shared[0], &mine[0], &base[0], len(shared))
	}
}

func mergeCenteredFast(shared, mine, base, mu, s, learned, merged []float32) {
	mergeCenteredAVX2(&shared[0], &mine[0], &base[0], &mu[0], len(mu), &s[0], &learned[0], &merged[0], len(s))
}

func largestFast(idx []uint32) uint32 {
	if use[LoopLargest] == AVX512 {
		return largestAVX512(&idx[0], len(idx))
	}
	return largestAVX2(&idx[0], len(idx))
}

func largestRowFast(rows []int32) uint32 {
	if use[LoopLargest] == AVX512 {
		return largestRowAVX512(&rows[0], len(rows))
	}
	return largestRowAVX2(&rows[0], len(rows))
}

func sparseGemvFast(idx []uint32, val []float32, end uint32, w, z []float32) int {
	k := len(z)
	if use[LoopSparseGemv] == AVX512 {
		return sparseGemvAVX512(&idx[0], &val[0], len(idx), end, &w[0], 4*k, &z[0], k)
	}
	return sparseGemvAVX2(&idx[0], &val[0], len(idx), end, &w[0], 4*k, &z[0], k)
}

func sparseGerFast(a float32, idx []uint32, val, d, w []float32) {
	k := len(d)
	if use[LoopSparseGer] == AVX512 {
		sparseGerAVX512(a, &idx[0], &val[0], len(idx), &d[0], &w[0], 4*k, k)
	} else {
		sparseGerAVX2(a, &idx[0], &val[0], len(idx), &d[0], &w[0], 4*k, k)
	}
}

func (l *lists) addOuterFast(a float32, d []float32, k int, w []float32) {
	rows := len(w) / k
	if use[LoopSparseOuter] == AVX512 {
		sparseOuterAVX512(a, &l.from[0], rows, &l.entry[0], &d[0], &w[0], 4*k, k)
	} else {
		sparseOuterAVX2(a, &l.from[0], rows, &l.entry[0], &d[0], &w[0], 4*k, k)
	}
}

func nonzerosFast(x []uint8, mul float32, idx []uint32, val []float32) int {
	if use[LoopNonzeros] == VBMI2 {
		return nonzerosVBMI2(&x[0], len(x), mul, &idx[0], &val[0])
	}
	whole := len(x) &^ 7
	n := nonzerosAVX2(&x[0], whole, mul, &idx[0], &val[0])
	rest := idx[n : n+nonzerosGo(x[whole:], mul, idx[n:], val[n:])]
	for i := range rest {
		rest[i] += uint32(whole)
	}
	return n + len(rest)
}

// widenFast is Widen of whole vectors; it returns how many numbers it did.
func widenFast(x []uint8, mul, add, y []float32) (n int) {
	switch {
	case use[LoopWiden] == AVX512 && len(x) >= 16:
		n = len(x) &^ 15
		widenAVX512(&x[0], &mul[0], &add[0], &y[0], n)
	case len(x) >= 8:
		n = len(x) &^ 7
		widenAVX2(&x[0], &mul[0], &add[0], &y[0], n)
	}
	return n
}
