package vec

import (
	"math"
	"slices"
	"testing"
)

// loss64 is what a step goes down: the logistic loss of a pair of items, with a regularizer of its rows and biases.
func loss64(p, q, r []float64, b, c float64, s PairwiseRate) float64 {
	score := func(item []float64) (sum float64) {
		for i, v := range item {
			sum += v * p[i]
		}
		return sum
	}
	square := func(v ...float64) (sum float64) {
		for _, x := range v {
			sum += x * x
		}
		return sum / 2
	}
	chance := 1 / (1 + math.Exp(score(r)+c-score(q)-b)) // that the first item is chosen
	return -math.Log(chance) + float64(s.User)*square(p...) + float64(s.Positive)*square(q...) +
		float64(s.Negative)*square(r...) + float64(s.Bias)*square(b, c)
}

// step64 goes down the numerical gradient of loss64, at rates of each row and bias.
func step64(p, q, r []float64, b, c *float64, s PairwiseRate, rates [5]float64) {
	all := []*float64{b, c}
	rate := []float64{rates[3], rates[4]}
	for i := range p {
		all = append(all, &p[i], &q[i], &r[i])
		rate = append(rate, rates[0], rates[1], rates[2])
	}
	grad := make([]float64, len(all))
	for i, v := range all {
		const h = 1e-5
		was := *v
		*v = was + h
		above := loss64(p, q, r, *b, *c, s)
		*v = was - h
		grad[i] = (above - loss64(p, q, r, *b, *c, s)) / (2 * h)
		*v = was
	}
	for i, v := range all {
		*v -= rate[i] * grad[i]
	}
}

// TestPairwise: steps against the numerical gradient of the loss in float64, with a rate for all and with sums.
func TestPairwise(t *testing.T) {
	wide := func(x []float32) (y []float64) {
		for _, v := range x {
			y = append(y, float64(v))
		}
		return y
	}
	triples := []uint32{0, 1, 2, 1, 3, 0, 0, 2, 3, 1, 0, 2, 0, 3, 1, 1, 1, 3, 0, 1, 2}
	s := PairwiseRate{LR: 0.05, User: 0.01, Positive: 0.03, Negative: 0.2, Bias: 0.07}
	atLevels(t, func(t *testing.T) {
		for k := 1; k < 70; k++ {
			for _, adaptive := range []bool{false, true} {
				f := &Pairwise{K: k, User: fresh(t, 2*k), Item: fresh(t, 4*k), Bias: fresh(t, 4)}
				user, item, bias := wide(f.User), wide(f.Item), wide(f.Bias)
				userSum, itemSum, biasSum := []float64{1, 2}, []float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}
				if adaptive {
					f.UserSum, f.ItemSum, f.BiasSum = []float32{1, 2}, []float32{1, 2, 3, 4}, []float32{4, 3, 2, 1}
				}
				got, want := f.Steps(triples, nil, s), 0.0
				for at := 0; at < len(triples); at += 3 {
					u, i, j := int(triples[at]), int(triples[at+1]), int(triples[at+2])
					p, q, r := user[u*k:(u+1)*k], item[i*k:(i+1)*k], item[j*k:(j+1)*k]
					loss := loss64(p, q, r, bias[i], bias[j], PairwiseRate{})
					want += loss
					rates := [5]float64{0.05, 0.05, 0.05, 0.05, 0.05}
					if adaptive {
						miss := 1 - math.Exp(-loss) // the derivative by the difference of the scores
						var own, apart float64
						for n, v := range p {
							own += v * v
							apart += (q[n] - r[n]) * (q[n] - r[n])
						}
						squares := [5]float64{apart / float64(k), own / float64(k), own / float64(k), 1, 1}
						sums := []*float64{&userSum[u], &itemSum[i], &itemSum[j], &biasSum[i], &biasSum[j]}
						for n, sum := range sums {
							rates[n] /= math.Sqrt(*sum)
							*sum += miss * miss * squares[n]
						}
					}
					step64(p, q, r, &bias[i], &bias[j], s, rates)
				}
				if math.Abs(got-want) > 1e-5*want {
					t.Errorf("rows of %d: the loss is %g, want %g", k, got, want)
				}
				for _, pair := range []struct {
					got  []float32
					want []float64
				}{{f.User, user}, {f.Item, item}, {f.Bias, bias}, {f.UserSum, userSum}, {f.ItemSum, itemSum},
					{f.BiasSum, biasSum}} {
					for n := range pair.got {
						near(t, "a weight", 60+k, pair.got[n], pair.want[n])
					}
				}
			}
		}
	})
}

// TestPairwisePull: with pull it stands for the derivative of the loss.
func TestPairwisePull(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		f := &Pairwise{K: 3, User: []float32{1, 2, 3}, Item: []float32{1, 0, 0, 0, 1, 0}, Bias: []float32{0, 0}}
		f.Steps([]uint32{0, 0, 1}, []float32{4}, PairwiseRate{LR: 0.5})
		if want := []float32{3, 0, 3}; !slices.Equal(f.User, want) {
			t.Errorf("user %v, want %v", f.User, want)
		}
		if want := []float32{3, 4, 6, -2, -3, -6}; !slices.Equal(f.Item, want) {
			t.Errorf("items %v, want %v", f.Item, want)
		}
		if want := []float32{2, -2}; !slices.Equal(f.Bias, want) {
			t.Errorf("biases %v, want %v", f.Bias, want)
		}
	})
}

// TestPairwiseLoss: of many steps, and where the scores lie far apart.
func TestPairwiseLoss(t *testing.T) {
	f := &Pairwise{K: 1, User: []float32{1}, Item: []float32{-200, 200, 0, 0}, Bias: make([]float32, 4)}
	triples := []uint32{0, 0, 1}
	for range 4000 {
		triples = append(triples, 0, 2, 3)
	}
	got, want := f.Steps(triples, nil, PairwiseRate{}), 400+4000*math.Ln2
	if math.Abs(got-want) > 1e-9*want {
		t.Errorf("the loss is %.12g, want %.12g", got, want)
	}
}

// TestExpBelow: against math.Exp.
func TestExpBelow(t *testing.T) {
	for x := 0.0; x > -745; x -= 0.0137 {
		got, want := expBelow(x), math.Exp(x)
		if math.Abs(got-want) > 1e-9*want && (x > -700 || got != 0) {
			t.Fatalf("e^%g is %g, want %g", x, got, want)
		}
	}
	if got := expBelow(math.NaN()); got == got {
		t.Errorf("e^NaN is %g", got)
	}
}

func BenchmarkPairwise(b *testing.B) {
	const k, users, items = 64, 20_000, 10_000
	f := &Pairwise{K: k, User: make([]float32, k*users), Item: make([]float32, k*items), Bias: make([]float32, items)}
	for i := range f.User {
		f.User[i] = 0.1
	}
	triples, x := []uint32(nil), uint32(1)
	for range 1 << 16 {
		x = x*1664525 + 1013904223
		u := x >> 8 % users
		x = x*1664525 + 1013904223
		i := x >> 8 % items
		triples = append(triples, u%users, i%items, (i+1+u)%items)
	}
	for b.Loop() {
		f.Steps(triples, nil, PairwiseRate{LR: 0.01, User: 0.01, Positive: 0.01, Negative: 0.01})
	}
	b.ReportMetric(float64(b.N)*float64(len(triples)/3)/b.Elapsed().Seconds()/1e6, "M/s")
}
