package vec

import "math"

// The steps of optimizers with a state, in one pass over gradient, state and weights. Each leaves the gradient at zero,
// for the next one to be added up. The bits are the same on all processors. All slices have at least the length of g,
// and eps is more than 0.

// Momentum is v = mu v + g; w -= rate v; g = 0.
func Momentum(w, v, g []float32, mu, rate float32) {
	n := len(g)
	w, v = w[:n:len(w)], v[:n:len(v)]
	if use[LoopOptimizer] == Plain || n == 0 {
		momentumGo(w, v, g, mu, rate)
	} else {
		momentumFast(w, v, g, mu, rate)
	}
}

// normal returns x, or 0 if x is subnormal. A state that decays without a gradient ends among such numbers, and stays:
// .9 of the smallest one is rounded to itself. Most processors take a hundred cycles for each of them.
func normal(x float32) float32 {
	if math.Float32bits(x)<<1>>24 == 0 {
		return 0
	}
	return x
}

// A conversion keeps the product from being fused with the sum.
func momentumGo(w, v, g []float32, mu, rate float32) {
	w, v = w[:len(g)], v[:len(g)]
	for i, d := range g {
		v[i] = normal(float32(mu*v[i]) + d)
		w[i] -= float32(rate * v[i])
		g[i] = 0
	}
}

// AdaGrad is s += g^2; w -= rate g/(sqrt(s) + eps); g = 0.
func AdaGrad(w, s, g []float32, rate, eps float32) {
	n := len(g)
	w, s = w[:n:len(w)], s[:n:len(s)]
	if use[LoopOptimizer] == Plain || n == 0 {
		adaGradGo(w, s, g, rate, eps)
	} else {
		adaGradFast(w, s, g, rate, eps)
	}
}

func adaGradGo(w, s, g []float32, rate, eps float32) {
	w, s = w[:len(g)], s[:len(g)]
	for i, d := range g {
		s[i] += float32(d * d)
		w[i] -= rate * d / (sqrt(s[i]) + eps)
		g[i] = 0
	}
}

// AdamStep is what a step of Adam is made of: its rate, with the bias taken out of m, the weights of what m and v
// were, what takes the bias out of the square root of v, and what keeps the divisor from zero.
type AdamStep struct{ Rate, Beta1, Beta2, Unbias, Eps float32 }

// Adam is m = beta1 m + (1-beta1) g; v = beta2 v + (1-beta2) g^2; w -= rate m/(sqrt(v) unbias + eps); g = 0.
func Adam(w, m, v, g []float32, c AdamStep) {
	n := len(g)
	w, m, v = w[:n:len(w)], m[:n:len(m)], v[:n:len(v)]
	if use[LoopOptimizer] == Plain || n == 0 {
		adamGo(w, m, v, g, c)
	} else {
		adamFast(w, m, v, g, c)
	}
}

func adamGo(w, m, v, g []float32, c AdamStep) {
	w, m, v = w[:len(g)], m[:len(g)], v[:len(g)]
	rest1, rest2 := 1-c.Beta1, 1-c.Beta2
	for i, d := range g {
		m[i] = normal(float32(c.Beta1*m[i]) + float32(rest1*d))
		v[i] = normal(float32(c.Beta2*v[i]) + float32(rest2*d*d))
		w[i] -= c.Rate * m[i] / (float32(sqrt(v[i])*c.Unbias) + c.Eps)
		g[i] = 0
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
