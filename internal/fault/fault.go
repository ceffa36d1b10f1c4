// Package fault makes this program fail at named points, so that tests see what a failure there costs. The points are
// compiled in and off.
//
// The environment variable HOGWILD_FAULT switches some on:
//
//	HOGWILD_FAULT=NAME:ACTION[@N][/RANK][,...]
//
// The N-th time (default 1; "every": each time) that a process reaches the point NAME, it does ACTION: crash (SIGKILL
// to itself), stop (SIGSTOP), signal=NAME, panic, error, error=ERRNO (such as ENOSPC) or delay=TIME. With RANK only the
// worker of that rank does it. Each process counts for itself. A worker that is restarted keeps only the faults of
// "every".
package fault

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable is the environment variable that switches faults on.
const Variable = "HOGWILD_FAULT"

// on reports whether any fault is switched on in this process.
var on bool

// faults are the environment's; none if they cannot be read.
var faults, _ = parse(os.Getenv(Variable))

func init() { on = len(faults) > 0 }

// Wrong is an error if the environment's faults cannot be read.
func Wrong() error {
	_, err := parse(os.Getenv(Variable))
	return err
}

// Point is a place where this process may be made to fail. It returns nil, or the error that was asked for.
func Point(name string) error {
	if !on {
		return nil
	}
	return reach(name)
}

// reach acts out the faults at a point.
func reach(name string) error {
	for _, f := range faults {
		if f.name == name && f.rank < 0 {
			if n := f.times.Add(1); f.every || n == f.at {
				return f.act()
			}
		}
	}
	return nil
}

// fault is what happens at a point.
type fault struct {
	name   string
	signal syscall.Signal // 0: none
	panics bool
	fails  bool
	errno  syscall.Errno // 0: an error of no kind
	delay  time.Duration
	at     int64 // which time
	every  bool
	rank   int // -1: any process
	times  atomic.Int64
}

func (f *fault) act() error {
	switch {
	case f.signal != 0:
		if err := syscall.Kill(os.Getpid(), f.signal); err != nil {
			return err
		}
		if f.signal == syscall.SIGKILL {
			select {} // not one step further
		}
	case f.panics:
		panic("fault " + f.name)
	case f.errno != 0:
		return fmt.Errorf("fault %s: %w", f.name, f.errno)
	case f.fails:
		return fmt.Errorf("fault %s", f.name)
	}
	time.Sleep(f.delay)
	return nil
}
