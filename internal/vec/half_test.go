package vec

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// oddSizes lie around the sizes of vectors and of the loops' unrolling.
var oddSizes = []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 49, 63, 64, 65, 70}

// wideSizes are sizes of rows of factors: five vectors and more.
var wideSizes = []int{80, 96, 100, 112, 113, 128, 129}

// bits returns the bits of w.
func bits(w []float32) []uint32 {
	b := make([]uint32, len(w))
	for i, v := range w {
		b[i] = math.Float32bits(v)
	}
	return b
}

// onBits lets f change the bits of w.
func onBits(w []float32, f func(b []uint32)) {
	b := bits(w)
	f(b)
	for i, v := range b {
		w[i] = math.Float32frombits(v)
	}
}

// between is n numbers in memory with guard words around them.
func between(n int) (memory, inner []float32) {
	const guard = 32
	memory = make([]float32, guard+n+guard)
	for i := range memory {
		memory[i] = 4711.25
	}
	return memory, memory[guard : guard+n]
}

// Read and Write in turns, plainly or atomically, leave the bits of Steps, and nothing
// around weights and coefficients changes; nor does Read change a weight.
func TestLinearHalves(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, most := range oddSizes {
			for loss := LinearLogistic; loss <= LinearAbsolute; loss++ {
				for _, kind := range []string{"plain", "shrink", "shrink and soften"} {
					linearHalves(t, loss, 2*most+1, most, kind)
					linearHalves(t, loss, most, most, kind)
				}
			}
		}
	})
}

func linearHalves(t *testing.T, loss LinearLoss, d, most int, kind string) {
	const n, lr = 40, 0.05
	l := randomLinear(t, loss, n, d, most)
	if kind != "plain" {
		l.WeightDecay = make([]float32, d)
		for j := range l.WeightDecay {
			l.WeightDecay[j] = rand.Float32() * 30
		}
	}
	if kind == "shrink and soften" {
		l.SoftThreshold = l.WeightDecay
	}
	rows := make([]int32, n, 2*n)
	for k := range rows[:2*n] {
		rows[:2*n][k] = rand.Int32N(n)
	}
	memory, w := between(d + 1) // the bias behind the weights
	copy(w, fresh(t, d+1))
	plain, atomic := slices.Clone(memory), slices.Clone(memory)
	want := l.Steps(w[:d], &w[d], rows, lr)
	what := fmt.Sprintf("loss %d, rows of up to %d, %s", loss, most, kind)
	for name, m := range map[string][]float32{"plain": plain, "atomic": atomic} {
		w := m[32 : 32+d+1]
		sum := 0.0
		coefs, coef := between(1)
		for k := range rows {
			before := slices.Clone(m)
			loss, p := l.Read(w[:d], &w[d], rows[k:k+1:cap(rows)-k], &coef[0])
			sum += float64(loss) - math.Log(float64(p))
			if !sameBits(m, before) {
				t.Fatalf("%s: reading has changed weights", what)
			}
			if name == "plain" {
				l.Write(w[:d], &w[d], rows[k], lr, coef[0])
			} else {
				onBits(m, func(b []uint32) { l.WriteAtomic(b[32:32+d], &b[32+d], rows[k], lr, coef[0]) })
			}
		}
		if !sameBits(m, memory) {
			t.Fatalf("%s, %s: weights %v, those of Steps are %v", what, name, w, memory[32:32+d+1])
		}
		if !(math.Abs(sum-want) <= 1e-5*(1+want)) || coefs[31] != 4711.25 || coefs[33] != 4711.25 {
			t.Fatalf("%s, %s: loss %v, want %v; around the coefficient %v", what, name, sum, want, coefs)
		}
	}
}

func sameBits(a, b []float32) bool { return slices.Equal(bits(a), bits(b)) }

// The same of factors; and a write between the halves is not undone: what is written comes
// from the values that were read, and goes to those that are there.
func TestFactorHalves(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, k := range slices.Concat(oddSizes, wideSizes) {
			for _, biased := range []bool{false, true} {
				factorHalves(t, k, biased)
			}
		}
	})
}

func factorHalves(t *testing.T, k int, biased bool) {
	const nodes, entries, keep, rate = 13, 50, 0.999, -0.1 // of the longer rows steps would overshoot
	idx, y := make([]uint32, 2*entries), fresh(t, entries)
	rows := make([]int32, entries, 2*entries)
	for i := range idx {
		idx[i], rows[:len(idx)][i] = rand.Uint32N(nodes), rand.Int32N(entries) // of some both ends are one node
	}
	s := FactorRate{Keep: keep, Rate: rate}
	view := func(memory []float32) *Factors {
		f := &Factors{K: k, W: memory[32 : 32+nodes*k], Mean: 0.25}
		if biased {
			f.Bias = memory[32+nodes*k : 32+nodes*(k+1)]
		}
		return f
	}
	memory, w := between(nodes * (k + 1))
	copy(w, fresh(t, len(w)))
	plain, atomic := slices.Clone(memory), slices.Clone(memory)
	want := view(memory).Steps(rows, idx, y, s)
	for name, m := range map[string][]float32{"plain": plain, "atomic": atomic} {
		f, sum := view(m), 0.0
		coefs, coef := between(Coefs(k))
		for i, r := range rows {
			if name == "atomic" && idx[2*r] == idx[2*r+1] { // each end moves what the other left
				sum += f.Steps(rows[i:i+1], idx, y, s)
				continue
			}
			before := slices.Clone(m)
			sum += f.Read(rows[i:i+1:cap(rows)-i], idx, y, coef, s)
			if !sameBits(m, before) {
				t.Fatalf("k %d: reading has changed weights", k)
			}
			if name == "plain" {
				f.Write(r, idx, y, coef, s)
			} else {
				onBits(m, func(b []uint32) {
					n, biases := 32+nodes*k, []uint32(nil)
					if biased {
						biases = b[n : n+nodes]
					}
					f.WriteAtomic(b[32:n], biases, idx[2*r], idx[2*r+1], coef, s)
				})
			}
		}
		if !sameBits(m, memory) {
			t.Fatalf("k %d, biases %v, %s: the weights are not those of Steps", k, biased, name)
		}
		if !(math.Abs(sum-want) <= 1e-5*(1+want)) || coefs[31] != 4711.25 || coefs[32+Coefs(k)] != 4711.25 {
			t.Fatalf("k %d, biases %v, %s: loss %v, want %v; around the coefficients %v", k, biased, name,
				sum, want, coefs)
		}
	}
	factorLate(t, view(plain), idx, y, s)
}

// factorLate holds a write that comes after another one to the definition in double
// precision.
func factorLate(t *testing.T, f *Factors, idx []uint32, y []float32, s FactorRate) {
	idx[0], idx[1], idx[2], idx[3] = 1, 2, 2, 3 // share node 2
	w, bias := widened(f.W), widened(f.Bias)
	a, b := make([]float32, Coefs(f.K)), make([]float32, Coefs(f.K))
	f.Read([]int32{0}, idx, y, a, s)
	f.Read([]int32{1}, idx, y, b, s)
	f.Write(0, idx, y, a, s)
	f.Write(1, idx, y, b, s)
	read, k := slices.Clone(w), f.K
	for r := range 2 {
		u, v := int(idx[2*r]), int(idx[2*r+1])
		e := float64(f.Mean) - float64(y[r])
		if bias != nil {
			e += bias[u] + bias[v]
		}
		e, change := factorError(read[u*k:(u+1)*k], read[v*k:(v+1)*k], e, float64(s.Rate), bias != nil)
		e /= max(1, change)
		for c := range k {
			w[u*k+c] = float64(s.Keep)*w[u*k+c] + float64(s.Rate)*e*read[v*k+c]
			w[v*k+c] = float64(s.Keep)*w[v*k+c] + float64(s.Rate)*e*read[u*k+c]
		}
		if got := float64([]float32{a[0], b[0]}[r]); math.Abs(got-e) > 1e-4*(1+math.Abs(e)) {
			t.Fatalf("k %d: e is %v, want %v", k, got, e)
		}
	}
	for i, v := range f.W {
		if math.Abs(float64(v)-w[i]) > 1e-4*(1+math.Abs(w[i])) {
			t.Fatalf("k %d: number %d is %v after two late writes, want %v", k, i, v, w[i])
		}
	}
}

// Half a step on an entry or a row that is not there panics.
func TestHalvesOutside(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		f := Factors{K: 5, W: make([]float32, 20)}
		idx, y, coef := []uint32{0, 1, 2, 4}, []float32{1, 1}, make([]float32, 11)
		l := randomLinear(t, LinearLogistic, 10, 20, 5)
		w, bias := make([]float32, 20), float32(0)
		for name, try := range map[string]func(){
			"node 4 of 4, read":      func() { f.Read([]int32{1}, idx, y, coef, FactorRate{1, 1}) },
			"node 4 of 4, write":     func() { f.Write(1, idx, y, coef, FactorRate{1, 1}) },
			"entry 2 of 2, read":     func() { f.Read([]int32{2}, idx, y, coef, FactorRate{1, 1}) },
			"entry 2 of 2, write":    func() { f.Write(2, idx, y, coef, FactorRate{1, 1}) },
			"10 coefficients of 11":  func() { f.Read([]int32{0}, idx, y, coef[:10:10], FactorRate{1, 1}) },
			"row 10 of 10, read":     func() { l.Read(w, &bias, []int32{10}, &coef[0]) },
			"row -1, write":          func() { l.Write(w, &bias, -1, 1, 1) },
			"row 10, write atomic":   func() { l.WriteAtomic(bits(w), nil, 10, 1, 1) },
			"sums of unlike lengths": func() { AxpyAtomic(1, w, bits(w[:19:19])) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: want a panic", name)
					}
				}()
				try()
			}()
		}
	})
}

// AxpyAtomic leaves the bits of Axpy.
func TestAxpyAtomic(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, n := range oddSizes {
			memory, w := between(n)
			copy(w, fresh(t, n))
			other, x := slices.Clone(memory), fresh(t, n)
			Axpy(0.3, x, w)
			onBits(other, func(b []uint32) { AxpyAtomic(0.3, x, b[32:32+n]) })
			if !sameBits(memory, other) {
				t.Errorf("%d numbers: %v, Axpy makes them %v", n, other, memory)
			}
		}
	})
}

// fma32 is the exact sum, rounded once: at random, and where a float64 in between lies
// halfway between two float32.
func TestFma32(t *testing.T) {
	check := func(a, b, c float32) {
		exact := new(big.Float).SetPrec(2000).SetFloat64(float64(a) * float64(b))
		want, _ := exact.Add(exact, big.NewFloat(float64(c))).Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("%v x %v + %v is %v, want %v", a, b, c, got, want)
		}
	}
	for range 100_000 {
		scale := math.Pow(2, float64(rand.IntN(80)-40))
		check(float32(rand.NormFloat64()), float32(rand.NormFloat64()*scale), float32(rand.NormFloat64()))
	}
	for _, sign := range []float32{1, -1} {
		for _, tiny := range []float32{0x1p-70, -0x1p-70, 0x1p-60, 0} {
			for _, c := range []float32{1, 1 + 0x1p-23, -1, 3, 0x1p-100} {
				// c plus half of its last place, and a trifle: a product of two float32.
				half := sign * 0x1p-24
				check(half, 1+0x1p-23, c)
				check(half*(1+0x1p-12), 1-0x1p-12, c) // half (1 - 2^-24)
				check(tiny, 1, c)
			}
		}
	}
	// 1 + 2^-23 + 2^-24 - 2^-70: a float64 drops the last, and the tie goes to even.
	a, b, c := float32(0x1p-24)*(1+0x1p-23), float32(1-0x1p-23), float32(1+0x1p-23)
	check(a, b, c)
	check(-a, b, -c)
	if float32(float64(a)*float64(b)+float64(c)) == fma32(a, b, c) {
		t.Error("the test tests nothing: two roundings do as well")
	}
}
