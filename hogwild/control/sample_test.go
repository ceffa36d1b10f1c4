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
		if from := BucketFrom(i); i < last || i >= buckets || from > n || n >= 256 && float64(n-from) > float64(n)/8 || n < 256 && from != n {
			t.Errorf("%d is in bucket %d from %d", n, i, from)
		}
		last = i
	}
}
