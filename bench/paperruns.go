package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
// the paper's, which writes in place.
func (r *PaperRuns) Of(mode string, workers int) *Measured {
	return r.find(mode, workers, func(c *Measured) bool {
		return mode != methodHogwild ||
			c.Value("merge-every") == "1"
	})
}

// Merged is Hogwild! as it is here by default, where workers merge copies; nil: it was not run.
func (r *PaperRuns) Merged(workers int) *Measured {
	return r.find(methodHogwild, workers, func(c *Measured) bool { return c.Value("merge-every") == "" })
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
func (r *PaperRuns) SpeedUp(c *Measured) []float64 {
	if c == nil {
		return nil
	}
	return ratios(Rate.Of(c), Rate.Of(r.Serial))
}

// most is the speed-up of a method with the most workers.
func (r *PaperRuns) most(mode string) []float64 { return r.SpeedUp(r.Of(mode, r.Most)) }

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

// Averages are the runs of the averaging experiment, by their number of workers, and
// Hogwild! beside them; passes is how often each worker of the former sees all examples.
func (e *Experiment) Averages() (byWorkers map[int]*Measured, hogwild *Measured, passes int) {
	byWorkers = map[int]*Measured{}
	for _, c := range e.of(meanGroup) {
		if c.Mode == methodHogwild {
			hogwild = c
			continue
		}
		byWorkers[c.Workers] = c
		if epochs, err := strconv.Atoi(c.Value("epochs")); err == nil {
			passes = epochs / c.Workers
		}
	}
	return byWorkers, hogwild, passes
}

// averageFindings: models that are averaged, each of which has seen all examples as often as
// one alone, are no better than that one, for so many times the work. (Ours go on from their
// mean after each epoch, and learn from the work of all; the paper's meet at the end only.)
func (e *Experiment) averageFindings() (list []Finding) {
	by, _, _ := e.Averages()
	loss := func(n int, name string) quantity {
		published := PublishedAverage[n]
		return quantity{name, published[len(published)-1], TrainLoss.Of(by[n])}
	}
	for _, n := range []int{3, 10} {
		if by[1] != nil && by[n] != nil {
			list = append(list,
				loss(n, fmt.Sprintf("loss of the average of %d models", n)).compare(fmt.Sprintf("average of %d", n),
					notBelow, loss(1, "loss of one model"), human.Loss))
		}
	}
	return list
}

// speed is the speed-up of a method: the paper's with ten threads, and ours with the most
// workers.
func (r *PaperRuns) speed(s *PublishedSet, method string) quantity {
	return quantity{paperMethods[method], s.at(method, 10), r.most(method)}
}

func (e *Experiment) paperFindings() (list []Finding) {
	for i := range PublishedSets {
		s := &PublishedSets[i]
		if r := e.PaperRuns(s.Name); r != nil {
			list = append(list, r.speedFindings(s)...)
			list = append(list, r.lossFindings(s)...)
		}
	}
	return append(append(list, e.delayFindings()...), e.averageFindings()...)
}

// speedFindings: Hogwild! gains from workers and is not behind AIG, which is before RR; the
// paper's own curves of Hogwild! and AIG cross on some sets. RR is slower than the serial
// version where gradients are short.
func (r *PaperRuns) speedFindings(s *PublishedSet) []Finding {
	serial := quantity{"serial", 1, r.SpeedUp(r.Serial)}
	hogwild, aig, rr := r.speed(s, methodHogwild), r.speed(s, methodAIG), r.speed(s, methodRR)
	list := []Finding{
		hogwild.compare(s.Name, above, serial, human.Factor),
		hogwild.compare(s.Name, notBelow, aig, human.Factor),
		aig.compare(s.Name, above, rr, human.Factor),
	}
	if rr.published > 1 {
		return append(list, rr.compare(s.Name, above, serial, human.Factor))
	}
	return append(list, serial.compare(s.Name, above, rr, human.Factor)) // on jumbo it was too slow to be finished
}

// lossFindings: no method learns worse than Hogwild!, nor better.
func (r *PaperRuns) lossFindings(s *PublishedSet) (list []Finding) {
	loss := func(method string, published float64) quantity {
		f := quantity{"loss of " + paperMethods[method], published, nil}
		if c := r.Of(method, r.Most); c != nil {
			f.here = TestLoss.Of(c)
		}
		return f
	}
	hogwild := loss(methodHogwild, s.Hogwild.Test)
	return []Finding{
		loss(methodAIG, none).compare(s.Name, closeTo, hogwild, human.Loss),
		loss(methodRR, s.RoundRobin.Test).compare(s.Name, closeTo, hogwild, human.Loss),
	}
}

// delayFindings: with the shortest delay RR is far behind; where a gradient takes a
// millisecond it is on par with Hogwild!.
func (e *Experiment) delayFindings() []Finding {
	groups, _ := e.DelayGroups()
	if len(groups) < 2 {
		return nil
	}
	short, long := e.PaperRuns(groups[0]), e.PaperRuns(groups[len(groups)-1])
	if short == nil || long == nil {
		return nil
	}
	speed := func(r *PaperRuns, method string, at int) quantity {
		return quantity{paperMethods[method], PublishedByDelay[method][at], r.most(method)}
	}
	return []Finding{
		speed(short, methodHogwild, 2).compare("delay of "+delayOf(short), above,
			speed(short, methodRR, 2), human.Factor),
		speed(long, methodRR, 6).compare("delay of "+delayOf(long), notBelow,
			speed(long, methodHogwild, 6), human.Factor),
	}
}
