package bench

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

const (
	speedrunName = "speedrun"
	// SpeedrunSeeds and QuickSeeds are how often each case is run.
	SpeedrunSeeds, QuickSeeds = 40, 5
	mnistImages               = 60000 // the rules ask for all of them
)

// SpeedrunOptions say on what a network is trained to an accuracy.
type SpeedrunOptions struct {
	Quick bool
	Data  string // a folder with MNIST's four files
}

// SpeedrunPlan is MNIST to 98% and to 99% with settings that were fixed before, by two workers without locks and
// by one. See plans/speedrun.yaml.
func SpeedrunPlan(o SpeedrunOptions, flags Flags) (Plan, error) {
	return BuiltInPlan(speedrunName, o, flags)
}

// isSpeedrun reports whether an experiment is one of SpeedrunPlan.
func isSpeedrun(e *Experiment) bool {
	return e.Kind == "reproduce" && strings.HasPrefix(e.Name, speedrunName)
}

// goalOf is the accuracy that a group is trained to: its name is that in percent.
func goalOf(group string) float64 {
	percent, err := strconv.ParseFloat(group, 64)
	if err != nil {
		return math.NaN()
	}
	return percent / 100
}

// attempt is what the seeds of a case came to: by how much their accuracies pass the goal, and how many do.
type attempt struct {
	beyond  paired // the mean, and its standard error
	reached int
	allowed bool // every run trained on all images of MNIST
}

func attemptOf(c *Measured) attempt {
	a, goal := attempt{allowed: true}, goalOf(c.Group)
	var beyond []float64
	for i, x := range c.TestAccuracy {
		if !human.Finite(float64(x)) {
			continue
		}
		beyond = append(beyond, float64(x)-goal)
		if float64(x) >= goal {
			a.reached++
		}
		a.allowed = a.allowed && float64(c.Examples[i]) == mnistImages*float64(c.Config.Epochs)
	}
	a.beyond = differences(beyond, 0)
	return a
}

// accuracy is the mean and its standard error.
func (a attempt) accuracy(goal float64) string {
	if a.beyond.n == 0 {
		return "-"
	}
	text := human.Accuracy(goal + a.beyond.mean)
	if a.beyond.n > 1 {
		text += fmt.Sprintf(" ± %.3f", 100*a.beyond.deviation)
	}
	return text
}

// speedrunFindings say for each accuracy whether the mean of the seeds reaches it, and what the second worker
// brings.
func speedrunFindings(e *Experiment) (list []Finding) {
	for _, g := range e.groups() {
		goal := goalOf(g)
		var record, alone *Measured
		for _, c := range e.of(g) {
			if c.Workers == 1 {
				alone = c
			} else {
				record = c
			}
		}
		if record == nil {
			continue
		}
		a := attemptOf(record)
		about := g + "%"
		f := Finding{about, "mean test accuracy ≥ " + about, "-", a.accuracy(goal), Undecided, Number(math.NaN())}
		if a.allowed || a.beyond.n == 0 { // else there are other images, and no figure compares
			f.Verdict, f.P = notBelow.judge(a.beyond)
		}
		list = append(list, f)
		if alone != nil {
			list = append(list, quantity{"training of one worker", none, alone.Seconds}.compare(about, above,
				quantity{"of two without locks", none, record.Seconds}, shortTime))
		}
	}
	return list
}

// AboutSpeedrun says what the findings and figures are.
const AboutSpeedrun = "All settings and the number of epochs were fixed beforehand, with other seeds, on training " +
	"rows that were " +
	"held out; the test images only judge the end. Training is the time of the steps, without the tests " +
	"between epochs; the whole command is from the start of the process to its end, with reading the images, " +
	"all tests and saved weights. A goal is reached if a t-test shows that the mean accuracy is at least the " +
	"goal. Times are compared seed by seed. Other hardware is no comparison of programs."

// SpeedrunHeads are the heads of SpeedrunTable.
var SpeedrunHeads = []string{"goal", "program", "hardware", "mean accuracy", "runs at the goal", "training",
	"whole command"}

// SpeedrunTable is what was measured to each accuracy, and what others have published; nil of other experiments.
func SpeedrunTable(e *Experiment) (rows [][]string) {
	if !isSpeedrun(e) {
		return nil
	}
	for _, g := range e.groups() {
		for _, c := range e.of(g) {
			a := attemptOf(c)
			rows = append(rows, []string{g + "%", fmt.Sprintf("hogwild, %s, %s", c.Mode,
				human.Plural(c.Workers, "worker")), e.Machine.CPU + ", " + human.Plural(e.Machine.Cores, "core"),
				a.accuracy(goalOf(g)), fmt.Sprintf("%d of %d", a.reached, a.beyond.n),
				cmp.Or(Summarize(c.Seconds).time(), "-"), cmp.Or(Summarize(e.Commands[c.Name]).time(), "-")})
		}
		for _, r := range PublishedSpeedruns {
			if r.Goal == g+"%" {
				rows = append(rows, []string{r.Goal, r.Program, r.Hardware, r.Accuracy, "-", r.Training, "-"})
			}
		}
	}
	return rows
}
