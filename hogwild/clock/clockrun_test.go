package clock_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// played is asynchronous SGD by its definition, in double precision: every worker has the weights that it began on, and
// a loop over all of them looks for the one that is done first. It shares nothing with package clock.
type played struct {
	c      config.Config
	h      []float64 // how long a step of each worker takes
	x      []float64
	grad   func(w []float64, rows []int32) []float64
	ws     []playing
	now    float64
	k      int
	taus   []int
	mean   [][]float64 // gradients held for a mean
	sizes  []float64
	closes float64 // quorum's grace
	sum, m []float64
	come   int

	computed, applied, dropped int
}

type playing struct {
	busy, waits bool
	done        float64
	at          int
	x, g        []float64
	batches     [][]int32
}

// play trains c with workers that take h for a step.
func play(t *testing.T, c config.Config, h []float64) *played {
	t.Helper()
	set, m := runtest.Begun(t, c)
	w32 := make([]float32, model.Size(m.Params()))
	m.Init(w32, c.Seed)
	reader, rows := set.NewReader(), make([]int32, set.Rows)
	p := &played{c: c, h: h, x: runtest.Doubles(w32), ws: make([]playing, len(h)), closes: math.Inf(1),
		sum: make([]float64, len(w32)), m: make([]float64, len(w32))}
	p.grad = func(w []float64, rows []int32) []float64 {
		for i, v := range w {
			w32[i] = float32(v)
		}
		var g model.Gradient
		m.Grad(w32, reader.Batch(rows), &g)
		dense := make([]float32, len(w))
		runtest.AddTo(dense, 1, g)
		return runtest.Doubles(dense)
	}
	for epoch := range c.Epochs {
		data.Order{Seed: c.Seed, N: set.Rows}.Fill(rows, epoch, 0)
		var batches [][]int32
		for at := 0; at < len(rows); at += c.Batch {
			batches = append(batches, rows[at:min(len(rows), at+c.Batch)])
		}
		p.epoch(batches)
	}
	return p
}

func (p *played) epoch(batches [][]int32) {
	local := max(1, config.Whole(p.c.MergeEvery))
	for {
		for i := range p.ws {
			if w := &p.ws[i]; !w.busy && !w.waits && len(batches) > 0 && !p.tied() {

				n := min(local, len(batches))
				w.batches, batches = batches[:n], batches[n:]
				p.begin(i)
			}
		}
		first := -1
		for i, w := range p.ws {
			if w.busy && (first < 0 || w.done < p.ws[first].done) {
				first = i
			}
		}
		switch {
		case first < 0:
			p.step()
			for i := range p.ws {
				p.ws[i].waits = false
			}
			if len(batches) == 0 {
				return
			}
		case p.ws[first].done > p.closes:
			p.now = p.closes
			p.step()
		default:
			p.arrive(first)
		}
	}
}

// tied: of means, all that arrives at one moment counts before anybody begins.
func (p *played) tied() bool {
	if k := p.c.Rule.Kind; k != config.Rennala && k != config.Quorum {
		return false
	}
	for _, w := range p.ws {
		if w.busy && w.done <= p.now {
			return true
		}
	}
	return false
}

func (p *played) begin(i int) {
	w := &p.ws[i]
	w.busy, w.at, w.x, w.done = true, p.k, append([]float64{}, p.x...), p.now
	for range w.batches {
		w.done += p.h[i]
	}
	if p.c.Rule.Kind != config.DelayedNesterov && config.Whole(p.c.MergeEvery) <= 1 {
		w.g = p.grad(p.x, w.batches[0])
		return
	}
	own := append([]float64{}, p.x...)
	for _, b := range w.batches {
		for j, g := range p.grad(own, b) {
			own[j] -= p.c.LR * g
		}
	}
	w.g = make([]float64, len(own))
	for j := range own {
		w.g[j] = (p.x[j] - own[j]) / p.c.LR
	}
}

func (p *played) arrive(i int) {
	w := &p.ws[i]
	w.busy, p.now = false, max(p.now, w.done)
	p.computed++
	tau := p.k - w.at
	p.taus = append(p.taus, tau)
	r, n, rho := p.c.Rule, float64(len(p.ws)), 1.0
	below, equal := 0.0, 0.0
	for _, other := range p.taus {
		if other < tau {
			below++
		} else if other == tau {
			equal++
		}
	}
	all := float64(len(p.taus))
	switch r.Kind {
	case config.Inverse:
		rho = 1 / (1 + float64(tau))
	case config.Adaptive:
		rho = math.Min(1, n/math.Max(1, float64(tau)))
	case config.Tail:
		rho = 1 + r.X*(1-2*(below+equal/2)/all)
	case config.TailPublished:
		rho = 1 + r.X*(1-2*below/all)
	case config.Drop:
		if tau >= r.N {
			p.dropped++
			return
		}
	case config.Clip:
		sum := 0.0
		for _, g := range w.g {
			sum += g * g
		}
		rho = math.Min(1, r.X/math.Sqrt(sum))
	case config.Compensate:
		for j, g := range w.g {
			w.g[j] += r.X * g * g * (p.x[j] - w.x[j])
		}
	case config.Rennala, config.Minibatch, config.Quorum:
		if r.Kind == config.Rennala && tau > 0 {
			p.dropped++
			return
		}
		p.mean, p.sizes = append(p.mean, w.g), append(p.sizes, w.examples())
		w.waits = r.Kind == config.Minibatch
		if r.Kind != config.Minibatch && len(p.mean) == r.N {
			if r.X > 0 {
				p.closes = p.now + r.X
			} else {
				p.step()
			}
		}
		return
	case config.DelayedNesterov:
		p.nesterov(w.g)
		return
	}
	p.land([][]float64{w.g}, []float64{rho})
}

func (w *playing) examples() (n float64) {
	for _, b := range w.batches {
		n += float64(len(b))
	}
	return n
}

func (p *played) nesterov(g []float64) {
	n, lr, mu := float64(p.c.Rule.N), p.c.OuterLR, p.c.OuterMomentum
	p.come++
	for j := range g {
		d := p.c.LR * g[j]
		p.sum[j] += d
		p.x[j] -= lr * d / n
		if p.come%p.c.Rule.N == 0 {
			p.m[j] = mu*p.m[j] + p.sum[j]/n
			p.x[j] -= lr * mu * p.m[j]
			p.sum[j] = 0
		}
	}
	p.applied++
	p.k++
}

func (p *played) step() {
	if len(p.mean) == 0 {
		return
	}
	total := 0.0
	for _, n := range p.sizes {
		total += n
	}
	scales := make([]float64, len(p.sizes))
	for i, n := range p.sizes {
		scales[i] = n / total
	}
	p.land(p.mean, scales)
	p.mean, p.sizes, p.closes = nil, nil, math.Inf(1)
}

func (p *played) land(gs [][]float64, scales []float64) {
	for i, g := range gs {
		for j, v := range g {
			p.x[j] -= p.c.LR * scales[i] * v
		}
	}
	p.applied += len(gs)
	p.k++
	if !p.c.Rule.Stop {
		return
	}
	for i := range p.ws {
		if w := &p.ws[i]; w.busy && p.k-w.at >= p.c.Rule.N {
			p.computed++
			p.dropped++
			p.begin(i)
		}
	}
}

// onClock returns a run on digits by a mode and a rule.
func onClock(t *testing.T, mode, rule string) config.Config {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Mode, c.Rule, c.Epochs, c.Batch, c.LR = "digits:700", "softmax", config.MustMode(mode),
		config.MustRule(rule), 2, 8, 0.02
	return c
}

// TestRulesByDefinition: what each rule makes of workers of unlike speeds is what its definition says.
func TestRulesByDefinition(t *testing.T) {
	for _, rule := range []string{"plain", "inverse", "adaptive", "tail", "tail:0.5", "tail-published", "drop:4",
		"drop:4,stop", "rennala:3", "minibatch", "quorum:3", "quorum:3,0.7", "clip:0.8", "dc:2", "delayed-nesterov:3"} {
		for mode, h := range map[string][]float64{
			"clock:slow:5,2,3.5": {1, 1, 1, 3.5, 3.5},
			"clock:sqrt:6":       {1, math.Sqrt(2), math.Sqrt(3), 2, math.Sqrt(5), math.Sqrt(6)},
		} {
			c := onClock(t, mode, rule)
			r, want := runtest.Train(t, c), play(t, c, h)
			runtest.Near(t, mode+" "+rule, runtest.SavedWeights(t, c.Run), want.x)
			clockOf(t, r, want.now, want.computed, want.applied, want.dropped)
		}
	}
	for _, rule := range []string{"plain", "minibatch", "adaptive", "delayed-nesterov:2", "quorum:2"} {
		c := onClock(t, "clock:slow:4,1,3", rule)
		c.MergeEvery = "5"
		r, want := runtest.Train(t, c), play(t, c, []float64{1, 1, 1, 3})
		runtest.Near(t, "five local steps, "+rule, runtest.SavedWeights(t, c.Run), want.x)
		clockOf(t, r, want.now, want.computed, want.applied, want.dropped)
	}
}

// clockOf compares what a report says of the clock.
func clockOf(t *testing.T, r rundir.Result, now float64, computed, applied, dropped int) {
	t.Helper()
	m := r.TrainMetrics
	if math.Abs(m[control.VirtualTime]-now) > 1e-9*now || m[control.Computed] != float64(computed) ||
		m[control.Applied] != float64(applied) || m[control.Dropped] != float64(dropped) ||
		computed != applied+dropped {
		t.Errorf("%s: %v, want time %v, %d gradients computed, %d applied, %d dropped", r.Run, m, now, computed,
			applied, dropped)
	}
}

// TestRulesOfOneWorker: whose gradients are never late.
func TestRulesOfOneWorker(t *testing.T) {
	runtest.InFull(t)
	serial := onClock(t, "async", "plain")
	runtest.Train(t, serial)
	twice := onClock(t, "async", "plain")
	twice.LR *= 2
	runtest.Train(t, twice)
	for _, rule := range []string{"plain", "inverse", "adaptive", "tail", "drop:1", "drop:1,stop", "rennala:1",
		"minibatch", "quorum:1", "clip:1e30", "dc:3"} {
		c := onClock(t, "clock:equal:1", rule)
		runtest.Train(t, c)
		runtest.SameEnd(t, serial.Run, c.Run)
	}
	c := onClock(t, "clock:exp:1", "tail-published")
	runtest.Train(t, c)
	runtest.SameEnd(t, twice.Run, c.Run)
}

// TestRulesThatAreNone: parameters at which a rule does nothing leave the bits of plain; drop:1 takes what is on time.
func TestRulesThatAreNone(t *testing.T) {
	runtest.InFull(t)
	for _, mode := range []string{"clock:slow:6,2,4", "clock:lognormal:6,1", "clock:outage:6,0.1,5", "clock:exp:6"} {
		plain := onClock(t, mode, "plain")
		r := runtest.Train(t, plain)
		for _, rule := range []string{"tail:0", "drop:1000000", "drop:1000000,stop", "clip:1e30", "dc:0"} {
			c := onClock(t, mode, rule)
			runtest.Train(t, c)
			runtest.SameEnd(t, plain.Run, c.Run)
		}
		if m := r.TrainMetrics; m[control.Applied] != 2*88 || m[control.Dropped] != 0 { // 700 rows by 8
			t.Errorf("%s: %v", mode, m)
		}
	}
	r := runtest.Train(t, onClock(t, "clock:equal:4", "drop:1")) // of four on the same weights one is on time
	clockOf(t, r, 2*22, 2*88, 2*22, 2*66)
	late, short := onClock(t, "clock:equal:6", "plain"), onClock(t, "delayed:5", "plain")
	runtest.Train(t, late)
	runtest.Train(t, short)
	runtest.SameEnd(t, late.Run, short.Run)
}

// TestMeansAreSyncs: workers of equal speed whose gradients are averaged train as in mode sync.
func TestMeansAreSyncs(t *testing.T) {
	for _, optimizer := range []config.Optimizer{"sgd", "momentum"} {
		c := onClock(t, "sync", "plain")
		c.Workers, c.Average, c.Optimizer = 4, "gradients", optimizer
		runtest.Train(t, c)
		want := runtest.Doubles(runtest.SavedWeights(t, c.Run))
		for _, rule := range []string{"rennala:4", "minibatch", "quorum:4"} {
			c := onClock(t, "clock:equal:4", rule)
			c.Optimizer = optimizer
			r := runtest.Train(t, c)
			for i, v := range runtest.SavedWeights(t, c.Run) {
				if math.Abs(float64(v)-want[i]) > 1e-6*(1+math.Abs(want[i])) {
					t.Fatalf("%s, %s: number %d is %v, want %v", rule, optimizer, i, v, want[i])
				}
			}
			clockOf(t, r, 2*22, 2*88, 2*88, 0)
		}
	}
}

// TestClockGoesOn: a run that is resumed between two epochs ends as if it had not been stopped, its clock too, whatever
// has become of the report that the clock is of.
func TestClockGoesOn(t *testing.T) {
	traced := t.TempDir()
	report := filepath.Join(traced, rundir.ResultFile)
	say := func(text string) { _ = os.WriteFile(report, []byte(text), 0o600) }
	for i, x := range [][2]string{{"clock:lognormal:5,1", "tail"}, {"clock:slow:5,2,3", "drop:3,stop"},
		{"clock:exp:4", "quorum:2,0.5"}, {"clock:trace:" + traced, "drop:2"}, {"clock:trace:" + traced, "plain"}} {
		say(`{"per_worker":[{"step_ns_histogram":[[1000,3],[5000,1]]},{"step_ns_histogram":[[4000,7],[9000,2]]},{}]}`)
		whole := onClock(t, x[0], x[1])
		whole.Epochs = 3
		r := runtest.Train(t, whole)
		half := onClock(t, x[0], x[1])
		half.Epochs = 1
		runtest.Train(t, half)
		if say(`{"per_worker":[{"step_ns_histogram":[[70000,3]]}]}`); i%2 == 0 {
			_ = os.Remove(report)
		}
		rest := runtest.Resumed(half)
		rest.Epochs = 3
		again := runtest.Train(t, rest)
		runtest.SameEnd(t, whole.Run, half.Run)
		m := r.TrainMetrics
		clockOf(t, again, m[control.VirtualTime], int(m[control.Computed]), int(m[control.Applied]),
			int(m[control.Dropped]))
	}
}
