package page

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// OfRuns is the report of runs, beside each other if there are several.
func OfRuns(runs []*rundir.Recorded) *Page {
	var all []*run
	for i, r := range runs {
		one := &run{Recorded: r, name: name(runs, i), color: i}
		if len(runs) > 1 {
			one.legend = one.name
		}
		one.begin()
		all = append(all, one)
	}
	p := &Page{Title: human.Plural(len(all), "run")}
	if len(all) == 1 {
		p.Title = all[0].title()
	}
	for _, r := range all {
		p.runFacts(r)
		p.runNotes(r)
	}
	p.section(results(all))
	p.section(Section{Title: "Figures", Figures: figuresOf(all)})
	for _, r := range all {
		if r.Result != nil {
			p.details(r)
		}
	}
	p.section(Section{Title: "Workers", Table: workersOf(all)})
	p.runSettings(all)
	p.section(Section{Title: "Reproduce", Text: "Starts a new run with the same settings:", Code: repeat(all)})
	return p
}

// run is a run and how a page of several tells it from the others.
type run struct {
	*rundir.Recorded
	name   string
	legend string // the name, if there are several runs
	color  int
	got    *rundir.Result      // to which the run has got
	now    rundir.Status       // its last moment
	best   *rundir.EpochResult // its best epoch, if it has a validation set; else an empty one
}

// name is the folder of a run without what leads to it, unless another one is called so.
func name(runs []*rundir.Recorded, i int) string {
	short := filepath.Base(runs[i].Folder)
	for j, o := range runs {
		if j != i && filepath.Base(o.Folder) == short {
			return runs[i].Folder
		}
	}
	return short
}

// title is what was trained on what.
func (r *run) title() string {
	return fmt.Sprintf("%s on %s: %s, %s", modelOf(r), rundir.DataText(filepath.Base(r.Config.Data)), human.Plural(r.Config.Workers, "worker"), r.Config.Mode)
}

func modelOf(r *run) string {
	return cmp.Or(r.Config.Program, r.Config.Model, "model")
}

// begin finds out how far the run has got: to its end, as its result says, or to its last epoch or moment.
func (r *run) begin() {
	if n := len(r.Seconds); n > 0 {
		r.now = r.Seconds[n-1]
	}
	if r.got = r.Result; r.got == nil {
		e := rundir.EpochResult{TrainLoss: nan, TestLoss: nan}
		if n := len(r.Epochs); n > 0 {
			e = r.Epochs[n-1]
		}
		r.got = &rundir.Result{Epochs: e.Epoch, Seconds: max(e.Seconds, r.now.Seconds), Examples: max(e.Examples, r.now.Examples), Batch: r.Config.AskedBatch(),
			LRUsed: cmp.Or(e.LR, r.Config.LR), TrainLoss: e.TrainLoss, TestLoss: e.TestLoss, TestAccuracy: e.TestAccuracy, TestRMSE: e.TestRMSE, TestR2: e.TestR2}
	}
	if r.best = rundir.Best(r.Epochs); r.best == nil {
		r.best = &rundir.EpochResult{}
	}
}

// rate is so many examples a second of the run.
func (r *run) rate(examples int64) string {
	return numberText(float64(examples)/r.got.Seconds, human.Rate)
}

// state says whether the run has ended, and how.
func (r *run) state() string {
	switch {
	case r.Result == nil:
		return fmt.Sprintf("at epoch %d of %d", max(r.got.Epochs, r.now.Epoch), r.Config.Epochs)
	case r.Result.Stopped != "":
		return "stopped early: " + r.Result.Stopped
	}
	return "finished"
}

func (p *Page) runFacts(r *run) {
	if r.legend == "" {
		p.fact("folder", r.Folder)
	}
	if r.Result == nil {
		return
	}
	if t := r.Result.Time; r.legend == "" && !t.IsZero() {
		p.fact("ended", t.Format("2006-01-02 15:04:05 MST"))
	}
	p.of = r.name
	p.version(r.Result.Version, r.Result.Commit)
	p.machine(r.Result.Machine)
	p.fact("device", r.Result.Device)
}

func (p *Page) runNotes(r *run) {
	var notes []string
	if r.Result == nil {
		notes = append(notes, "The run is unfinished: it is still training or was killed, "+r.state()+".")
	} else {
		notes = r.events()
	}
	if n := len(r.Epochs); n > 0 && !finite(r.Epochs[n-1].Judged().Loss) {
		notes = append(notes, "The run diverged: its loss is not finite.")
	}
	for _, line := range notes {
		if r.legend != "" {
			line = r.name + ": " + line
		}
		p.note(line)
	}
}

// events is what happened to a run that has ended.
func (r *run) events() (notes []string) {
	notes = slices.Clone(r.Result.Notes)
	if r.Result.LRCapped {
		notes = append(notes, fmt.Sprintf("The learning rate was lowered from %g to %g, the stable limit for this many steps in flight.", r.Config.LR, r.Result.LRUsed))
	}
	for _, s := range r.Result.Scales {
		notes = append(notes, "The run was "+s.String()+".")
	}
	if r.Result.Restarts > 0 || r.Result.LostExamples > 0 {
		notes = append(notes, fmt.Sprintf("Worker restarts: %d. Examples lost: %s.", r.Result.Restarts, human.Count(r.Result.LostExamples)))
	}
	if r.Result.Rollbacks > 0 {
		notes = append(notes, fmt.Sprintf("Rollbacks after divergence: %d, the last to learning rate %g. Examples discarded: %s.", r.Result.Rollbacks, r.Result.LRUsed, human.Count(r.Result.DiscardedExamples)))
	}
	if r.Result.Error != "" {
		notes = append(notes, "The run failed: "+r.Result.Error+".")
	} else if r.Result.Stopped != "" {
		notes = append(notes, "The run stopped early: "+r.Result.Stopped+".")
	}
	return notes
}

// runSettings is the settings: of one run those that are not the defaults, then all; of
// several first those in which they differ.
func (p *Page) runSettings(all []*run) {
	same, differ := compareSettings(all, runName, func(r *run) config.Config { return r.Config })
	p.section(Section{Title: "Settings that differ", Table: differ})
	title := "Non-default settings"
	if len(all) > 1 {
		title += ", in all runs"
	}
	p.section(Section{Title: title, Code: lines(same)})
	if len(all) == 1 {
		p.section(Section{Title: "All settings", Code: lines(bench.Settings(all[0].Config))})
	}
}

// repeat is the commands that make the runs again.
func repeat(all []*run) string {
	var b strings.Builder
	for _, r := range all {
		config := filepath.Join(r.Folder, "config.yaml")
		fmt.Fprintf(&b, "hogwild train --config %s --run %s\n", human.ShellWord(config), human.ShellWord(filepath.Clean(r.Folder)+"-again"))
	}
	return b.String()
}
