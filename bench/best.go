package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// Best is the outcome of a sweep's cases of one group: the case with the least median test loss, and those that its
// repeats do not tell apart from it.
type Best struct {
	Group    string       `json:"group,omitempty"`
	Case     string       `json:"case"`
	TestLoss human.Number `json:"test_loss"`
	Low      human.Number `json:"test_loss_low"` // of the repeats
	High     human.Number `json:"test_loss_high"`
	Ties     []string     `json:"ties,omitempty"`
}

// ByLoss sorts cases from the least median test loss to the greatest, where a run that diverged has an infinite one;
// those that have none come last.
func ByLoss(cases []*Measured) []*Measured {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b *Measured) int {
		x, y := Ranked(TestLoss.Late(a)), Ranked(TestLoss.Late(b))
		return cmp.Or(cmp.Compare(min(y.N, 1), min(x.N, 1)), cmp.Compare(x.Median, y.Median))
	})
	return cases
}

// best is the best of some cases and its ties; nil: there is nothing to choose from. Ties are the cases that are not
// shown to be worse (Holm's step-down over all others), so that the case which is truly best is among the best and its
// ties with a probability of 95% or more: multiple comparisons with the best (Hsu 1984).
func best(cases []*Measured) (first *Measured, ties []*Measured) {
	cases = ByLoss(cases)
	if len(cases) < 2 || Summarize(TestLoss.Of(cases[0])).N == 0 {
		return nil, nil
	}
	cases = slices.DeleteFunc(cases, func(c *Measured) bool { return Summarize(TestLoss.Of(c)).N == 0 })
	var p []float64
	for _, c := range cases[1:] {
		p = append(p, pair(TestLoss.Of(c), TestLoss.Of(cases[0])).beyond(0))
	}
	for i, x := range holm(p) {
		if !(x <= level) {
			ties = append(ties, cases[i+1])
		}
	}
	return cases[0], ties
}

// bests returns the best cases of each group of a sweep. A bench compares modes, case by case.
func (e *Experiment) bests() (all []Best) {
	for _, g := range e.groups() {
		first, ties := best(e.of(g))
		if e.Kind != "sweep" || first == nil {
			continue
		}
		s := Summarize(TestLoss.Of(first))
		b := Best{g, first.Name, human.Number(s.Median), human.Number(s.Low), human.Number(s.High), nil}
		for _, c := range ties {
			b.Ties = append(b.Ties, c.Name)
		}
		all = append(all, b)
	}
	return all
}

// BestText says which of a sweep's cases is best, and from which the repeats do not tell it; "" of other experiments.
func (e *Experiment) BestText(cases []*Measured) string {
	first, ties := best(cases)
	if e.Kind != "sweep" || first == nil {
		return ""
	}
	text := fmt.Sprintf("Best: %s, test loss %s", first.Name, Summarize(TestLoss.Of(first)).Text(human.Loss))
	if s := Summarize(TestAccuracy.Of(first)); s.N > 0 {
		text += ", accuracy " + s.Text(human.Accuracy)
	}
	switch {
	case len(e.Seeds) < leastRepeats:
		text += fmt.Sprintf(". Not told apart from the others: that takes %d repeats.", leastRepeats)
	case len(ties) > 0:
		text += fmt.Sprintf(". Not told apart from it (at 5%%, all cases together): %s.", names(ties))
	default:
		text += ". All others are worse (at 5%, all cases together)."
	}
	return text
}

// BestCommands trains the best of a sweep's cases again, and predicts with its weights if they were kept; "" of other
// experiments.
func (e *Experiment) BestCommands(cases []*Measured) string {
	first, _ := best(cases)
	if e.Kind != "sweep" || first == nil {
		return ""
	}
	words := []string{"hogwild", "train"}
	for _, f := range first.flags(e.Seeds[0]) {
		words = append(words, human.ShellWord(f))
	}
	text := strings.Join(words, " ") + "\n"
	if first.Weights != "" && first.Config.Program == "" {
		text += fmt.Sprintf("hogwild predict %s --data PATH\n", human.ShellPath(first.Weights))
	}
	return text
}

// names is the first few names of cases.
func names(cases []*Measured) string {
	const some = 4
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	if len(names) > some+1 {
		names = append(names[:some], fmt.Sprintf("%d others", len(names)-some))
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}
