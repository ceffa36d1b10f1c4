package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
)

// denseRoom returns a sealed room of n rows of d features: far from zero, of several sizes, one of them constant and
// one mostly zero. It also returns its rows as they were.
func denseRoom(t *testing.T, n, d int, scale string) (*Set, []float32) {
	t.Helper()
	r, err := NewRoom(Meta{Kind: Floats, Rows: n, Features: d}, 0, false, format.NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range r.set.X {
		switch j := i % d; j {
		case 0:
			r.set.X[i] = 3
		case 1:
			r.set.X[i] = float32(max(0, random.NormFloat64()-2))
		default:
			r.set.X[i] = float32(1e3*float64(j) + math.Pow(10, float64(min(j, 8)-3))*random.NormFloat64())
		}
	}
	was := slices.Clone(r.set.X)
	s, err := r.Sealed(scale, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i, m := range s.M {
		sum := 0.
		for j, v := range s.X[i*d : (i+1)*d] {
			sum += float64(v) * float64(s.Mean[j])
		}
		if math.Abs(float64(m)-sum) > 1e-4*(1+math.Abs(sum)) {
			t.Fatalf("row %d: projection %g, want %g", i, m, sum)
		}
	}
	return s, was
}

// closeTo compares a feature's figure with one computed in float64.
func closeTo(t *testing.T, what string, j int, got float32, want, within float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > within {
		t.Errorf("feature %d: %s %g, want %g", j, what, got, want)
	}
}

// The passes over pieces of the rows find what one pass over each column finds in float64.
func TestDensePassesAreRight(t *testing.T) {
	for _, size := range [][2]int{{1, 3}, {999, 6}, {1000, 6}, {70001, 5}, {1003, 9000}} {
		n, d := size[0], size[1]
		if testing.Short() && n*d > 1e6 {
			continue
		}
		for _, scale := range []string{"standard", "unit", "none"} {
			s, was := denseRoom(t, n, d, scale)
			columns := min(d, 8)
			for j := range columns {
				var sum, squares, scaled float64
				least, most, seen := math.Inf(1), math.Inf(-1), 0
				for i := j; i < len(was); i += d {
					v := float64(was[i])
					sum, least, most = sum+v, min(least, v), max(most, v)
				}
				mean := sum / float64(n)
				for i := j; i < len(was); i += d {
					squares += (float64(was[i]) - mean) * (float64(was[i]) - mean)
				}
				from, divisor := 0., 1.
				switch std := math.Sqrt(squares / float64(n)); {
				case scale == "standard" && std > 1e-7*most:
					from, divisor = mean, std
				case scale == "standard":
					from = mean
				case scale == "unit" && most > least:
					from, divisor = least, most-least
				case scale == "unit":
					from = least
				}
				mul, add := s.scaling(j)
				closeTo(t, "mul", j, mul, 1/divisor, 1e-6/divisor)
				closeTo(t, "add", j, add, -from/divisor, 1e-6*math.Abs(from)/divisor)
				for i := j; i < len(was); i += d {
					want := float64(was[i])*float64(mul) + float64(add)
					closeTo(t, "value", j, s.X[i], want, 1e-6*(1+math.Abs(want)))
					if scaled += float64(s.X[i]); s.X[i] != 0 {
						seen++
					}
				}
				closeTo(t, "mean", j, s.Mean[j], scaled/float64(n), 1e-6*(1+math.Abs(scaled/float64(n))))
				closeTo(t, "share", j, s.Freq[j], float64(max(seen, 1))/float64(n), 1e-6)
			}
		}
	}
}

// The bits are the same on any number of processors.
func TestDensePassesRepeat(t *testing.T) {
	all, _ := denseRoom(t, 5000, 7, "standard")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 3 {
		one, _ := denseRoom(t, 5000, 7, "standard")
		if !slices.Equal(one.X, all.X) || !slices.Equal(one.Mean, all.Mean) || !slices.Equal(one.Freq, all.Freq) {
			t.Fatal("other bits on one processor")
		}
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
}

// A number that is not finite is found wherever it is, and finite ones are none, however large.
func TestNotFinite(t *testing.T) {
	v := make([]float32, 1003)
	for i := range v {
		v[i] = []float32{math.MaxFloat32, -math.MaxFloat32, 0, math.SmallestNonzeroFloat32}[i%4]
	}
	if i := notFinite(v); i >= 0 {
		t.Errorf("%g is finite", v[i])
	}
	for _, at := range []int{0, 1, 500, 1002} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			was := v[at]
			if v[at] = float32(bad); notFinite(v) != at {
				t.Errorf("%g at %d: found at %d", bad, at, notFinite(v))
			}
			v[at] = was
		}
	}
}

// A Room refuses a number that is not finite wherever it is, with each scale: the means tell, or a pass of its own.
func TestRoomRefusesWhatIsNotFinite(t *testing.T) {
	const n, d = 2003, 3
	for _, scale := range []string{"", "auto", "standard", "unit", "none", "1,2"} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range []int{0, 1, n / 2 * d, n*d - 1} {
				r, err := NewRoom(Meta{Kind: Floats, Rows: n, Features: d}, 0, false, format.NewBudget(0))
				if err != nil {
					t.Fatal(err)
				}
				for i := range r.set.X {
					r.set.X[i] = float32(i % 7)
				}
				r.set.X[at] = float32(bad)
				want := fmt.Sprintf("row %d, column %d: %g", at/d, at%d, bad)
				if _, err = r.Sealed(scale, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("scale %q: %v, want %s", scale, err, want)
				}
				r.Close()
			}
		}
	}
}
