package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDense(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range lengths {
			x, y, a := fresh(t, n), fresh(t, n+n%3), 2*rand.Float32()-1
			var dot float64
			for i := range x {
				dot += float64(x[i]) * float64(y[i])
			}
			near(t, "Dot", n, Dot(x, y), dot)
			before := slices.Clone(y)
			Axpy(a, x, y)
			for i := range y {
				want := float64(before[i])
				if i < n {
					want += float64(a) * float64(x[i])
				}
				near(t, "Axpy", 0, y[i], want)
			}
			before = slices.Clone(x)
			Scale(a, x)
			for i := range x {
				near(t, "Scale", 0, x[i], float64(a)*float64(before[i]))
			}
		}
	})
}

func TestReLU(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range lengths {
			z, h, d := fresh(t, n), fresh(t, n+n%3), fresh(t, n+n%2)
			if n > 2 {
				z[n-1], z[n/2] = float32(math.NaN()), 0
			}
			beyond, before := slices.Clone(h[n:]), slices.Clone(d)
			ReLU(z, h)
			ReLUMask(h[:n], d)
			for i, v := range z {
				want, flow := v, before[i]
				if v <= 0 {
					want, flow = 0, 0
				}
				if h[i] != want && v == v || (h[i] != h[i]) != (v != v) || d[i] != flow {
					t.Errorf("length %d: of %v ReLU is %v, and %v comes back as %v", n, v, h[i], before[i], d[i])
				}
			}
			if !slices.Equal(h[n:], beyond) || !slices.Equal(d[n:], before[n:]) {
				t.Errorf("length %d: what lies beyond was overwritten", n)
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range lengths[1:] {
			for _, size := range []float32{1, 80, 1e4} {
				z := fresh(t, n)
				Scale(size, z)
				checkSoftmax(t, z)
			}
		}
		if got := Softmax(nil); !math.IsInf(got, -1) {
			t.Errorf("log-sum-exp of nothing: got %v, want -Inf", got)
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			for n := range 20 {
				z := fresh(t, n+1)
				z[rand.IntN(n+1)] = float32(bad)
				if got := Softmax(z); !math.IsNaN(got) {
					t.Errorf("log-sum-exp of %d with %v: got %v, want NaN", n+1, bad, got)
				}
			}
		}
	})
}

func checkSoftmax(t *testing.T, z []float32) {
	m := float64(slices.Max(z))
	p := make([]float64, len(z))
	var sum float64
	for i, v := range z {
		p[i] = math.Exp(float64(v) - m)
		sum += p[i]
	}
	lse := Softmax(z)
	if want := m + math.Log(sum); math.Abs(lse-want) > 1e-12*(1+math.Abs(want)) {
		t.Errorf("log-sum-exp of length %d: got %v, want %v", len(z), lse, want)
	}
	for i := range z {
		near(t, "Softmax", 0, z[i], p[i]/sum)
	}
}

// TestExponential holds exp against math.Exp from where it is 1 to where a float32 is 0,
// at every length of a tail.
func TestExponential(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for n := range 40 {
			z := fresh(t, n)
			var want float64
			p := make([]float64, n)
			for i := range z {
				z[i] = -110 * rand.Float32()
				p[i] = math.Exp(float64(z[i]) - 3)
				want += p[i]
			}
			if got := expSum(z, 3); math.Abs(got-want) > 1e-15*float64(n)*want {
				t.Errorf("sum of %d: got %v, want %v", n, got, want)
			}
			for i, e := range p { // to half a unit in the last place, which may be a subnormal's
				if math.Abs(float64(z[i])-e) > e*0x1p-24*1.001+0x1p-150 {
					t.Errorf("%d of %d: got %v, want %v", i, n, z[i], e)
				}
			}
		}
	})
}
