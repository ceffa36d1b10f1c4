package rundir_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// asRead compares what JSON can tell apart: NaN and infinities are one there, and an
// empty list none.
var asRead = cmp.Options{
	cmp.Comparer(func(a, b float64) bool { return a == b || !isNumber(a) && !isNumber(b) }),
	cmpopts.IgnoreFields(rundir.Result{}, "Rate", "History", "Events", "Timing", "ShownLive"),
	cmpopts.IgnoreFields(rundir.Status{}, "Total", "Last"),
	cmpopts.EquateEmpty(),
}

func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// comesBack draws values of a type, makes some of their numbers any at all, and holds
// them to what they are after a way through JSON.
func comesBack[T any](t *testing.T, numbers func(*T) []*float64, optional func(*T) []**float64) {
	t.Helper()
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}))
	moment := rapid.Map(rapid.Int64Range(0, 1<<33), func(s int64) time.Time { return time.Unix(s, 0).UTC() })
	gen := rapid.MakeCustom[T](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): moment.AsAny(),
		reflect.TypeFor[*rundir.Detail](): rapid.SampledFrom([]*rundir.Detail{nil,
			{Residuals: &rundir.Residuals{Mean: 1.5}},
			{Classes: []rundir.ClassFigures{{Class: "a", Rows: 2, F1: .5}}, Confusion: [][]int{{1}}}}).AsAny(),
	}})
	rapid.Check(t, func(t *rapid.T) {
		v := gen.Draw(t, "v")
		for _, p := range numbers(&v) {
			*p = number.Draw(t, "number")
		}
		for _, p := range optional(&v) {
			*p = rapid.Ptr(number, true).Draw(t, "optional")
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back T
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff(v, back, asRead); d != "" {
			t.Fatalf("%s\n%s", text, d)
		}
	})
}

func validationOf(v *rundir.Validation) []**float64 {
	return []**float64{&v.ValidationLoss, &v.ValidationAccuracy, &v.ValidationRMSE, &v.ValidationR2}
}

func TestResultsComeBack(t *testing.T) {
	comesBack(t,
		func(r *rundir.Result) []*float64 { return []*float64{&r.ExamplesPerSecond, &r.TrainLoss, &r.TestLoss} },
		func(r *rundir.Result) []**float64 {
			return append(validationOf(&r.Validation), &r.TestAccuracy, &r.TestRMSE, &r.TestR2)
		})
	comesBack(t, func(e *rundir.EpochResult) []*float64 { return []*float64{&e.TrainLoss, &e.TestLoss} },
		func(e *rundir.EpochResult) []**float64 {
			return append(validationOf(&e.Validation), &e.TestAccuracy, &e.TestRMSE, &e.TestR2)
		})
	none := func(*rundir.Status) []**float64 { return nil }
	comesBack(t, func(s *rundir.Status) []*float64 {
		all := []*float64{&s.Rate}
		for i := range s.Workers {
			all = append(all, &s.Workers[i].Rate)
		}
		return all
	}, none)
}

// recorded writes a run folder and reads it.
func recorded(t *testing.T, files map[string]string) (*rundir.Recorded, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return rundir.ReadRun(dir)
}

const aConfig = "workers: 3\ndata: digits\nmodel: softmax\nlr: 0.25\nbias: false\n"

func epochLine(epoch int, loss float64) string {
	return fmt.Sprintf(`{"kind":"epoch","epoch":%d,"test_loss":%g,"train_loss":null}`+"\n", epoch, loss)
}

func secondLine(examples int) string {
	return fmt.Sprintf(`{"kind":"second","examples":%d,"examples_per_second":null,"workers":[]}`+"\n", examples)
}

// TestReadRunUnderWay: a run whose last line is being written.
func TestReadRunUnderWay(t *testing.T) {
	r, err := recorded(t,
		map[string]string{rundir.ConfigFile: aConfig,
			rundir.MetricsName: secondLine(0) + epochLine(1, 0.9) + secondLine(100) + secondLine(100) +
				epochLine(2, 0.5) + secondLine(200) + epochLine(3, 0.25) + `{"kind":"epo`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.Epochs {
		got = append(got, fmt.Sprintf("%d %g %v", e.Epoch, e.TestLoss, e.TrainLoss))
	}
	for _, s := range r.Seconds {
		got = append(got, fmt.Sprintf("%d %v", s.Examples, s.Rate))
	}
	want := []string{"1 0.9 NaN", "2 0.5 NaN", "3 0.25 NaN", "0 NaN", "100 NaN", "100 NaN", "200 NaN"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r.Result != nil {
		t.Errorf("a result: %+v", r.Result)
	}
	c := r.Config
	if c.Workers != 3 || c.LR != 0.25 || c.Bias || c.Epochs != config.Default().Epochs {
		t.Errorf("%+v", c)
	}
}

// TestReadRunRefuses: what is wrong is said in a line, with its place.
func TestReadRunRefuses(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "is not a run folder"},
		{map[string]string{rundir.ConfigFile: "workers: [1"}, "config.yaml: not the settings of a run"},
		{map[string]string{rundir.ConfigFile: "workers: many\n"}, "config.yaml: not the settings of a run"},
		{map[string]string{rundir.ConfigFile: aConfig, rundir.MetricsName: secondLine(1) + "{}}\n" + secondLine(2)},
			"metrics.jsonl:2: not a line of metrics"},
		{map[string]string{rundir.ConfigFile: aConfig, rundir.MetricsName: "{\"kind\":\"third\"}\n"},
			`metrics.jsonl:1: not a line of metrics: of kind "third"`},
		{map[string]string{rundir.ConfigFile: aConfig, rundir.ResultFile: `{"mode": 1}`},
			"result.json: not the result of a run"},
	} {
		_, err := recorded(t, c.files)
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, want %q in a line", err, c.want)
		}
	}
	if _, err := rundir.ReadRun(filepath.Join(t.TempDir(), "none")); !errors.Is(err, config.ErrUsage) {
		t.Error(err)
	}
}

// TestRunIsRecorded: a run's folder holds what Run returned, and what it was asked for.
func TestRunIsRecorded(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.TargetLoss = 2, 1e-9
	want := runtest.Train(t, c)
	got, err := rundir.ReadRun(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, *got.Result, asRead); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want.History, got.Epochs, asRead); d != "" {
		t.Error(d)
	}
	c.Model, c.Loss, c.Schedule = "softmax", "cross-entropy", "constant" // as data and model have it
	if d := cmp.Diff(c, got.Config); d != "" {
		t.Error(d)
	}
	// 784 inputs, a bias, ten classes.
	if want.Parameters != 7850 || want.FlopsPerExample != 2*2*10*want.ValuesPerExample {
		t.Errorf("%d parameters, %v flops of %v values", want.Parameters, want.FlopsPerExample, want.ValuesPerExample)
	}
	if m := want.Machine; m.CPU == "" || m.Cores < 1 || m.Memory < 1<<20 || !strings.HasPrefix(m.Kernel, "Linux ") ||
		!strings.HasPrefix(m.Go, "go") {
		t.Errorf("%+v", m)
	}
}

// TestResultOfRunsThatEndEarly: one that is interrupted or diverges has a result that says
// so, and one that goes on from there has none until it ends.
func TestResultOfRunsThatEndEarly(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Batch, c.LR, c.Epochs = configtest.Planted(t), "linear", 8, 0.01, 1
	runtest.Train(t, c)
	c = runtest.Resumed(c)
	c.LR, c.Epochs = 1e6, 300
	if _, err := runtest.Try(t, c); !errors.Is(err, config.ErrDiverged) {
		t.Fatal(err)
	}
	r, err := rundir.ReadRun(c.Run)
	if err != nil || r.Result == nil || r.Result.Stopped != "diverged" || !math.IsNaN(r.Result.TestLoss) {
		t.Fatalf("%+v, %v", r, err)
	}
	c.LR, c.Epochs = 1e-9, 1<<30
	run := runtest.Start(t, c)
	run.Reach(3, 0)
	if r, err = rundir.ReadRun(c.Run); err != nil || r.Result != nil {
		t.Errorf("a run under way has a result: %v", err)
	}
	run.Stop()
	want, _ := run.Wait()
	if r, err = rundir.ReadRun(c.Run); err != nil || r.Result == nil || r.Result.Stopped != "interrupted" {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := cmp.Diff(want, *r.Result, asRead); d != "" {
		t.Error(d)
	}
}

func TestFreshRun(t *testing.T) {
	t.Chdir(t.TempDir())
	c := config.Default()
	c.Model = "mlp:32"
	first := run.FreshRun(c)
	if ok, _ := filepath.Match("runs/????????-??????-digits-mlp-32", first); !ok {
		t.Error(first)
	}
	c.Resume = "runs/old"
	if got := run.FreshRun(c); got != "runs/old" {
		t.Error(got)
	}
	c.Run = "runs/new"
	if got := run.FreshRun(c); got != "runs/new" {
		t.Error(got)
	}
}

func TestMachine(t *testing.T) {
	m := rundir.MachineAt(fstest.MapFS{
		"proc/cpuinfo": {Data: []byte("processor\t: 0\nmodel name\t: A Core\nprocessor\t: 1\nmodel name\t: Another\n")},
		"proc/meminfo": {Data: []byte("MemTotal:       16311508 kB\nMemFree: 3 kB\n")},
	})
	if m.CPU != "A Core" || m.Memory != 16311508*1024 {
		t.Errorf("%+v", m)
	}
	if m := rundir.MachineAt(fstest.MapFS{}); m.CPU == "" || m.Memory != 0 {
		t.Errorf("%+v", m)
	}
}
