package bench

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"hogwild/internal/human"
)

// Finding is a statement of a publication with its figures and ours: a row of the table of
// verdicts.
type Finding struct {
	About     string    `json:"about"`     // the set or the experiment
	Statement string    `json:"statement"` // that one thing is above another, for instance
	Published string    `json:"published"` // the figures of both, in the order of the statement
	Measured  string    `json:"measured"`  // ours of both
	Verdict   Agreement `json:"verdict"`
}

// Agreement is how a statement of a publication and what was measured go together.
type Agreement string

// The agreements.
const (
	Agrees    Agreement = "agrees"
	Differs   Agreement = "differs"
	Undecided Agreement = "undecided"    // the ranges of the repeats overlap
	Missing   Agreement = "not measured" // runs failed, or have not been made yet
	Unjudged  Agreement = "not judged"   // the runs were too short to say anything
)

// FindingHeads are the heads of FindingRows.
var FindingHeads = []string{"experiment", "claim", "published", "measured", "verdict"}

// AboutFindings says what the figures of FindingRows are, and when a statement holds.
const AboutFindings = "Speed-ups are relative to the serial version (Hogwild! with one worker): published for 10 threads, measured with the most workers. " +
	"Losses are test losses, or training losses for model averaging. All figures are medians of the repeats, in the order of the claim. " +
	"> requires that the ranges do not overlap; ≥ and ≈ allow 5%. If the ranges overlap, the verdict is never \"differs\"."

// FindingRows is the table of verdicts.
func (e *Experiment) FindingRows() (rows [][]string) {
	for _, f := range e.Findings() {
		rows = append(rows, []string{f.About, f.Statement, f.Published, f.Measured, string(f.Verdict)})
	}
	return rows
}

// Findings compares an experiment of PaperPlan or TutorialPlan with what is published.
func (e *Experiment) Findings() []Finding {
	list := e.paperFindings
	if e.Name == tutorialName {
		list = e.tutorialFindings
	}
	all := list()
	for i := range all {
		if len(e.smoke()) > 0 && all[i].Verdict != Missing {
			all[i].Verdict = Unjudged
		}
	}
	return all
}

// Verdicts counts them: 23 agree, 10 differ, 1 undecided.
func (e *Experiment) Verdicts() string {
	count := map[Agreement]int{}
	for _, f := range e.Findings() {
		count[f.Verdict]++
	}
	var words []string
	for _, a := range []Agreement{Agrees, Differs, Undecided, Missing, Unjudged} {
		if n := count[a]; n == 1 {
			words = append(words, "1 "+string(a))
		} else if n > 1 {
			words = append(words, fmt.Sprintf("%d %s", n, strings.TrimSuffix(string(a), "s")))
		}
	}
	return strings.Join(words, ", ")
}

// quantity is a speed-up or a loss: as published, NaN where it is not, and that of each of
// our repeats.
type quantity struct {
	name      string
	published float64
	here      []Number
}

// relation is what a publication says of two quantities.
type relation string

const (
	above    relation = ">"
	notBelow relation = "≥"
	closeTo  relation = "≈"
)

const (
	fewPercent = 0.05 // that figures which are near may lie apart: the paper says "a few percent"
	single     = 0.05 // that two figures of one run each must lie apart to be told apart at all
)

// compare is the finding on a statement about two quantities.
func (a quantity) compare(about string, is relation, b quantity, format func(float64) string) Finding {
	published := func(f quantity) string {
		if !finite(f.published) {
			return "-"
		}
		return format(f.published)
	}
	measured := func(f quantity) string { return cmp.Or(median(f.here, format), "-") }
	return Finding{about, a.name + " " + string(is) + " " + b.name, published(a) + ", " + published(b),
		measured(a) + ", " + measured(b), is.holds(a.here, b.here)}
}

// holds tells whether what was measured is so.
func (is relation) holds(a, b []Number) Agreement {
	way, ok := larger(a, b)
	ratio := Compare(a, b).Ratio
	switch {
	case !ok:
		return Missing
	case is == above && way > 0,
		is == notBelow && ratio*(1+fewPercent) >= 1,
		is == closeTo && ratio*(1+fewPercent) >= 1 && ratio <= 1+fewPercent:
		return Agrees
	case way == 0:
		return Undecided
	}
	return Differs
}

// larger is how two lists compare: 1 if a is larger beyond the ranges of the repeats, -1
// if it is smaller, 0 if they overlap. ok: both have figures.
func larger(a, b []Number) (way int, ok bool) {
	v := Compare(a, b)
	switch {
	case !finite(v.Ratio):
		return 0, false
	case v.Overlap || Summarize(a).N == 1 && math.Abs(v.Ratio-1) < single:
		return 0, true
	case v.Ratio > 1:
		return 1, true
	}
	return -1, true
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
			f.here = c.TestLoss
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
		speed(short, methodHogwild, 2).compare("delay of "+delayOf(short), above, speed(short, methodRR, 2), human.Factor),
		speed(long, methodRR, 6).compare("delay of "+delayOf(long), notBelow, speed(long, methodHogwild, 6), human.Factor),
	}
}
