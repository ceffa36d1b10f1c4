package device

import "math"

// Survey is what there is to know of a copy of the weights besides its scores.
type Survey struct {
	NotFinite int      // the first weight that is infinite or not a number; -1: all are finite
	Value     float32  // of that weight
	Counts    []Counts // of each tensor of the plain model
}

// The buckets of weights: each power of two has four, of numbers of either sign. A number nearer to zero than 2^-20
// counts as zero, in bucket LeastBucket-1 of the positive ones; one that is not finite is in none.
const (
	BucketShift = 23 - 2          // from the bits of a float32 to its bucket
	LeastBucket = (127 - 20) << 2 // of 2^-20
	Buckets     = 255 << 2        // of infinity: there is none
)

// Counts is the distribution of numbers.
type Counts struct {
	N, Sum, Sum2 float64
	Low, High    float32            // meaningless of no numbers
	Buckets      [2][Buckets]uint64 // of positive and of negative numbers
}

// NewCounts returns the counts of no numbers.
func NewCounts() *Counts {
	return &Counts{Low: float32(math.Inf(1)), High: float32(math.Inf(-1))}
}

// Plus adds the counts of other numbers.
func (c *Counts) Plus(o *Counts) {
	if c.N == 0 {
		c.Low, c.High = o.Low, o.High
	}
	if o.N > 0 {
		c.Low, c.High = min(c.Low, o.Low), max(c.High, o.High)
	}
	c.N, c.Sum, c.Sum2 = c.N+o.N, c.Sum+o.Sum, c.Sum2+o.Sum2
	for sign := range c.Buckets {
		for b, n := range o.Buckets[sign] {
			c.Buckets[sign][b] += n
		}
	}
}

// Add counts the numbers w that are finite. It takes some 4 nanoseconds a number.
func (c *Counts) Add(w []float32) {
	for _, v := range w {
		bits := math.Float32bits(v)
		b := bits << 1 >> 1 >> BucketShift
		if b >= Buckets {
			continue
		}
		if b < LeastBucket {
			b, bits = LeastBucket-1, 0
		}
		c.N++
		c.Buckets[bits>>31][b]++
		c.Sum += float64(v)
		c.Sum2 += float64(v) * float64(v)
		c.Low, c.High = min(c.Low, v), max(c.High, v)
	}
}

// NotFiniteAt returns the index of the first number of w that is infinite or none; -1 if all are finite.
func NotFiniteAt(w []float32) int {
	for i, v := range w {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

// A weight has changed when it differs by more than this, relative to itself: the mean of equal
// replicas is rounded, as a third of three times a weight.
const unchanged = 1.0 / (1 << 20)

// Changed reports whether a weight of to has changed from what it is in from. It stops at the first.
func Changed(from, to []float32) bool {
	for i, v := range from {
		if !(math.Abs(float64(to[i])-float64(v)) <= unchanged*math.Abs(float64(v))) { // also if it is no number
			return true
		}
	}
	return false
}
