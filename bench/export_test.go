package bench

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// TestBenchmarks reads results.txt with benchstat's own parser.
func TestBenchmarks(t *testing.T) {
	e := handmade()
	e.Cases[0].Runs[1] = Run{Failed: "killed"}
	raw := text(t, func(b *bytes.Buffer) error { return e.WriteBenchmarks(b) })
	r := benchfmt.NewReader(strings.NewReader(raw), "results.txt")
	runs := map[string][]*benchfmt.Result{}
	for r.Scan() {
		switch v := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(v)
		case *benchfmt.Result:
			runs[v.Name.String()] = append(runs[v.Name.String()], v.Clone())
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if len(runs) != 4 || len(runs["Train/data=digits/model=softmax/mode=async/workers=1-2"]) != 2 {
		t.Errorf("names and runs: %v", raw)
	}
	sync := runs["Train/data=digits/model=softmax/mode=sync/workers=2-2"]
	if len(sync) != 3 {
		t.Fatalf("%d runs of sync-2 in\n%s", len(sync), raw)
	}
	for unit, want := range map[string]float64{"sec/op": 600.0 / 1080, "examples/s": 1.08e6, "test-loss": 0.40,
		"accuracy": 0.9} {
		if got, ok := sync[2].Value(unit); !ok || got < want*(1-1e-5) || got > want*(1+1e-5) {
			t.Errorf("third run of sync-2: %v %s, want %v", got, unit, want)
		}
	}
	if _, ok := sync[2].Value("s-to-target"); ok {
		t.Error("a case of which a run missed the target has times to it, of which benchstat would take the median")
	}
	async := runs["Train/data=digits/model=softmax/mode=async/workers=2-2"]
	if got, ok := async[2].Value("s-to-target"); !ok || got != 0.2 {
		t.Errorf("third run of async-2: %v s-to-target, want 0.2", got)
	}
	for unit, want := range map[string]int{"examples/s": 1, "test-loss": -1, "s-to-target": -1, "accuracy": 1,
		"sec/op": -1} {
		if got := r.Units().GetBetter(unit); got != want {
			t.Errorf("%s: better is %v, want %v", unit, got, want)
		}
	}
	for key, want := range map[string]string{"cpu": "Some CPU", "commit": "0123456789ab", "kernel": "Linux 6.18"} {
		if got := sync[0].GetConfig(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestBenchmarkNames: no two cases share a name, whatever they differ in.
func TestBenchmarkNames(t *testing.T) {
	e := handmade()
	e.Cases[1].Settings = append(e.Cases[1].Settings, Setting{"lr", "0.5"})
	e.Cases[2] = e.Cases[0]
	e.Cases[2].Name = "again"
	e.Cases[3].Config.Data = "/some where/mnist"
	want := []string{
		"BenchmarkTrain/data=digits/model=softmax/mode=async/workers=1/case=async-1-2",
		"BenchmarkTrain/data=digits/model=softmax/mode=async/workers=2/lr=0.5-2",
		"BenchmarkTrain/data=digits/model=softmax/mode=async/workers=1/case=again-2",
		"BenchmarkTrain/data=_some_where_mnist/model=softmax/mode=sync/workers=2-2",
	}
	for i, got := range e.benchmarks() {
		if got != want[i] {
			t.Errorf("case %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestCSV(t *testing.T) {
	e := handmade()
	e.Cases[3].Runs[1].Failed = "killed"
	rows, err :=
		csv.NewReader(strings.NewReader(text(t, func(b *bytes.Buffer) error { return e.WriteCSV(b) }))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	last := map[string]string{}
	for i, head := range rows[0] {
		if _, twice := last[head]; twice {
			t.Errorf("two columns are called %s", head)
		}
		last[head] = rows[4][i]
	}
	for head, want := range map[string]string{
		"case": "sync-2", "group": "digits", "model": "softmax", "workers": "2", "mode": "sync",
		"runs": "3", "failed": "1",
		"examples_per_second": "1040000", "examples_per_second_low": "1000000", "examples_per_second_high": "1080000",
		"seconds_to_target": "0.85", "test_rmse": "", "speed_up_low": "0.9391304", "target_test_loss": "0.42",
	} {
		if got, ok := last[head]; !ok || got != want {
			t.Errorf("%s is %q, want %q", head, got, want)
		}
	}
}
