package bench

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/internal/human"
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

// Of is the case of a method and a number of workers; nil: there is none. Hogwild! is
// the paper's, which holds no updates back.
func (r *PaperRuns) Of(mode string, workers int) *Measured {
	return r.find(mode, workers, func(c *Measured) bool { return mode != methodHogwild || c.value("merge-every") == "1" })
}

// Held is Hogwild! as it is here by default, with updates held back; nil: it was not run.
func (r *PaperRuns) Held(workers int) *Measured {
	return r.find(methodHogwild, workers, func(c *Measured) bool { return c.value("merge-every") == "" })
}

func (r *PaperRuns) find(mode string, workers int, is func(*Measured) bool) *Measured {
	for _, c := range r.cases {
		if c.Mode == mode && c.Workers == workers && is(c) {
			return c
		}
	}
	return nil
}

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
func (r *PaperRuns) SpeedUp(c *Measured) []Number {
	if c == nil {
		return nil
	}
	return ratios(c.ExamplesPerSecond, r.Serial.ExamplesPerSecond)
}

// most is the speed-up of a method with the most workers.
func (r *PaperRuns) most(mode string) []Number { return r.SpeedUp(r.Of(mode, r.Most)) }

func (e *Experiment) paperFindings() (list []Finding) {
	for _, s := range PublishedSets {
		if r := e.PaperRuns(s.Name); r != nil {
			list = append(list, e.faster(r, &s), e.ranked(r, &s), e.inTurns(r, &s), e.sameErrors(r, &s))
		}
	}
	if short, long := e.delayEnds(); short != nil {
		list = append(list, e.shortGradients(short), e.longGradients(long))
	}
	return append(list, e.averaging()...)
}

// theirs is what the paper has of a method, with ten threads and as many as here.
func (r *PaperRuns) theirs(s *PublishedSet, modes ...string) string {
	numbers := func(threads int) string {
		var words []string
		for _, m := range modes {
			if x := s.at(m, threads); finite(x) {
				words = append(words, paperMethods[m]+" "+human.Factor(x))
			}
		}
		return strings.Join(words, ", ")
	}
	text := numbers(10) + " with 10 threads"
	if at := numbers(r.Most); r.Most < 10 && at != "" {
		text += fmt.Sprintf("; %s with %d", at, r.Most)
	}
	return text
}

// here is the same as it was measured.
func (r *PaperRuns) here(modes ...string) string {
	var words []string
	for _, m := range modes {
		words = append(words, paperMethods[m]+" "+times(r.most(m)))
	}
	return strings.Join(words, ", ") + fmt.Sprintf(" with %d workers", r.Most)
}

// one is a list of ones, as long as there are repeats: the serial version's own speed-up.
func (r *PaperRuns) one() []Number { return r.SpeedUp(r.Serial) }

// faster: Hogwild! gains from workers.
func (e *Experiment) faster(r *PaperRuns, s *PublishedSet) Finding {
	f := Finding{About: s.Name + ", speed-up", Theirs: "Hogwild! is faster than the serial version: " + r.theirs(s, methodHogwild), Here: r.here(methodHogwild)}
	f.Verdict = agreement(larger(r.most(methodHogwild), r.one()))
	if f.Verdict == Agrees || f.Verdict == Missing {
		return f
	}
	f.Why = e.cost(r)
	if held := r.Held(r.Most); held != nil {
		f.Why += fmt.Sprintf("; with updates of frequent features held back, as hogwild does by itself, the speed-up is %s", times(r.SpeedUp(held)))
	}
	return f
}

// ranked: Hogwild! is not slower than AIG, and AIG is faster than RR. The paper's own
// curves of Hogwild! and AIG cross on some sets.
func (e *Experiment) ranked(r *PaperRuns, s *PublishedSet) Finding {
	modes := []string{methodHogwild, methodAIG, methodRR}
	f := Finding{About: s.Name + ", order", Theirs: "Hogwild! about AIG or above it, AIG above RR: " + r.theirs(s, modes...), Here: r.here(modes...)}
	first, ok := larger(r.most(methodHogwild), r.most(methodAIG))
	second, also := larger(r.most(methodAIG), r.most(methodRR))
	switch {
	case first < 0 || second < 0:
		f.Verdict = Differs
	default:
		f.Verdict = agreement(second, ok && also)
	}
	if !ok || !also {
		f.Verdict = Missing
	}
	if f.Verdict == Differs {
		f.Why = e.cost(r)
	}
	return f
}

// inTurns: RR is slower than the serial version where gradients are short, and gains where
// they are not, but less than Hogwild!.
func (e *Experiment) inTurns(r *PaperRuns, s *PublishedSet) Finding {
	f := Finding{About: s.Name + ", turns", Here: r.here(methodRR)}
	published := s.at(methodRR, 10)
	rr := r.most(methodRR)
	switch {
	case !finite(published):
		f.Theirs = "RR is too slow to be finished"
		f.Verdict = agreement(larger(r.one(), rr))
	case published < 1:
		f.Theirs = "RR is slower than the serial version: " + r.theirs(s, methodRR)
		f.Verdict = agreement(larger(r.one(), rr))
	default:
		f.Theirs = "gradients are slow, and RR gains: " + r.theirs(s, methodRR)
		f.Verdict = agreement(larger(rr, r.one()))
	}
	if f.Verdict == Differs || f.Verdict == Undecided {
		f.Why = e.cost(r)
	}
	return f
}

// fewPercent is how far apart the errors of the three methods may be, which the paper
// has within a few percent of one another.
const fewPercent = 0.05

// sameErrors: no method learns worse than another.
func (e *Experiment) sameErrors(r *PaperRuns, s *PublishedSet) Finding {
	f := Finding{About: s.Name + ", errors", Theirs: "errors within a few percent of one another"}
	var least, most *Measured
	var words []string
	for _, m := range []string{methodHogwild, methodAIG, methodRR} {
		c := r.Of(m, r.Most)
		if c == nil || Summarize(c.TestLoss).N == 0 {
			f.Here, f.Verdict = paperMethods[m]+" "+string(Missing), Missing
			return f
		}
		x := Summarize(c.TestLoss).Median
		if least == nil || x < Summarize(least.TestLoss).Median {
			least = c
		}
		if most == nil || x > Summarize(most.TestLoss).Median {
			most = c
		}
		words = append(words, paperMethods[m]+" "+human.Loss(x))
	}
	f.Here = "test loss: " + strings.Join(words, ", ")
	switch v := Compare(most.TestLoss, least.TestLoss); {
	case v.Ratio <= 1+fewPercent:
		f.Verdict = Agrees
	case v.Equal:
		f.Verdict, f.Why = Undecided, "the ranges of the repeats overlap"
	default:
		f.Verdict = Differs
		f.Why = fmt.Sprintf("the loss of %s is %s times that of %s; between a worker's reading and writing come %s updates by others on average",
			paperMethods[most.Mode], human.Factor(v.Ratio), paperMethods[least.Mode], median(most.StalenessMean, human.Short))
	}
	return f
}

// cost is what an update costs by each method against what the machine's cores need to
// tell each other anything: what bears on an order of methods that is not the paper's.
func (e *Experiment) cost(r *PaperRuns) string {
	each := func(c *Measured) float64 {
		if c == nil {
			return none
		}
		return 1e9 / Summarize(c.ExamplesPerSecond).Median
	}
	alone := each(r.Serial)
	text := fmt.Sprintf("an update takes %s alone; %d workers together make one every", nanoseconds3(alone), r.Most)
	for i, m := range []string{methodHogwild, methodAIG, methodRR} {
		text += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(" %s by %s", nanoseconds3(each(r.Of(m, r.Most))), paperMethods[m])
	}
	line, wake := e.floor("cache line"), 1e3*e.floor("futex")
	if finite(line) && finite(wake) {
		text += fmt.Sprintf("; a cache line takes %s from core to core here, and waking a sleeper %s", nanoseconds3(line), nanoseconds3(wake))
		if alone < line {
			text += ", so that sharing a line costs more than an update"
		}
		if more := each(r.Of(methodRR, r.Most)) - each(r.Of(methodHogwild, r.Most)); more > 0 {
			text += fmt.Sprintf("; turns cost %s an update: %s times the way of a line, %s times a waking",
				nanoseconds3(more), human.Factor(more/line), human.Factor(more/wake))
		}
	}
	if e.Machine.Cores > 0 && r.Most > e.Machine.Cores {
		text += fmt.Sprintf("; there are more workers than the %s", human.Plural(e.Machine.Cores, "core"))
	}
	return text
}

// floor is the median of the first of the machine's floors whose name begins so; NaN: it
// was not measured.
func (e *Experiment) floor(name string) float64 {
	if e.Floors != nil {
		for _, f := range e.Floors.Floors {
			if strings.HasPrefix(f.Name, name) {
				return f.Median
			}
		}
	}
	return none
}

// nanoseconds3 is a time of three digits.
func nanoseconds3(ns float64) string {
	switch {
	case !finite(ns):
		return string(Missing)
	case ns >= 1e4:
		return human.Short(ns/1e3) + " us"
	}
	return human.Short(ns) + " ns"
}
