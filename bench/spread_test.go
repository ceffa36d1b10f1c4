package bench

import (
	"encoding/json"
	"math"
	"testing"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

var missing = math.NaN()

// put sets a figure of a run, NaN if it has none.
func (f *Figure) put(r *Run, x float64) {
	switch f {
	case SecondsToTarget:
		r.SecondsToTarget = []human.Number{human.Number(x)}
		return
	case EpochsToTarget:
		r.EpochsToTarget = []human.Number{human.Number(x)}
		return
	}
	if r.Result == nil {
		r.Result = &rundir.Result{ExamplesPerSecond: missing, TrainLoss: missing,
			Tested: rundir.Tested{TestLoss: missing}}
	}
	switch f {
	case Rate:
		r.Result.ExamplesPerSecond = x
	case TrainLoss:
		r.Result.TrainLoss = x
	case TestLoss:
		r.Result.TestLoss = x
	case Staleness:
		r.Result.Instruments = &control.Instruments{StalenessMean: x, StalenessSamples: 1}
	default: // figures of results, by their names in JSON
		text, _ := json.Marshal(map[string]human.Number{f.Name: human.Number(x)})
		if err := json.Unmarshal(text, r.Result); err != nil {
			panic(err)
		}
	}
}

// Put sets a figure of a case's runs, and adds those that are not there.
func (f *Figure) Put(c *Measured, list ...float64) {
	for i, x := range list {
		if i == len(c.Runs) {
			c.Runs = append(c.Runs, Run{Seed: uint64(i) + 1})
		}
		f.put(&c.Runs[i], x)
	}
}

// having is a case whose runs have a figure. One for which it is missing has failed.
func having(f *Figure, list ...float64) *Measured {
	c := &Measured{}
	f.Put(c, list...)
	for i, x := range list {
		if math.IsNaN(x) {
			c.Runs[i].Failed = "the disk is full"
		}
	}
	return c
}

// each changes the results of a case's runs.
func (m *Measured) each(change func(*rundir.Result)) {
	for i := range m.Runs {
		change(m.Runs[i].Result)
	}
}

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want Spread
	}{
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5, 3}},
		{[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4, 4}},
		{[]float64{missing, 7, math.Inf(1), 9}, Spread{8, 7, 9, 2}},
	} {
		if got := Summarize(c.list); got != c.want {
			t.Errorf("Summarize(%v) = %v, want %v", c.list, got, c.want)
		}
	}
	if s := Summarize([]float64{missing}); s.N != 0 || !math.IsNaN(s.Median) || !math.IsNaN(s.Low) {
		t.Errorf("nothing is summarized as %v", s)
	}
}
