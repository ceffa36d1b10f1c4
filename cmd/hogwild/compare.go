package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

const compareHelp = `Usage: hogwild compare RUN RUN... [--json]

Shows runs side by side: the settings that differ, the final results, and the training time to the
lowest test loss (with --validation, validation loss) that all of them reached. A single run of
each says little: hogwild bench repeats runs and gives ranges.

FLAGS
Examples:
  hogwild compare runs/async runs/sync
  hogwild compare runs/2026* --json
`

func compareCommand() *cli.Command {
	var asJSON bool
	l := flagList{category: "Flags"}
	l.bool(&asJSON, "json", "print the comparison as one JSON object")
	return &cli.Command{
		Name: "compare", Usage: "compare settings and results of runs", ArgsUsage: "RUN", Description: compareHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			if len(args) < 2 {
				return usagef("compare takes two or more run folders: hogwild compare runs/async runs/sync (hogwild runs lists them)")
			}
			var runs []*rundir.Recorded
			for _, folder := range args {
				r, err := rundir.ReadRun(folder)
				if err != nil {
					return err
				}
				runs = append(runs, r)
			}
			return report(c.App.Writer, compareRuns(runs), asJSON)
		}),
	}
}

// comparison is runs side by side. Lists have an entry for each run.
type comparison struct {
	Runs     []ranRun     `json:"runs"`
	Settings []difference `json:"settings"` // that differ
	// Loss is the lowest loss that all runs reached; null: there is none, or the losses are not
	// of the same thing, as Notes say.
	Loss          bench.Number   `json:"loss_reached"`
	LossOf        string         `json:"loss_of,omitempty"` // test, or validation: the set
	SecondsToLoss []bench.Number `json:"seconds_to_loss"`
	EpochsToLoss  []bench.Number `json:"epochs_to_loss"`
	Notes         []string       `json:"notes,omitempty"`
}

// difference is a setting and its value in each run.
type difference struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
}

// ofTheLoss are the settings that must be alike for losses to be of the same thing.
var ofTheLoss = []string{"data", "test", "validation", "format", "target", "ignore", "missing", "loss"}

func compareRuns(runs []*rundir.Recorded) *comparison {
	c := &comparison{Settings: []difference{}, Loss: nan}
	for _, r := range runs {
		c.Runs = append(c.Runs, ran(r))
	}
	var apart []string
	for i, s := range bench.Settings(asRun(runs[0])) {
		d := difference{Setting: s.Flag}
		for _, r := range runs {
			d.Values = append(d.Values, bench.Settings(asRun(r))[i].Value)
		}
		if s.Flag == "run" || s.Flag == "resume" || len(slices.Compact(slices.Sorted(slices.Values(d.Values)))) == 1 {
			continue
		}
		c.Settings = append(c.Settings, d)
		if slices.Contains(ofTheLoss, s.Flag) {
			apart = append(apart, s.Flag)
		}
	}
	if apart == nil {
		c.reached(runs)
	} else {
		c.Notes = append(c.Notes, "the runs differ in "+strings.Join(apart, " and ")+": their losses cannot be compared")
	}
	c.apart(runs)
	return c
}

// asRun is the settings of a run with the batch that it chose if none was given: those of a resumed run have it.
func asRun(r *rundir.Recorded) config.Config {
	c := r.Config
	if c.AskedBatch() == 0 && r.Result != nil {
		c.Batch = r.Result.Batch
	}
	return c
}

// reached sets the loss that all runs reached, and the times to it.
func (c *comparison) reached(runs []*rundir.Recorded) {
	loss := math.Inf(-1)
	for _, r := range runs {
		if r.Config.Validation != runs[0].Config.Validation {
			c.Loss = bench.Number(math.NaN())
			c.Notes = append(c.Notes, "the runs have different validation sets: the times to a loss cannot be compared")
			return
		}
		best := math.Inf(1)
		for _, e := range r.Epochs {
			if s := e.Judged(); s.Loss < best { // not NaN
				best, c.LossOf = s.Loss, s.Set
			}
		}
		loss = max(loss, best)
	}
	if math.IsInf(loss, 0) {
		c.Notes = append(c.Notes, "no loss was reached by all runs")
		return
	}
	c.Loss = bench.Number(loss)
	for _, r := range runs {
		seconds, epochs := bench.Reach(r.Epochs, loss)
		c.SecondsToLoss = append(c.SecondsToLoss, bench.Number(seconds))
		c.EpochsToLoss = append(c.EpochsToLoss, bench.Number(epochs))
	}
}

// apart notes what else differs where the runs were made.
func (c *comparison) apart(runs []*rundir.Recorded) {
	of := func(r *rundir.Recorded, what func(*rundir.Result) string) string {
		if r.Result == nil {
			return ""
		}
		return what(r.Result)
	}
	for _, fact := range []struct {
		name string
		of   func(*rundir.Result) string
	}{
		{"machines", func(r *rundir.Result) string { return fmt.Sprintf("%s, %d cores", r.Machine.CPU, r.Machine.Cores) }},
		{"programs", func(r *rundir.Result) string { return strings.TrimSpace(r.Version + " " + r.Commit) }},
	} {
		for _, r := range runs[1:] {
			if a, b := of(runs[0], fact.of), of(r, fact.of); a != "" && b != "" && a != b {
				c.Notes = append(c.Notes, fmt.Sprintf("different %s: %s; %s", fact.name, a, b))
				break
			}
		}
	}
}

// names are the runs' folders, without what leads to them where that tells them apart.
func (c *comparison) names() (names []string) {
	for _, r := range c.Runs {
		names = append(names, filepath.Base(r.Run))
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names) {
		return names
	}
	for i, r := range c.Runs {
		names[i] = r.Run
	}
	return names
}

// WriteText writes a column for each run.
func (c *comparison) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(head string, cells []string) {
		if !slices.ContainsFunc(cells, func(cell string) bool { return cell != noNumber }) {
			return
		}
		fmt.Fprint(w, head)
		for _, cell := range cells {
			fmt.Fprint(w, "\t", cell)
		}
		fmt.Fprintln(w)
	}
	row("", c.names())
	for _, d := range c.Settings {
		row(d.Setting, settingWords(d))
	}
	if len(c.Settings) == 0 {
		fmt.Fprintln(w, "\nall settings are the same")
	}
	fmt.Fprintln(w)
	each := func(cell func(r *ranRun) string) (cells []string) {
		for i := range c.Runs {
			cells = append(cells, cell(&c.Runs[i]))
		}
		return cells
	}
	loss := func(of func(r *ranRun) bench.Number) []string {
		return each(func(r *ranRun) string { return shown(of(r), human.Loss) })
	}
	row("state", each((*ranRun).stateText))
	row("epochs", each(func(r *ranRun) string { return fmt.Sprintf("%d of %d", r.Epochs, r.EpochsAsked) }))
	row("training", each(func(r *ranRun) string { return seconds(r.Seconds) }))
	row("train loss", loss(func(r *ranRun) bench.Number { return r.TrainLoss }))
	row("test loss", loss(func(r *ranRun) bench.Number { return r.TestLoss }))
	row("accuracy", each(func(r *ranRun) string { return shown(r.TestAccuracy, human.Accuracy) }))
	row("RMSE", loss(func(r *ranRun) bench.Number { return r.TestRMSE }))
	row("R2", loss(func(r *ranRun) bench.Number { return r.TestR2 }))
	if c.SecondsToLoss != nil {
		var times, epochs []string
		for i := range c.Runs {
			times = append(times, seconds(c.SecondsToLoss[i]))
			epochs = append(epochs, shown(c.EpochsToLoss[i], func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }))
		}
		fmt.Fprintf(w, "\nto %s loss %s, the lowest that all of them reached\n", c.LossOf, human.Loss(float64(c.Loss)))
		row("training", times)
		row("epochs", epochs)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", note)
	}
	return w.Flush()
}

// settingWords are the values of a setting as one would write them.
func settingWords(d difference) (words []string) {
	for _, v := range d.Values {
		if v == "" {
			v = `""`
		}
		words = append(words, v)
	}
	return words
}

// WriteJSON writes it as one JSON object.
func (c *comparison) WriteJSON(w io.Writer) error { return human.WriteJSON(w, c) }
