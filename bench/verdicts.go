package bench

import (
	"fmt"
	"hogwild/internal/human"
	"math"
	"strings"
)

// FindingHeads are the heads of FindingRows.
var FindingHeads = []string{"experiment", "claim", "published", "measured", "verdict"}

// AboutFindings says what the figures of FindingRows are, and when a statement holds.
const AboutFindings = "Speed-ups are relative to the serial version (Hogwild! with one worker): published for 10 " +
	"threads, measured with the most workers. " +
	"Losses are test losses, or training losses for model averaging. All figures are medians of the repeats, in the " +
	"order of the claim. " +
	"≥ and ≈ allow 5%. A claim agrees if paired t-tests over the repeats show it (for ≈ an equivalence test), " +
	"differs if they show the opposite, " +
	"and is undecided otherwise, or with fewer than 5 repeats. The probability of any wrong verdict in the table is " +
	"at most 5% (Holm's step-down)."

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
	var p []float64
	for _, f := range all {
		p = append(p, float64(f.P))
	}
	for i, x := range holm(p) {
		f := &all[i]
		f.P = Number(x)
		switch {
		case f.Verdict == Missing:
		case len(e.smoke()) > 0:
			f.Verdict, f.P = Unjudged, Number(math.NaN())
		case !(x <= level):
			f.Verdict = Undecided
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
	if len(e.Seeds) < leastRepeats && count[Undecided] > 0 {
		words = append(words, fmt.Sprintf("with too few repeats for a verdict: --repeat %d", leastRepeats))
	}
	return strings.Join(words, ", ")
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
		speed(short, methodHogwild, 2).compare("delay of "+delayOf(short), above,
			speed(short, methodRR, 2), human.Factor),
		speed(long, methodRR, 6).compare("delay of "+delayOf(long), notBelow,
			speed(long, methodHogwild, 6), human.Factor),
	}
}
