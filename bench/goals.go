package bench

import (
	"fmt"
	"strings"

	"hogwild/internal/human"
)

// goal is the test accuracy that the cases of a group are trained to on MNIST, and what is said of one of them.
type goal struct {
	group            string
	of               string // the case that is judged
	is               relation
	accuracy, margin float64
	published        string
	slower           string // the case that trains for longer; "": nothing is said of times
}

// goals has the goals of plans/speedrun.yaml and plans/tutorial.yaml. Seeds of the tutorial differ by as much as its
// margin, and its first weights are not known.
var goals = []goal{
	{"98", "98-async-2", notBelow, 0.98, 0, "-", "98-async-1"},
	{"99", "99-async-2", notBelow, 0.99, 0, "-", "99-async-1"},
	{"tutorial", "tutorial-sync-4", closeTo, 0.93, 0.015, "87%, 92%, 93% by epoch", ""},
}

const mnistImages = 60000 // accuracies after fewer, or other ones, are not judged

// AboutGoals says what the findings on goals and the figures of GoalTable are.
const AboutGoals = "A claim on an accuracy agrees if a t-test over the runs shows it of the mean (± its standard " +
	"error; ≈ allows 1.5 points); it is undecided where a run did not train on all images of MNIST. Times are " +
	"compared seed by seed. Accuracies by epoch are medians. Training is the time of the steps, without the tests " +
	"between epochs; the whole command is from the start of the process to its end, with reading the images, all " +
	"tests and saved weights."

// percent is the accuracy as text.
func (g *goal) percent() string { return fmt.Sprintf("%g%%", 100*g.accuracy) }

// beyond is by how much the runs of a case pass the goal, how many of them reach it, and whether all trained on all
// images of MNIST.
func (g *goal) beyond(c *Measured) (d paired, reached int, mnist bool) {
	var by []float64
	mnist = true
	examples := Examples.Of(c)
	for i, x := range TestAccuracy.Of(c) {
		if !human.Finite(x) {
			continue
		}
		by = append(by, x-g.accuracy)
		if x >= g.accuracy {
			reached++
		}
		mnist = mnist && examples[i] == mnistImages*float64(c.Config.Epochs)
	}
	return differences(by, g.margin), reached, mnist
}

// mean is the mean accuracy of a case and its standard error.
func (g *goal) mean(c *Measured) string {
	switch d, _, _ := g.beyond(c); {
	case d.n == 0:
		return "-"
	case d.n == 1:
		return human.Accuracy(g.accuracy + d.mean)
	default:
		return fmt.Sprintf("%s ± %.3f", human.Accuracy(g.accuracy+d.mean), 100*d.deviation)
	}
}

// goalFindings say of each goal whether the mean of the seeds reaches it, and which case trains for longer.
func goalFindings(e *Experiment) (list []Finding) {
	for _, g := range goals {
		named := func(name string) []*Measured { return e.which(func(c *Measured) bool { return c.Name == name }) }
		for _, c := range named(g.of) {
			d, _, mnist := g.beyond(c)
			f := Finding{About: g.group, Statement: fmt.Sprintf("mean test accuracy %s %s", g.is, g.percent()),
				Published: g.published, Measured: g.mean(c), Verdict: Undecided, P: human.Number(none)}
			if mnist {
				f.Verdict, f.P = g.is.judge(d)
			}
			list = append(list, f)
			for _, s := range named(g.slower) {
				f := above.finding(Seconds.Of(s), Seconds.Of(c), shortTime)
				f.About, f.Statement = g.group, "training of "+s.Name+" > of "+c.Name
				f.Published = "-, -"
				list = append(list, f)
			}
		}
	}
	return list
}

// GoalTable returns a table of the cases with a goal; nil: there are none.
func GoalTable(e *Experiment) *human.Table {
	var cases []*Measured
	of := map[*Measured]*goal{}
	for i := range goals {
		for _, c := range e.of(goals[i].group) {
			cases, of[c] = append(cases, c), &goals[i]
		}
	}
	return Table(cases,
		human.Col("goal", func(c *Measured) string { return of[c].percent() }),
		human.Col("mean accuracy", func(c *Measured) string { return of[c].mean(c) }),
		human.Col("runs at the goal", func(c *Measured) string {
			d, reached, _ := of[c].beyond(c)
			if of[c].is == closeTo {
				return ""
			}
			return fmt.Sprintf("%d of %d", reached, d.n)
		}),
		human.Col("by epoch", func(c *Measured) string { return strings.Join(c.accuracyByEpoch(), ", ") }),
		human.Col("training", func(c *Measured) string { return Summarize(Seconds.Of(c)).time() }),
		human.Col("whole command", func(c *Measured) string { return Summarize(Command.Of(c)).time() }))
}

// accuracyByEpoch is the median test accuracy after each epoch.
func (c *Measured) accuracyByEpoch() (medians []string) {
	for k := 0; ; k++ {
		var at []float64
		for _, r := range c.Runs {
			if h := r.History; k < len(h) && h[k].TestAccuracy != nil {
				at = append(at, *h[k].TestAccuracy)
			}
		}
		if at == nil {
			return medians
		}
		medians = append(medians, median(at, func(x float64) string { return fmt.Sprintf("%.3g%%", 100*x) }))
	}
}
