package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

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
		}
		writeColumns(&b, e.speedColumns(cases), cases)
		for _, line := range e.limitLines(cases) {
			fmt.Fprintln(&b, line)
		}
		writeColumns(&b, e.lossColumns(cases), cases)
		if anyNodes(cases) {
			writeColumns(&b, nodeColumns(cases), cases)
		}
	}
	e.toMind(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// toMind is what a reader must know before comparing.
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
	if e.Kind != "reproduce" && slices.ContainsFunc(e.Cases, func(c Measured) bool { return e.Rival(&c) != nil }) { // which has no such column
		fmt.Fprintf(b, "%s\n", strings.Join(human.Wrap("VS: "+AboutVersus, summaryWidth), "\n"))
	}
	switch {
	case e.SameLR:
		b.WriteString("ONE LEARNING RATE for all cases of a group: this compares mechanisms, not what each case can reach\n")
	case slices.ContainsFunc(e.Cases, func(c Measured) bool { return c.Search != nil }):
		b.WriteString("LR: the best of the learning rates that all cases of a group tried\n")
	}
	b.WriteString("TIME TO: training time to that test loss; STALENESS: updates by other workers between read and write\n")
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
		shared(func(m *Measured) string { return m.Device }),
		shared(func(m *Measured) string {
			if m.Batch == 0 {
				return ""
			}
			return fmt.Sprintf("batch %d", m.Batch)
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

// column is one of a table; it is left out where all its cells are empty.
type column struct {
	head string
	cell func(*Measured) string
}

// writeColumns writes a table whose rows are cases, if it says more than their names.
func writeColumns(b *bytes.Buffer, columns []column, cases []*Measured) {
	const names = 2 // columns
	rows := make([][]string, len(cases))
	var heads []string
	for i, col := range columns {
		cells, some := make([]string, len(cases)), false
		for j, c := range cases {
			cells[j] = col.cell(c)
			some = some || cells[j] != ""
		}
		if !some && i >= names {
			continue
		}
		heads = append(heads, col.head)
		for j := range cases {
			rows[j] = append(rows[j], cells[j])
		}
	}
	if len(heads) <= names {
		return
	}
	rows = append([][]string{heads}, rows...)
	for len(rows[0]) > names { // as many columns as the width has room for, then the next
		n := len(rows[0])
		for n > names+1 && human.Widest(aligned(cut(rows, n))) > tableWidth {
			n--
		}
		fmt.Fprintf(b, "\n%s", aligned(cut(rows, n)))
		for i, row := range rows {
			rows[i] = slices.Concat(row[:names], row[n:])
		}
	}
}

// cut is the first n cells of each row.
func cut(rows [][]string, n int) (first [][]string) {
	for _, row := range rows {
		first = append(first, row[:n])
	}
	return first
}

// aligned is rows of cells as a table.
func aligned(rows [][]string) string {
	var table, text strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(&text, strings.TrimRight(line, " \n"))
	}
	return text.String()
}

// speedColumns are how fast the cases of a group are, and what it does to updates.
func (e *Experiment) speedColumns(cases []*Measured) []column {
	speeds, _ := e.Versus(cases)
	return append(caseColumns(cases),
		column{"EXAMPLES/S", func(c *Measured) string {
			if s := Summarize(c.ExamplesPerSecond); s.N > 0 {
				return s.rate()
			}
			return "failed"
		}},
		column{against(cases), func(c *Measured) string { return speeds[c] }},
		column{"SPEED-UP", func(c *Measured) string {
			if anyNodes(cases) && e.baseline(c) == c {
				return ""
			}
			return Summarize(e.SpeedUp(c)).Text(human.Factor)
		}},
		column{"OF LIMIT", func(c *Measured) string {
			if s, ok := e.Share(c); ok {
				return human.Share(s.Share)
			}
			return ""
		}},
		column{"STALENESS", func(c *Measured) string {
			return median(c.StalenessMean, func(x float64) string { return fmt.Sprintf("%.3g", x) })
		}},
		column{"LOST", func(c *Measured) string {
			if Summarize(c.LostUpdates).Median == 0 && Summarize(c.LostBelow).N > 0 {
				return "< " + median(c.LostBelow, human.Share)
			}
			return median(c.LostUpdates, human.Share)
		}},
	)
}

// lossColumns are how soon the cases of a group reach the target, and where they end.
func (e *Experiment) lossColumns(cases []*Measured) []column {
	columns := append(caseColumns(cases), column{"LR", func(c *Measured) string {
		return Summarize(c.LRUsed).Text(func(x float64) string { return fmt.Sprintf("%.4g", x) })
	}})
	target := float64(cases[0].Target)
	if finite(target) && target > 0 {
		_, times := e.Versus(cases)
		columns = append(columns,
			timeColumn(target, func(c *Measured) []Number { return c.SecondsToTarget }),
			column{against(cases), func(c *Measured) string { return times[c] }},
			column{"EPOCHS", func(c *Measured) string { return median(c.EpochsToTarget, human.Short) }})
	}
	columns = append(columns, endColumns()...)
	for i, f := range cases[0].Further {
		if f.Target > 0 {
			columns = append(columns, timeColumn(float64(f.Target), func(c *Measured) []Number { return c.Further[i].SecondsToTarget }))
		}
	}
	return columns
}

// timeColumn is how long runs took to a target.
func timeColumn(target float64, seconds func(*Measured) []Number) column {
	return column{fmt.Sprintf("TIME TO %.4g", target), func(c *Measured) string {
		switch s := Summarize(seconds(c)); {
		case s.N == 0 && Summarize(c.TestLoss).N == 0:
			return ""
		case s.N == 0:
			return "not reached"
		case s.N < c.runs():
			return fmt.Sprintf("%s, %d of %d", Spread{s.Median, s.Median, s.Median, 1}.time(), s.N, c.runs())
		default:
			return s.time()
		}
	}}
}

// endColumns are what is reached at the end.
func endColumns() []column {
	return []column{
		{"TEST LOSS", func(c *Measured) string { return Summarize(c.TestLoss).Text(human.Loss) }},
		{"ACCURACY", func(c *Measured) string {
			return median(c.TestAccuracy, human.Accuracy)
		}},
		{"RMSE", func(c *Measured) string { return median(c.TestRMSE, human.Loss) }},
		{"R2", func(c *Measured) string { return median(c.TestR2, human.Loss) }},
	}
}

// caseColumns say which case a row is: its mode where that and the number
// of workers tell, else its name.
func caseColumns(cases []*Measured) []column {
	name := column{"MODE", func(c *Measured) string { return c.Mode }}
	if !byMode(cases) {
		name = column{"CASE", func(c *Measured) string { return c.Name }}
	}
	return []column{name, {"WORKERS", func(c *Measured) string {
		if host := c.Config.CPUWorkers; host > 0 {
			return fmt.Sprintf("gpu:%d,cpu:%d", c.Workers-host, host)
		}
		return fmt.Sprint(c.Workers)
	}}}
}

// byMode tells whether no two cases of a group have the same mode and workers, and all are
// on the same GPUs or on none.
func byMode(cases []*Measured) bool {
	type key struct {
		mode          string
		workers, host int
	}
	seen := map[key]bool{}
	for _, c := range cases {
		k := key{c.Mode, c.Workers, c.Config.CPUWorkers}
		if seen[k] || c.Config.GPU != cases[0].Config.GPU {
			return false
		}
		seen[k] = true
	}
	return true
}

// against is the head of a column of verdicts.
func against(cases []*Measured) string { return "VS " + strings.ToUpper(cases[0].Mode) }
