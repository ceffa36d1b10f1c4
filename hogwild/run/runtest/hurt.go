package runtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// Kill ends a worker at once.
func (p *Coordination) Kill(rank int) {
	p.t.Helper()
	var pid int
	Await(p.t, "a worker that trains", func() bool {
		pid = int(p.Block.Rank(rank, control.RankPID))
		return p.Block.Rank(rank, control.RankState) == control.StateTraining && shm.Alive(pid)
	})
	Kill(p.t, pid)
}

// HangTimeout is for tests; healthy workers must live with it on any machine.
const HangTimeout = time.Second

// WantEvents fails the test unless the coordinator has told of nothing but these.
func (p *Coordination) WantEvents(want ...string) {
	p.t.Helper()
	told := 0
	for line := range strings.Lines(p.Stderr.String()) {
		if strings.HasPrefix(line, "worker ") {
			if line = strings.TrimSpace(line); told >= len(want) || line != want[told] {
				p.t.Errorf("event %q", line)
			}
			told++
		}
	}
	if told != len(want) {
		p.t.Errorf("%d events, want %d", told, len(want))
	}
}

// Kill ends a process at once, and waits until it is gone.
func Kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	Await(t, "the end of the process", func() bool { return !shm.Alive(pid) })
}

// KilledOften runs c to its end, in which workers are killed one after the other.
func KilledOften(t *testing.T, c config.Config) rundir.Result {
	t.Helper()
	r := Start(t, c)
	for i := range 6 {
		time.Sleep(Within(20 * time.Millisecond))
		if Ended(r.Done) {
			break
		}
		Kill(t, r.PID(i%c.Workers)) // each has been replaced when its turn comes again
	}
	got, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Undisturbed returns the test loss that c reaches when no process is killed.
func Undisturbed(t *testing.T, c config.Config) float64 {
	t.Helper()
	c.Model, c.Run, c.Resume, c.SaveEvery = "softmax", t.TempDir(), "", "0"
	return Train(t, c).TestLoss
}

// AsGood fails the test when a run that was disturbed ends with a test loss more than a tenth above an undisturbed
// run's. Equal runs of several workers differ by 2%; their accuracies by a point, of 333 test rows.
func AsGood(t *testing.T, r rundir.Result, want float64) {
	t.Helper()
	if !(r.TestLoss < 1.1*want) {
		t.Errorf("test loss %g, %g when nobody is killed", r.TestLoss, want)
	}
}

// SharedWeights returns the test's own mapping of the weights' segment of this process's run.
func SharedWeights(t *testing.T, c config.Config) *control.Weights {
	t.Helper()
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if target, _ := os.Readlink(link); !strings.HasPrefix(target, "/memfd:hogwild-weights") {
			continue
		}
		f, err := os.OpenFile(link, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		seg, err := shm.Map(f, true)
		if err != nil {
			t.Fatal(err)
		}
		m, err := control.OpenWeights(seg, tuning.AsAsked(c))
		if err != nil { // of an earlier run, in another mode
			seg.Close()
			continue
		}
		return m
	}
	t.Fatal("the run has no weights")
	return nil
}

// Holds reports whether a rank has a lock, or a ticket whose turn is to come.
func Holds(m *control.Weights, rank int) bool {
	for at := 0; at < len(m.Locks); at += control.LockLine {
		if m.Locks[at] == uint32(rank+1) {
			return true
		}
	}
	for at := control.TicketRing; at < len(m.Tickets); at += control.RankWords {
		if e := m.Tickets[at]; e&control.TicketPassed == uint64(rank+1) && e>>16 > m.Tickets[control.TicketNow] {
			return true
		}
	}
	return false
}

// Stopped reports whether a process is: a signal takes a moment.
func Stopped(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, fields, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(fields, "T")
}

// Ask makes a request of the run, which must be carried out.
func (r *trial) Ask(q rundir.Request) rundir.Answer {
	r.t.Helper()
	a, err := rundir.Ask(r.c.Run, q)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// Scale changes the number of workers, and returns when n train and none is left of the others.
func (r *trial) Scale(n int) {
	r.t.Helper()
	r.Ask(rundir.Request{Do: rundir.DoScale, Workers: n})
	Await(r.t, fmt.Sprintf("%d workers", n), func() bool {
		if Ended(r.Done) {
			r.t.Fatalf("the run is over before it has %d workers: %v", n, r.Err)
		}
		workers := r.Ask(rundir.Request{Do: rundir.DoStatus}).Status.Workers
		for _, w := range workers {
			if w.State == "starting" || w.State == "leaving" || w.Examples == 0 {
				return false
			}
		}
		return len(workers) == n
	})
}
