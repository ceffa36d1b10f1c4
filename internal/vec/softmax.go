package vec

import "math"

// Softmax is z[i] = exp(z[i]) / sum exp(z[j]), and returns log(sum exp(z[j])).
// The sum is in float64, relative to the largest z so that it cannot overflow. A z
// that is NaN or +Inf makes the result NaN; of no z it is -Inf.
func Softmax(z []float32) float64 {
	m := math.Inf(-1)
	for _, v := range z {
		if float64(v) > m {
			m = float64(v)
		}
	}
	var sum float64
	for i, v := range z {
		e := math.Exp(float64(v) - m)
		sum += e
		z[i] = float32(e)
	}
	Scale(float32(1/sum), z)
	return m + math.Log(sum)
}
