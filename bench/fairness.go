package bench

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

const (
	shortRun = 0.05 // seconds; epochs' ends and waking weigh in less
	busy     = 1.5  // the fastest run of a case to its slowest, on a machine with other work
)

// Fairness says what a reader must know before comparing: more workers than cores, GPU
// workers that take turns, runs that failed, learning rates that
// were lowered for some, or whose search did not come to an end, steps that are not the same.
func (e *Experiment) Fairness() (notes []string) {
	for _, say := range []func() []string{
		e.smoke, e.failures, e.oversubscribed, e.sharedMachine, e.emulated, e.timeSliced, e.searches,
		e.loweredRates, e.batches, e.averages, e.weakEvidence,
	} {
		notes = append(notes, say()...)
	}
	return notes
}

// smoke notes that a reproduction is too small to say anything: in the median run start-up and the ends of epochs weigh
// more than training.
func (e *Experiment) smoke() []string {
	var all []float64
	for _, c := range e.Cases {
		all = append(all, Seconds.Of(&c)...)
	}
	if e.Kind != "reproduce" || clocked(e) || !(Summarize(all).Median < shortRun) {
		return nil
	}
	return []string{fmt.Sprintf("A smoke test: the median run trained for %s. The figures mean nothing, and no claim "+
		"is judged.", shortTime(Summarize(all).Median))}
}

// which returns the cases for which something is true.
func (e *Experiment) which(is func(c *Measured) bool) (cases []*Measured) {
	for i := range e.Cases {
		if c := &e.Cases[i]; is(c) {
			cases = append(cases, c)
		}
	}
	return cases
}

// called returns the names of the first few of some cases.
func (e *Experiment) called(cases []*Measured) string {
	if len(cases) > 1 && len(cases) == len(e.Cases) {
		return "all cases"
	}
	return names(cases)
}

// note returns what to say of the cases for which something is true, behind their names.
func (e *Experiment) note(is func(c *Measured) bool, text string) []string {
	cases := e.which(is)
	if len(cases) == 0 {
		return nil
	}
	return []string{e.called(cases) + ": " + text}
}

// failures notes runs that came to nothing, a line each case, and those that are missing.
func (e *Experiment) failures() (notes []string) {
	missing := 0
	for _, c := range e.Cases {
		var why []string
		for _, r := range c.Runs {
			if r.Failed != "" && r.Failed != notRun {
				why = append(why, r.Failed)
			}
		}
		if len(why) > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d of %s failed and are left out: %s", c.Name, len(why),
				human.Plural(c.runs(), "run"), why[0]))
		}
		missing += len(c.Runs) - c.runs()
	}
	if missing > 0 {
		notes = append(notes,
			fmt.Sprintf("%d of %s not run yet", missing, human.Plural(len(e.Cases)*len(e.Seeds), "run")))
	}
	return notes
}

// oversubscribed notes cases with more workers than cores.
func (e *Experiment) oversubscribed() []string {
	cores := e.Machine.Cores
	return e.note(func(c *Measured) bool {
		return cores > 0 && c.Config.GPU == "" && c.Workers*max(1, c.Nodes) > cores // all on this machine
	}, "more workers than cores ("+fmt.Sprint(cores)+
		"): workers share cores, so this says nothing about scaling to more cores")
}

// timeSliced notes cases whose workers take turns on one GPU, as the device reported.
func (e *Experiment) timeSliced() []string {
	return e.note(func(c *Measured) bool {
		return slices.ContainsFunc(c.last().Notes, func(n string) bool { return strings.Contains(n, "without MPS") })
	}, "without MPS processes on a GPU take turns, so N workers are about as fast as one; with it they run at the "+
		"same time")
}

// emulated notes that a driver without a GPU has run the kernels.
func (e *Experiment) emulated() []string {
	if len(e.which(func(c *Measured) bool { return strings.Contains(c.last().Device, "stand-in") })) == 0 {
		return nil
	}
	return []string{"no GPU: the stand-in driver interprets the kernels, so results are valid but times are not"}
}

// batches notes steps of another size than in a group's first case, where the program chose them.
func (e *Experiment) batches() (notes []string) {
	for _, g := range e.groups() {
		of := e.of(g)
		chosen := func(c *Measured) bool {
			return len(c.without("batch", "global-batch")) == len(c.without()) && c.last().Batch > 0
		}
		others := slices.DeleteFunc(slices.Clone(of), func(c *Measured) bool {
			return !chosen(c) || !chosen(of[0]) || c.last().Batch == of[0].last().Batch
		})
		if len(others) > 0 {
			notes = append(notes, fmt.Sprintf("%s: the automatic batch is %d, against %d in %s; set --batch to "+
				"compare equal batches",
				e.called(others), others[0].last().Batch, of[0].last().Batch, of[0].Name))
		}
	}
	return notes
}

// loweredRates notes learning rates that were lowered for some cases of a group only.
func (e *Experiment) loweredRates() (notes []string) {
	for _, g := range e.groups() {
		of := e.of(g)
		lowered := func(c *Measured) bool {
			s := Summarize(LRUsed.Of(c))
			return s.N > 0 && s.Median < 0.999*c.Config.LR
		}
		some := slices.DeleteFunc(slices.Clone(of), func(c *Measured) bool { return !lowered(c) })
		if len(some) == 0 || len(some) == len(of) {
			continue
		}
		least := some[0]
		for _, c := range some {
			if Summarize(LRUsed.Of(c)).Median < Summarize(LRUsed.Of(least)).Median {
				least = c
			}
		}
		notes = append(notes, fmt.Sprintf("%s: the learning rate was lowered to stay stable with the steps in flight "+
			"(%s: %.3g to %.3g), unlike in the other cases; lr-cap: off keeps it",
			e.called(some), least.Name, least.Config.LR, Summarize(LRUsed.Of(least)).Median))
	}
	return notes
}

// searches notes those whose best rate may lie beyond the rates tried, or that went by rows that were trained on.
func (e *Experiment) searches() []string {
	return append(e.note(func(c *Measured) bool { return c.Search != nil && c.Search.AtEdge },
		"the best learning rate is the lowest or highest of those tried; a better one may lie beyond"),
		e.note(func(c *Measured) bool { return c.Search != nil && c.Search.Set == training },
			"no rows of these data can be held out, so learning rates were chosen by the training loss of the last "+
				"epoch")...)
}

// averages notes cases in sync, compared with others, whose steps are not theirs.
func (e *Experiment) averages() (notes []string) {
	var rare, common, behind []*Measured
	for _, g := range e.groups() {
		of := e.of(g)
		other := slices.IndexFunc(of, func(c *Measured) bool { return !c.averages() })
		if other < 0 {
			continue
		}
		for _, c := range of {
			if c.averages() && c.Workers > 1 && c.Search == nil &&
				Summarize(LRUsed.Of(c)).Median <= Summarize(LRUsed.Of(of[other])).Median {
				behind = append(behind, c)
			}
			switch {
			case !c.averages() || c.Workers == 1 || c.Config.GlobalBatch > 0:
			case c.runs() == 0: // only a run knows all its settings
			case c.Config.Average == config.Gradients || c.Config.AverageEvery == 1:
				common = append(common, c)
			default:
				rare = append(rare, c)
			}
		}
	}
	if len(rare) > 0 {
		notes = append(notes, e.called(rare)+": each worker trains on its own shard, and weights are averaged once "+
			"an epoch or every --average-every steps; these steps differ from those of the other modes, so equal "+
			"epochs are not equal work")
	}
	if len(common) > 0 {
		notes = append(notes, e.called(common)+": workers take each step together, on batch x workers examples, so "+
			"an epoch has fewer steps than in the other modes")
	}
	if len(behind) > 0 {
		notes = append(notes, e.called(behind)+": at the learning rate of the other modes they learn less in an "+
			"epoch; the best rate of N workers that average is up to N times as high")
	}
	return notes
}

// weakEvidence notes too few repeats, repeats that differ much, and runs that are too short.
func (e *Experiment) weakEvidence() (notes []string) {
	if n := len(e.Seeds); len(e.Cases) > 1 && n < leastRepeats {
		notes = append(notes, fmt.Sprintf("%s per case: too few to tell cases apart; verdicts need --repeat %d",
			human.Plural(n, "run"), leastRepeats))
	}
	if clocked(e) { // whose time is virtual
		return notes
	}
	var widths []float64
	for _, c := range e.Cases {
		if s := Summarize(Rate.Of(&c)); s.N > 1 {
			widths = append(widths, s.High/s.Low)
		}
	}
	if w := Summarize(widths); w.Median > busy {
		notes = append(notes, fmt.Sprintf("noisy timings: in the median case the fastest run is %s times as fast as "+
			"the slowest; stop other work on the machine and repeat", human.Factor(w.Median)))
	}
	notes = append(notes,
		e.note(func(c *Measured) bool {
			return Summarize(WallSeconds.Of(c)).Median >= 2*Summarize(Seconds.Of(c)).Median
		},
			"half of the time or more passed between epochs; seconds and examples/s are those of training alone")...)
	return append(notes, e.note(func(c *Measured) bool { return Summarize(Seconds.Of(c)).Median < shortRun },
		fmt.Sprintf("runs of less than %g s, where start-up and epoch boundaries dominate; use more --epochs",
			shortRun))...)
}

// sharedMachine notes what nodes on one machine do not show.
func (e *Experiment) sharedMachine() (notes []string) {
	cases := e.which(func(c *Measured) bool { return c.Nodes > 1 })
	if len(cases) == 0 {
		return nil
	}
	var ways []string
	for _, c := range cases {
		way := "in one process"
		if c.Launcher != "" {
			way = "started by " + c.Launcher
		}
		if n := c.last().Nodes; n != nil && n.Library != "" && c.Launcher != "" {
			way += " (" + n.Library + ")"
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	most := slices.MaxFunc(cases, func(a, b *Measured) int { return a.Nodes*a.Workers - b.Nodes*b.Workers })
	return []string{fmt.Sprintf("nodes are %s: all share this machine's %s (%d nodes with %s in %s), so their speed "+
		"is not that of as many machines. "+
		"Compare losses, and the share of communication, which here has no network", strings.Join(ways, ", or "),
		human.Plural(e.Machine.Cores, "core"), most.Nodes, human.Plural(most.Workers, "worker"), most.Name)}
}
