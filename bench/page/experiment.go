package page

import (
	"fmt"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
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
			p.section(Section{Title: g.title("Best case"), Text: e.BestText(g.cases) + " Its command, and " +
				"what predicts with its weights if they were kept:", Code: e.BestCommands(g.cases)})
			p.section(Section{Title: g.title("Results"), Text: g.how(),
				Table: bench.Table(g.cases, e.LossColumns(g.cases)...)})
			p.section(Section{Title: g.title("Speed"), Table: bench.Table(g.cases, e.SpeedColumns(g.cases)...)})
			p.section(Section{Title: g.title("Figures"), Figures: g.figures()})
			p.more(g.title("More figures of each case"), g.cases)
		}
	}
	for _, g := range groups(e) {
		p.section(g.rates())
	}
	p.failures(e)
	p.caseSettings(e)
	p.section(Section{
		Title: "Reproduce", Text: "The first command repeats the whole experiment. The others repeat one case each.",
		Code: again(e),
	})
	return p
}

func (p *Page) experimentFacts(e *bench.Experiment) {
	if !e.Time.IsZero() {
		p.fact("started", e.Time.Format("2006-01-02 15:04 MST"))
	}
	p.machine(e.Machine)
	p.version(e.Version, e.Commit)
	p.fact("measured", human.Plural(len(e.Cases), "case")+", "+human.Plural(len(e.Seeds), "repeat")+
		" each, interleaved")
	if e.SameLR {
		p.fact("learning rate", "one for all cases: this compares mechanisms, not what each case can reach")
	}
	p.fact("command", e.Command)
}

// failures lists the runs that failed, and why.
func (p *Page) failures(e *bench.Experiment) {
	t := &human.Table{Heads: []string{"case", "seed", "why"}}
	for _, c := range e.Cases {
		for _, r := range c.Runs {
			if r.Failed != "" {
				t.Rows = append(t.Rows, []string{c.Name, fmt.Sprint(r.Seed), r.Failed})
			}
		}
	}
	if len(t.Rows) > 0 {
		p.section(Section{Title: "Failed runs", Text: "Medians and ranges leave them out.", Table: t})
	}
}

// caseSettings adds what was set: what all cases have in common, then in what they differ.
func (p *Page) caseSettings(e *bench.Experiment) {
	same, differ := compareSettings(len(e.Cases), func(i int) config.Config {
		c := e.Cases[i].Config
		c.Seed = config.Default().Seed // each repeat has its own
		return c
	})
	s := Section{Title: "Settings"}
	if len(differ) > 0 {
		s.Table = &human.Table{Heads: []string{"case"}}
		for i, c := range e.Cases {
			row := []string{c.Name}
			for _, d := range differ {
				row = append(row, d.Values[i])
			}
			s.Table.Rows = append(s.Table.Rows, row)
		}
		for _, d := range differ {
			s.Table.Heads = append(s.Table.Heads, d.Setting)
		}
	}
	if len(same) > 0 {
		s.Text, s.Code = "The table shows the settings that differ. Below are the non-default settings that all "+
			"cases share.", lines(same)
	}
	p.section(s)
}

// again is the command of the whole and one for each case.
func again(e *bench.Experiment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", e.Command)
	for _, c := range e.Cases {
		b.WriteString("hogwild train")
		for _, s := range c.All() {
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
