package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/config"
)

// A stopped worker does not exit, nor does one that the kernel does not let continue, and at the end of the epoch the
// others wait for its chunk. So the coordinator looks at each worker's thread a few times per timeout. The kernel
// counts how often a thread was taken off a core. If it is off a core at two looks and that count is the same, it has
// not executed an instruction in between.
//
// A worker whose program computes sleeps until that answers: it has moved if a thread of the program has.
//
// The workers need no heartbeat for this, and the hot loop pays nothing. A step may take an hour: a
// thread that computes, or waits for a core, is seen on the run queue. A worker that waits for
// others or is paused wakes up several times per second to look again, which the kernel counts.

const (
	looksPerTimeout = 16
	longestLook     = time.Second
	lastingKill     = 5 * time.Second // a killed process that is still there is left to the kernel

	// A GPU worker may sleep in the driver for as long as a launch, or the compilation of its
	// kernels, takes. A GPU that does not answer is noticed by the coordinator.
	driverPatience = 5
)

// warnAfter returns how long a process may be still before a warning that it may hang.
func warnAfter(limit time.Duration) time.Duration {
	if limit == 0 {
		limit = config.Default().HangTimeout
	}
	return limit / 2
}

// Watched is a process to look at.
type Watched struct {
	PID      int
	Thread   int  // that works; 0: any, of its children too
	Program  int  // that it may wait for; 0: none
	OnDevice bool // it may sleep in the driver of a GPU
}

// Finding is what a look has found of a process.
type Finding struct {
	State  Motion
	For    time.Duration // it has not moved
	Limit  time.Duration // when it is Hung; 0: never
	Kernel string        // its state, such as "T (stopped)"
}

// Motion is what is new of a process.
type Motion int

const (
	Still   Motion = iota // it has not moved, for a time that is not worth a word; or it is gone
	Runs                  // it has moved
	Moves                 // it has, after a warning
	Warning               // it has not, for half the limit
	Hung                  // it has not, for the limit: to be killed
	Held                  // it was Hung, and is there yet: the kernel holds it
)

// Watch looks at processes.
type Watch struct {
	timeout time.Duration
	looked  time.Time
	seen    map[int]*sighting // by process
}

// NewWatch returns a watch that finds what has not moved for so long; 0: it only warns.
func NewWatch(timeout time.Duration) *Watch { return &Watch{timeout: timeout} }

// Every returns the time between two looks.
func (w *Watch) Every() time.Duration {
	if w.timeout == 0 {
		return longestLook
	}
	return min(longestLook, w.timeout/looksPerTimeout)
}

// Look looks at the processes that there are, and returns what it has found of each. It is to be called as often as
// Every says.
func (w *Watch) Look(processes []Watched) []Finding {
	// Time is counted in looks. Where the coordinator was stopped too, by Ctrl-Z, a debugger or a frozen
	// container, or got no core, the time until then was one look, however long it was.
	now := time.Now()
	passed := min(now.Sub(w.looked), w.Every())
	w.looked = now
	family := sync.OnceValue(byParent) // only where a program sleeps
	found, seen := make([]Finding, len(processes)), map[int]*sighting{}
	for i, p := range processes {
		s := w.seen[p.PID]
		if s == nil {
			s = &sighting{}
		}
		seen[p.PID] = s
		is, err := readFamily(p.PID, p.Thread, family)
		if err != nil {
			continue // it has just ended, or /proc cannot be read
		}
		if p.Program != 0 {
			is.await(p.Program, family)
		}
		limit := w.timeout
		if p.OnDevice && !is.stopped() {
			limit *= driverPatience
		}
		found[i] = s.look(&is, passed, limit)
	}
	w.seen = seen
	return found
}

// sighting is what the looks so far have seen of a process.
type sighting struct {
	switches uint64
	still    time.Duration // for how long it has not run, in looks
	warned   bool
	killed   bool
}

// look takes in what another one, so long after the last, has seen, and says what is to be done.
func (s *sighting) look(is *threads, passed, limit time.Duration) Finding {
	if is.running || is.traced || is.switches != s.switches {
		f := Finding{State: Runs}
		if s.warned && !s.killed {
			f.State = Moves
		}
		*s = sighting{switches: is.switches, killed: s.killed}
		return f
	}
	s.still += passed
	f := Finding{Limit: limit, Kernel: is.state}
	switch warning := warnAfter(limit); {
	case s.killed && s.still > lastingKill:
		f.State = Held
	case s.killed:
	case limit > 0 && s.still >= limit:
		s.killed, s.still = true, 0
		f.State, f.For = Hung, limit
	case s.still >= warning && !s.warned:
		s.warned = true
		f.State, f.For = Warning, warning
	}
	return f
}

// threads is what the kernel says of threads of a process.
type threads struct {
	state    string // "T (stopped)"; of the first one
	switches uint64 // how often they were taken off a core
	running  bool   // one is on a core, or waits for one
	traced   bool   // a debugger has one
}

func (t *threads) stopped() bool { return strings.Contains(t.state, "T (stopped)") }

// await takes in the threads of the program that a worker waits for: it has moved if they have.
func (t *threads) await(program int, family func() map[int][]int) {
	its, err := readFamily(program, 0, family)
	if err != nil {
		return // it has just ended
	}
	t.running, t.traced, t.switches = t.running || its.running, t.traced || its.traced, t.switches+its.switches
	t.state += fmt.Sprintf(", its program (pid %d) in state %s", program, its.state)
}

// readFamily reads what /proc says of a thread or, where tid is 0, of a process and of those that it has started: of a
// program the one that computes may be the child of a shell or of a launcher such as uv, which sleeps meanwhile.
func readFamily(pid, tid int, family func() map[int][]int) (threads, error) {
	all, err := readThreads(pid, tid)
	if err != nil || tid != 0 || all.running || all.stopped() {
		return all, err
	}
	for _, child := range family()[pid] {
		if its, err := readFamily(child, 0, family); err == nil {
			all.running, all.traced, all.switches = all.running || its.running, all.traced ||
				its.traced, all.switches+its.switches
		}
	}
	return all, nil
}

// byParent returns the processes of this machine by their parent.
func byParent() map[int][]int {
	of := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		var pid, parent int
		var state string
		name := strings.LastIndexByte(string(text), ')') // which may have spaces
		_, _ = fmt.Sscan(string(text), &pid)
		if _, err := fmt.Sscan(string(text[name+1:]), &state, &parent); err == nil {
			of[parent] = append(of[parent], pid)
		}
	}
	return of
}

// readThreads reads what /proc says of a thread or, where tid is 0, of all threads of a process.
// The other threads are Go's runtime's: one of them wakes up all the time, whatever the worker does.
func readThreads(pid, tid int) (all threads, err error) {
	which := fmt.Sprint(tid)
	if tid == 0 { // it has not said yet
		which = "*"
	}
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/%s/status", pid, which))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return all, err
		}
		if err := all.add(string(text)); err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(paths) == 0 {
		return all, os.ErrNotExist
	}
	return all, nil
}

// add takes in the status of a thread.
func (t *threads) add(status string) error {
	state, voluntary, forced, tracer := "", -1, -1, 0
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); name {
		case "State":
			state = value
		case "TracerPid":
			_, _ = fmt.Sscan(value, &tracer)
		case "voluntary_ctxt_switches":
			_, _ = fmt.Sscan(value, &voluntary)
		case "nonvoluntary_ctxt_switches":
			_, _ = fmt.Sscan(value, &forced)
		}
	}
	if state == "" || voluntary < 0 || forced < 0 {
		return fmt.Errorf("no state or context switches") // a sandbox's /proc
	}
	if t.state == "" {
		t.state = state
	}
	t.switches += uint64(voluntary + forced)
	t.running = t.running || strings.HasPrefix(state, "R")
	t.traced = t.traced || tracer != 0
	return nil
}
