package bench

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// TestPublishedFiguresAgree holds the table of the paper's figure 2 against its curves,
// which were read off its drawings: how many times longer RR takes than Hogwild! with ten
// threads stands in both. Its text names some speed-ups too.
func TestPublishedFiguresAgree(t *testing.T) {
	for _, s := range PublishedSets {
		if !human.Finite(s.RoundRobin.Seconds) {
			continue
		}
		byTable, byCurves := s.RoundRobin.Seconds/s.Hogwild.Seconds, s.at(methodHogwild, 10)/s.at(methodRR, 10)
		if math.Abs(byTable/byCurves-1) > 0.01 {
			t.Errorf("%s: RR takes %v times as long by figure 2, %v by the curves", s.Name, byTable, byCurves)
		}
	}
	for _, c := range []struct {
		set, method string
		says        float64
	}{
		{"dblife", methodHogwild, 9}, {"dblife", methodRR, 5}, {"abdomen", methodHogwild, 4},
		{"netflix", methodRR, 0.62},
	} {
		if got := publishedSet(c.set).at(c.method, 10); math.Abs(got/c.says-1) > 0.03 {
			t.Errorf("%s, %s: %v by the curve, %v in the text", c.set, c.method, got, c.says)
		}
	}
	for method, list := range PublishedByDelay {
		if len(list) != len(PublishedDelays) || !slices.IsSorted(list[2:]) {
			t.Errorf("%s by delay: %v", method, list)
		}
	}
}

func TestPaperWorkers(t *testing.T) {
	for cores, want := range map[int][]int{1: {1, 2}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 6: {1, 2, 4, 6},
		10: {1, 2, 4, 8, 10}, 96: {1, 2, 4, 8, 10}} {
		if got := paperWorkers(cores); !slices.Equal(got, want) {
			t.Errorf("%d cores: %v, want %v", cores, got, want)
		}
	}
}

// TestDelayedRunsAreEven: the workers of a run with few examples can all have as many
// chunks of 64, and a serial run takes at least as long as was asked.
func TestDelayedRunsAreEven(t *testing.T) {
	for _, o := range []PaperOptions{
		{Quick: true, Size: 1, Workers: []int{1, 2}}, {Size: 1, Workers: []int{1, 2, 4, 8, 10}},
		{Quick: true, Size: 0.001, Workers: []int{1, 2, 3}},
	} {
		p, err := PaperPlan(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Cases {
			if c.Value("gradient-delay") == "" {
				continue
			}
			d, err := time.ParseDuration(c.Value("gradient-delay"))
			if err != nil {
				t.Fatal(err)
			}
			limit, _ := strconv.Atoi(c.Value("limit"))
			if most := slices.Max(o.Workers); limit%(64*most) != 0 || d == time.Millisecond && limit == 0 {
				t.Errorf("%s: %d examples for %d workers", c.Name, limit, most)
			}
			if budget := 2 * o.Size; !o.Quick && limit > 0 && float64(limit)*(d.Seconds()+200e-9) < budget {
				t.Errorf("%s: %d examples take less than %v s", c.Name, limit, budget)
			}
		}
	}
}

// imagined returns an experiment of the quick plan with five repeats, whose rates and losses are
// what two functions make of a case.
func imagined(t *testing.T, workers []int, rate, loss func(c *Case, mode string, n int) float64) *Experiment {
	t.Helper()
	p, err := PaperPlan(PaperOptions{Quick: true, Size: 1, Workers: workers}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &Experiment{Kind: "reproduce", Name: p.Name, Seeds: FirstSeeds(5),
		Machine: rundir.Machine{CPU: "Some CPU", Cores: 2}}
	for _, c := range p.Cases {
		mode, n := c.Value("mode"), 0
		fmt.Sscan(c.Value("workers"), &n)
		m := Measured{Case: c, Mode: mode, Workers: n, Runs: make([]Run, 5)}
		for i := range 5 {
			wobble := 1 + 0.005*float64(i-2) // ranges of one percent, for one worker the other way round
			if n == 1 {
				wobble = 2 - wobble
			}
			Rate.put(&m.Runs[i], wobble*rate(&c, mode, n))
			Seconds.put(&m.Runs[i], 1/wobble)
			TestLoss.put(&m.Runs[i], wobble*loss(&c, mode, n))
			TrainLoss.put(&m.Runs[i], wobble*loss(&c, mode, n))
			Staleness.put(&m.Runs[i], 7)
			epochs, _ := strconv.Atoi(c.Value("epochs"))
			m.Runs[i].History = make([]rundir.EpochResult, epochs)
			for k := range m.Runs[i].History {
				m.Runs[i].History[k].TrainLoss = wobble * 2 * loss(&c, mode, n)
			}
		}
		e.Cases = append(e.Cases, m)
	}
	return e
}

// likeThePaper is rates as the paper has them, in thousands of examples a second.
func likeThePaper(c *Case, mode string, n int) float64 {
	if s := publishedSet(c.Group); s != nil {
		if x := s.at(mode, n); human.Finite(x) {
			return 1000 * x
		}
		return 300 // RR on Jumbo, which the paper does not have
	}
	if n == 1 {
		return 1000
	}
	at := map[string]int{"delay-100ns": 2, "delay-1us": 3, "delay-10us": 4, "delay-100us": 5, "delay-1ms": 6}[c.Group]
	if list := PublishedByDelay[mode]; list != nil {
		return 1000 * list[at]
	}
	return 1000
}

func alike(*Case, string, int) float64 { return 0.3 }

// TestFindingsAgreeWithThePaper: figures that are the paper's own are as in the paper.
func TestFindingsAgreeWithThePaper(t *testing.T) {
	for _, workers := range [][]int{{1, 2, 4, 8, 10}, {1, 10}} {
		e := imagined(t, workers, likeThePaper, alike)
		list := e.Findings()
		if got := e.Verdicts(); got != "34 agree" {
			t.Errorf("verdicts: %s", got)
		}
		for _, f := range list {
			if f.Verdict != Agrees {
				t.Errorf("%+v", f)
			}
		}
		if len(list) != 6*len(PublishedSets)+2+2 {
			t.Errorf("%d findings", len(list))
		}
	}
}

// TestFindingsThatDiffer: each statement fails for figures that contradict it.
func TestFindingsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		about, statement       string
		async, locked, ordered float64 // examples/s; of one worker 1
		verdict                Agreement
	}{
		{"rcv1", "Hogwild! > serial", 0.5, 0.4, 0.1, Differs},
		{"rcv1", "Hogwild! > serial", 1.005, 0.4, 0.1, Undecided},
		{"rcv1", "Hogwild! > serial", 1.05, 0.4, 0.1, Agrees},
		{"rcv1", "Hogwild! ≥ AIG", 1, 2, 0.1, Differs},
		{"rcv1", "Hogwild! ≥ AIG", 2, 2.14, 0.1, Differs},
		{"rcv1", "Hogwild! ≥ AIG", 2, 2.06, 0.1, Agrees},
		{"rcv1", "AIG > RR", 2, 0.1, 0.2, Differs},
		{"rcv1", "AIG > RR", 2, 0.2, 0.2, Undecided},
		{"rcv1", "serial > RR", 2, 1.9, 1.8, Differs},
		{"dblife", "RR > serial", 2, 1.9, 0.8, Differs},
		{"dblife", "RR > serial", 2, 1.9, 1.5, Agrees},
		{"delay of 1ms", "RR ≥ Hogwild!", 2, 2, 1.8, Differs},
		{"delay of 1ms", "RR ≥ Hogwild!", 2, 2, 1.93, Agrees},
		{"delay of 100ns", "Hogwild! > RR", 1, 2, 2, Differs},
	} {
		rate := func(_ *Case, mode string, n int) float64 {
			if n == 1 {
				return 1e6
			}
			return 1e6 * map[string]float64{"async": c.async, "locked": c.locked, "ordered": c.ordered}[mode]
		}
		if f := finding(t, imagined(t, []int{1, 2}, rate, alike), c.about, c.statement); f.Verdict != c.verdict {
			t.Errorf("%+v of %+v, want %q", f, c, c.verdict)
		}
	}
}

// TestFindingFigures: a row has the figures of both, the paper's with ten threads.
func TestFindingFigures(t *testing.T) {
	rate := func(_ *Case, mode string, n int) float64 {
		return map[string]float64{"async": 1000, "locked": 1300, "ordered": 700}[mode]
	}
	for _, want := range []Finding{
		{"rcv1", "AIG > RR", "3.17, 0.69", "1.30, 0.70", Agrees, 0},
		{"jumbo", "serial > RR", "1.00, -", "1.00, 0.70", Agrees, 0},
		{"netflix", "loss of RR ≈ loss of Hogwild!", "0.9270, 0.9280", "0.3000, 0.3000", Agrees, 0},
		{"delay of 100ns", "Hogwild! > RR", "3.67, 0.61", "1.00, 0.70", Agrees, 0},
	} {
		got := finding(t, imagined(t, []int{1, 2}, rate, alike), want.About, want.Statement)
		if !(got.P <= level) {
			t.Errorf("%+v: its p-value is more than %v", got, level)
		}
		if got.P = 0; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func finding(t *testing.T, e *Experiment, about, statement string) Finding {
	t.Helper()
	for _, f := range e.Findings() {
		if f.About == about && f.Statement == statement {
			return f
		}
	}
	t.Fatalf("no finding about %s: %s", about, statement)
	return Finding{}
}

// TestFindingsOnLosses: errors that lie apart, and means of models that are better than
// one model.
func TestFindingsOnLosses(t *testing.T) {
	const aig, rr = "loss of AIG ≈ loss of Hogwild!", "loss of RR ≈ loss of Hogwild!"
	const of3, of10 = "loss of the average of 3 models ≥ loss of one model",
		"loss of the average of 10 models ≥ loss of one model"
	for _, c := range []struct {
		about, statement, mode string
		workers                int
		loss                   float64 // of these; 0.3 of the others
		verdict                Agreement
	}{
		{"netflix", rr, "ordered", 2, 0.33, Differs},
		{"netflix", rr, "ordered", 2, 0.31, Agrees},
		{"netflix", rr, "ordered", 2, 0.29, Agrees},
		{"netflix", rr, "async", 2, 0.27, Differs},
		{"netflix", rr, "async", 2, 0.33, Differs},
		{"rcv1", aig, "locked", 2, math.NaN(), Missing},
		{"average of 3", of3, "sync", 3, 0.25, Differs},
		{"average of 3", of3, "sync", 3, 0.299, Agrees},
		{"average of 10", of10, "sync", 10, 0.4, Agrees},
		{"average of 10", of10, "sync", 10, math.NaN(), Missing},
	} {
		e := imagined(t, []int{1, 2}, likeThePaper, func(_ *Case, mode string, n int) float64 {
			if mode == c.mode && n == c.workers {
				return c.loss
			}
			return 0.3
		})
		if f := finding(t, e, c.about, c.statement); f.Verdict != c.verdict {
			t.Errorf("%+v with %v by %d workers of %s, want %q", f, c.loss, c.workers, c.mode, c.verdict)
		}
	}
}

// TestReproductionText: what was not measured is said to be so, and the table has the paper's
// figures next to ours.
func TestReproductionText(t *testing.T) {
	e := imagined(t, []int{1, 2}, likeThePaper, alike)
	var b bytes.Buffer
	if err := e.WriteReproduction(&b); err != nil {
		t.Fatal(err)
	}
	fields := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	found := false
	for line := range strings.Lines(b.String()) {
		// 781,265 examples, 20 passes in 9.5 s: 1.64 M/s; 1,060 of ours.
		found = found || fields(line) == "rcv1 Hogwild! 1.64 M / 1.06 k 1.06 / 1.06 9.50 s / 1.00 s 0.297 / 0.3000 "+
			"0.339 / 0.3000 -"
		if n := len([]rune(line)); n > 130 {
			t.Errorf("a line of %d signs: %s", n, line)
		}
	}
	if got := b.String(); !strings.Contains(got, "\nVerdicts: "+e.Verdicts()+".") || strings.Contains(got, "smoke") {
		t.Errorf("no count of the verdicts in\n%s", got)
	}
	if !found {
		t.Errorf("no row of rcv1 with the figures of both:\n%s", b.String())
	}
	for i := range e.Cases {
		for _, f := range []*Figure{Rate, TestLoss, TrainLoss} {
			f.Put(&e.Cases[i], none, none, none, none, none)
		}
	}
	for _, f := range e.Findings() {
		if f.Verdict != Missing {
			t.Errorf("%+v though nothing was measured", f)
		}
	}
	if got := len((&Experiment{Kind: "reproduce", Name: "paper"}).Findings()); got != 0 {
		t.Errorf("%d findings of no cases", got)
	}
}

// TestSmoke: runs of milliseconds judge no claim, which the text says first.
func TestSmoke(t *testing.T) {
	e := imagined(t, []int{1, 2}, likeThePaper, alike)
	TestLoss.Put(&e.Cases[0], none, none, none, none, none) // the serial run of RCV1
	Rate.Put(&e.Cases[0], none, none, none, none, none)
	for i := range e.Cases {
		e.Cases[i].each(func(r *rundir.Result) { r.Seconds /= 500 })
	}
	var b bytes.Buffer
	if err := e.WriteReproduction(&b); err != nil ||
		!strings.HasPrefix(b.String(), "A smoke test: the median run trained for 2.00 ms.") {
		t.Errorf("%v: %s", err, b.String())
	}
	if got := e.Verdicts(); strings.Contains(got, "agree") || strings.Contains(got, "differ") ||
		!strings.Contains(got, "not measured, 3") || !strings.HasSuffix(got, "not judged") {
		t.Error(got)
	}
}

// TestTutorialFindings: accuracies near the tutorial's, far from them, of other images
// and of runs that were not made.
func TestTutorialFindings(t *testing.T) {
	for _, c := range []struct {
		data string
		last []float64 // accuracy after the third epoch, of each repeat; NaN: it did not get there
		want Agreement
	}{
		{"mnist", []float64{0.935, 0.94, 0.93, 0.933, 0.937}, Agrees},
		{"mnist", []float64{0.96, 0.97, 0.95, 0.965, 0.962}, Differs},
		{"mnist", []float64{0.97, 0.89, 0.93, 0.91, 0.95}, Undecided}, // a mean of just 93%, by chance
		{"mnist", []float64{0.935, 0.94, 0.93}, Undecided},
		{"", []float64{0.93, 0.93, 0.93, 0.93, 0.93}, Undecided},
		{"mnist", []float64{math.NaN(), math.NaN(), math.NaN()}, Missing},
	} {
		p, err := BuiltInPlan("tutorial", map[string]any{"Data": c.data}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := &Experiment{Kind: "reproduce", Name: p.Name, Seeds: FirstSeeds(3)}
		for _, k := range p.Cases {
			m := Measured{Case: k, Mode: k.Value("mode"), Workers: 4}
			m.Config.Epochs = 3
			for run, last := range c.last {
				m.Runs = append(m.Runs, Run{})
				list := []float64{0.85, 0.91, last}
				var h []rundir.EpochResult
				for i := range list {
					if human.Finite(list[i]) {
						h = append(h, rundir.EpochResult{Tested: rundir.Tested{TestAccuracy: &list[i]}})
					}
				}
				m.Runs[run].History = h
				TestAccuracy.put(&m.Runs[run], last)
				Examples.put(&m.Runs[run], map[string]float64{"mnist": 180000, "": 3 * 3823}[c.data])
			}
			e.Cases = append(e.Cases, m)
		}
		list := e.Findings()
		if len(list) != 1 || list[0].Verdict != c.want {
			t.Errorf("%q, %v: %v, want %q", c.data, c.last, list, c.want)
		}
		if rows := GoalTable(e).Rows; len(rows) != 2 || !strings.HasPrefix(rows[1][3], "85%, 91%") {
			t.Errorf("rows %q", rows)
		}
	}
}

// publishedSet is the set of a name; nil: the paper has none.
func publishedSet(name string) *PublishedSet {
	for i := range PublishedSets {
		if PublishedSets[i].Name == name {
			return &PublishedSets[i]
		}
	}
	return nil
}
