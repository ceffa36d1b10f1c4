package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
)

// folder makes a run folder by hand: two workers, one of which trains 10,000 examples each second,
// the other 30,000.
func folder(t *testing.T, name string, files map[string]string) *rundir.Recorded {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := rundir.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const runConfig = "workers: 2\ndata: digits\nmodel: softmax\nlr: 0.05\nmode: async\nbatch: 64\nepochs: 3\n"

// metrics is lines of two epochs, and of two seconds.
func metrics() string {
	var b strings.Builder
	for i := range 2 {
		n := i + 1
		fmt.Fprintf(&b,
			`{"kind":"second","epoch":%d,"epochs":3,"seconds":%d,"examples":%d,"examples_per_second":40000,"workers":[`+
				`{"rank":0,"state":"training","examples":%d,"examples_per_second":10000,"staleness_samples":30,"staleness_mean":2},`+
				`{"rank":1,"state":"training","examples":%d,"examples_per_second":30000,"staleness_samples":10,"staleness_mean":6}]}`+"\n",
			n, n, 40000*n, 10000*n, 30000*n)
		fmt.Fprintf(&b,
			`{"kind":"epoch","epoch":%d,"seconds":%g,"examples":%d,"lr":0.05,"train_loss":%g,"test_loss":%g,"test_accuracy":0.9}`+"\n",
			n, 1.5*float64(n), 60000*n, 0.8/float64(n), 0.7/float64(n))
	}
	return b.String()
}

// result is of a run that was interrupted within its third epoch, and evaluated there.
const result = `{"mode":"async","device":"cpu","workers":2,"epochs":2,"examples":130000,"seconds":3.25,"train_loss":0.38,"test_loss":0.33,"test_accuracy":0.91,"version":"0.1.0","commit":"0123456789ab","stopped":"interrupted",
"machine":{"cpu":"A Processor","cores":2,"kernel":"Linux 6.1","go":"go1.26"},"lr_used":0.04,"lr_capped":true,"restarts":1,"lost_examples":2048,
"staleness_samples":4,"staleness_mean":1.5,"staleness_p99":3,"staleness_histogram":[[0,1],[2,3]],"conflicts":0.25,"lost_updates":0.001,"notes":["a note"]}`

func TestRunOfOneFolder(t *testing.T) {
	p := OfRuns([]*rundir.Recorded{folder(t, "mine", map[string]string{
		"config.yaml": runConfig, "metrics.jsonl": metrics(), "result.json": result,
	})})
	for _, c := range []struct{ row, want string }{
		{"state", "stopped early: interrupted"},
		{"workers", "2"},
		{"learning rate", "0.04"},
		{"epochs done", "2"},
		{"examples", "130,000"},
		{"training, s", "3.25"},
		{"examples/s", "40.0 k"},
		{"train loss, last epoch", "0.3800"},
		{"test loss", "0.3300"},
		{"accuracy", "91.00%"},
	} {
		if got := cell(t, p, "Results", c.row, ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.row, got, c.want)
		}
	}
	for row, want := range map[string]string{"staleness, mean": "1.50", "conflicts": "25%", "lost updates": "0.1%"} {
		if got := cell(t, p, "Asynchrony", row, ""); got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	if first := p.Sections[0]; first.Title != "Loss and score" || first.Figures[0].Name != "loss-against-time" {
		t.Errorf("the page begins with %s", first.Title)
	}
	text := whole(t, p)
	for _, want := range []string{
		"softmax on digits: 2 workers, async", "A Processor, 2 cores", "a note", "lowered from 0.05 to 0.04",
		"Worker restarts: 1. Examples lost: 2,048.",
		"mine/config.yaml --run", "lr: 0.05",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	loss := series(t, drawing(t, p, "loss-against-time"), "test").Points
	if len(loss) != 2 || loss[1].X != 3 || loss[1].Y != 0.35 {
		t.Errorf("test loss: %v, want 0.35 after 3 s", loss)
	}
	rate := series(t, drawing(t, p, "rate-against-time"), "").Points
	if len(rate) != 2 || rate[0].Y != 40000 {
		t.Errorf("throughput: %v, want 40000/s", rate)
	}
	if kind := series(t, drawing(t, p, "rate-against-time"), "").Kind; kind != figure.Marks {
		t.Error("two moments of throughput are joined by a line")
	}
	if len(p.Figures()) != 4 {
		t.Errorf("%d figures, want loss, accuracy, throughput and staleness", len(p.Figures()))
	}
}

// TestRunUnderWay has no result yet, and a last line that is not whole.
func TestRunUnderWay(t *testing.T) {
	p := OfRuns([]*rundir.Recorded{folder(t, "mine", map[string]string{
		"config.yaml": runConfig, "metrics.jsonl": metrics() + `{"kind":"epo`,
	})})
	if got := cell(t, p, "Results", "state", ""); got != "at epoch 2 of 3" {
		t.Errorf("state: %q", got)
	}
	if got := cell(t, p, "Workers", "1", "state"); got != "training" {
		t.Errorf("state of worker 1: %q", got)
	}
	if text := whole(t, p); !strings.Contains(text, "is unfinished: it is still training or was killed") {
		t.Error("the page does not say that the run is unfinished")
	}
	whole(t, OfRuns([]*rundir.Recorded{folder(t, "new", map[string]string{"config.yaml": runConfig})}))
	whole(t, OfRuns(nil))
}

// TestRateThatChanged is told with its first and its last value.
func TestRateThatChanged(t *testing.T) {
	lines := strings.Replace(metrics(), `"lr":0.05`, `"lr":0.2`, 1)
	p := OfRuns(
		[]*rundir.Recorded{folder(t, "mine", map[string]string{"config.yaml": runConfig, "metrics.jsonl": lines})})
	if got := cell(t, p, "Results", "learning rate", ""); got != "0.2 to 0.05" {
		t.Errorf("learning rate %q, want 0.2 to 0.05", got)
	}
}

// TestWorkerThatLeft: a worker that trained from the third to the fifth of ten seconds has the speed of these.
func TestWorkerThatLeft(t *testing.T) {
	var b strings.Builder
	for n := 1; n <= 10; n++ {
		fmt.Fprintf(&b,
			`{"kind":"second","epoch":1,"epochs":3,"seconds":%d,"examples":%d,"workers":[{"rank":0,"examples":%d}`, n,
			1000*n, 1000*n)
		if n >= 3 {
			fmt.Fprintf(&b, `,{"rank":1,"examples":%d}`, 700*(min(n, 5)-2))
		}
		b.WriteString("]}\n")
	}
	p := OfRuns(
		[]*rundir.Recorded{folder(t, "mine", map[string]string{"config.yaml": runConfig, "metrics.jsonl": b.String()})})
	for row, want := range map[string]string{"0": "1.00 k", "1": "700"} {
		if got := cell(t, p, "Workers", row, "examples/s"); got != want {
			t.Errorf("worker %s: %s examples/s, want %s", row, got, want)
		}
	}
}

// TestBestEpochIsSaid: figures of two epochs are not in one table without a word.
func TestBestEpochIsSaid(t *testing.T) {
	lines := strings.ReplaceAll(metrics(), `"test_accuracy":0.9`, `"validation_loss":0.5`)
	text := whole(t,
		OfRuns([]*rundir.Recorded{folder(t, "mine",
			map[string]string{"config.yaml": runConfig, "metrics.jsonl": lines})}))
	if !strings.Contains(text, "are those of the best epoch") || !strings.Contains(text, "train loss, last epoch") {
		t.Error("the page does not say of which epoch its figures are")
	}
}

// TestRunThatDiverged has losses that are not numbers, null in JSON.
func TestRunThatDiverged(t *testing.T) {
	lines := metrics() +
		`{"kind":"epoch","epoch":3,"seconds":4.5,"examples":180000,"lr":0.05,"train_loss":null,"test_loss":null}` + "\n"
	p := OfRuns(
		[]*rundir.Recorded{folder(t, "mine", map[string]string{"config.yaml": runConfig, "metrics.jsonl": lines})})
	if text := whole(t, p); !strings.Contains(text, "The run diverged") || strings.Contains(text, ">NaN<") {
		t.Error("the page does not say that the run diverged, or shows NaN")
	}
	if got := cell(t, p, "Results", "epochs done", ""); got != "3" {
		t.Errorf("epochs: %q, want 3", got)
	}
}

func TestSeveralRuns(t *testing.T) {
	p := OfRuns([]*rundir.Recorded{
		folder(t, "one", map[string]string{"config.yaml": runConfig, "metrics.jsonl": metrics(),
			"result.json": result}),
		folder(t, "two", map[string]string{"config.yaml": strings.Replace(runConfig, "async", "sync", 1),
			"metrics.jsonl": metrics()}),
	})
	if got := cell(t, p, "Settings that differ", "mode", "two"); got != "sync" {
		t.Errorf("mode of the second run: %q", got)
	}
	for _, s := range p.Sections {
		if s.Title == "Settings that differ" && len(s.Table.Rows) != 1 {
			t.Errorf("settings that differ: %q, want the mode alone", s.Table.Rows)
		}
	}
	if one, two := cell(t, p, "Results", "mode", "one"), cell(t, p, "Results", "mode", "two"); one != "async" ||
		two != "sync" {
		t.Errorf("modes of the runs: %q and %q", one, two)
	}
	f := drawing(t, p, "loss-against-time")
	if series(t, f, "one").Color == series(t, f, "two").Color {
		t.Error("two runs have one colour")
	}
	if text := whole(t, p); !strings.Contains(text, "two: The run is unfinished") {
		t.Error("the page does not say which run is unfinished")
	}
}

func TestRunsOfOneNameAreToldApart(t *testing.T) {
	files := map[string]string{"config.yaml": runConfig, "metrics.jsonl": metrics()}
	a, b := folder(t, "mine", files), folder(t, "mine", files)
	f := drawing(t, OfRuns([]*rundir.Recorded{a, b}), "loss-against-time")
	series(t, f, a.Folder)
	series(t, f, b.Folder)
}
