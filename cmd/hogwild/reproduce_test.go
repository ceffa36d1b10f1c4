package main

import (
	"testing"

	"hogwild/bench"
	"hogwild/hogwild/data"
)

// TestReproductionsAreTaken: train takes every case of every plan, as it would take the
// flags, and its data exist.
func TestReproductionsAreTaken(t *testing.T) {
	var plans []bench.Plan
	for _, o := range []bench.TutorialOptions{{}, {Limit: 100}} {
		p, err := bench.TutorialPlan(o, caseFlags{})
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
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
			o.Bias = !o.noBias
			if err := o.Validate(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if o.Data == "digits" {
				continue
			}
			if _, err := data.Describe(data.Options{Path: o.Data, Format: o.Format, Target: o.Target}); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}
