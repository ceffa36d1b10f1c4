package fault

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/internal/human"
)

const every = "every"

// ForWorker is Variable's value for the worker of a rank: the faults that are not another
// rank's. One that is restarted gets only those that happen every time.
func ForWorker(rank int, restarted bool) string {
	if !on {
		return ""
	}
	var kept []string
	for i, text := range strings.Split(os.Getenv(Variable), ",") {
		if f := faults[i]; (f.rank < 0 || f.rank == rank) && (f.every || !restarted) {
			text, _, _ = strings.Cut(text, "/")
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, ",")
}

// parse reads the faults of a list.
func parse(list string) (all []*fault, err error) {
	if list == "" {
		return nil, nil
	}
	for _, text := range strings.Split(list, ",") {
		f := &fault{at: 1, rank: -1}
		if err := f.parse(strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", Variable, text, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func (f *fault) parse(text string) error {
	name, action, ok := strings.Cut(text, ":")
	if !slices.ContainsFunc(Points, func(p Place) bool { return p.Name == name }) {
		return fmt.Errorf("no fault point is called %q%s (hogwild fault-points lists them)", name,
			human.Suggest("", name, names()))
	}
	if !ok {
		return fmt.Errorf("no action; want %s:crash, stop, panic, error, error=ENOSPC, signal=SIGTERM or delay=50ms",
			name)
	}
	f.name = name
	action, rank, ok := strings.Cut(action, "/")
	if ok {
		var err error
		if f.rank, err = strconv.Atoi(rank); err != nil || f.rank < 0 {
			return fmt.Errorf("rank %q; want a worker's number after /", rank)
		}
	}
	action, at, ok := strings.Cut(action, "@")
	if f.every = at == every; ok && !f.every {
		var err error
		if f.at, err = strconv.ParseInt(at, 10, 64); err != nil || f.at < 1 {
			return fmt.Errorf("@%s; want a number from 1, or every", at)
		}
	}
	return f.do(action)
}

// do reads an action.
func (f *fault) do(action string) error {
	kind, value, _ := strings.Cut(action, "=")
	ok := value == ""
	switch kind {
	case "crash":
		f.signal = syscall.SIGKILL
	case "stop":
		f.signal = syscall.SIGSTOP
	case "panic":
		f.panics = true
	case "signal":
		f.signal = unix.SignalNum(value)
		ok = f.signal != 0
	case "error":
		f.fails = true
		f.errno = errnoOf(value)
		ok = ok || f.errno != 0
	case "delay":
		var err error
		f.delay, err = time.ParseDuration(value)
		ok = err == nil
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("action %q; want crash, stop, panic, error, error=ENOSPC, signal=SIGTERM or delay=50ms",
			action)
	}
	if i := slices.IndexFunc(Points, func(p Place) bool { return p.Name == f.name }); f.fails && Points[i].NoError {
		return fmt.Errorf("%s returns no errors; give crash, stop, panic, signal or delay", f.name)
	}
	return nil
}

// errnoOf is an error by its name in C, 0 if there is none.
func errnoOf(name string) syscall.Errno {
	for e := syscall.Errno(1); e < 200; e++ {
		if unix.ErrnoName(e) == name && name != "" {
			return e
		}
	}
	return 0
}
