package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/human"
)

// says reports rows of a table that a page of docs/ does not have, as lines of Markdown.
func says(t *testing.T, page string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, row := range rows {
		if want := "| " + strings.Join(row, " | ") + " |"; !slices.Contains(lines, want) {
			t.Errorf("docs/%s lacks\n%s", page, want)
		}
	}
	if len(rows) == 0 {
		t.Error("there are no rows")
	}
}

func result(t *testing.T, name string) *Experiment {
	t.Helper()
	e, err := ReadExperiment("results/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// arrival is the median time at which the repeats of a case reached the loss, and how many did. One that did not is
// later than all that did, so the median is infinite where half of them or more did not.
func arrival(times []float64) (middle float64, arrived int) {
	var all []float64
	for _, x := range times {
		at := float64(x)
		if human.Finite(at) {
			arrived++
		} else {
			at = math.Inf(1)
		}
		all = append(all, at)
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2, arrived
}

// spreads are the runs at each spread of speeds, but for the group lowRate.
func spreads(e *Experiment) []*ClockRuns {
	return slices.DeleteFunc(Clocked(e), func(r *ClockRuns) bool { return r.Group == lowRate })
}

// TestStaleGradients: the table of docs/results/asgd.md is what the result file says, and so are the rates and the
// shares of dropped gradients in its text.
func TestStaleGradients(t *testing.T) {
	e := result(t, "zen5-2core-asgd.json")
	rows, last := [][]string{}, []string{"1 is a virtual time of"}
	best := map[string]float64{}
	for _, r := range spreads(e) {
		best[r.Group] = math.Inf(1)
		for _, c := range r.Cases {
			at, _ := arrival(r.Times(c))
			best[r.Group] = min(best[r.Group], at)
		}
		last = append(last, fmt.Sprintf("%.0f", best[r.Group]))
	}
	rates := map[string][]float64{}
	for _, c := range spreads(e)[0].Cases {
		rule := c.Value("rule")
		row := []string{"`" + rule + "`"}
		for _, r := range spreads(e) {
			c := r.Of(rule)
			rates[rule] = append(rates[rule], LRUsed.Of(c)[0])
			at, n := arrival(r.Times(c))
			cell := fmt.Sprintf("%.2f", at/best[r.Group])
			if math.IsInf(at, 1) {
				cell = "-"
			}
			if n < len(e.Seeds) {
				cell += fmt.Sprintf(" (%d)", n)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	says(t, "results/asgd.md", append(rows, last))
	for rule, want := range map[string][2]float64{plain: {0.05, 0.1}, "minibatch": {0.8, 1.13}} {
		if least, most := slices.Min(rates[rule]), slices.Max(rates[rule]); math.Abs(least/want[0]-1) > 0.01 ||
			math.Abs(most/want[1]-1) > 0.01 {
			t.Errorf("%s: rates of %v to %v, in the text %v", rule, least, most, want)
		}
	}
	for _, r := range spreads(e) {
		var computed, dropped float64
		for _, run := range r.Of("drop:16").Runs {
			m := run.History[len(run.History)-1].TrainMetrics
			computed, dropped = computed+m["gradients_computed"], dropped+m["gradients_dropped"]
		}
		if want := map[string]float64{"slow-8": 0.27, "slow-4": 0.42}[r.Group]; want > 0 &&
			math.Abs(dropped/computed-want) > 0.005 {
			t.Errorf("%s: drop lost %v of the gradients, in the text %v", r.Group, dropped/computed, want)
		}
	}
}

// TestHogwildPaper: the tables of docs/results/hogwild-paper.md are what the result file says, and what is published.
func TestHogwildPaper(t *testing.T) {
	const page = "results/hogwild-paper.md"
	e := result(t, "zen5-2core-paper.json")
	number := func(list []float64, format func(float64) string) string { return cmp.Or(median(list, format), "-") }
	var speeds, learned [][]string
	for _, s := range PublishedSets {
		r := e.PaperRuns(s.Name)
		row := []string{s.Name}
		for _, m := range []string{methodHogwild, methodAIG, methodRR} {
			row = append(row, cmp.Or(human.IfFinite(s.at(m, 10), human.Factor), "-"),
				cmp.Or(human.IfFinite(s.at(m, 2), human.Factor), "-"),
				number(r.SpeedUp(r.Of(m, 2)), human.Factor))
		}
		speeds = append(speeds, append(row,
			cmp.Or(human.IfFinite(s.RoundRobin.Seconds/s.Hogwild.Seconds, one), "-"),
			number(ratios(Seconds.Of(r.Of(methodRR, 2)), Seconds.Of(r.Of(methodHogwild, 2))), one)))
		two := r.Of(methodHogwild, 2)
		row = []string{s.Name}
		for _, c := range []*Measured{r.Serial, two, r.Of(methodAIG, 2), r.Of(methodRR, 2)} {
			row = append(row, number(TestLoss.Of(c), human.Loss))
		}
		learned = append(learned, append(row, number(Conflicts.Of(two), percent), number(LostUpdates.Of(two), percent)))
	}
	says(t, page, speeds)
	says(t, page, learned)

	verdicts := map[string][]string{}
	var claims []string
	for _, f := range e.Findings() {
		if publishedSet(f.About) == nil {
			continue
		}
		if verdicts[f.Statement] == nil {
			claims = append(claims, f.Statement)
		}
		verdicts[f.Statement] = append(verdicts[f.Statement], f.About+" "+string(f.Verdict))
	}
	var rows [][]string
	for _, c := range claims {
		row := []string{c}
		for _, s := range PublishedSets {
			cell := "-"
			for _, v := range verdicts[c] {
				if verdict, is := strings.CutPrefix(v, s.Name+" "); is {
					cell = verdict
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	says(t, page, rows)

	groups, delays := e.DelayGroups()
	rows = nil
	for i, g := range groups {
		r, at := e.PaperRuns(g), slices.Index(PublishedDelays, delays[i])
		row := []string{delayOf(r)}
		for _, m := range []string{methodHogwild, methodAIG, methodRR} {
			row = append(row, human.Factor(PublishedByDelay[m][at]), number(r.SpeedUp(r.Of(m, r.Most)), human.Factor))
		}
		rows = append(rows, row)
	}
	says(t, page, rows)
}

// TestMoreWorkers: the table of docs/results/words.md is what bench/rivals/threads.py has measured: thousand words/s of
// training, in brackets per second of processor time, and the least and most WordSim-353.
func TestMoreWorkers(t *testing.T) {
	text, err := os.ReadFile("results/zen3-2core-threads.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Speed map[string]map[string][]float64
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	thousands := func(x float64) string { return fmt.Sprintf("%.0f", x/1000) }
	var rows [][]string
	for _, side := range []string{"gensim, LineSentence", "gensim, list", "gensim, corpus_file", "hogwild"} {
		row, scores := []string{side}, []float64{}
		for _, workers := range []string{"1", "2", "4", "8"} {
			c := r.Speed[side+", "+workers]
			row = append(row, median(c["words_per_second"], thousands)+" ("+median(c["per_cpu_second"], thousands)+")")
			for _, x := range c["wordsim"] {
				scores = append(scores, float64(x))
			}
		}
		if len(scores) < 4 {
			t.Fatalf("%s: %d scores", side, len(scores))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f to %.3f", slices.Min(scores), slices.Max(scores))))
	}
	says(t, "results/words.md", rows)
}

func TestSpeedrunPage(t *testing.T) {
	e := result(t, "zen3-2core-speedrun.json")
	var rows [][]string
	for i, row := range GoalTable(e).Rows { // in the order of the cases, and the page has no accuracies by epoch
		c := &e.Cases[i]
		program := fmt.Sprintf("hogwild, %s, %s", c.Mode, human.Plural(c.Workers, "worker"))
		rows = append(rows, slices.Concat([]string{row[1], program}, row[2:4], row[5:]))
	}
	says(t, "results/speedrun.md", rows)
}

// TestTutorialPage: docs/results/experiments.md has the medians after each epoch.
func TestTutorialPage(t *testing.T) {
	text, err := os.ReadFile("../docs/results/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for i, say := range []string{"reaches %s, %s and %s after one, two and three epochs",
		"Without locks it is %s, %s and %s."} {
		e := result(t, "zen5-2core-tutorial.json")
		var at []any
		for k := range 3 {
			var all []float64
			for _, r := range e.Cases[i].Runs {
				all = append(all, *r.History[k].TestAccuracy)
			}
			slices.Sort(all) // of three runs
			at = append(at, fmt.Sprintf("%.1f", 100*all[1]))
		}
		at[2] = at[2].(string) + "%"
		if want := fmt.Sprintf(say, at...); !strings.Contains(page, want) {
			t.Errorf("docs/results/experiments.md lacks %q", want)
		}
		row := strings.Join(GoalTable(e).Rows[i], "; ")
		if want := fmt.Sprintf("%s%%, %s%%, %s;", at...); !strings.Contains(row, want) {
			t.Errorf("row %q lacks %q", row, want)
		}
	}
}

func one(x float64) string     { return fmt.Sprintf("%.1f", x) }
func percent(x float64) string { return fmt.Sprintf("%.2g%%", 100*x) }
