package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
)

// A worker that is stopped, or that the kernel does not let continue, does not end: nobody hears of
// it, and at the end of the epoch the others wait for its chunk. So the coordinator looks at each
// worker's thread a few times per timeout. The kernel counts how often a thread was taken off a core. If
// it is off a core at two looks and that count is the same, it has not executed an instruction in
// between.
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
	// kernels, takes. A GPU that does not answer is noticed by the coordinator: see patience.go.
	driverPatience = 5
)

// lookEvery is the time between two looks.
func lookEvery(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return longestLook
	}
	return min(longestLook, timeout/looksPerTimeout)
}

// warnAfter is when a process is warned of that may hang.
func warnAfter(limit time.Duration) time.Duration {
	if limit == 0 {
		limit = config.Default().HangTimeout
	}
	return limit / 2
}

// lookForHung warns of workers that do not run, and kills those that have not run for the timeout.
func (r *coordinator) lookForHung() {
	// Time is counted in looks. Where the coordinator was stopped too, by Ctrl-Z, a debugger or a frozen
	// container, or got no core, the time until then was one look, however long it was.
	now := time.Now()
	passed := min(now.Sub(r.workers.looked), lookEvery(r.job.HangTimeout))
	r.workers.looked = now
	family := sync.OnceValue(byParent) // only where a program sleeps
	for _, p := range r.workers.running() {
		is, err := readThreads(p.pid(), int(r.block.Rank(p.rank, control.RankThread)))
		if err != nil {
			continue // it has just ended, or /proc cannot be read
		}
		if program := r.programOf(p.rank); program != 0 {
			is.await(program, family)
		}
		s := &p.seen
		if s.moved(is) {
			if s.warned && !s.killed {
				r.report.event("worker %d (pid %d) moves again", p.rank, p.pid())
			}
			*s = sighting{switches: is.switches, killed: s.killed}
			continue
		}
		s.still += passed
		r.still(p, is)
	}
}

// programOf is the process of a program that a worker waits for, or waited for when it died; 0: there is none.
func (r *task) programOf(rank int) int {
	if r.job.Program == "" {
		return 0
	}
	return int(r.block.Rank(rank, control.RankProgram))
}

// moved tells whether threads have run since they were seen.
func (s *sighting) moved(is threads) bool {
	return is.running || is.traced || is.switches != s.switches
}

// still deals with a worker that does not run.
func (r *coordinator) still(p *process, is threads) {
	s, limit := &p.seen, r.job.HangTimeout
	if !r.job.OnHost(p.rank) && !is.stopped() {
		limit *= driverPatience
	}
	warning := warnAfter(limit)
	if s.killed { // and yet it is there
		if s.still > lastingKill && r.job.OnHost(p.rank) && !r.block.Stopped() {
			// It will not execute another instruction, so its chunks and locks can go to others.
			p.hung += "; the kernel still holds it"
			r.died(exit{rank: p.rank, pid: p.pid(), lived: time.Since(p.started), crash: crash{signal: true}})
		}
		return
	}
	if limit > 0 && s.still >= limit {
		p.hung = fmt.Sprintf("was killed: it had not moved for %v, state %s", limit, is.state)
		s.killed, s.still = true, 0
		r.kill(p)
		return
	}
	if s.still >= warning && !s.warned {
		s.warned = true
		next := fmt.Sprintf("it is replaced after %v (--hang-timeout)", limit)
		if r.block.Stopped() {
			next = strings.Replace(next, "replaced", "killed", 1)
		}
		if limit == 0 {
			next = "it is not replaced, because of --hang-timeout 0"
		}
		r.report.event("worker %d (pid %d) has not moved for %v, state %s; %s", p.rank, p.pid(), warning, is.state, next)
	}
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
	its, err := readFamily(program, family)
	if err != nil {
		return // it has just ended
	}
	t.running, t.traced, t.switches = t.running || its.running, t.traced || its.traced, t.switches+its.switches
	t.state += fmt.Sprintf(", its program (pid %d) in state %s", program, its.state)
}

// readFamily reads what /proc says of a program and of the processes that it has started: the one that computes may be
// the child of a shell or of a launcher such as uv, which sleeps meanwhile.
func readFamily(pid int, family func() map[int][]int) (threads, error) {
	all, err := readThreads(pid, 0)
	if err != nil || all.running || all.stopped() {
		return all, err
	}
	for _, child := range family()[pid] {
		if its, err := readFamily(child, family); err == nil {
			all.running, all.traced, all.switches = all.running || its.running, all.traced || its.traced, all.switches+its.switches
		}
	}
	return all, nil
}

// byParent are the processes of this machine by their parent.
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
// The others are those of Go's runtime: one of them wakes up all the time, whatever the worker does.
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
