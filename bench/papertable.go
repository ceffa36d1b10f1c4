package bench

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"hogwild/internal/human"
)

// PublishedHeads are the heads of PublishedTable: behind each figure of the paper is ours.
var PublishedHeads = []string{"set", "method", "examples/s", "here", "speed-up", "here", "time", "here",
	"train error", "loss here", "test error", "loss here"}

// PublishedTable is the paper's figure 2 and our figures beside it: medians of the runs with
// the most workers, and the speed-up with as many threads as these.
func (e *Experiment) PublishedTable() (rows [][]string) {
	for _, s := range PublishedSets {
		r := e.PaperRuns(s.Name)
		if r == nil {
			continue
		}
		for _, m := range []string{methodHogwild, methodAIG, methodRR} {
			rows = append(rows, r.published(&s, m))
		}
		if c := r.Merged(r.Most); c != nil {
			rows = append(rows, append([]string{s.Name, "merged"}, beside(r.ours(c), [5]string{})...))
		}
	}
	return rows
}

// published is the row of a method.
func (r *PaperRuns) published(s *PublishedSet, method string) []string {
	var theirs [5]string
	run := map[string]PublishedRun{methodHogwild: s.Hogwild, methodRR: s.RoundRobin, methodAIG: {none, none, none}}[method]
	theirs[0] = ifFinite(s.Examples*paperPasses/run.Seconds, human.Rate)
	theirs[1] = ifFinite(s.at(method, r.Most), human.Factor)
	theirs[2] = ifFinite(run.Seconds, shortTime)
	theirs[3], theirs[4] = ifFinite(run.Train, plainNumber), ifFinite(run.Test, plainNumber)
	return append([]string{s.Name, paperMethods[method]}, beside(r.ours(r.Of(method, r.Most)), theirs)...)
}

// ours is what was measured of a case.
func (r *PaperRuns) ours(c *Measured) (cells [5]string) {
	if c == nil {
		return cells
	}
	for i, list := range [][]Number{c.ExamplesPerSecond, r.SpeedUp(c), c.Seconds, c.TrainLoss, c.TestLoss} {
		format := []func(float64) string{human.Rate, human.Factor, shortTime, human.Loss, human.Loss}[i]
		cells[i] = median(list, format)
	}
	return cells
}

// beside is each of their cells followed by ours.
func beside(ours, theirs [5]string) (cells []string) {
	for i := range ours {
		for _, text := range []string{theirs[i], ours[i]} {
			if text == "" {
				text = "-"
			}
			cells = append(cells, text)
		}
	}
	return cells
}

func ifFinite(x float64, text func(float64) string) string {
	if !finite(x) {
		return ""
	}
	return text(x)
}

func shortTime(x float64) string { return Spread{x, x, x, 1}.time() }

// plainNumber is a number as it is printed elsewhere.
func plainNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// AboutTable says what the figures of PublishedTable are.
func (e *Experiment) AboutTable() string {
	most := 0
	for _, c := range e.Cases {
		if c.Mode == methodAIG {
			most = max(most, c.Workers)
		}
	}
	return fmt.Sprintf("The paper's figures are those of 10 threads and 20 passes over the whole sets, its speed-ups those of %d threads; "+
		"ours are of %d workers and of made sets of the same shapes, smaller and with fewer passes (see the settings). "+
		"The paper does not say which errors its are; ours are mean losses, so that errors compare between methods, not with the paper's. "+
		"The speed-up is that over the serial version: Hogwild! with one worker. Merged is Hogwild! as it is here by default, "+
		"whose workers merge private copies of frequent features every few steps.", min(10, most), most)
}

// WriteReproduction writes what an experiment of PaperPlan or TutorialPlan comes to: the
// table, and that of the verdicts.
func (e *Experiment) WriteReproduction(w io.Writer) error {
	var b bytes.Buffer
	e.head(&b)
	if rows := e.PublishedTable(); len(rows) > 0 {
		b.WriteString("\n")
		writeTable(&b, PublishedHeads, rows)
		paragraph(&b, "\n", e.AboutTable())
	}
	if rows := e.TutorialTable(); len(rows) > 0 {
		b.WriteString("\n")
		writeTable(&b, TutorialHeads, rows)
	}
	if rows := e.FindingRows(); len(rows) > 0 {
		b.WriteString("\n")
		writeTable(&b, FindingHeads, rows)
		if e.Name != tutorialName {
			paragraph(&b, "\n", AboutFindings)
		}
	}
	if notes := append(append([]string{}, e.Notes...), e.Fairness()...); len(notes) > 0 {
		b.WriteString("\nTo mind:\n")
		for _, n := range notes {
			paragraph(&b, "- ", n)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func paragraph(b *bytes.Buffer, before, text string) {
	indent := "\n" + strings.Repeat(" ", len(strings.TrimLeft(before, "\n")))
	fmt.Fprintf(b, "%s%s\n", before, strings.Join(human.Wrap(text, summaryWidth), indent))
}

func writeTable(b *bytes.Buffer, heads []string, rows [][]string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(heads, "\t")))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}
