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
)

// TestPublishedFiguresAgree holds the table of the paper's figure 2 against its curves,
// which were read off its drawings: how many times longer RR takes than Hogwild! with ten
// threads stands in both. Its text names some speed-ups too.
func TestPublishedFiguresAgree(t *testing.T) {
	for _, s := range PublishedSets {
		if !finite(s.RoundRobin.Seconds) {
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
		{"dblife", methodHogwild, 9}, {"dblife", methodRR, 5}, {"abdomen", methodHogwild, 4}, {"netflix", methodRR, 0.62},
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
	for n, list := range PublishedAverage {
		if len(list) != paperPasses || list[19] != 0.3139 {
			t.Errorf("the average of %d: %v", n, list)
		}
	}
}

func TestPaperWorkers(t *testing.T) {
	for cores, want := range map[int][]int{1: {1, 2}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 6: {1, 2, 4, 6}, 10: {1, 2, 4, 8, 10}, 96: {1, 2, 4, 8, 10}} {
		if got := paperWorkers(cores); !slices.Equal(got, want) {
			t.Errorf("%d cores: %v, want %v", cores, got, want)
		}
	}
}

// TestDelayedRunsAreEven: the workers of a run with few examples can all have as many
// chunks of 64, and a serial run takes at least as long as was asked.
func TestDelayedRunsAreEven(t *testing.T) {
	for _, o := range []PaperOptions{
		{Quick: true, Size: 1, Workers: []int{1, 2}}, {Size: 1, Workers: []int{1, 2, 4, 8, 10}}, {Quick: true, Size: 0.001, Workers: []int{1, 2, 3}},
	} {
		for _, c := range o.delays() {
			d, err := time.ParseDuration(c.value("gradient-delay"))
			if err != nil {
				t.Fatal(err)
			}
			limit, _ := strconv.Atoi(c.value("limit"))
			if most := slices.Max(o.Workers); limit%(64*most) != 0 || d == time.Millisecond && limit == 0 {
				t.Errorf("%s: %d examples for %d workers", c.Name, limit, most)
			}
			if budget := 2 * o.Size; !o.Quick && limit > 0 && float64(limit)*(d.Seconds()+200e-9) < budget {
				t.Errorf("%s: %d examples take less than %v s", c.Name, limit, budget)
			}
		}
	}
}

// imagined is an experiment of the quick plan with three repeats, whose rates and losses
// are what two functions make of a case.
func imagined(t *testing.T, workers []int, rate, loss func(c *Case, mode string, n int) float64) *Experiment {
	t.Helper()
	p, err := PaperPlan(PaperOptions{Quick: true, Size: 1, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	e := &Experiment{Kind: p.Kind, Name: p.Name, Seeds: p.Seeds, Machine: rundir.Machine{CPU: "Some CPU", Cores: 2},
		Floors: &Floors{Floors: []Floor{{Name: "cache line, core 0 to 1", Median: 60}, {Name: "futex, wake and be woken", Median: 2.5}}}}
	for _, c := range p.Cases {
		mode, n := c.value("mode"), 0
		fmt.Sscan(c.value("workers"), &n)
		m := Measured{Case: c, Mode: mode, Workers: n, Failed: make([]string, 3)}
		for i := range 3 {
			wobble := 1 + 0.01*float64(i-1) // ranges of one percent, those of one worker the other way round
			if n == 1 {
				wobble = 2 - wobble
			}
			m.ExamplesPerSecond = append(m.ExamplesPerSecond, Number(wobble*rate(&c, mode, n)))
			m.Seconds = append(m.Seconds, Number(1/wobble))
			m.TestLoss = append(m.TestLoss, Number(wobble*loss(&c, mode, n)))
			m.TrainLoss = append(m.TrainLoss, Number(wobble*loss(&c, mode, n)))
			m.StalenessMean = append(m.StalenessMean, 7)
			epochs, _ := strconv.Atoi(c.value("epochs"))
			m.Histories = append(m.Histories, make([]rundir.EpochResult, epochs))
			for k := range m.Histories[i] {
				m.Histories[i][k].TrainLoss = wobble * 2 * loss(&c, mode, n)
			}
		}
		e.Cases = append(e.Cases, m)
	}
	return e
}

// likeThePaper is rates as the paper has them, in thousands of examples a second.
func likeThePaper(c *Case, mode string, n int) float64 {
	if s := publishedSet(c.Group); s != nil {
		if x := s.at(mode, n); finite(x) {
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
		list := imagined(t, workers, likeThePaper, alike).Findings()
		for _, f := range list {
			// The paper's own curves of Hogwild! and AIG cross there.
			if f.Verdict != Agrees && !(f.About == "dblife, order" || f.About == "jumbo, order") {
				t.Errorf("%s: %s; published %s; here %s", f.About, f, f.Theirs, f.Here)
			}
		}
		if len(list) != 4*len(PublishedSets)+2+2 {
			t.Errorf("%d findings", len(list))
		}
	}
}

// TestFindingsThatDiffer: each statement fails for figures that contradict it, and says
// what was measured.
func TestFindingsThatDiffer(t *testing.T) {
	flat := func(of map[string]float64) func(*Case, string, int) float64 {
		return func(c *Case, mode string, n int) float64 {
			if n == 1 {
				return 1e6
			}
			return of[mode]
		}
	}
	for _, c := range []struct {
		about      string
		rates      map[string]float64
		verdict    Agreement
		why, never string
	}{
		{"rcv1, speed-up", map[string]float64{"async": 0.5e6, "locked": 0.4e6, "ordered": 0.1e6}, Differs, "an update takes 1000 ns alone; 2 workers together make one every 2000 ns by Hogwild!, 2500 ns by AIG", "sharing a line"},
		{"rcv1, speed-up", map[string]float64{"async": 1.005e6, "locked": 0.4e6, "ordered": 0.1e6}, Undecided, "held back", ""},
		{"rcv1, order", map[string]float64{"async": 1e6, "locked": 2e6, "ordered": 0.1e6}, Differs, "cache line takes 60.0 ns", ""},
		{"rcv1, order", map[string]float64{"async": 2e6, "locked": 0.1e6, "ordered": 0.2e6}, Differs, "turns cost 4500 ns an update: 75.0 times the way of a line, 1.80 times a waking", ""},
		{"rcv1, order", map[string]float64{"async": 2e6, "locked": 0.2e6, "ordered": 0.2e6}, Undecided, "", "cache"},
		{"rcv1, turns", map[string]float64{"async": 2e6, "locked": 1.9e6, "ordered": 1.8e6}, Differs, "turns cost 55.6 ns", ""},
		{"dblife, turns", map[string]float64{"async": 2e6, "locked": 1.9e6, "ordered": 0.8e6}, Differs, "turns cost 750 ns", ""},
		{"dblife, turns", map[string]float64{"async": 2e6, "locked": 1.9e6, "ordered": 1.5e6}, Agrees, "", "turns cost"},
		{"delay of 1ms", map[string]float64{"async": 2e6, "locked": 2e6, "ordered": 1.8e6}, Differs, "turns cost 55.6 ns", ""},
		{"delay of 1ms", map[string]float64{"async": 2e6, "locked": 2e6, "ordered": 1.93e6}, Agrees, "", ""},
		{"delay of 100ns", map[string]float64{"async": 1e6, "locked": 2e6, "ordered": 2e6}, Differs, "alone", ""},
	} {
		f := finding(t, imagined(t, []int{1, 2}, flat(c.rates), alike), c.about)
		if f.Verdict != c.verdict || !strings.Contains(f.Why, c.why) || c.never != "" && strings.Contains(f.Why, c.never) {
			t.Errorf("%s of %v: %q, want %q with %q", c.about, c.rates, f, c.verdict, c.why)
		}
	}
}

func finding(t *testing.T, e *Experiment, about string) Finding {
	t.Helper()
	for _, f := range e.Findings() {
		if f.About == about {
			return f
		}
	}
	t.Fatalf("no finding about %s", about)
	return Finding{}
}

// TestFindingsOnLosses: errors that lie apart, and means of models that are better than
// one model.
func TestFindingsOnLosses(t *testing.T) {
	for _, c := range []struct {
		about, mode string
		workers     int
		loss        float64 // of these; 0.3 of the others
		verdict     Agreement
		why         string
	}{
		{"netflix, errors", "ordered", 2, 0.33, Differs, "the loss of RR is 1.10 times that of Hogwild!"},
		{"netflix, errors", "ordered", 2, 0.31, Agrees, ""},
		{"netflix, errors", "async", 2, 0.27, Differs, "times that of Hogwild!; between a worker's reading and writing come 7.00 updates"},
		{"averages of 3", "sync", 3, 0.25, Differs, "for as much work as one model's their loss is 1.67 times its"},
		{"averages of 3", "sync", 3, 0.299, Agrees, ""},
		{"averages of 10", "sync", 10, 0.4, Agrees, ""},
		{"averages of 10", "sync", 10, math.NaN(), Missing, ""},
		{"rcv1, errors", "locked", 2, math.NaN(), Missing, ""},
	} {
		e := imagined(t, []int{1, 2}, likeThePaper, func(_ *Case, mode string, n int) float64 {
			if mode == c.mode && n == c.workers {
				return c.loss
			}
			return 0.3
		})
		if f := finding(t, e, c.about); f.Verdict != c.verdict || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s with %v by %d workers of %s: %q, want %q with %q", c.about, c.loss, c.workers, c.mode, f, c.verdict, c.why)
		}
	}
}

// TestReproductionText: what was not measured is said to be so, and the table has the
// paper's figures beside ours.
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
		found = found || fields(line) == "rcv1 Hogwild! 1.64 M 1.06 k 1.06 1.06 9.50 s 1.00 s 0.297 0.3000 0.339 0.3000"
		if n := len([]rune(line)); n > 130 {
			t.Errorf("a line of %d signs: %s", n, line)
		}
	}
	if !found {
		t.Errorf("no row of rcv1 with the figures of both:\n%s", b.String())
	}
	for i := range e.Cases {
		for k := range e.Cases[i].ExamplesPerSecond {
			e.Cases[i].ExamplesPerSecond[k], e.Cases[i].TestLoss[k], e.Cases[i].TrainLoss[k] = Number(none), Number(none), Number(none)
		}
	}
	for _, f := range e.Findings() {
		if f.Verdict != Missing {
			t.Errorf("%s: %q though nothing was measured", f.About, f)
		}
	}
	if got := len((&Experiment{Kind: reproduction, Name: "paper"}).Findings()); got != 0 {
		t.Errorf("%d findings of no cases", got)
	}
}

// TestTutorialFindings: accuracies near the tutorial's, far from them, of other images
// and of runs that were not made.
func TestTutorialFindings(t *testing.T) {
	for _, c := range []struct {
		data string
		last []float64 // accuracy after the third epoch, of each repeat; NaN: it did not get there
		want string
	}{
		{"mnist", []float64{0.935, 0.94, 0.93}, "as in the tutorial: by the last epoch; after the first it is 2.0 points lower"},
		{"mnist", []float64{0.96, 0.97, 0.95}, "not as in the tutorial: 3.0 points"},
		{"", []float64{0.93, 0.93, 0.93}, "cannot be told: the built-in digits"},
		{"mnist", []float64{math.NaN(), math.NaN(), math.NaN()}, "not measured"},
	} {
		p := TutorialPlan(TutorialOptions{Data: c.data})
		e := &Experiment{Kind: p.Kind, Name: p.Name, Seeds: p.Seeds}
		for _, k := range p.Cases {
			m := Measured{Case: k, Mode: k.value("mode"), Workers: 4}
			for _, last := range c.last {
				list := []float64{0.85, 0.91, last}
				var h []rundir.EpochResult
				for i := range list {
					if finite(list[i]) {
						h = append(h, rundir.EpochResult{TestAccuracy: &list[i]})
					}
				}
				m.Histories = append(m.Histories, h)
			}
			e.Cases = append(e.Cases, m)
		}
		list := e.Findings()
		if len(list) != 1 || !strings.HasPrefix(fmt.Sprintf("%s: %s", list[0].Verdict, list[0].Why), c.want) {
			t.Errorf("%q, %v: %v, want %q", c.data, c.last, list, c.want)
		}
		if rows := e.TutorialTable(); len(rows) != 3 || rows[1][2] != "85%" || len(rows[2]) != len(TutorialHeads) {
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
