package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// comparison is in what runs differ, and how soon each of them had the lowest loss that all reached. Lists have an
// entry for each run.
type comparison struct {
	Settings []difference // that differ
	// Loss is NaN where there is none, or where the losses are not of the same thing, as Notes say.
	Loss          float64
	LossOf        string // test, or validation: the set
	SecondsToLoss []float64
	EpochsToLoss  []float64
	Notes         []string

	same []bench.Setting // not the defaults
}

// ofTheLoss are the settings that must be alike for losses to be of the same thing. Test rows have no weights, but runs
// with other weights minimize another loss than the one they are tested by.
var ofTheLoss = []string{"data", "test", "validation", "format", "target", "ignore", "weight", "class-weight",
	"columns", "missing", "loss"}

func compare(runs []*rundir.Recorded) *comparison {
	c := &comparison{Loss: nan}
	c.same, c.Settings = compareSettings(len(runs), func(i int) config.Config { return settled(runs[i]) })
	var apart []string
	for _, d := range c.Settings {
		if slices.Contains(ofTheLoss, d.Setting) {
			apart = append(apart, d.Setting)
		}
	}
	if apart == nil {
		c.reached(runs)
	} else {
		c.Notes = append(c.Notes, "The runs differ in "+strings.Join(apart, " and ")+": their losses cannot be "+
			"compared.")
	}
	return c
}

// settled returns the settings of a run with the batch that it chose if none was given, as a resumed run has it.
func settled(r *rundir.Recorded) config.Config {
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
		best := math.Inf(1)
		for _, e := range r.Epochs {
			if s := e.Judged(); s.Loss < best { // not NaN
				best, c.LossOf = s.Loss, s.Set
			}
		}
		loss = max(loss, best)
	}
	if math.IsInf(loss, 0) {
		c.Notes = append(c.Notes, "No loss was reached by all runs.")
		return
	}
	c.Loss = loss
	for _, r := range runs {
		seconds, epochs := bench.Reach(r.Epochs, loss)
		c.SecondsToLoss = append(c.SecondsToLoss, seconds)
		c.EpochsToLoss = append(c.EpochsToLoss, epochs)
	}
}

// rows are the times to the loss, in the table of results.
func (c *comparison) rows() (rows [][]string) {
	if c.SecondsToLoss == nil {
		return nil
	}
	to := " to " + human.Loss(c.Loss)
	for _, f := range []struct {
		head string
		list []float64
	}{{"time" + to + ", s", c.SecondsToLoss}, {"epochs" + to, c.EpochsToLoss}} {
		row := []string{f.head}
		for _, x := range f.list {
			row = append(row, human.Short(x))
		}
		rows = append(rows, row)
	}
	return rows
}

// section is the settings that differ.
func (c *comparison) section(all []*run) (s Section) {
	if len(c.Settings) == 0 {
		return s
	}
	s = Section{Title: "Settings that differ", Table: &human.Table{Heads: heads("setting", all)}}
	for _, d := range c.Settings {
		row := []string{d.Setting}
		for _, v := range d.Values {
			row = append(row, written(v))
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	return s
}

// difference is a setting and its value in each run.
type difference struct {
	Setting string
	Values  []string
}

// apartFromRun are the settings that say where a run is kept, but not how it trains.
var apartFromRun = []string{"run", "resume", "save-every", "hang-timeout", "node-timeout", "mpi"}

// compareSettings is the settings that are alike in n things and not the defaults, and those in which the things
// differ.
func compareSettings(n int, of func(i int) config.Config) (same []bench.Setting, differ []difference) {
	var all [][]bench.Setting
	for i := range n {
		all = append(all, bench.Settings(of(i)))
	}
	for k, s := range bench.Settings(config.Default()) {
		d := difference{Setting: s.Flag}
		for i := range n {
			d.Values = append(d.Values, all[i][k].Value)
		}
		switch alike := len(slices.Compact(slices.Clone(d.Values))); {
		case slices.Contains(apartFromRun, s.Flag):
		case alike > 1:
			differ = append(differ, d)
		case alike == 1 && d.Values[0] != s.Value:
			same = append(same, bench.Setting{Flag: s.Flag, Value: d.Values[0]})
		}
	}
	return same, differ
}

// lines is settings as a file has them.
func lines(all []bench.Setting) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s: %s\n", s.Flag, written(s.Value))
	}
	return b.String()
}

// written is a value as a file has it.
func written(value string) string { return cmp.Or(value, `""`) }

// machine adds what is known of the machine.
func (p *Page) machine(m rundir.Machine) {
	cpu := m.CPU
	if m.Cores > 0 {
		cpu = strings.TrimPrefix(cpu+", "+human.Plural(m.Cores, "core"), ", ")
	}
	p.fact("processor", cpu)
	if m.Memory > 0 {
		p.fact("memory", fmt.Sprintf("%.1f GiB", float64(m.Memory)/(1<<30)))
	}
	p.fact("GPU", strings.Join(m.GPUs, ", "))
	p.fact("system", strings.Trim(m.Kernel+", "+m.Go, ", "))
}

func (p *Page) version(version, commit string) {
	if commit != "" {
		version += ", commit " + commit
	}
	p.fact("hogwild", version)
}

// heads returns the heads of a table with a column for each run.
func heads(first string, all []*run) []string {
	names := []string{first}
	for _, r := range all {
		names = append(names, r.name)
	}
	return names
}
