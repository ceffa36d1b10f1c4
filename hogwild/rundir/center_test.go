package rundir

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestToPlain: of weights in either form, against float64; and fromPlain leads back.
func TestToPlain(t *testing.T) {
	const d, k, after = 50, 7, 8
	ps := []model.Param{{Name: "0.weight", Shape: []int{k, d}, Transposed: true}, {Name: "0.bias", Shape: []int{k}},
		{Name: "0.center", Shape: []int{k}}, {Name: "2.weight", Shape: []int{1, k}},
		{Name: "2.bias", Shape: []int{1}}}
	mean := make([]float32, d)
	for j := range mean {
		mean[j] = rand.Float32()
	}
	w := make([]float32, d*k+2*k+after)
	for i := range w {
		w[i] = rand.Float32() - .5
	}
	for _, merged := range []bool{false, true} {
		if merged {
			clear(w[d*k+k : d*k+2*k])
		}
		var want []float64
		for _, v := range w {
			want = append(want, float64(v))
		}
		for j := range d {
			for c := range k {
				if mu := float64(mean[j]); merged {
					want[d*k+c] -= mu * want[j*k+c]
				} else {
					want[j*k+c] -= mu * float64(w[d*k+k+c])
				}
			}
		}
		want = append(want[:d*k+k:d*k+k], want[d*k+2*k:]...)
		var unit data.Standard
		if merged { // standardised values, too: only the last layer differs
			unit = data.Standard{Mean: 30, Deviation: 4}
			for i := range after {
				want[len(want)-1-i] *= 4
			}
			want[len(want)-1] += 30
		}
		plain := model.ToPlain(ps, w, mean, merged, unit)
		back := model.ToPlain(ps, fromPlain(ps, slices.Clone(plain), mean, merged, unit), mean, merged, unit)
		for i, v := range want {
			if math.Abs(float64(plain[i])-v) > 1e-6 || math.Abs(float64(back[i])-v) > 2e-6 || len(plain) != len(want) {
				t.Fatalf("merged %t: plain weight %d is %v, there and back %v, want %v", merged, i,
					plain[i], back[i], v)
			}
		}
	}
}
