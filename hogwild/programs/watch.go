package programs

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/program"
	"hogwild/hogwild/workers"
)

// ProgramWatch looks at the coordinator's own program while its answer is awaited. One that hangs is killed: who waits
// gets an error.
type ProgramWatch struct {
	timeout time.Duration // 0: it is never killed
	warn    func(format string, args ...any)
	over    chan struct{}

	mu      sync.Mutex
	awaited program.Awaited // nil: no answer is awaited
	joined  bool
}

// WatchProgram begins a watch. warn is called from another goroutine.
func WatchProgram(timeout time.Duration, warn func(string, ...any)) *ProgramWatch {
	w := &ProgramWatch{timeout: timeout, warn: warn, over: make(chan struct{})}
	go w.watch()
	return w
}

// Awaits implements program.Command.
func (w *ProgramWatch) Awaits(p program.Awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited = p
}

// Joined takes in that a program has said hello.
func (w *ProgramWatch) Joined() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.joined = true
}

// Close ends the watch.
func (w *ProgramWatch) Close() { close(w.over) }

func (w *ProgramWatch) watch() {
	watch, limit := workers.NewWatch(w.timeout), cmp.Or(w.timeout, config.Default().HangTimeout)
	tick := time.NewTicker(watch.Every())
	defer tick.Stop()
	for lasted, told := time.Duration(0), false; ; lasted += watch.Every() {
		select {
		case <-w.over:
			return
		case <-tick.C:
		}
		if w.look(watch) == workers.Runs && lasted > limit && !told { // it reads its data, or trains without hogwild
			told = true
			w.warn("the program has not called hogwild.join in %v; it computes, and the run waits for it", limit)
		}
	}
}

// look looks at the program whose answer is awaited, and returns the state of one that has not joined. It holds the
// lock, so that the answer does not come before the kill.
func (w *ProgramWatch) look(watch *workers.Watch) workers.Motion {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.awaited
	if p == nil {
		watch.Look(nil)
		return workers.Still
	}
	f, what := watch.Look([]workers.Watched{{PID: p.PID()}})[0], "moved"
	if !w.joined {
		what = "called hogwild.join, nor moved"
	}
	switch {
	case f.State == workers.Hung:
		p.Kill(&program.EndError{How: fmt.Sprintf("was killed: it had not %s for %v, state %s", what, f.For, f.Kernel)})
	case !w.joined:
		return f.State
	case f.State == workers.Warning:
		w.warn("the program that evaluates (pid %d) has not moved for %v, state %s", p.PID(), f.For, f.Kernel)
	}
	return workers.Still
}
