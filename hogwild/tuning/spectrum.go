package tuning

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// Lambda is taken from at most spectrumRows rows with about spectrumNumbers numbers: a few milliseconds' work.
const (
	spectrumRows    = 2000
	spectrumNumbers = 1 << 20
	spectrumRounds  = 10 // power iterations at most
	spectrumWithin  = 1e-4
	normRounds      = 5 // of R2, which takes more rows

	normNumbers = 1 << 19
)

// sampleRows returns the first rows of a set, which Load has shuffled.
func sampleRows(set *data.Set) *data.Batch { return firstRows(set, spectrumRows) }

// manyRows returns as many rows as have about normNumbers numbers, for what a few rare rows decide.
func manyRows(set *data.Set) *data.Batch {
	return firstRows(set, max(spectrumRows, normNumbers/max(1, int(set.Nonzeros/int64(set.Rows)))))
}

func firstRows(set *data.Set, most int) *data.Batch {
	each := max(1, int(set.Nonzeros/int64(set.Rows)))
	return head(set, min(most, max(64, spectrumNumbers/each)))
}

// head returns the first rows.
func head(set *data.Set, most int) *data.Batch {
	rows := make([]int32, min(set.Rows, most))
	for i := range rows {
		rows[i] = int32(i)
	}
	return set.NewReader().Batch(rows)
}

// inputs are rows whose second moments E[x x'] are measured: of d columns, less their means mu unless that is nil,
// and one more column that is ones throughout. Zeros are skipped, of centred inputs too: (x-mu)'v = x'v - mu'v.
type inputs struct {
	rows []data.Row
	d    int
	mu   []float32
	ones float64
}

// eigenvalue returns the largest of E[x x'] by power iteration from v, which it improves. Rayleigh's quotient of the
// last vector has an error that is the square of the vector's.
func (in inputs) eigenvalue(v []float32) (lambda float64) {
	return in.weightedEigenvalue(nil, v, spectrumRounds)
}

// rowNorm returns R2: the largest eigenvalue of E[|x|^2 x x'] over lambda, which is E[x x']'s for the same inputs. It
// is |x|^2 where all rows are equally long, and more where long rows lie together.
func (in inputs) rowNorm(lambda float64, v []float32) float64 {
	if !(lambda > 0) {
		return 0
	}
	return in.weightedEigenvalue(in.lengths(), v, normRounds) / lambda
}

// lengths returns |x|^2 of each row.
func (in inputs) lengths() []float64 {
	squares, constant := make([]float64, len(in.rows)), in.constant()
	for i, shift := range along(in.rows, in.mu) {
		x := in.rows[i].Val
		squares[i] = constant + float64(vec.Dot(x, x)) - 2*float64(shift)
	}
	return squares
}

// constant returns what means and ones add to each product of two rows.
func (in inputs) constant() float64 { return in.ones*in.ones + float64(vec.Dot(in.mu, in.mu)) }

// trace returns the sum of the eigenvalues of E[x x']: the mean of |x|^2.
func (in inputs) trace() (sum float64) {
	for _, square := range in.lengths() {
		sum += square / float64(len(in.rows))
	}
	return sum
}

// pairsEach is how many other rows each row is compared with.
const pairsEach = 4

// squaredNorm returns the sum of the squared eigenvalues of E[x x'], whose largest is lambda: the mean of (x'y)^2 over
// pairs of rows x and y.
func (in inputs) squaredNorm(lambda float64) float64 {
	sum, n, y := 0.0, 0, make([]float32, in.d)
	shift, constant := along(in.rows, in.mu), in.constant()
	for i, x := range in.rows {
		accumulate(x, 1, y)
		for j := i + 1; j <= i+pairsEach && j < len(in.rows); j++ {
			z := float64(inner(in.rows[j], y)) - float64(shift[i]) - float64(shift[j]) + constant
			sum += z * z
			n++
		}
		for _, j := range x.Idx { // zero again, without a walk over all columns
			y[j] = 0
		}
		if x.Idx == nil {
			clear(y)
		}
	}
	return max(sum/float64(max(n, 1)), lambda*lambda)
}

// direction returns the vector at which power iterations begin: near the sum of the rows, which of inputs without
// negative numbers is not far from where they end.
func (in inputs) direction(seed uint64) []float32 {
	r, v := rand.New(rand.NewPCG(seed, 0)), make([]float32, in.d+1)
	for _, x := range in.rows {
		accumulate(x, 1, v)
	}
	little := float32(max(norm(v), 1) / math.Sqrt(float64(100*len(v))))
	for j := range v {
		v[j] += little * (r.Float32() + .5)
	}
	return v
}

// weightedEigenvalue returns the largest eigenvalue of E[weight x x']; without weights each is 1. It ends with a round
// that raises it by less than spectrumWithin of it.
func (in inputs) weightedEigenvalue(weights []float64, v []float32, rounds int) (lambda float64) {
	d, next := in.d, make([]float32, in.d+1)
	for range rounds {
		vec.Scale(1/max(float32(norm(v)), math.SmallestNonzeroFloat32), v)
		clear(next)
		was, shift, sum := lambda, vec.Dot(in.mu, v), 0.0
		lambda = 0
		for i, x := range in.rows {
			z := inner(x, v) - shift + float32(in.ones)*v[d]
			weighted := float64(z)
			if weights != nil {
				weighted *= weights[i]
			}
			accumulate(x, float32(weighted), next)
			sum += weighted
			lambda += weighted * float64(z)
		}
		vec.Axpy(float32(-sum), in.mu, next)
		next[d] = float32(in.ones * sum)
		square := norm(v) * norm(v) // 1, but for rounding, or 0
		lambda /= max(float64(len(in.rows))*square, math.SmallestNonzeroFloat64)
		copy(v, next)
		if lambda-was < spectrumWithin*lambda {
			break
		}
	}
	return lambda
}

// along returns mu'x of each row x; zeros if mu is nil.
func along(rows []data.Row, mu []float32) []float32 {
	products := make([]float32, len(rows))
	if mu != nil {
		for i, x := range rows {
			products[i] = inner(x, mu)
		}
	}
	return products
}

// inner returns x'y.
func inner(x data.Row, y []float32) float32 {
	if x.Idx == nil {
		return vec.Dot(x.Val, y)
	}
	return vec.SparseDot(x.Idx, x.Val, y)
}

// accumulate does sum += z x.
func accumulate(x data.Row, z float32, sum []float32) {
	if x.Idx == nil {
		vec.Axpy(z, x.Val, sum[:len(x.Val)])
	} else {
		vec.SparseAxpy(z, x.Idx, x.Val, sum)
	}
}

func norm(v []float32) float64 {
	square := 0.0
	for _, a := range v {
		square += float64(a) * float64(a)
	}
	return math.Sqrt(square)
}

// occurring numbers the columns anew that occur in sparse rows, where these have fewer numbers than there are columns:
// a walk over all columns would take longer than one over the rows.
func occurring(rows []data.Row, d int) ([]data.Row, int) {
	numbers := 0
	for _, x := range rows {
		numbers += len(x.Idx)
	}
	if numbers == 0 || numbers >= d {
		return rows, d
	}
	compact, idx, number := make([]data.Row, len(rows)), make([]uint32, 0, numbers), map[uint32]uint32{}
	for i, x := range rows {
		from := len(idx)
		for _, j := range x.Idx {
			k, ok := number[j]
			if !ok {
				k = uint32(len(number))
				number[j] = k
			}
			idx = append(idx, k)
		}
		compact[i] = data.Row{Idx: idx[from:], Val: x.Val}
	}
	return compact, len(number)
}
