package run

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
	"hogwild/internal/machine"
)

// TestStepsInFlight: the limit, with asynchrony simulated exactly. The target is 1.02
// times what serial training comes to in 5 epochs. With 132 steps of 8 examples in
// flight, more than 4 times the epochs that serial training needs do not reach it at
// any learning rate, and on centred inputs 2.5 times do.
//
// A schedule that falls to zero over the epochs given asks the question directly: is
// so much enough?
func TestStepsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for some hundred epochs")
	}
	for _, c := range []struct {
		name     string
		serial   int // epochs that serial training needs
		rates    [3]float64
		raw, cen [3]float64 // learning rates with 132 steps in flight, the best in the middle
	}{
		{"digits", 4, [3]float64{.2, .4, .8}, [3]float64{.01, .02, .04}, [3]float64{.05, .1, .2}},
		{"mnist", 4, [3]float64{.2, .4, .8}, [3]float64{.01, .02, .04}, [3]float64{.1, .2, .4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quick(t)
			cfg.Data, cfg.Model, cfg.Batch, cfg.Schedule = "digits:5000", "softmax", 8, "cosine"
			if c.name == "mnist" { // what is asked for is the loss on the training rows
				cfg.Data = check.Data(t, "mnist")
				cfg.Test = filepath.Join(cfg.Data, "train-images-idx3-ubyte.gz")
			}
			loss := func(mode, center string, epochs int, rates [3]float64) float64 {
				best := math.Inf(1)
				for _, lr := range rates {
					cfg.Mode, cfg.Center, cfg.Epochs, cfg.LR, cfg.Run = config.MustMode(mode), center, epochs, lr, t.TempDir()
					best = min(best, train(t, cfg).TestLoss)
				}
				return best
			}
			target := 1.02 * loss("delayed:0", "off", 5, c.rates)
			serial := loss("delayed:0", "off", c.serial, c.rates)
			raw := loss("delayed:131", "off", 4*c.serial, c.raw)
			centred := loss("delayed:131", "on", c.serial*5/2, c.cen)
			t.Logf("target %.4f; serial after %d epochs %.4f; 132 in flight after %d %.4f, centred after %d %.4f",
				target, c.serial, serial, 4*c.serial, raw, c.serial*5/2, centred)
			if serial > target {
				t.Errorf("serial training misses the target: it needs more than %d epochs", c.serial)
			}
			if raw <= target*1.02 {
				t.Errorf("raw inputs: %g after %d epochs is too near to the target %g", raw, 4*c.serial, target)
			}
			if centred > target {
				t.Errorf("centred inputs: %g after %d epochs misses the target %g", centred, c.serial*5/2, target)
			}
		})
	}
}

// TestDelaysAreExact: the worked example of docs/asynchrony.md. With one weight and
// lr lambda h = 0.1 the error obeys e[t+1] = e[t] - 0.1 e[t-K], which shrinks up to K = 15 and
// grows from 16 on. After 700 steps a delay that is off by one makes it eight times
// larger or smaller; the noise of the data changes it by up to a third.
func TestDelaysAreExact(t *testing.T) {
	const steps, batch = 700, 600
	cfg := quick(t)
	cfg.Data, cfg.Model, cfg.Bias = fmt.Sprintf("synth:linear:%dx1", steps*batch), "linear", false
	cfg.Batch, cfg.Epochs, cfg.LR = batch, 1, 0.05
	after := func(delay int) rundir.Result {
		cfg.Mode, cfg.Run = config.MustMode(fmt.Sprintf("delayed:%d", delay)), t.TempDir()
		return train(t, cfg)
	}
	serial := after(0)
	noise := serial.TestLoss
	signal := noise / (1 - *serial.TestR2) // the mean square of the targets
	for _, delay := range []int{15, 16} {
		e := slices.Repeat([]float64{1}, delay+1)
		for range steps {
			e = append(e, e[len(e)-1]-0.1*e[len(e)-1-delay])
		}
		want := math.Abs(e[len(e)-1])
		got := math.Sqrt((after(delay).TestLoss - noise) / (signal - noise))
		t.Logf("K = %d: the error is %.3g times the first, in theory %.3g", delay, got, want)
		if !(got > want/1.5 && got < want*1.5) {
			t.Errorf("K = %d: the error is %.3g times the first, want about %.3g", delay, got, want)
		}
	}
}

// played is the instruments of workers whose samples were so stale, each so often.
func played(stale ...[2]int) *control.Instruments {
	r := make(control.Record, control.RecordWords)
	for _, s := range stale {
		for range s[1] {
			r.Stale(uint64(s[0]))
		}
	}
	return r.Instruments(0)
}

// TestFlight: the median of what was sampled, in merges, is what is in flight; few steps that land very late are not many in flight.
func TestFlight(t *testing.T) {
	for _, x := range []struct {
		name        string
		edit        func(*tuning.Job)
		in          *control.Instruments
		seen, least float64 // 0: none
	}{
		{"all hold one", func(*tuning.Job) {}, played([2]int{5, 30}, [2]int{6, 41}, [2]int{9, 29}), 7, 7}, // from 40 of 100 on
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
		r := newCoordinator(quick(t), Options{})
		r.job.Asked.Workers, r.job.Used.MergeEvery, r.facts.Steps = 8, 1, true
		x.edit(&r.job)
		f := r.flight(x.in)
		if x.seen == 0 && f != nil || x.seen > 0 && (f == nil || f.seen != x.seen || f.least != x.least) {
			t.Errorf("%s: %+v, want %g, at least %g", x.name, f, x.seen, x.least)
		}
	}
}

// TestLookAgain: with more steps in flight the rate is that of a machine with as many cores, and the line says why.
func TestLookAgain(t *testing.T) {
	cores := machine.Cores()
	for _, x := range []struct {
		name string
		edit func(*config.Config)
		says string
	}{
		{"lowered", func(c *config.Config) { c.LR = 3 }, "; lr 3 is stable up to about 1 step"},
		{"within", func(c *config.Config) { c.LR = 1e-4 }, ": they are within it"},
		{"not capped", func(c *config.Config) { c.LR, c.LRCap = 3, "off" }, "a lower --lr or fewer --workers avoid that"},
		{"adam", func(c *config.Config) { c.Optimizer = "adam" }, ""}, // nothing is known to depend on them
	} {
		c := quick(t)
		c.Model, c.Loss, c.LRCap, c.Workers, c.MergeEvery = "softmax", "cross-entropy", "auto", 6*cores, "1"
		x.edit(&c)
		set, m := begun(t, c)
		r := newCoordinator(c, Options{})
		r.train = set
		var err error
		if r.spec, err = model.Resolve(c.ModelOptions(), set.Meta); err != nil {
			t.Fatal(err)
		}
		r.facts = tuning.Measure(&c, r.spec, m, set)
		if r.job.Used, err = r.choose(&r.job.Asked, cores); err != nil {
			t.Fatal(err)
		}
		r.lookAgain(&flight{expected: cores, seen: float64(5 * cores), least: float64(5 * cores)})
		want, err := tuning.Choose(&c, r.spec, r.facts, tuning.Machine{Cores: 5 * cores})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.scaling.job.Used; got.InFlight != 5*cores || got.LR != want.LR || got.Capped != want.Capped || r.scaling.job.Asked.Workers != c.Workers {
			t.Errorf("%s: %+v, want %+v", x.name, got, want)
		}
		said := strings.Join(r.report.Events(), "\n")
		if x.says == "" && said == "" {
			continue
		}
		if !strings.HasPrefix(said, fmt.Sprintf("steps in flight: %.2g measured, %d expected", float64(5*cores), cores)) || !strings.HasSuffix(said, x.says) {
			t.Errorf("%s: %q", x.name, said)
		}
	}
}

// TestLongStepsAreCounted: where a step takes longer than a time slice all workers hold one, which the run sees and lowers its rate
// by, once; where steps are short they do not, and nothing is said.
func TestLongStepsAreCounted(t *testing.T) {
	inFull(t)
	if machine.Cores() > 4 {
		t.Skip("it needs several workers on each core, with steps that are long on few")
	}
	c := quick(t)
	c.Workers, c.LRCap, c.MergeEvery, c.Epochs, c.LR = 4*machine.Cores(), "0.1", "1", 4, 3
	for _, x := range []struct {
		model string
		batch int
		long  bool
	}{{"mlp:512,256", 512, true}, {"softmax", 16, false}} {
		c.Data, c.Model, c.Batch, c.Run = "digits:10000", x.model, x.batch, t.TempDir()
		r := train(t, c)
		said := strings.Count(strings.Join(r.Events, "\n"), "steps in flight: ")
		t.Logf("%s: staleness %.3g in %d samples, %.3g in flight, %d expected, lr %g\n%s", x.model, r.StalenessMean, r.StalenessSamples, r.InFlightSeen, r.InFlight, r.LRUsed, strings.Join(r.Events, "\n"))
		if x.long != (said == 1) || r.InFlight != machine.Cores() {
			t.Errorf("%s: said %d times; %d steps expected", x.model, said, r.InFlight)
		}
		first := r.History[0].LR
		if x.long && !(r.LRUsed < first) || !x.long && r.LRUsed != first {
			t.Errorf("%s: lr %g, at first %g", x.model, r.LRUsed, first)
		}
	}
}
