package elastic

import (
	"fmt"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// quick returns a small job.
func quick(t *testing.T) config.Config {
	c := configtest.Dense()
	c.Data, c.Workers, c.Epochs, c.LR, c.Run = "digits:2000", 1, 3, 0.1, t.TempDir()
	c.Center, c.BiasStep, c.LRCap, c.AverageLR, c.SaveEvery = "off", "off", "off", "same", "1"
	return c
}

// played returns the instruments of workers whose samples were so stale, each so often.
func played(stale ...[2]int) *control.Instruments {
	r := make(control.Record, control.RecordWords)
	for _, s := range stale {
		for range s[1] {
			r.Stale(uint64(s[0]))
		}
	}
	return r.Instruments(0)
}

// TestFlight: the median of what was sampled, in merges, is what is in flight; few steps that land very late are not
// many in flight.
func TestFlight(t *testing.T) {
	for _, x := range []struct {
		name        string
		edit        func(*tuning.Job)
		in          *control.Instruments
		seen, least float64 // 0: none
	}{
		// from 40 of 100 on
		{"all hold one", func(*tuning.Job) {}, played([2]int{5, 30}, [2]int{6, 41}, [2]int{9, 29}), 7, 7},
		{"widely spread", func(*tuning.Job) {}, played([2]int{2, 41}, [2]int{6, 30}, [2]int{9, 29}), 7, 3},
		{"one in five is very late", func(*tuning.Job) {}, played([2]int{0, 80}, [2]int{300, 20}), 1, 1},
		{"merged", func(c *tuning.Job) { c.Used.MergeEvery = 4 }, played([2]int{12, 100}), 4, 4},
		{"atomic", func(c *tuning.Job) { c.Asked.Mode = config.MustMode("atomic") }, played([2]int{3, 100}), 4, 4},
		{"locked", func(c *tuning.Job) { c.Asked.Mode = config.MustMode("locked") }, played([2]int{3, 100}), 0, 0},
		{"sync", func(c *tuning.Job) { c.Asked.Mode = config.MustMode("sync") }, played([2]int{0, 100}), 0, 0},
		{"alone", func(c *tuning.Job) { c.Asked.Workers = 1 }, played([2]int{0, 100}), 0, 0},
		{"many short steps at once", func(c *tuning.Job) { c.Used.Batch = 1 }, played([2]int{64, 100}), 0, 0},
		{"no samples", func(*tuning.Job) {}, played(), 0, 0},
	} {
		r := core.New(quick(t), core.Options{}, nil)
		r.Job.Asked.Workers, r.Job.Used.MergeEvery, r.Task.Facts.HasStepper = 8, 1, true
		x.edit(&r.Job)
		f := flightOf(r, x.in)
		if x.seen == 0 && f != nil || x.seen > 0 && (f == nil || f.Seen != x.seen || f.Least != x.least) {
			t.Errorf("%s: %+v, want %g, at least %g", x.name, f, x.seen, x.least)
		}
	}
}

// TestLookAgain: with more steps in flight the rate is as on a machine with as many cores, and the line says why.
func TestLookAgain(t *testing.T) {
	cores := machine.Cores()
	for _, x := range []struct {
		name string
		edit func(*config.Config)
		says string
	}{
		{"lowered", func(c *config.Config) { c.LR = 3 }, "; lr 3 is stable up to about 1 step"},
		{"within", func(c *config.Config) { c.LR = 1e-4 }, ": they are within it"},
		{"not capped", func(c *config.Config) { c.LR, c.LRCap = 3, "off" },
			"a lower --lr or fewer --workers avoid that"},
		{"adam", func(c *config.Config) { c.Optimizer = "adam" }, ""}, // nothing is known to depend on them
	} {
		c := quick(t)
		c.Model, c.Loss, c.LRCap, c.Workers, c.MergeEvery = "softmax", "cross-entropy", "auto", 6*cores, "1"
		x.edit(&c)
		r, a := core.New(c, core.Options{}, nil), New().(*ability)
		var err error
		if r.Task.Sets, err = c.ReadSets(data.Options{}); err != nil {
			t.Fatal(err)
		}
		set := r.Task.Train
		m, err := model.New(c.ModelOptions(), set.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if r.Task.Spec, err = model.Resolve(c.ModelOptions(), set.Meta); err != nil {
			t.Fatal(err)
		}
		r.Task.Facts = tuning.Measure(&c, r.Task.Spec, m, set)
		if r.Job.Used, err = r.Choose(&r.Job.Asked, cores); err != nil {
			t.Fatal(err)
		}
		a.lookAgain(r, &tuning.Flight{Expected: cores, Seen: float64(5 * cores), Least: float64(5 * cores)})
		pending := r.Hooks.Change.(*change)
		want, err := tuning.Choose(&c, r.Task.Spec, r.Task.Facts, tuning.Machine{Cores: 5 * cores})
		if err != nil {
			t.Fatal(err)
		}
		if got := pending.job.Used; got.InFlight != 5*cores || got.LR != want.LR || got.Capped != want.Capped ||
			pending.job.Asked.Workers != c.Workers {
			t.Errorf("%s: %+v, want %+v", x.name, got, want)
		}
		said := strings.Join(r.Report.Events(), "\n")
		if x.says == "" && said == "" {
			continue
		}
		if !strings.HasPrefix(said, fmt.Sprintf("steps in flight: %.2g measured, %d expected", float64(5*cores),
			cores)) || !strings.HasSuffix(said, x.says) {
			t.Errorf("%s: %q", x.name, said)
		}
	}
}
