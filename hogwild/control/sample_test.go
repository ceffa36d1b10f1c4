package control

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/tuning"
)

func newTestWeights(t *testing.T, c *config.Config, p int) *Weights {
	t.Helper()
	m, err := CreateWeights(tuning.AsAsked(*c), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Seg.Close() })
	return m
}

func TestBuckets(t *testing.T) {
	last := -1
	for _, n := range []uint64{0, 1, 255, 256, 287, 288, 511, 512, 575, 576, 1 << 20, 1<<63 + 1, math.MaxUint64} {
		i := Bucket(n)
		if from := BucketFrom(i); i < last || i >= buckets || from > n || n >= 256 && float64(n-from) > float64(n)/8 ||
			n < 256 && from != n {
			t.Errorf("%d is in bucket %d from %d", n, i, from)
		}
		last = i
	}
}

// TestUpperLimit compares with scipy.stats.beta.ppf(0.95, k+1, n-k), and where nothing was seen with its closed form.
func TestUpperLimit(t *testing.T) {
	for _, c := range [][3]float64{{0, 220, 1 - math.Pow(0.05, 1./220)}, {5, 100, 0.1022533776},
		{7.5, 40, 0.3179408954}, {1, 1, 1}, {0, 0, 1}} {
		if got := upperLimit(c[0]/max(c[1], 1), c[1]); !(math.Abs(got-c[2]) < 1e-9) {
			t.Errorf("%g of %g: %.10f, want %.10f", c[0], c[1], got, c[2])
		}
	}
}
