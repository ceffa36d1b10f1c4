package vec

import "math"

// AdamStep is what one step of Adam is made of.
type AdamStep struct {
	Rate         float32 // with the bias of m taken out
	Beta1, Beta2 float32
	Unbias, Eps  float32 // Unbias takes the bias out of sqrt(v)
}

// Momentum is v = mu v + g; w -= rate v.
func Momentum(w, v, g []float32, mu, rate float32) {
	n := len(g)
	momentumGo(w[:n], v[:n], g, mu, rate)
}

func momentumGo(w, v, g []float32, mu, rate float32) {
	for i, gi := range g {
		v[i] = mu*v[i] + gi
		w[i] -= rate * v[i]
	}
}

// AdaGrad is s += g^2; w -= rate g/(sqrt(s) + eps), with eps > 0.
func AdaGrad(w, s, g []float32, rate, eps float32) {
	n := len(g)
	adaGradGo(w[:n], s[:n], g, rate, eps)
}

func adaGradGo(w, s, g []float32, rate, eps float32) {
	for i, gi := range g {
		s[i] += gi * gi
		w[i] -= rate * gi / (sqrt(s[i]) + eps)
	}
}

// Adam is m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= rate m/(sqrt(v) unbias + eps), with eps > 0.
func Adam(w, m, v, g []float32, c AdamStep) {
	n := len(g)
	adamGo(w[:n], m[:n], v[:n], g, c)
}

func adamGo(w, m, v, g []float32, c AdamStep) {
	for i, gi := range g {
		m[i] = c.Beta1*m[i] + (1-c.Beta1)*gi
		v[i] = c.Beta2*v[i] + (1-c.Beta2)*gi*gi
		w[i] -= c.Rate * m[i] / (sqrt(v[i])*c.Unbias + c.Eps)
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
