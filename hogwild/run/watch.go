package run

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/program"
)

// programWatch looks at the coordinator's own program while its answer is awaited, as the coordinator looks
// at workers. One that hangs is killed, and the evaluator starts another.
type programWatch struct {
	timeout time.Duration // 0: it is never killed
	warn    func(format string, args ...any)
	over    chan struct{}

	mu      sync.Mutex
	awaited program.Awaited // nil: no answer is awaited
	joined  bool
}

// watchProgram is a watch that has begun.
func watchProgram(timeout time.Duration, warn func(string, ...any)) *programWatch {
	w := &programWatch{timeout: timeout, warn: warn, over: make(chan struct{})}
	go w.watch()
	return w
}

// awaits is program.Command's.
func (w *programWatch) awaits(p program.Awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited = p
}

// hasJoined notes that a program has said hello.
func (w *programWatch) hasJoined() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.joined = true
}

func (w *programWatch) close() { close(w.over) }

func (w *programWatch) watch() {
	tick := time.NewTicker(lookEvery(w.timeout))
	defer tick.Stop()
	var seen sighting
	var of program.Awaited
	lasted, told := time.Duration(0), false
	for looked := time.Now(); ; {
		select {
		case <-w.over:
			return
		case <-tick.C:
		}
		now := time.Now()
		passed := min(now.Sub(looked), lookEvery(w.timeout)) // see lookForHung
		looked = now
		w.mu.Lock()
		if w.awaited != of {
			seen, of = sighting{}, w.awaited
		}
		if of != nil {
			w.look(&seen, passed)
		}
		lasted += passed
		// It computes: reads its data, or trains without hogwild.
		if limit := cmp.Or(w.timeout, config.Default().HangTimeout); !w.joined && !told && lasted > limit && seen.still == 0 {
			told = true
			w.warn("the program has not called hogwild.join in %v; it computes, and the run waits for it", limit)
		}
		w.mu.Unlock()
	}
}

// look looks at the program whose answer is awaited. It holds the lock, so that the answer does not come before the kill.
func (w *programWatch) look(seen *sighting, passed time.Duration) {
	p := w.awaited
	is, err := readFamily(p.PID(), sync.OnceValue(byParent))
	if err != nil || seen.killed { // it has just ended
		return
	}
	if seen.moved(is) {
		*seen = sighting{switches: is.switches}
		return
	}
	seen.still += passed
	switch what := "moved"; {
	case w.timeout > 0 && seen.still >= w.timeout:
		if !w.joined {
			what = "called hogwild.join, nor moved"
		}
		seen.killed = true
		p.Kill(&program.EndError{How: fmt.Sprintf("was killed: it had not %s for %v, state %s", what, w.timeout, is.state)})
	case seen.still >= warnAfter(w.timeout) && !seen.warned && w.joined:
		seen.warned = true
		w.warn("the program that evaluates (pid %d) has not moved for %v, state %s", p.PID(), warnAfter(w.timeout), is.state)
	}
}
