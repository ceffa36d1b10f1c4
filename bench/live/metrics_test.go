package live

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\\]|\\\\|\\n)+$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})?) (\S+)$`)
)

// parse reads the text format strictly: a family is one block of its help, its type and
// its samples, and no sample comes twice. The samples are by name and labels.
func parse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line is cut off")
	}
	samples, families := map[string]float64{}, map[string]bool{}
	family, kind := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if families[m[1]] {
				t.Errorf("family %s comes twice", m[1])
			}
			family, kind, families[m[1]] = m[1], "", true
		} else if m := typeLine.FindStringSubmatch(line); m != nil {
			if m[1] != family || kind != "" {
				t.Errorf("%q does not follow its help", line)
			}
			kind = m[2]
			if (kind == "counter") != strings.HasSuffix(family, "_total") {
				t.Errorf("%s is a %s: counters, and they alone, end in _total", family, kind)
			}
		} else if m := sampleLine.FindStringSubmatch(line); m != nil {
			v, err := strconv.ParseFloat(m[3], 64)
			if _, again := samples[m[1]+m[2]]; again || err != nil || m[1] != family || kind == "" {
				t.Errorf("%q: not a sample of %s (%v), or twice", line, family, err)
			}
			samples[m[1]+m[2]] = v
		} else {
			t.Errorf("%q is neither help, type nor sample", line)
		}
	}
	return samples
}

// metricsOf is the metrics of a server, parsed.
func metricsOf(t *testing.T, s *server) map[string]float64 {
	t.Helper()
	return parse(t, string(s.metrics()))
}

func wantMetrics(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if x, ok := got[name]; !ok || !(math.Abs(x-v) < 1e-12 || math.IsNaN(x) && math.IsNaN(v)) {
			t.Errorf("%s is %v (there: %v), want %v", name, x, ok, v)
		}
	}
}

func TestMetrics(t *testing.T) {
	run := newRun(t)
	s := newServer(run.path, newClock().now)
	got := metricsOf(t, s)
	want := map[string]float64{"hogwild_examples_total": 0, "hogwild_last_step_age_seconds": 0, "hogwild_run_ended": 0}
	wantMetrics(t, got, want)
	if len(got) != len(want) {
		t.Errorf("before the run: %v, want no more than %v", got, want)
	}
	run.second(0.5, 60, 20)
	run.epoch(1, 1.25)
	run.second(1.5, 90, 50)
	wantMetrics(t, metricsOf(t, s), map[string]float64{
		"hogwild_examples_total":                           140,
		"hogwild_epoch":                                    2,
		"hogwild_epochs":                                   4,
		"hogwild_loss{set=\"train\"}":                      1.25,
		"hogwild_loss{set=\"test\"}":                       2.5,
		"hogwild_accuracy":                                 0.75,
		"hogwild_examples_per_second":                      250.5,
		"hogwild_worker_examples_total{rank=\"0\"}":        90,
		"hogwild_worker_examples_total{rank=\"1\"}":        50,
		"hogwild_rollbacks_total":                          0,
		"hogwild_worker_restarts_total{rank=\"0\"}":        0,
		"hogwild_worker_restarts_total{rank=\"1\"}":        3,
		"hogwild_worker_up{rank=\"0\"}":                    1,
		"hogwild_worker_up{rank=\"1\"}":                    0,    // it is started again
		"hogwild_staleness_mean":                           3,    // (30 * 2 + 10 * 6) / 40
		"hogwild_lost_updates":                             0.02, // (30 * 0.01 + 10 * 0.05) / 40
		"hogwild_worker_last_step_age_seconds{rank=\"0\"}": 0,
		"hogwild_run_ended":                                0,
	})
	run.write("metrics.jsonl",
		`{"kind":"epoch","epoch":2,"examples":200,"train_loss":null,"test_loss":null,"test_rmse":1.5,"test_r2":-0.5}`+
			"\n")
	s.end()
	wantMetrics(t, metricsOf(t, s), map[string]float64{
		"hogwild_examples_total":      200,
		"hogwild_loss{set=\"train\"}": math.NaN(),
		"hogwild_rmse":                1.5,
		"hogwild_r2":                  -0.5,
		"hogwild_run_ended":           1,
	})
}

// TestMetricsOfValidation: the loss of a run with a validation set is that of its validation set.
func TestMetricsOfValidation(t *testing.T) {
	run := newRun(t)
	s := newServer(run.path, newClock().now)
	run.write("metrics.jsonl",
		`{"kind":"epoch","epoch":1,"examples":200,"train_loss":1.5,"test_loss":null,"validation_loss":1.25,"validation_accuracy":0.5}`+"\n")
	got := metricsOf(t, s)
	wantMetrics(t, got, map[string]float64{"hogwild_loss{set=\"validation\"}": 1.25, "hogwild_accuracy": 0.5})
	if v, ok := got["hogwild_loss{set=\"test\"}"]; ok {
		t.Errorf("a test loss, %v", v)
	}
}

// TestLastStepAge has a run whose second worker stops, and then the run hangs: lines go
// on to come, but no example.
func TestLastStepAge(t *testing.T) {
	const all, first, second = "hogwild_last_step_age_seconds",
		`hogwild_worker_last_step_age_seconds{rank="0"}`, `hogwild_worker_last_step_age_seconds{rank="1"}`
	run, c := newRun(t), newClock()
	s := newServer(run.path, c.now)
	step := func(seconds float64) { c.at = c.at.Add(time.Duration(seconds * 1e9)) }

	step(2.5)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 2.5}) // a start that takes long is seen too
	run.second(1, 100, 100)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 0, first: 0, second: 0})
	step(1)
	run.second(2, 200, 100)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 0, first: 0, second: 1})
	step(7)
	run.second(9, 200, 100)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 7, first: 7, second: 8})
	step(3600)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 3607, first: 3607, second: 3608})
	run.second(10, 201, 100)
	wantMetrics(t, metricsOf(t, s), map[string]float64{all: 0, first: 0, second: 3608})
}
