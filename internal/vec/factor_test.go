package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFactorSteps holds every loop against the definition in float64, for rows of all
// widths around the vectors, with and without biases; what lies around the matrix
// stays as it is.
func TestFactorSteps(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		for k := 1; k <= 130; k++ {
			if testing.Short() && k > 70 && k%16 > 1 { // all remainders of 64 numbers, and multiples of the widths
				continue
			}
			for _, biased := range []bool{false, true} {
				for _, rate := range []float64{-0.02, -0.3} { // from some k on the longer steps would overshoot
					factorCase(t, r, k, biased, rate)
				}
			}
		}
	})
}

func factorCase(t *testing.T, r *rand.Rand, k int, biased bool, rate float64) {
	const nodes, entries, guard = 13, 101, 64
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = 2*r.Float32() - 1
		}
		return v
	}
	memory, y := random(guard+nodes*k+guard), random(entries)
	w := memory[guard : guard+nodes*k]
	f := Factors{K: k, W: w, Mean: 0.25}
	if biased {
		f.Bias = random(nodes)
	}
	var rows []int32
	var idx []uint32
	for range entries {
		u := r.Uint32N(nodes - 1)
		idx = append(idx, u, u+1+r.Uint32N(nodes-1-u))
		rows = append(rows, int32(r.IntN(entries)))
	}
	before, wide, bias := slices.Clone(memory), widened(w), widened(f.Bias)
	var want float64
	for _, i := range rows {
		want += factorStep(wide, bias, int(idx[2*i]), int(idx[2*i+1]), k, 0.25-float64(y[i]), 0.999, rate)
	}
	got := f.Steps(rows, idx, y, FactorRate{Keep: 0.999, Rate: float32(rate)})
	close := func(a, b float64) bool { return math.Abs(a-b) <= 2e-4*(1+math.Abs(b)) }
	if !close(got, want) {
		t.Errorf("k %d: loss %v, want %v", k, got, want)
	}
	for i, v := range append(wide, bias...) {
		now := append(slices.Clone(w), f.Bias...)[i]
		if !close(float64(now), v) {
			t.Fatalf("k %d, biases %v: number %d is %v, want %v", k, biased, i, now, v)
		}
	}
	if !slices.Equal(memory[:guard], before[:guard]) || !slices.Equal(memory[guard+nodes*k:], before[guard+nodes*k:]) {
		t.Errorf("k %d: numbers around the matrix changed", k)
	}
}

// factorStep is one step, written down in float64. Where it would change z by more than e, e is smaller.
func factorStep(w, bias []float64, u, v, k int, miss, keep, rate float64) float64 {
	p, q := w[u*k:(u+1)*k], w[v*k:(v+1)*k]
	if bias != nil {
		miss += bias[u] + bias[v]
	}
	e, change := factorError(p, q, miss, rate, bias != nil)
	loss := e * e
	e /= max(1, change)
	if bias != nil {
		bias[u] += rate * e
		bias[v] += rate * e
	}
	for c := range p {
		p[c], q[c] = keep*p[c]+rate*e*q[c], keep*q[c]+rate*e*p[c]
	}
	return loss
}

// factorError returns e, which is miss plus the product, and what share of it a step would take away.
func factorError(p, q []float64, miss, rate float64, biased bool) (e, change float64) {
	if e = miss; biased {
		change = -2 * rate
	}
	for c := range p {
		e += p[c] * q[c]
		change -= rate * (p[c]*p[c] + q[c]*q[c])
	}
	return e, change
}

func widened(v []float32) []float64 {
	var w []float64
	for _, x := range v {
		w = append(w, float64(x))
	}
	return w
}

// TestFactorStepsOutside: an entry that is outside the matrix panics, wherever in the
// list it stands, and before anything is written there.
func TestFactorStepsOutside(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, at := range []int{0, 5, 39} {
			for _, bad := range []uint32{4, 1 << 31} {
				w, idx := make([]float32, 6*10), make([]uint32, 80)
				idx[2*at+1] = bad
				rows := make([]int32, 40)
				for i := range rows {
					rows[i] = int32(i)
				}
				panics := func() (yes bool) {
					defer func() { yes = recover() != nil }()
					f := Factors{K: 10, W: w[:40]}
					f.Steps(rows, idx, make([]float32, 40), FactorRate{1, -1})
					return
				}
				if !panics() {
					t.Errorf("node %d of 4 at %d: no panic", bad, at)
				}
			}
		}
	})
}

// BenchmarkFactorSteps is a matrix of 100,000 x 100,000, whose factors do not fit in
// the second cache, its entries in no order.
func BenchmarkFactorSteps(b *testing.B) {
	for _, k := range []int{10, 32} {
		b.Run(map[int]string{10: "k=10", 32: "k=32"}[k], func(b *testing.B) {
			const n, entries = 100000, 1 << 22
			r := rand.New(rand.NewPCG(1, 1))
			f := Factors{K: k, W: make([]float32, 2*n*k)}
			for i := range f.W {
				f.W[i] = r.Float32() / 10
			}
			idx, y, rows := make([]uint32, 2*entries), make([]float32, entries), make([]int32, entries)
			for i := range y {
				idx[2*i], idx[2*i+1], y[i] = r.Uint32N(n), n+r.Uint32N(n), r.Float32()
			}
			for i := range rows {
				rows[i] = int32(i&^63 + (i*37)&63)
			}
			b.ResetTimer()
			for b.Loop() {
				f.Steps(rows, idx, y, FactorRate{1, -0.01})
			}
			b.ReportMetric(float64(b.N)*entries/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
