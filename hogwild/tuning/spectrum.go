package tuning

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
)

// The rows that lambda is taken from are at most so many, and have about so many
// numbers: a few milliseconds' work.
const (
	spectrumRows    = 2000
	spectrumNumbers = 1 << 20
	spectrumRounds  = 10 // power iterations
	normRounds      = 5  // of R2, which takes more rows

	normNumbers = 1 << 19
)

// sampleRows are the first rows of a set, which Load has shuffled.
func sampleRows(set *data.Set) *data.Batch { return firstRows(set, spectrumRows) }

// manyRows are as many rows as have about normNumbers numbers, for what a few rare rows decide.
func manyRows(set *data.Set) *data.Batch {
	return firstRows(set, max(spectrumRows, normNumbers/max(1, int(set.Nonzeros/int64(set.Rows)))))
}

func firstRows(set *data.Set, most int) *data.Batch {
	each := max(1, int(set.Nonzeros/int64(set.Rows)))
	rows := make([]int32, min(set.Rows, most, max(64, spectrumNumbers/each)))
	for i := range rows {
		rows[i] = int32(i)
	}
	return set.NewReader().Batch(rows)
}

// eigenvalue is the largest of E[x x'] over the rows, by power iteration: of the d
// inputs, less their means mu unless that is nil, and a column that is ones
// throughout. Rayleigh's quotient of the last vector has an error that is the square
// of the vector's. Zeros are skipped, of centred inputs too: (x-mu)'v = x'v - mu'v.
func eigenvalue(rows []data.Row, d int, mu []float32, ones float64, seed uint64) (lambda float64) {
	return weightedEigenvalue(rows, nil, d, mu, ones, seed, spectrumRounds)
}

// rowNorm is R2: the largest eigenvalue of E[|x|^2 x x'] over lambda, that of E[x x'] of the same
// inputs. It is |x|^2 where all rows are equally long, and more where long rows lie together.
func rowNorm(rows []data.Row, d int, mu []float32, ones, lambda float64, seed uint64) float64 {
	if !(lambda > 0) {
		return 0
	}
	return weightedEigenvalue(rows, lengths(rows, mu, ones), d, mu, ones, seed, normRounds) / lambda
}

// lengths are |x|^2 of each row.
func lengths(rows []data.Row, mu []float32, ones float64) []float64 {
	squares, constant := make([]float64, len(rows)), ones*ones
	for _, m := range mu {
		constant += float64(m) * float64(m)
	}
	for i, x := range rows {
		squares[i] = constant
		for k, a := range x.Val {
			j := uint32(k)
			if x.Idx != nil {
				j = x.Idx[k]
			}
			squares[i] += float64(a) * float64(a)
			if mu != nil {
				squares[i] -= 2 * float64(a) * float64(mu[j])
			}
		}
	}
	return squares
}

// trace is the sum of the eigenvalues of E[x x'] of the same inputs: the mean of |x|^2.
func trace(rows []data.Row, mu []float32, ones float64) (sum float64) {
	for _, square := range lengths(rows, mu, ones) {
		sum += square / float64(len(rows))
	}
	return sum
}

// pairsEach is how many other rows each row is compared with.
const pairsEach = 4

// squaredNorm is the sum of the squared eigenvalues of E[x x'] of the same inputs, whose largest is
// lambda: the mean of (x'y)^2 over pairs of rows x and y.
func squaredNorm(rows []data.Row, d int, mu []float32, ones, lambda float64) float64 {
	sum, n, y := 0.0, 0, make([]float64, d)
	constant := ones * ones
	for _, m := range mu {
		constant += float64(m) * float64(m)
	}
	shift := make([]float64, len(rows)) // mu'x
	if mu != nil {
		for j, m := range mu {
			y[j] = float64(m)
		}
		for i, x := range rows {
			shift[i] = product(x, y)
		}
		clear(y)
	}
	for i, x := range rows {
		accumulate(x, 1, y)
		for j := i + 1; j <= i+pairsEach && j < len(rows); j++ {
			z := product(rows[j], y) - shift[i] - shift[j] + constant
			sum += z * z
			n++
		}
		accumulate(x, -1, y) // zero again, without a walk over all columns
	}
	return max(sum/float64(max(n, 1)), lambda*lambda)
}

// weightedEigenvalue is eigenvalue of E[weight x x']; without weights each is 1.
func weightedEigenvalue(rows []data.Row, weights []float64, d int, mu []float32, ones float64, seed uint64,
	rounds int) (lambda float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	v, next := make([]float64, d+1), make([]float64, d+1)
	for j := range v {
		v[j] = r.Float64() + .5
	}
	for range rounds {
		normalize(v)
		clear(next)
		shift, sum := dot(mu, v), 0.0
		for i, x := range rows {
			z := product(x, v) - shift + ones*v[d]
			if weights != nil {
				z *= weights[i]
			}
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
