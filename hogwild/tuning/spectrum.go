package tuning

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
)

// The rows that lambda is taken from are at most so many, and have about so many
// numbers: a few milliseconds' work.
const (
	lawRows    = 2000
	lawNumbers = 1 << 20
	lawRounds  = 10 // power iterations
)

// sampleRows are the first rows of a set, which Load has shuffled.
func sampleRows(set *data.Set) []data.Row {
	each := max(1, int(set.Nonzeros/int64(set.Rows)))
	rows := make([]int32, min(set.Rows, lawRows, max(64, lawNumbers/each)))
	for i := range rows {
		rows[i] = int32(i)
	}
	return set.NewReader().Batch(rows).Rows
}

// eigenvalue is the largest of E[x x'] over the rows, by power iteration: of the d
// inputs, less their means mu unless that is nil, and a column that is ones
// throughout. Rayleigh's quotient of the last vector has an error that is the square
// of the vector's. Zeros are skipped, of centred inputs too: (x-mu)'v = x'v - mu'v.
func eigenvalue(rows []data.Row, d int, mu []float32, ones float64, seed uint64) (lambda float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	v, next := make([]float64, d+1), make([]float64, d+1)
	for j := range v {
		v[j] = r.Float64() + .5
	}
	for range lawRounds {
		normalize(v)
		clear(next)
		shift, sum := dot(mu, v), 0.0
		for _, x := range rows {
			z := product(x, v) - shift + ones*v[d]
			accumulate(x, z, next)
			sum += z
		}
		for j, m := range mu {
			next[j] -= float64(m) * sum
		}
		next[d] = ones * sum
		lambda = 0
		for j := range v {
			lambda += v[j] * next[j] / float64(len(rows))
		}
		v, next = next, v
	}
	return lambda
}

// product is x'v.
func product(x data.Row, v []float64) (z float64) {
	if x.Idx == nil {
		return dot(x.Val, v)
	}
	for i, j := range x.Idx {
		z += float64(x.Val[i]) * v[j]
	}
	return z
}

// accumulate is sum += z x.
func accumulate(x data.Row, z float64, sum []float64) {
	for i, a := range x.Val {
		j := uint32(i)
		if x.Idx != nil {
			j = x.Idx[i]
		}
		sum[j] += z * float64(a)
	}
}

func dot(x []float32, v []float64) (z float64) {
	for j, a := range x {
		z += float64(a) * v[j]
	}
	return z
}

// normalize makes v one long; a zero stays zero.
func normalize(v []float64) {
	square := 0.0
	for _, a := range v {
		square += a * a
	}
	for j := range v {
		v[j] /= max(math.Sqrt(square), math.SmallestNonzeroFloat64)
	}
}
