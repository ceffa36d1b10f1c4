package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// PaperRuns is the runs of one group of PaperPlan, by the paper's methods. The speed-up of
// all of them is that over the serial version, Hogwild! with one worker, as in the paper.
type PaperRuns struct {
	Group  string
	Most   int // workers
	Serial *Measured
	cases  []*Measured
}

// PaperRuns finds the runs of a group; nil: there are none.
func (e *Experiment) PaperRuns(group string) *PaperRuns {
	r := &PaperRuns{Group: group, cases: e.of(group)}
	for _, c := range r.cases {
		r.Most = max(r.Most, c.Workers)
	}
	if r.Serial = r.Of(methodHogwild, 1); r.Serial == nil {
		return nil
	}
	return r
}

// Of returns the case of a method and a number of workers; nil: there is none. Hogwild! is the paper's, which writes in
// place.
func (r *PaperRuns) Of(mode string, workers int) *Measured {
	return find(r.cases, fmt.Sprintf("%s-%d", mode, workers))
}

// Merged is Hogwild! as it is here by default, where workers merge copies; nil: it was not run.
func (r *PaperRuns) Merged(workers int) *Measured { return r.Of("merged", workers) }

// Workers are the numbers of workers that were run, ascending.
func (r *PaperRuns) Workers() (list []int) {
	for _, c := range r.cases {
		if !slices.Contains(list, c.Workers) {
			list = append(list, c.Workers)
		}
	}
	slices.Sort(list)
	return list
}

// SpeedUp is how many times faster a case is than the serial version, repeat by repeat;
// nil of no case.
func (r *PaperRuns) SpeedUp(c *Measured) []float64 {
	if c == nil {
		return nil
	}
	return ratios(Rate.Of(c), Rate.Of(r.Serial))
}

// DelayGroups are the groups with delayed gradients and their delays in seconds.
func (e *Experiment) DelayGroups() (names []string, delays []float64) {
	for _, g := range e.groups() {
		text, ok := strings.CutPrefix(g, delayGroup)
		if d, err := time.ParseDuration(text); ok && err == nil {
			names, delays = append(names, g), append(delays, d.Seconds())
		}
	}
	return names, delays
}

func delayOf(r *PaperRuns) string { return strings.TrimPrefix(r.Group, delayGroup) }
