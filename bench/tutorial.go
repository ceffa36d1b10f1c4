package bench

import (
	"fmt"
	"math"
	"strings"

	"hogwild/hogwild/config"
)

const tutorialName = "tutorial"

// TutorialOptions say what the tutorial is repeated on.
type TutorialOptions struct {
	Data  string // a folder with MNIST's four files; "": the built-in digits, which are other ones
	Limit int    // first images; 0: all
}

// TutorialPlan is a published tutorial's synchronous SGD, and the same network without
// locks: four workers with a quarter of the images each, three epochs. See plans/tutorial.yaml.
func TutorialPlan(o TutorialOptions, flags Flags) (Plan, error) {
	p, err := BuiltInPlan(tutorialName, o, flags)
	if o.Data == "" {
		p.Notes = append(p.Notes, notMNIST)
	}
	return p, err
}

const notMNIST = "The built-in digits are not MNIST, so accuracies do not compare with the tutorial. " +
	"Use hogwild reproduce tutorial --data mnist/, with the four MNIST files in that folder."

// AccuracyByEpoch is the median test accuracy after each epoch, and its range.
func (c *Measured) AccuracyByEpoch() (list []Spread) {
	for k := 0; ; k++ {
		s := Summarize(c.accuracyAfter(k))
		if s.N == 0 {
			return list
		}
		list = append(list, s)
	}
}

// accuracyAfter is the test accuracy after an epoch, from 0, of the repeats that came so far.
func (c *Measured) accuracyAfter(epoch int) (at []Number) {
	for _, h := range c.Histories {
		if epoch < len(h) && h[epoch].TestAccuracy != nil {
			at = append(at, Number(*h[epoch].TestAccuracy))
		}
	}
	return at
}

// samePoints is how far accuracies after the last epoch may lie apart and are called the
// same: the tutorial's first weights are not known, and seeds differ by as much.
const samePoints = 0.015

func (e *Experiment) tutorialFindings() (list []Finding) {
	for _, c := range e.of(tutorialName) {
		if c.kind() != config.Sync {
			continue
		}
		var here, off []float64
		for _, s := range c.AccuracyByEpoch() {
			here = append(here, s.Median)
		}
		last := len(PublishedTutorial) - 1
		f := Finding{"synchronous SGD", fmt.Sprintf("test accuracy after each epoch (last within %g points)",
			100*samePoints),
			accuracies(PublishedTutorial), accuracies(here), Undecided, Number(math.NaN())}
		switch {
		case len(here) <= last:
			f.Verdict, f.Measured = Missing, "-"
		case c.Value("data") != "digits" && c.Value("limit") == "": // these are the tutorial's images, and all
			for _, x := range c.accuracyAfter(last) {
				off = append(off, float64(x)-PublishedTutorial[last])
			}
			f.Verdict, f.P = closeTo.judge(differences(off, samePoints))
		}
		list = append(list, f)
	}
	return list
}

// accuracies is a list of accuracies as text.
func accuracies(list []float64) string {
	var words []string
	for _, x := range list {
		words = append(words, fmt.Sprintf("%.3g", 100*x))
	}
	return strings.Join(words, ", ") + "%"
}

// TutorialHeads are the heads of TutorialTable.
var TutorialHeads = []string{"test accuracy", "workers", "epoch 1", "epoch 2", "epoch 3", "training"}

// TutorialTable is the tutorial's accuracies and ours: medians and ranges.
func (e *Experiment) TutorialTable() (rows [][]string) {
	for _, c := range e.of(tutorialName) {
		row := []string{c.Mode + ", measured", fmt.Sprint(c.Workers)}
		for _, s := range c.AccuracyByEpoch() {
			row = append(row, s.Text(percentOf))
		}
		for len(row) < len(TutorialHeads)-1 {
			row = append(row, "-")
		}
		rows = append(rows, append(row, Summarize(c.Seconds).time()))
	}
	if rows == nil {
		return nil
	}
	row := []string{"sync, tutorial", "4"}
	for _, x := range PublishedTutorial {
		row = append(row, percentOf(x))
	}
	return append([][]string{append(row, "-")}, rows...)
}

func percentOf(x float64) string { return fmt.Sprintf("%.3g%%", 100*x) }
