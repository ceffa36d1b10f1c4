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

// OfRuns returns the report of runs, side by side if there are several.
func OfRuns(runs []*rundir.Recorded) *Page {
	p, all, c := begin(runs)
	if figures := learned(panelOf(all), epochEnds); len(figures) > 0 { // what a reader looks for first
		p.Sections = slices.Insert(p.Sections, 0, Section{Title: "Loss and score", Figures: figures})
	}
	p.section(Section{Title: "Speed", Figures: shown(speeds(all))})
	for _, r := range all {
		if r.Result != nil {
			p.details(r)
		}
	}
	p.section(Section{Title: "Workers", Table: workersOf(all)})
	p.section(Section{Title: "Asynchrony", Table: outcomesOf(all, asynchrony), Figures: shown(staleness(panelOf(all)))})
	p.section(c.section(all))
	title, same := "Non-default settings", c.same
	if len(all) == 1 {
		same, _ = compareSettings(1, func(int) config.Config { return all[0].Config })
	} else {
		title += ", in all runs"
	}
	p.section(Section{Title: title, Code: lines(same)})
	if len(all) == 1 {
		p.section(Section{Title: "All settings", Code: lines(bench.Settings(all[0].Config))})
	}
	p.section(Section{Title: "Reproduce", Text: "Starts a new run with the same settings:", Code: repeat(all)})
	return p
}

// begin is a page with what runs came to.
func begin(runs []*rundir.Recorded) (*Page, []*run, *comparison) {
	var all []*run
	for i, r := range runs {
		one := &run{Recorded: r, name: name(runs, i), color: i, got: r.Outcome(),
			best: cmp.Or(rundir.Best(r.Epochs), &rundir.EpochResult{})}
		if len(runs) > 1 {
			one.legend = one.name
		}
		if n := len(r.Seconds); n > 0 {
			one.now = r.Seconds[n-1]
		}
		all = append(all, one)
	}
	p, c := &Page{Title: human.Plural(len(all), "run")}, compare(runs)
	if len(all) == 1 {
		p.Title = all[0].title()
	}
	for _, r := range all {
		p.runFacts(r)
		p.runNotes(r)
	}
	if len(all) > 1 {
		p.note(c.Notes...)
	}
	p.section(results(all, c))
	return p, all, c
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

// title says what was trained on what.
func (r *run) title() string {
	return fmt.Sprintf("%s on %s: %s, %s", modelOf(r), rundir.DataText(filepath.Base(r.Config.Data)),
		human.Plural(r.Config.Workers, "worker"), r.Config.Mode)
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
	if n := len(r.Epochs); n > 0 && !human.Finite(r.Epochs[n-1].Judged().Loss) {
		notes = append(notes, "The run diverged: its loss is not finite.")
	}
	for _, line := range notes {
		if r.legend != "" {
			line = r.name + ": " + line
		}
		p.note(line)
	}
}

// events says what happened to a run that has ended.
func (r *run) events() (notes []string) {
	notes = slices.Clone(r.Result.Notes)
	if r.Result.LRCapped {
		notes = append(notes, fmt.Sprintf("The learning rate was lowered from %g to %g, the stable limit for this "+
			"many steps in flight.", r.Config.LR, r.Result.LRUsed))
	}
	for _, s := range r.Result.Scales {
		notes = append(notes, "The run was "+s.String()+".")
	}
	if r.Result.Restarts > 0 || r.Result.LostExamples > 0 {
		notes = append(notes, fmt.Sprintf("Worker restarts: %d. Examples lost: %s.", r.Result.Restarts,
			human.Count(r.Result.LostExamples)))
	}
	if r.Result.Rollbacks > 0 {
		notes = append(notes, fmt.Sprintf("Rollbacks after divergence: %d, the last to learning rate %g. Examples "+
			"discarded: %s.", r.Result.Rollbacks, r.Result.LRUsed, human.Count(r.Result.DiscardedExamples)))
	}
	if r.Result.Error != "" {
		notes = append(notes, "The run failed: "+r.Result.Error+".")
	} else if r.Result.Stopped != "" {
		notes = append(notes, "The run stopped early: "+r.Result.Stopped+".")
	}
	return notes
}

// repeat is the commands that make the runs again.
func repeat(all []*run) string {
	var b strings.Builder
	for _, r := range all {
		config := filepath.Join(r.Folder, "config.yaml")
		fmt.Fprintf(&b, "hogwild train --config %s --run %s\n", human.ShellPath(config),
			human.ShellPath(filepath.Clean(r.Folder)+"-again"))
	}
	return b.String()
}
