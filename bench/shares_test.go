package bench

import (
	"math"
	"strings"
	"testing"
)

// madeLimits are limits of two cores with round figures.
func madeLimits() *Limits {
	f := &Limits{Cores: 2}
	for _, v := range []struct {
		name, unit string
		one, both  float64
	}{
		{"multiply-add, AVX2", "GFLOP/s", 100, 200},
		{"multiply-add, AVX-512", "GFLOP/s", 200, 400},
		{"memory, read", "GB/s", 10, 16},
		{"w[j] += x at random, 47 k floats", "M/s", 1000, 1600},
		{"w[j] += x at random, 1 M floats", "M/s", 500, 800},
		{"w[j] += x at random, 50 M floats", "M/s", 100, 150},
	} {
		f.Limits = append(f.Limits, Limit{Name: v.name, Unit: v.unit, Cores: 1, Max: v.one},
			Limit{Name: v.name, Unit: v.unit, Cores: 2, Max: v.both})
	}
	return f
}

// TestShares works out by hand what a case of each kind can at most be.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name       string
		model      string
		batch      int
		workers    int
		parameters int64
		values     Number
		flops      Number
		rate       Number
		rows       Number
		limit      string
		share      float64
	}{
		// 1e6 examples/s of 100 kFLOP: 100 of 200 GFLOP/s.
		{"dense", "mlp:128", 64, 1, 100_000, 150, 100e3, 1e6, 60_000, "multiply-add, AVX-512", 0.5},
		{"dense, on both cores", "mlp:128", 64, 2, 100_000, 150, 100e3, 1e6, 60_000, "multiply-add, AVX-512", 0.25},
		{"more workers than cores", "mlp:128", 64, 8, 100_000, 150, 100e3, 1e6, 60_000, "multiply-add, AVX-512", 0.25},
		// 10e6 examples/s of 74 values: 740 of 1,600 M/s.
		{"sparse", "logistic", 1, 2, 47_237, 74, 296, 10e6, 1000, "w[j] += x at random, 47 k floats", 0.4625},
		// 1e6 of 500 values of 8 bytes, 80 GB in all: 4 of 10 GB/s is less than 500 of 500 M/s.
		{"sparse, of a million", "hinge", 1, 1, 1_000_000, 500, 2000, 1e6, 20e6, "w[j] += x at random, 1 M floats", 1},
		// 100e6 entries/s of 12 bytes: 1.2 of 16 GB/s is less than 100 of 150 M/s.
		{"factor", "factor:10", 1, 2, 2_000_000, 1, 0, 100e6, 50e6, "w[j] += x at random, 50 M floats", 100.0 / 150},
		// a batch of dense rows is no update for each input: 1e6 of 800 bytes, 0.8 of 10 GB/s.
		{"a pass over memory", "logistic", 64, 1, 801, 800, 100, 1e6, 1e6, "memory, read", 0.08},
	} {
		e := handmade()
		e.Limits = madeLimits()
		m := &e.Cases[0]
		m.Config.Model, m.Batch, m.Config.Epochs, m.Workers = c.model, c.batch, 2, c.workers
		m.Parameters, m.Values, m.Flops = c.parameters, c.values, c.flops
		m.ExamplesPerSecond, m.Examples = []Number{c.rate}, []Number{2 * c.rows}
		s, ok := e.Share(m)
		if !ok || s.Limit != c.limit || math.Abs(s.Share-c.share) > 1e-9 {
			t.Errorf("%s: %+v, want %v of %s", c.name, s, c.share, c.limit)
		}
	}
}

// TestNoShare: nothing is said without limits, nor of a GPU.
func TestNoShare(t *testing.T) {
	e := handmade()
	if _, ok := e.Share(&e.Cases[0]); ok {
		t.Error("a share of no limit")
	}
	e.Limits = madeLimits()
	e.Cases[0].Config.GPU = "0"
	if _, ok := e.Share(&e.Cases[0]); ok {
		t.Error("a GPU's share of what cores do")
	}
	got := summary(t, e)
	// on 2 cores, on 1 core
	for _, want := range []string{"% of 400 GFLOP/s (multiply-add, AVX-512)",
		"% of 200 GFLOP/s (multiply-add, AVX-512)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no cell %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if len(line) > 111 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
