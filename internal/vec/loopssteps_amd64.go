//go:build !noasm

package vec

// The way from the loops of optimizers, of columns and of pairs to their assembly: see loops_amd64.go.

func momentumFast(w, v, g []float32, mu, rate float32) {
	if use[LoopOptimizer] == AVX512 {
		momentumAVX512(&w[0], &v[0], &g[0], len(g), mu, rate)
	} else {
		momentumAVX2(&w[0], &v[0], &g[0], len(g), mu, rate)
	}
}

func adaGradFast(w, s, g []float32, rate, eps float32) {
	if use[LoopOptimizer] == AVX512 {
		adaGradAVX512(&w[0], &s[0], &g[0], len(g), rate, eps)
	} else {
		adaGradAVX2(&w[0], &s[0], &g[0], len(g), rate, eps)
	}
}

func adamFast(w, m, v, g []float32, c AdamStep) {
	loop := adamAVX2
	if use[LoopOptimizer] == AVX512 {
		loop = adamAVX512
	}
	loop(&w[0], &m[0], &v[0], &g[0], len(g), c.Rate, c.Beta1, 1-c.Beta1, c.Beta2, 1-c.Beta2, c.Unbias, c.Eps)
}

func (c *Columns) addFast(x []float32, rows, d int) {
	loop := columnsAVX2
	if use[LoopColumns] == AVX512 {
		loop = columnsAVX512
	}
	loop(&x[0], &c.From[0], &c.Sum[0], rows, d, padded(d))
}

func (s *Scaling) applyFast(x []float32, rows, d int) {
	loop := scaledAVX2
	if use[LoopColumns] == AVX512 {
		loop = scaledAVX512
	}
	loop(&x[0], &s.mul[0], &s.add[0], &s.Seen[0], rows, d)
}

func differFast(p, q, r, nextP, nextQ, nextR []float32) (x, own, apart float32) {
	loop := differAVX2
	if use[LoopPairwise] == AVX512 {
		loop = differAVX512
	}
	return loop(&p[0], &q[0], &r[0], len(p), &nextP[0], &nextQ[0], &nextR[0])
}

func partFast(p, q, r []float32, keepP, keepQ, keepR, stepP, stepQ, stepR float32) {
	loop := partAVX2
	if use[LoopPairwise] == AVX512 {
		loop = partAVX512
	}
	loop(&p[0], &q[0], &r[0], len(p), keepP, keepQ, keepR, stepP, stepQ, stepR)
}
