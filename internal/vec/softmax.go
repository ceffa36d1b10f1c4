package vec

import "math"

// Softmax is z[i] = exp(z[i]) / sum exp(z[j]), and returns log(sum exp(z[j])).
// The sum is in float64, relative to the largest z so that it cannot overflow. A z
// that is NaN or +Inf makes the result NaN; of no z it is -Inf.
func Softmax(z []float32) float64 {
	m := float32(math.Inf(-1))
	for _, v := range z {
		if v > m {
			m = v
		}
	}
	sum := expSum(z, m)
	Scale(float32(1/sum), z)
	return float64(m) + math.Log(sum)
}

// Exp is z[i] = exp(z[i]).
func Exp(z []float32) { expSum(z, 0) }

// expSum is z[i] = exp(z[i]-m), and returns their sum.
func expSum(z []float32, m float32) float64 {
	if use[LoopExpSum] == Plain || len(z) == 0 {
		return expSumGo(z, m)
	}
	return expSumFast(z, m)
}

func expSumGo(z []float32, m float32) (sum float64) {
	for i, v := range z {
		e := math.Exp(float64(v) - float64(m))
		sum += e
		z[i] = float32(e)
	}
	return sum
}
