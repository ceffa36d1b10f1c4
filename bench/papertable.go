package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"hogwild/internal/human"
)

// PublishedHeads are the heads of PublishedTable: a cell has the paper's figure and ours.
var PublishedHeads = []string{"set", "method", "examples/s", "speed-up", "time", "train error / loss",
	"test error / loss", "learning rate"}

// PublishedTable returns the paper's figure 2 with our figures: medians of the runs with the most
// workers, and the speed-up with as many threads as these.
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
			rows = append(rows, r.row(s.Name, "merged", c, [5]string{}))
		}
	}
	return rows
}

// published is the row of a method.
func (r *PaperRuns) published(s *PublishedSet, method string) []string {
	var theirs [5]string
	run := map[string]PublishedRun{methodHogwild: s.Hogwild, methodRR: s.RoundRobin,
		methodAIG: {none, none, none}}[method]
	theirs[0] = human.IfFinite(s.Examples*paperPasses/run.Seconds, human.Rate)
	theirs[1] = human.IfFinite(s.at(method, r.Most), human.Factor)
	theirs[2] = human.IfFinite(run.Seconds, shortTime)
	theirs[3], theirs[4] = human.IfFinite(run.Train, plainNumber), human.IfFinite(run.Test, plainNumber)
	return r.row(s.Name, paperMethods[method], r.Of(method, r.Most), theirs)
}

// row returns what is published and what was measured of a case, "-" where there is none, and the rate at which it was
// trained here.
func (r *PaperRuns) row(set, method string, c *Measured, theirs [5]string) []string {
	if c == nil {
		c = &Measured{}
	}
	row := []string{set, method}
	for i, ours := range []string{median(Rate.Of(c), human.Rate), median(r.SpeedUp(c), human.Factor),
		median(Seconds.Of(c), shortTime), median(TrainLoss.Of(c), human.Loss), median(TestLoss.Of(c), human.Loss)} {
		row = append(row, cmp.Or(theirs[i], "-")+" / "+cmp.Or(ours, "-"))
	}
	return append(row, cmp.Or(median(LRUsed.Of(c), func(x float64) string { return fmt.Sprintf("%.4g", x) }), "-"))
}

// AboutTable says what the figures of PublishedTable are.
func (e *Experiment) AboutTable() string {
	most := 0
	for _, c := range e.Cases {
		if c.Mode == methodAIG {
			most = max(most, c.Workers)
		}
	}
	return fmt.Sprintf("Each cell: the paper / measured here; learning rates are those used here, the best of those "+
		"tried. The paper uses 10 threads and 20 passes over the full data sets; its speed-ups here are for %d "+
		"threads. "+
		"hogwild uses %d workers and smaller synthetic data sets of the same shapes, with fewer passes (see the "+
		"settings). "+
		"The paper does not define its errors and hogwild reports mean losses, so compare errors between methods "+
		"only, not with the paper. "+
		"Speed-ups are relative to the serial version, Hogwild! with one worker. \"Merged\" is hogwild's default: "+
		"workers keep private copies of frequent features and merge them every few steps.", min(10, most), most)
}

// WriteReproduction writes the results of an experiment of hogwild reproduce: the tables, the last
// one of verdicts.
func (e *Experiment) WriteReproduction(w io.Writer) error {
	var b bytes.Buffer
	for _, line := range e.smoke() {
		fmt.Fprintf(&b, "%s\n\n", line)
	}
	e.head(&b)
	e.table(&b, PublishedHeads, e.PublishedTable(), e.AboutTable())
	e.table(&b, AsgdHeads, AsgdTable(e), "")
	about := AboutFindings
	if t := GoalTable(e); t != nil {
		e.table(&b, t.Heads, t.Rows, "")
		about = AboutGoals
	} else if clocked(e) {
		heads, rows := AsgdGrid(e)
		e.table(&b, heads, rows, "How many times as fast as plain: medians.")
		about = AboutAsgd
	}
	e.table(&b, FindingHeads, e.FindingRows(), strings.TrimSpace("Verdicts: "+e.Verdicts()+". "+about))
	e.toMind(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// table writes rows, if there are any, and what they are.
func (e *Experiment) table(b *bytes.Buffer, heads []string, rows [][]string, about string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s", aligned(&human.Table{Heads: heads, Rows: rows}))
	if about != "" {
		fmt.Fprintf(b, "\n%s\n", strings.Join(human.Wrap(about, summaryWidth), "\n"))
	}
}

// FindingRows is the table of verdicts.
func (e *Experiment) FindingRows() (rows [][]string) {
	for _, f := range e.Findings() {
		rows = append(rows, []string{f.About, f.Statement, f.Published, f.Measured, string(f.Verdict)})
	}
	return rows
}

// Findings compares an experiment of hogwild reproduce with what is published.
func (e *Experiment) Findings() []Finding {
	all := append(e.claimFindings(), goalFindings(e)...)
	var p []float64
	for _, f := range all {
		p = append(p, float64(f.P))
	}
	for i, x := range holm(p) {
		f := &all[i]
		f.P = human.Number(x)
		switch {
		case f.Verdict == Missing:
		case len(e.smoke()) > 0:
			f.Verdict, f.P = Unjudged, human.NumberOf(nil)
		case !(x <= level):
			f.Verdict = Undecided
		}
	}
	return all
}

// Verdicts counts them: 23 agree, 10 differ, 1 undecided.
func (e *Experiment) Verdicts() string {
	count := map[Agreement]int{}
	for _, f := range e.Findings() {
		count[f.Verdict]++
	}
	var words []string
	for _, a := range []Agreement{Agrees, Differs, Undecided, Missing, Unjudged} {
		if n := count[a]; n == 1 {
			words = append(words, "1 "+string(a))
		} else if n > 1 {
			words = append(words, fmt.Sprintf("%d %s", n, strings.TrimSuffix(string(a), "s")))
		}
	}
	if len(e.Seeds) < leastRepeats && count[Undecided] > 0 {
		words = append(words, fmt.Sprintf("with too few repeats for a verdict: --repeat %d", leastRepeats))
	}
	return strings.Join(words, ", ")
}
