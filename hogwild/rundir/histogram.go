package rundir

import (
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
)

// Histogram is how numbers lie, as TensorBoard's HistogramProto has it: bucket i holds
// those from limits[i-1] to limits[i].
type Histogram struct {
	tag                    string
	Min, Max, N, Sum, sum2 float64
	Limits, Counts         []float64
}

// add adds a bucket from low to high, behind those that are there.
func (h *Histogram) add(low, high, count float64) {
	if n := len(h.Limits); n > 0 && h.Limits[n-1] < low { // none in between
		h.Limits, h.Counts = append(h.Limits, low), append(h.Counts, 0)
	}
	h.Limits, h.Counts = append(h.Limits, high), append(h.Counts, count)
}

// histogram is the staleness of all samples. Of a bucket with several delays it knows the
// least only.
func stalenessHistogram(in *control.Instruments) (h Histogram) {
	for i, b := range in.StalenessHistogram {
		from, n := float64(b[0]), float64(b[1])
		if i == 0 {
			h.Min = from
		}
		next := float64(control.BucketFrom(control.Bucket(b[0]) + 1))
		h.add(from-0.5, next-0.5, n) // delays are whole numbers: each in the middle of its bucket
		h.N += n
		h.sum2 += n * from * from
	}
	h.Max, h.Sum = float64(in.StalenessMax), in.StalenessMean*h.N
	h.tag = "staleness"
	return h
}

// WeightHistogram returns the histogram of a tensor's weights.
func WeightHistogram(name string, c *device.Counts) Histogram {
	h := Histogram{tag: "weights/" + name, N: c.N, Sum: c.Sum, sum2: c.Sum2}
	if h.N > 0 {
		h.Min, h.Max = float64(c.Low), float64(c.High)
	}
	edge := func(b int) float64 { return math.Ldexp(1+float64(b&3)/4, b>>2-127) }
	for b := device.Buckets - 1; b >= device.LeastBucket; b-- {
		if n := c.Buckets[1][b]; n > 0 {
			h.add(-edge(b+1), -edge(b), float64(n))
		}
	}
	if n := c.Buckets[0][device.LeastBucket-1]; n > 0 {
		h.add(-edge(device.LeastBucket), edge(device.LeastBucket), float64(n))
	}
	for b := device.LeastBucket; b < device.Buckets; b++ {
		if n := c.Buckets[0][b]; n > 0 {
			h.add(edge(b), edge(b+1), float64(n))
		}
	}
	return h
}
