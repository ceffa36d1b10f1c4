package main

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"hogwild/bench"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// TestReproductionsAreTaken: train takes every case of every plan, as it would take the
// flags, and its data exist.
func TestReproductionsAreTaken(t *testing.T) {
	var plans []bench.Plan
	images := t.TempDir() // which nothing is read of
	for _, quick := range []bench.PaperOptions{{}, {Quick: true}} {
		for name, o := range map[string]*reproduceOptions{
			"tutorial": {Limit: map[bool]int{true: 100}[quick.Quick]}, "asgd": {PaperOptions: quick},
			"speedrun": {PaperOptions: quick, Data: images},
		} {
			p, err := o.images(name)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, p)
		}
	}
	for _, o := range []bench.PaperOptions{
		{Size: 1}, {Size: 1, Quick: true}, {Size: 1e-9, Quick: true}, {Size: 1000}, {Size: 1, Workers: []int{1, 3, 10}},
		{Size: 0.01, Workers: []int{1, 2}},
	} {
		p, err := bench.PaperPlan(o, caseFlags{})
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	described := map[data.Options]bool{} // many cases have the same data, and some are made when they are described
	for _, p := range plans {
		names := map[string]bool{}
		for _, c := range p.Cases {
			if names[c.Name] {
				t.Errorf("%s: two cases are called %s", p.Name, c.Name)
			}
			names[c.Name] = true
			o, s, err := trainSettings()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range c.Settings {
				if err := s.assign(v.Flag, v.Value); err != nil {
					t.Errorf("%s: --%s %v", c.Name, v.Flag, err)
				}
			}
			if err := o.Validate(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			options := data.Options{Path: o.Data, Format: o.Format, Target: o.Target}
			if o.Data == "digits" || o.Data == images || described[options] {
				continue
			}
			described[options] = true
			if _, err := data.Describe(options); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

// TestAsgdRepeats trains some cases of the published comparison again: all times and losses are the same to the bit on
// processors with the vector instructions of the one that they are from.
func TestAsgdRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("a few seconds")
	}
	e, err := bench.ReadExperiment("../../bench/results/zen5-2core-asgd.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(e.Cases); i += 7 {
		c := &e.Cases[i]
		folder := filepath.Join(t.TempDir(), "run")
		args := []string{"train", "--seed=1", "--validation=none", "--save-every=0", "--quiet", "--run=" + folder}
		for _, s := range c.All() {
			args = append(args, "--"+s.Flag+"="+s.Value)
		}
		var stderr bytes.Buffer
		if status := execute(args, io.Discard, &stderr); status != 0 {
			t.Fatalf("%s: status %d: %s", c.Name, status, &stderr)
		}
		run, err := rundir.ReadRun(folder)
		if err != nil {
			t.Fatal(err)
		}
		if run.Result.CPU != "avx512vbmi2" {
			t.Skipf("the results are of avx512vbmi2, and these loops of %s", run.Result.CPU)
		}
		if len(run.Epochs) != len(c.Runs[0].History) {
			t.Errorf("%s: %d epochs, published are %d", c.Name, len(run.Epochs), len(c.Runs[0].History))
			continue
		}
		for k, want := range c.Runs[0].History {
			got := run.Epochs[k]
			if got.TestLoss != want.TestLoss || bench.OnClock(got) != bench.OnClock(want) {
				t.Errorf("%s, epoch %d: loss %v at %v, published is %v at %v", c.Name, k+1, got.TestLoss,
					bench.OnClock(got), want.TestLoss, bench.OnClock(want))
			}
		}
	}
}
