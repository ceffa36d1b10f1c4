package bench

import (
	"strings"

	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// Share is what a case reaches of a limit: of what this machine does at best, on as many
// cores as the case has workers.
type Share struct {
	Limit string // its name
	Unit  string // of the best
	Cores int    // on which the limit was measured, or between which it was read off
	Best  float64
	Share float64
}

// cached is how many bytes of data may be read from the caches at every pass, so that
// reading memory is no bound.
const cached = 64 << 20

// Share is the largest of a case's shares: that of the limit which it is nearest to. Dense
// layers and convolutions cannot be faster than multiply-adds; a model that updates one
// weight for each stored input, or two rows for each pair, than w[j] += x at random; and
// none than its data are read, if no cache holds them. It is false where no limit was
// measured, or says nothing of the case: one on a GPU.
func (e *Experiment) Share(c *Measured) (Share, bool) {
	rate := Summarize(c.ExamplesPerSecond)
	if e.Limits == nil || c.Config.GPU != "" || rate.N == 0 {
		return Share{}, false
	}
	var best Share
	size := 0
	for size < len(sizes)-1 && c.Parameters > int64(sizes[size].floats)+1 { // one is a bias
		size++
	}
	for _, s := range []struct {
		limit, unit string
		work        float64 // an example, in that unit
	}{
		{"multiply-add", "GFLOP/s", float64(c.Flops) / 1e9},
		{sizes[size].name, "M/s", c.scattered() / 1e6},
		{"memory, read", "GB/s", c.read() / 1e9},
	} {
		name, cores, most := e.Limits.at(s.limit, c.Workers)
		reached := s.work * rate.Median
		if most > 0 && human.Finite(reached) && reached/most > best.Share {
			best = Share{name, s.unit, cores, most, reached / most}
		}
	}
	return best, best.Share > 0
}

// scattered is how many weights, far from each other, a step on one example adds to; 0
// where a step is of a batch, or an input has weights in a row.
func (c *Measured) scattered() float64 {
	family := model.FamilyOf(c.Config.Model)
	if family == model.Factor || family == model.Cut ||
		family == model.Linear && model.Loss(c.Config.Loss) != model.CrossEntropy &&
			c.Batch <= 1 && float64(c.Values) <= float64(c.Parameters)/2 {
		return float64(c.Values)
	}
	return 0
}

// read is how many bytes of the data an example is, at least; 0 if a cache may hold all.
func (c *Measured) read() float64 {
	bytes := float64(c.Values) // of images
	switch family := model.FamilyOf(c.Config.Model); {
	case family == model.Factor || family == model.Cut:
		bytes = 12 // row, column, value
	case c.scattered() > 0:
		bytes *= 8 // index and value
	}
	rows := Summarize(c.Examples).Median / float64(max(1, c.Config.Epochs))
	if !(rows*bytes > cached) {
		return 0
	}
	return bytes
}

// at is the largest limit of a kind on as many cores as there are workers, and how many those are: between
// one core and all, on the line between the two.
func (f *Limits) at(kind string, workers int) (name string, cores int, most float64) {
	one, all := 0.0, 0.0
	for _, v := range f.Limits {
		if !strings.HasPrefix(v.Name, kind) {
			continue
		}
		if v.Cores == 1 {
			one = max(one, v.Max)
		}
		if v.Cores == f.Cores && v.Max > all {
			name, all = v.Name, v.Max
		}
	}
	cores = min(workers, f.Cores)
	return name, cores, one + (all-one)*float64(cores-1)/float64(max(1, f.Cores-1))
}
