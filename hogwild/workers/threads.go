package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
