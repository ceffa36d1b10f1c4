package bench

import (
	"cmp"
	"fmt"

	"hogwild/internal/human"
)

// AsgdOptions say on what the papers on asynchronous SGD are repeated, and how much of them.
type AsgdOptions struct {
	Quick bool
	Data  string // a folder with MNIST's four files; "": the built-in digits
}

// lowRate is the group of runs at a rate that nobody searched for.
const lowRate = "low-rate"

// The rules with their numbers, by the names of their papers.
const (
	plain       = "plain"
	inverse     = "inverse"
	adaptive    = "adaptive"
	tail        = "tail"
	published   = "tail-published"
	ringmaster  = "drop:16"
	stopping    = "drop:16,stop"
	rennala     = "rennala:16"
	synchronous = "minibatch"
	fedBuff     = "quorum:8"
	clipped     = "clip:1"
	compensated = "dc:0.04"
)

// speeds are those of 16 virtual workers.
type speeds struct{ Name, Text string }

// asgdValues are what plans/asgd.yaml asks for.
type asgdValues struct {
	AsgdOptions
	Target float64 // a test loss at which plain asynchronous SGD has seen some 80,000 images
}

// AsgdPlan is the comparisons of the papers on asynchronous SGD on a virtual clock: all rules at each spread of speeds.
// See plans/asgd.yaml.
func AsgdPlan(o AsgdOptions, flags Flags) (Plan, error) {
	v := asgdValues{o, 0.2}
	if o.Data != "" {
		v.Target = 0.25
	}
	p, err := BuiltInPlan(asgdName, &v, flags)
	p.Clock, p.AtOnce = true, 2
	return p, err
}

// Name is the experiment's.
func (v *asgdValues) Name() string {
	name := asgdName
	if v.Data != "" {
		name += "-mnist"
	}
	if v.Quick {
		name += "-quick"
	}
	return name
}

// Rules are those that are compared.
func (v *asgdValues) Rules() []string {
	if v.Quick {
		return []string{plain, adaptive, ringmaster, rennala, synchronous, clipped, published}
	}
	return []string{plain, adaptive, ringmaster, rennala, synchronous, clipped, published, inverse, tail, stopping,
		fedBuff, compensated} // the first eight are drawn
}

// Speeds are their spreads.
func (v *asgdValues) Speeds() []speeds {
	all := []speeds{{"equal", "equal:16"}, {"slow-8", "slow:16,12,8"}, {"slow-4", "slow:16,12,4"},
		{"sqrt", "sqrt:16"}, {"exp", "exp:16"}}
	if v.Quick {
		return all[:2]
	}
	return all
}

// ClockRuns is the runs at one spread of speeds.
type ClockRuns struct {
	Group string
	Cases []*Measured
}

// Clocked is the runs of an experiment of AsgdPlan, by their speeds; nil of other experiments.
func Clocked(e *Experiment) (all []*ClockRuns) {
	if !clocked(e) {
		return nil
	}
	for _, g := range e.groups() {
		all = append(all, &ClockRuns{g, e.of(g)})
	}
	return all
}

// Of is the case of a rule, or of a name behind that of the group; nil: there is none.
func (r *ClockRuns) Of(rule string) *Measured {
	for _, c := range r.Cases {
		if c.Name == FolderName(r.Group+"-"+rule) {
			return c
		}
	}
	return nil
}

// Times is when the repeats of a case reached the loss; NaN: not at all.
func (r *ClockRuns) Times(c *Measured) (all []Number) {
	for i, h := range c.Histories {
		x := VirtualTime(h, float64(c.Target))
		if c.Failed[i] != "" {
			x = none
		}
		all = append(all, Number(x))
	}
	return all
}

// SpeedUp is how many times sooner than plain asynchronous SGD a case gets there, repeat by repeat; nil: unknown.
func (r *ClockRuns) SpeedUp(c *Measured) []Number {
	base := r.Of(plain)
	if c == nil || base == nil {
		return nil
	}
	return ratios(r.Times(base), r.Times(c))
}

// AsgdHeads are the heads of AsgdTable.
var AsgdHeads = []string{"speeds", "rule", "learning rate", "virtual time", "times as fast as plain"}

// AsgdTable is the virtual time to the loss of each rule at each spread of speeds.
func AsgdTable(e *Experiment) (rows [][]string) {
	for _, r := range Clocked(e) {
		for _, c := range r.Cases {
			s := Summarize(r.Times(c))
			time := s.Text(human.Short)
			switch {
			case s.N == 0:
				time = "not reached"
			case s.N < c.runs():
				time += fmt.Sprintf(", %d of %d runs", s.N, c.runs())
			}
			rows = append(rows, []string{r.Group, c.Value("rule"), median(c.LRUsed, human.Plain), time,
				Summarize(r.SpeedUp(c)).Text(human.Factor)})
		}
	}
	return rows
}

// AsgdGrid is the rules by the speeds, its heads first: how many times as fast as plain each is.
func AsgdGrid(e *Experiment) (heads []string, rows [][]string) {
	heads = []string{"rule"}
	for _, r := range Clocked(e) {
		if r.Group == lowRate {
			continue
		}
		heads = append(heads, r.Group)
		for i, c := range r.Cases {
			if i == len(rows) {
				rows = append(rows, []string{c.Value("rule")})
			}
			rows[i] = append(rows[i], cmp.Or(median(r.SpeedUp(c), human.Factor), "-"))
		}
	}
	return heads, rows
}
