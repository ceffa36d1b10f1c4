package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// How wide things are on the terminal.
const (
	tableWidth   = 110
	summaryWidth = 100 // running text
)

// WriteText writes the table for a terminal: medians and ranges, for each group how fast
// its cases are and how well they learn, and what to mind before comparing them.
func (e *Experiment) WriteText(w io.Writer) error {
	var b bytes.Buffer
	e.head(&b)
	for _, g := range e.groups() {
		cases := slices.DeleteFunc(e.of(g), func(c *Measured) bool { return c.runs() == 0 })
		if len(cases) == 0 {
			continue
		}
		b.WriteString("\n")
		if g != "" && len(e.groups()) > 1 {
			fmt.Fprintf(&b, "%s: ", g)
		}
		fmt.Fprintf(&b, "%s\n", title(cases))
		if text := e.BestText(cases); text != "" {
			fmt.Fprintf(&b, "%s\n", strings.Join(human.Wrap(text, summaryWidth), "\n"))
			fmt.Fprintf(&b, "\n%s", e.BestCommands(cases))
		}
		for _, columns := range [][]Column{e.SpeedColumns(cases), e.LossColumns(cases), NodeColumns} {
			if t := Table(cases, columns...); t != nil {
				t.Heads = capitals(t.Heads)
				fmt.Fprintf(&b, "\n%s", t.Text(tableWidth))
			}
		}
	}
	e.toMind(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// toMind writes what a reader must know before comparing.
func (e *Experiment) toMind(b *bytes.Buffer) {
	notes := append(slices.Clone(e.Notes), e.Fairness()...)
	if len(notes) > 0 {
		b.WriteString("\nNotes:\n")
	}
	for _, n := range notes {
		fmt.Fprintf(b, "- %s\n", strings.Join(human.Wrap(n, summaryWidth), "\n  "))
	}
}

// head says what was measured where, and how to read it.
func (e *Experiment) head(b *bytes.Buffer) {
	where := []string{e.Machine.CPU, human.Plural(e.Machine.Cores, "core")}
	where = append(where, e.Machine.GPUs...)
	where = append(where, e.Machine.Kernel, e.Machine.Go, "hogwild "+e.Version)
	if e.Commit != "" {
		where = append(where, "commit "+e.Commit)
	}
	if e.About != "" {
		fmt.Fprintf(b, "%s\n", strings.Join(human.Wrap(e.About, summaryWidth), "\n"))
	}
	where = slices.DeleteFunc(where, func(s string) bool { return s == "" })
	fmt.Fprintf(b, "%s\n", strings.Join(human.Wrap(strings.Join(where, ", "), summaryWidth), "\n"))
	fmt.Fprintf(b, "%s, %s each, interleaved", human.Plural(len(e.Cases), "case"), human.Plural(len(e.Seeds), "run"))
	if len(e.Seeds) > 1 {
		b.WriteString("; medians (range)")
	}
	b.WriteString("\n")
	// which has no such column
	if e.Kind != "reproduce" && slices.ContainsFunc(e.Cases, func(c Measured) bool { return e.Rival(&c) != nil }) {
		fmt.Fprintf(b, "%s\n", strings.Join(human.Wrap("VS: "+AboutVersus, summaryWidth), "\n"))
	}
	switch {
	case e.SameLR:
		b.WriteString("ONE LEARNING RATE for all cases of a group: this compares mechanisms, not what each case can " +
			"reach\n")
	case slices.ContainsFunc(e.Cases, func(c Measured) bool { return c.Search != nil }):
		b.WriteString("LR: the best of the learning rates that all cases of a group tried\n")
	}
	if clocked(e) {
		b.WriteString("VIRTUAL TIME: to a test loss; 1 is what a gradient takes a fast worker, or takes on average\n")
		return
	}
	b.WriteString("TIME TO: training time to that test loss; STALENESS: updates by other workers between read and " +
		"write\n")
	if slices.ContainsFunc(e.Cases, func(c Measured) bool { return c.Nodes > 1 }) {
		b.WriteString("COMMUNICATION: share of the training time with a round on its way, while workers train on;\n" +
			"WAITING: share in which the workers of node 0 waited for rounds and other nodes\n")
	}
}

// title names what a group learns, by the settings that all its cases share.
func title(cases []*Measured) string {
	c := cases[0].Config
	shared := func(f func(m *Measured) string) string {
		for _, m := range cases {
			if f(m) != f(cases[0]) {
				return ""
			}
		}
		return f(cases[0])
	}
	words := []string{
		shared(func(m *Measured) string {
			return strings.TrimSpace(cmp.Or(m.Config.Program, m.Config.Model) + " on " + rundir.DataText(m.Config.Data))
		}),
		shared(func(m *Measured) string { return m.last().Device }),
		shared(func(m *Measured) string {
			batch := m.last().Batch
			if batch == 0 {
				return ""
			}
			return fmt.Sprintf("batch %d", batch)
		}),
		shared(func(m *Measured) string { return human.Plural(m.Config.Epochs, "epoch") }),
	}
	if words[0] == "" {
		words[0] = c.Data
		if cases[0].Group != "" {
			words[0] = cases[0].Group
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}
