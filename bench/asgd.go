package bench

import (
	"cmp"
	"fmt"

	"hogwild/internal/human"
)

// lowRate is the group of runs at a rate that no search chose.
const lowRate = "low-rate"

// plain is the rule with which others are compared.
const plain = "plain"

// ClockRuns is the runs at one spread of speeds.
type ClockRuns struct {
	Group string
	Cases []*Measured
}

// Clocked is the runs of an experiment of plans/asgd.yaml, by their speeds; nil of other experiments.
func Clocked(e *Experiment) (all []*ClockRuns) {
	if !clocked(e) {
		return nil
	}
	for _, g := range e.groups() {
		all = append(all, &ClockRuns{g, e.of(g)})
	}
	return all
}

// Of returns the case of a rule, or of a name behind the group's; nil: there is none.
func (r *ClockRuns) Of(rule string) *Measured { return find(r.Cases, rule) }

// Times is when the repeats of a case reached the loss; NaN: not at all.
func (r *ClockRuns) Times(c *Measured) (all []float64) {
	for _, r := range c.Runs {
		x := VirtualTime(r.History, c.Target())
		if r.Failed != "" {
			x = none
		}
		all = append(all, x)
	}
	return all
}

// SpeedUp is how many times sooner than plain asynchronous SGD a case gets there, repeat by repeat; nil: unknown.
func (r *ClockRuns) SpeedUp(c *Measured) []float64 {
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
			rows = append(rows, []string{r.Group, c.Value("rule"), median(LRUsed.Of(c), human.Plain), time,
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

// AboutAsgd says what the figures of the table of verdicts are there.
const AboutAsgd = "Figures are speeds: how many times sooner than plain asynchronous SGD a rule reaches the loss, " +
	"each at its best learning rate, as medians of the repeats in the order of the claim. " + aboutVerdicts
