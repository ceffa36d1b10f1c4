package run

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// TestProtocol walks the table of states and events in the package's comment, on a coordinator whose two workers are
// words in shared memory.
func TestProtocol(t *testing.T) {
	text, err := os.ReadFile("run.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "becomes   busy  because\n")
	table, _, _ = strings.Cut(table, "package run\n")
	seen := map[string]bool{}
	for row := range strings.Lines(table) {
		cell := func(from, to int) string { return strings.TrimSpace(row[min(from, len(row)):min(to, len(row))]) }
		row = strings.TrimPrefix(strings.TrimRight(row, "\n"), "//\t")
		from, busy, event, to, after := cell(0, 10), cell(10, 16), cell(16, 32), cell(32, 42), cell(42, 48)
		seen[event] = true
		t.Run(from+"/"+busy+"/"+event, func(t *testing.T) {
			p := newScripted(t, from, event)
			if p.state() != from {
				t.Fatalf("it is %s and cannot be made %s", p.state(), from)
			}
			if busy == "yes" && !p.Mem.Busy {
				p.epoch()
				p.want(from, "yes")
			}
			event, known := scriptedEvents[event]
			if !known {
				t.Fatal("an event that the test does not know")
			}
			event(p)
			p.want(to, after)
		})
	}
	for event := range scriptedEvents {
		if !seen[event] {
			t.Errorf("the table has no row of the event %q", event)
		}
	}
}

// scripted is a coordinator without processes: the test writes what workers would.
type scripted struct {
	*coordinator
	t   *testing.T
	end error
}

// TestBoundaryCopies: what a boundary between epochs allocates is two copies of the weights, the plain ones and the
// files', also where the run centres and saves. The third is into memory that is there already.
func TestBoundaryCopies(t *testing.T) {
	if RaceDetector() {
		t.Skip("the race detector has memory of its own")
	}
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.SaveEvery, c.Center, c.Model = 2, 4, "1", "on", "mlp:2048"
	p := script(t, c)
	step := func() {
		p.epoch()
		p.answer(p.evaluator.record(<-p.snapshots.evaluated))
	}
	step() // what is made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	step()
	runtime.ReadMemStats(&after)
	copies := float64(after.TotalAlloc-before.TotalAlloc) / float64(4*len(p.Mem.Weights.W))
	if p.end != nil || p.snapshots.failing || copies > 2.5 {
		t.Errorf("it allocates %.2f copies of the weights (%v)", copies, p.end)
	}
	f, err := rundir.ReadSnapshot(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	s, err := f.Load(&p.Job, p.Task.Params, p.Task.Trained, p.Task.Train.Mean)
	if err != nil || !slices.Equal(s.W, p.Mem.Weights.W) || s.Pos.Epoch != 3 {
		t.Errorf("the snapshot is not of the weights, or not of two epochs: %v", err)
	}
}

// newScripted returns a scripted coordinator in a state, as an event needs it.
func newScripted(t *testing.T, state, event string) *scripted {
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.SaveEvery, c.MaxRestarts = 2, 3, "0", 3
	switch event {
	case "target reached":
		c.TargetLoss = 1e9
	case "last one gone":
		c.MaxRestarts = 0
	case "last complete":
		c.Epochs = 2
	case "time over":
		c.StopAfter = time.Nanosecond
	}
	if state == "changing" || event == "scale form" {
		c.Center = "on"
	}
	p := script(t, c)
	switch state {
	case "saving":
		scriptedEvents["save due"](p)
	case "paused":
		scriptedEvents["pause"](p)
	case "changing":
		scriptedEvents["scale form"](p)
	}
	return p
}

// script returns one that has opened its first epoch.
func script(t *testing.T, c config.Config) *scripted {
	c, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := newCoordinator(c, Options{Quiet: true})
	t.Cleanup(func() {
		if r.Mem.Busy {
			<-r.snapshots.evaluated
		}
		r.close()
	})
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	r.Mem.Interrupted, r.End.Cause = make(chan struct{}), func() error { return nil }
	r.Mem.Workers = workers.New(c.Workers, c.MaxRestarts)
	r.snapshots.saved, r.Opened = time.Now(), control.Monotonic()
	r.Mem.Block.Open(1)
	if err := r.Notify(&core.Starts{}); err != nil {
		t.Fatal(err)
	}
	p := &scripted{r, t, nil}
	for rank := range c.Workers {
		r.Mem.Block.SetRank(rank, control.RankBegan, control.Monotonic())
		if c.MaxRestarts > 0 {
			r.Mem.Workers.Restart(&workers.Exit{Rank: rank}, 0) // else another number of workers would start processes
		}
	}
	p.all(control.StateTraining)
	return p
}

// all has all workers in a state.
func (p *scripted) all(state uint64) {
	for rank := range p.Mem.Workers.Capacity() {
		p.Mem.Block.SetRank(rank, control.RankState, state)
	}
}

// state returns the name of the state that the run is in.
func (p *scripted) state() string {
	switch {
	case p.end != nil:
		return "over"
	case p.Paused(core.ToChange):
		return "changing"
	case p.Paused(core.ToPause):
		return "paused"
	case p.Paused(core.ToSave):
		return "saving"
	}
	return "training"
}

// want fails the test unless the run is in a state, and its workers are held as that says.
func (p *scripted) want(state, busy string) {
	p.t.Helper()
	if is := p.state(); is != state || p.Mem.Busy != (busy == "yes") {
		p.t.Fatalf("it is %s, busy %v (%v); want %s, %s", is, p.Mem.Busy, p.end, state, busy)
	}
	if held := p.Mem.Block.Get(control.WordPause) != 0; p.end == nil && held != (state != "training") {
		p.t.Errorf("%s, and that workers are to wait is %v", state, held)
	}
	if p.end == nil && (p.Opened == 0 || p.Mem.Complete()) {
		left, done, lost, _ := p.Mem.Block.Progress()
		p.t.Errorf("no epoch is open: opened %d, chunks left %d, examples done %d, lost %d", p.Opened, left, done, lost)
	}
}

// answer does what watch does after an event.
func (p *scripted) answer(end error) {
	if p.end = end; end == nil {
		p.end = p.ApplyChange()
	}
}

// epoch has the workers train the rest of the open epoch, and call.
func (p *scripted) epoch() {
	epoch := p.Mem.Block.Get(control.WordEpoch)
	for i := range p.Mem.Block.Plan.Chunks() {
		if p.Mem.Block.Claim(i%p.Mem.Workers.Capacity(), epoch, i) {
			c := p.Mem.Block.Plan.At(int(epoch-1), i)
			p.Mem.Block.Finish(i%p.Mem.Workers.Capacity(), c, plan.ChunkResult{Loss: float64(c.Count)})
		}
	}
	p.all(control.StateWaiting)
	p.answer(p.called())
	p.all(control.StateTraining)
}

// ask has a user ask for something.
func (p *scripted) ask(q rundir.Request) {
	answered := make(chan error)
	go func() {
		_, err := rundir.Ask(p.Dir, q)
		answered <- err
	}()
	select {
	case call := <-p.Inbox:
		p.answer(call())
		if err := <-answered; err != nil {
			p.t.Fatal(err)
		}
	case err := <-answered:
		p.t.Fatal(err)
	}
}

// dies has a worker die.
func (p *scripted) dies(rank int) {
	if p.end == nil {
		p.answer(p.crew.Died(&workers.Exit{Rank: rank, How: "was killed"}))
	}
}

var scriptedEvents map[string]func(p *scripted)

func init() {
	scriptedEvents = map[string]func(p *scripted){
		"save due":       func(p *scripted) { p.snapshots.saveSoon(); p.answer(nil) },
		"epoch complete": (*scripted).epoch,
		"last complete":  (*scripted).epoch,
		"target reached": (*scripted).epoch,
		"evaluated":      func(p *scripted) { p.answer(p.evaluator.record(<-p.snapshots.evaluated)) },
		"pause":          func(p *scripted) { p.ask(rundir.Request{Do: rundir.DoPause}) },
		"continue":       func(p *scripted) { p.ask(rundir.Request{Do: rundir.DoContinue}) },
		"scale": func(p *scripted) {
			p.ask(rundir.Request{Do: rundir.DoScale, Workers: 1})
			if made, busy := p.Job.Asked.Workers == 1, p.Mem.Busy; made == busy {
				p.t.Errorf("busy %v, and that there is one worker is %v", busy, made)
			}
		},
		"scale form":    func(p *scripted) { p.ask(rundir.Request{Do: rundir.DoScale, Workers: 1}) },
		"worker died":   func(p *scripted) { p.dies(1) },
		"last one gone": func(p *scripted) { p.dies(0); p.dies(1) },
		"not finite":    func(p *scripted) { p.Mem.Block.Fail(1, 7, 1e30, 0.1); p.answer(p.called()) },
		"time over":     func(p *scripted) { p.answer(p.tick()) },
		"one waits": func(p *scripted) {
			p.Mem.Block.SetRank(0, control.RankState, control.StatePaused)
			p.answer(p.called())
		},
		"all wait": func(p *scripted) {
			p.all(control.StatePaused)
			p.answer(p.called())
		},
	}
}
