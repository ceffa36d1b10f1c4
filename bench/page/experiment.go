package page

import (
	"fmt"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// OfExperiment is the report of a bench, a sweep or a reproduction.
func OfExperiment(e *bench.Experiment) *Page {
	p := &Page{Title: strings.Trim("hogwild "+e.Kind+": "+e.Name, ": "), About: e.About}
	p.experimentFacts(e)
	p.note(e.Notes...)
	p.note(e.Fairness()...)
	if e.Kind == "reproduce" {
		p.reproduction(e)
	} else {
		for _, g := range groups(e) {
			g.sections(p)
		}
	}
	p.failures(e)
	p.floors(e)
	p.caseSettings(e)
	p.section(Section{
		Title: "How to repeat it", Text: "The command below measures all of it again. One case alone is a run of hogwild train:",
		Code: again(e),
	})
	return p
}

// sections adds what was measured of a group: the table first, then what it shows.
func (g *group) sections(p *Page) {
	p.section(Section{Title: g.title("Results"), Text: g.how(), Table: g.table()})
	learning := g.learning
	if g.e.Kind == "sweep" {
		p.section(Section{Title: g.title("What the settings do"), Figures: g.swept()})
		learning = g.leading
	}
	few := len(g.variants) <= tellApart
	if few {
		p.section(Section{Title: g.title("Speed"), Figures: g.speed()})
	}
	p.section(Section{Title: g.title("Learning"), Figures: learning()})
	if few {
		p.section(Section{Title: g.title("Time to the target"), Figures: g.toTarget()})
		p.section(Section{Title: g.title("Asynchrony"), Figures: g.asynchrony()})
	}
}

func (p *Page) experimentFacts(e *bench.Experiment) {
	if !e.Time.IsZero() {
		p.fact("started", e.Time.Format("2006-01-02 15:04 MST"))
	}
	p.machine(e.Machine)
	version := e.Version
	if e.Commit != "" {
		version = strings.TrimSpace(version + ", commit " + e.Commit)
	}
	p.fact("hogwild", version)
	p.fact("measured", human.Plural(len(e.Cases), "case")+", "+human.Plural(len(e.Seeds), "repeat")+" each, in turns")
	p.fact("command", e.Command)
}

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

// failures lists the runs that failed, and why.
func (p *Page) failures(e *bench.Experiment) {
	t := &Table{Heads: []string{"case", "seed", "why"}}
	for _, c := range e.Cases {
		for i, why := range c.Failed {
			if why != "" && i < len(e.Seeds) {
				t.Rows = append(t.Rows, []string{c.Name, fmt.Sprint(e.Seeds[i]), why})
			}
		}
	}
	if len(t.Rows) > 0 {
		p.section(Section{Title: "Runs that failed", Text: "They have no part in medians and ranges.", Table: t})
	}
}

// floors is what the machine does at best, if it was measured.
func (p *Page) floors(e *bench.Experiment) {
	if e.Floors == nil {
		return
	}
	t := &Table{Heads: []string{"floor", "unit", "cores", "median (range)", "what it bounds"}}
	for _, f := range e.Floors.Floors {
		list := []bench.Number{bench.Number(f.Min), bench.Number(f.Median), bench.Number(f.Max)}
		t.Rows = append(t.Rows, []string{f.Name, f.Unit, fmt.Sprint(f.Cores), spreadText(list, human.Short), f.Means})
	}
	p.section(Section{Title: "Floors of the machine", Text: "What it does at best, measured by plain loops.", Table: t})
}

// caseSettings is what was set: what all cases have in common, then in what they differ.
func (p *Page) caseSettings(e *bench.Experiment) {
	var names []string
	var configs []config.Config
	for _, c := range e.Cases {
		names, configs = append(names, c.Name), append(configs, c.Config)
	}
	same, differ := changed(configs)
	s := Section{Title: "Settings", Table: differences("case", names, configs, differ)}
	if len(same) > 0 {
		s.Text, s.Code = "What differs between the cases, and below what is not the default in all of them.", lines(same)
	}
	p.section(s)
}

// again is the command of the whole and one for each case.
func again(e *bench.Experiment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", e.Command)
	for _, c := range e.Cases {
		b.WriteString("hogwild train")
		for _, s := range c.Settings {
			if s.Value == "true" || s.Value == "false" {
				fmt.Fprintf(&b, " --%s=%s", s.Flag, s.Value)
			} else {
				fmt.Fprintf(&b, " --%s %s", s.Flag, human.ShellWord(s.Value))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
