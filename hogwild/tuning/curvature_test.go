package tuning

import (
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestLargestOfSoftmax: bisection against Jacobi's rotations on the matrix itself.
func TestLargestOfSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, p := range [][]float64{{.5, .5}, {.1, .9}, {.001, .999}, {.25, .25, .25, .25}, {.7, .2, .05, .05}, nil} {
		if p == nil {
			sum := 0.0
			for range 7 {
				p = append(p, r.Float64())
				sum += p[len(p)-1]
			}
			for c := range p {
				p[c] /= sum
			}
		}
		m := make([][]float64, len(p))
		for i := range p {
			m[i] = make([]float64, len(p))
			for j := range p {
				m[i][j] = -p[i] * p[j]
			}
			m[i][i] += p[i]
		}
		if got, want := largestOfSoftmax(p), greatest(m); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %g, Jacobi's method finds %g", p, got, want)
		}
	}
}

// TestLossCurvature: of the logistic loss the mean over the way from 0 to z is (sigmoid(z)-1/2)/z, in
// closed form; even classes do not move from where they are.
func TestLossCurvature(t *testing.T) {
	for _, p := range []float64{.5, .24, .03, .001} {
		want := .25
		if z := math.Log(p / (1 - p)); z != 0 {
			want = (p - .5) / z
		}
		got := lossCurvature(model.Logistic, []float64{1 - p, p})
		if math.Abs(got-want) > .01*want {
			t.Errorf("a share of %g: h %g, want %g", p, got, want)
		}
	}
	for n := 2; n < 20; n++ {
		if got := lossCurvature(model.CrossEntropy, model.ClassShares(nil, n)); math.Abs(got-1/float64(n)) > 1e-9 {
			t.Errorf("%d even classes: h %g, want 1/%d", n, got, n)
		}
	}
	if lossCurvature(model.L1, nil) != 0 || lossCurvature(model.Squared, nil) != 2 ||
		lossCurvature(model.Hinge, nil) != 1 {
		t.Error("l1 has no curvature, the squared loss 2, hinge 1")
	}
}

// TestNorms: R2 and the sum of squared eigenvalues, dense and sparse, centred or not, against
// the matrices themselves.
func TestNorms(t *testing.T) {
	const n, d = 400, 6
	r := rand.New(rand.NewPCG(4, 4))
	dense, sparse := make([]data.Row, n), make([]data.Row, n)
	x, mean := make([][]float64, n), make([]float32, d)
	for i := range x {
		length := math.Exp(.7 * r.NormFloat64())
		x[i] = make([]float64, d)
		for j := range x[i] {
			v := float32(0)
			if r.Float64() < .7 {
				v = float32(length * (float64(j)/3 + r.NormFloat64()))
				sparse[i].Idx, sparse[i].Val = append(sparse[i].Idx, uint32(j)), append(sparse[i].Val, v)
			}
			dense[i].Val = append(dense[i].Val, v)
			x[i][j] = float64(v)
			mean[j] += v / n
		}
	}
	for _, mu := range [][]float32{nil, mean} {
		for _, ones := range []float64{0, 1} {
			m := moments(x, mu, ones)
			square := 0.0
			for _, row := range m {
				for _, a := range row {
					square += a * a
				}
			}
			lambda := greatest(m)
			long := make([][]float64, 0, n) // rows times their lengths, the column and the means included
			for i := range x {
				u := append(append([]float64{}, x[i]...), ones)
				length := 0.0
				for j := range u {
					if j < len(mu) {
						u[j] -= float64(mu[j])
					}
					length += u[j] * u[j]
				}
				for j := range u {
					u[j] *= math.Sqrt(length)
				}
				long = append(long, u)
			}
			want := greatest(moments(long, nil, 0)) / lambda
			for kind, rows := range map[string][]data.Row{"dense": dense, "sparse": sparse} {
				in := inputs{rows, d, mu, ones}
				if got := in.rowNorm(lambda, in.direction(1)); !(got <= want*(1+1e-5) && got > .97*want) {
					t.Errorf("%s, centred %t, column %g: R2 %g, want %g", kind, mu != nil, ones, got, want)
				}
				if got := in.squaredNorm(0); math.Abs(got-square) > .25*square { // of some pairs only
					t.Errorf("%s, centred %t, column %g: squares %g, want about %g", kind, mu != nil, ones, got, square)
				}
			}
		}
	}
}
