package bench

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestFairness: of an experiment without fault nothing is said; each fault alone has its
// one line, and that names the cases.
func TestFairness(t *testing.T) {
	fair := func() *Experiment {
		e := handmade()
		e.Cases, e.Seeds = e.Cases[:2], []uint64{1, 2, 3, 4, 5}
		return e
	}
	if notes := fair().Fairness(); len(notes) > 0 {
		t.Errorf("of a fair experiment: %q", notes)
	}
	for _, c := range []struct {
		name  string
		spoil func(e *Experiment)
		want  string
	}{
		{"one core", func(e *Experiment) { e.Machine.Cores = 1 }, "async-2: more workers than cores (1)"},
		{"a failure", func(e *Experiment) { e.Cases[0].Runs[2].Failed = "diverged" }, "async-1: 1 of 3 runs failed"},
		{"a lower rate", func(e *Experiment) { LRUsed.Put(&e.Cases[1], 0.05, 0.05, 0.05) },
			"(async-2: 0.1 to 0.05)"},
		{"few runs", func(e *Experiment) { e.Seeds = e.Seeds[:2] },
			"2 runs per case: too few to tell cases apart; verdicts need --repeat 5"},
		{"boundaries", func(e *Experiment) { WallSeconds.Put(&e.Cases[1], 1e3, 1e3, 1e3) },
			"async-2: half of the time or more passed between epochs"},
		{"short runs", func(e *Experiment) { Seconds.Put(&e.Cases[1], 0.01, 0.02, 0.03) },
			"async-2: runs of less than 0.05 s"},
		{"other batches", func(e *Experiment) { e.Cases[1].each(func(r *rundir.Result) { r.Batch = 8 }) },
			"async-2: the automatic batch is 8, against 64 in async-1"},
		{"no GPU", func(e *Experiment) {
			e.Cases[1].each(func(r *rundir.Result) { r.Device = "cuda:0 (NVIDIA H200 (stand-in))" })
		},
			"no GPU: the stand-in driver"},
		{"a busy machine", func(e *Experiment) {
			Rate.Put(&e.Cases[0], 1250, 1250, 5000)
			Rate.Put(&e.Cases[1], 7920, 3960, 3960)
		}, "the fastest run is 3.00 times as fast as the slowest"},
		{"turns on a GPU", func(e *Experiment) {
			e.Cases[1].Config.GPU = "0"
			e.Cases[1].each(func(r *rundir.Result) {
				r.Notes = []string{"without MPS, processes on one GPU take turns: more workers do not make it faster"}
			})
		}, "async-2: without MPS"},
		{"sync", func(e *Experiment) {
			e.Cases = append(e.Cases, handmade().Cases[2:]...)
			e.Cases[3].Runs[1].SecondsToTarget[0] = 1
			e.Cases[3].Search = &Search{}
		},
			"sync-2: each worker trains on its own shard"},
		{"sync at each step", func(e *Experiment) {
			e.Cases = append(e.Cases, handmade().Cases[3])
			e.Cases[2].Runs[1].SecondsToTarget[0] = 1
			e.Cases[2].Config.AverageEvery = 1
			e.Cases[2].Search = &Search{}
		}, "sync-2: workers take each step together, on batch x workers examples"},
		{"one rate", func(e *Experiment) {
			e.Cases = append(e.Cases, handmade().Cases[3])
			e.Cases[2].Runs[1].SecondsToTarget[0], e.Cases[2].Config.GlobalBatch = 1, 128
		}, "sync-2: at the learning rate of the other modes they learn less in an epoch; the best rate of N workers"},
		{"a rate at the edge", func(e *Experiment) { e.Cases[1].Search = &Search{AtEdge: true} },
			"async-2: the best learning rate is the lowest or highest"},
		{"no validation rows", func(e *Experiment) { e.Cases[1].Search = &Search{Set: training} },
			"async-2: no rows of these data can be held out"},
	} {
		e := fair()
		c.spoil(e)
		if notes := e.Fairness(); len(notes) != 1 || !strings.Contains(notes[0], c.want) {
			t.Errorf("%s: %q, want one note: %q", c.name, notes, c.want)
		}
	}
}

// TestBatchesAskedFor: steps of other sizes are no surprise where they were asked for.
// TestAveragesNotRun: what a case would average is known when it has run.
func TestAveragesNotRun(t *testing.T) {
	e := handmade()
	e.Cases = e.Cases[:2]
	e.Cases[1].Mode, e.Cases[1].Config.Average = "sync", "weights"
	LRUsed.Put(&e.Cases[1], 0.2, 0.2, 0.2) // higher than in async
	if notes := e.averages(); len(notes) != 1 {
		t.Errorf("of a case in sync: %q", notes)
	}
	e.Cases[1].Config = config.Config{}
	for i := range e.Cases[1].Runs {
		e.Cases[1].Runs[i] = Run{Failed: notRun}
	}
	if notes := e.averages(); notes != nil {
		t.Errorf("of a case that was not run: %q", notes)
	}
}

func TestBatchesAskedFor(t *testing.T) {
	e := handmade()
	e.Cases[1].each(func(r *rundir.Result) { r.Batch = 8 })
	e.Cases[1].Settings = append(e.Cases[1].Settings, Setting{"batch", "8"})
	if notes := e.batches(); notes != nil {
		t.Errorf("%q", notes)
	}
}

// TestCapsOfAll: a rate that was lowered for all cases is the same for all.
func TestCapsOfAll(t *testing.T) {
	e := handmade()
	for i := range e.Cases {
		LRUsed.Put(&e.Cases[i], 0.05, 0.05, 0.05)
	}
	if notes := e.loweredRates(); notes != nil {
		t.Errorf("%q", notes)
	}
}

func TestCalled(t *testing.T) {
	var cases []*Measured
	for _, want := range []string{"a", "a and b", "a, b and c", "a, b, c and d", "a, b, c, d and e",
		"a, b, c, d and 2 others"} {
		cases = append(cases, &Measured{Case: Case{Name: string(rune('a' + len(cases)))}})
		if got := (&Experiment{}).called(cases); got != want {
			t.Errorf("%d cases are called %q, want %q", len(cases), got, want)
		}
	}
	e := handmade()
	if got := e.called(e.which(func(*Measured) bool { return true })); got != "all cases" {
		t.Errorf("all are called %q", got)
	}
}
