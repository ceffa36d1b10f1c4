package rundir

import (
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
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

// The buckets of weights: each power of two has four, of numbers of either sign. What is
// nearer to zero than 2^-20 is zero; what is not finite is in none.
const (
	weightShift = 23 - 2
	weightLeast = (127 - 20) << 2 // the bucket of 2^-20
	weightMost  = 255 << 2        // that of infinity: there is none
)

// WeightHistograms is how the weights of each tensor lie. It takes some 4 nanoseconds
// a weight.
func WeightHistograms(ps []model.Param, w []float32) (all []Histogram) {
	for i, at := range model.Offsets(ps) {
		all = append(all, WeightHistogram("weights/"+ps[i].Name, w[at:at+ps[i].Len()]))
	}
	return all
}

// WeightHistogram is the histogram of numbers.
func WeightHistogram(tag string, w []float32) Histogram {
	var counts [2][weightMost]uint32 // of positive and of negative numbers; those nearer to zero than the least in the first
	h := Histogram{tag: tag}
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, v := range w {
		bits := math.Float32bits(v)
		b := bits << 1 >> 1 >> weightShift
		if b >= weightMost {
			continue
		}
		if b < weightLeast {
			b, bits = weightLeast-1, 0
		}
		h.N++
		counts[bits>>31][b]++
		h.Sum += float64(v)
		h.sum2 += float64(v) * float64(v)
		low, high = min(low, v), max(high, v)
	}
	if h.N > 0 {
		h.Min, h.Max = float64(low), float64(high)
	}
	edge := func(b int) float64 { return math.Ldexp(1+float64(b&3)/4, b>>2-127) }
	for b := weightMost - 1; b >= weightLeast; b-- {
		if n := counts[1][b]; n > 0 {
			h.add(-edge(b+1), -edge(b), float64(n))
		}
	}
	if n := counts[0][weightLeast-1]; n > 0 {
		h.add(-edge(weightLeast), edge(weightLeast), float64(n))
	}
	for b := weightLeast; b < weightMost; b++ {
		if n := counts[0][b]; n > 0 {
			h.add(edge(b), edge(b+1), float64(n))
		}
	}
	return h
}
