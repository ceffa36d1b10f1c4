package runtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/shm"
)

// Patience bounds every wait of a test. It says when to give up, not how long
// something may take.
const Patience = 30 * time.Second

// trial is a run that goes on while the test looks at it, and does things to it.
type trial struct {
	t      *testing.T
	c      config.Config
	before []string
	Block  *control.Block // the test's own mapping; nil once the run is waited for
	Stop   context.CancelFunc
	Done   chan struct{}
	result rundir.Result
	Err    error
}

// InFull skips a test of many runs when tests are to be short, as under the race
// detector: these compare what runs come to, in which it has no say.
func InFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("only without -short")
	}
}

// Train runs c to its end, which must be a good one.
func Train(t *testing.T, c config.Config) rundir.Result {
	t.Helper()
	result, err := Try(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Try runs c to whatever end, and fails the test if anything is left behind.
func Try(t *testing.T, c config.Config) (rundir.Result, error) {
	t.Helper()
	before := Belongings(t)
	// some tests ask for the loss on the training rows
	result, err := run.Run(t.Context(), c, run.Options{Unjudged: true})
	Left(t, before)
	return result, err
}

// Start starts a run and returns when its control block is there to be looked at.
func Start(t *testing.T, c config.Config) *trial {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	earlier := controlLinks(os.Getpid()) // of a job whose node panicked, for example
	r := &trial{t: t, c: c, before: Belongings(t), Stop: stop, Done: make(chan struct{})}
	go func() {
		defer close(r.Done)
		r.result, r.Err = run.Run(ctx, c, run.Options{})
	}()
	t.Cleanup(func() { // if the test failed
		stop()
		<-r.Done
	})
	Await(t, "the control block", func() bool {
		r.Block = blockOf(os.Getpid(), earlier)
		return r.Block != nil || Ended(r.Done)
	})
	return r
}

// Wait returns what the run came to, and fails the test if anything is left behind.
func (r *trial) Wait() (rundir.Result, error) {
	r.t.Helper()
	Await(r.t, "the end of the run", func() bool { return Ended(r.Done) })
	r.Stop()
	if r.Block != nil {
		if err := r.Block.Seg.Close(); err != nil {
			r.t.Error(err)
		}
		r.Block = nil
	}
	Left(r.t, r.before)
	return r.result, r.Err
}

// Reach waits until this many examples of an epoch, from 1, are done. The run must
// still be going on then.
func (r *trial) Reach(epoch uint64, examples int) {
	r.t.Helper()
	Await(r.t, fmt.Sprintf("%d examples of epoch %d", examples, epoch), func() bool {
		if r.Block == nil || Ended(r.Done) {
			r.t.Fatalf("the run is over: %v", r.Err)
		}
		now := r.Block.Get(control.WordEpoch)
		_, done, _, _ := r.Block.Progress()
		return now > epoch || now == epoch && done >= examples
	})
}

// PID returns the process of a rank, once it lives and trains, or the run is over.
func (r *trial) PID(rank int) (pid int) {
	r.t.Helper()
	Await(r.t, fmt.Sprintf("worker %d", rank), func() bool {
		pid = int(r.Block.Rank(rank, control.RankPID))
		state := r.Block.Rank(rank, control.RankState)
		return state != control.StateStarting && state != control.StateRestarting && shm.Alive(pid) || Ended(r.Done)
	})
	return pid
}

// Ended reports whether a channel is closed.
func Ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Await waits until something is true.
func Await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s\n%s", Patience, what, stacks())
		}
	}
}

// controlLinks returns the descriptors of control blocks that a process has, and their inodes: another block may get
// the descriptor of one that is closed.
func controlLinks(pid int) map[string]uint64 {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	all := map[string]uint64{}
	for _, link := range links {
		target, _ := os.Readlink(link)
		if info, err := os.Stat(link); err == nil && strings.HasPrefix(target, "/memfd:hogwild-control") {
			all[link] = info.Sys().(*syscall.Stat_t).Ino
		}
	}
	return all
}

// blockOf maps the control block of the run that a process coordinates, which is not one of the earlier ones; nil if
// there is none, or none yet.
func blockOf(pid int, earlier map[string]uint64) *control.Block {
	were := slices.Collect(maps.Values(earlier))
	for link, inode := range controlLinks(pid) {
		if slices.Contains(were, inode) {
			continue
		}
		f, err := os.OpenFile(link, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		seg, err := shm.Map(f, true)
		if err != nil {
			continue
		}
		if w, _, err := control.Open(seg); err == nil {
			return w
		}
		seg.Close() // not written yet
	}
	return nil
}

// Belongings returns all that this process has which a run might leave behind: child
// processes, memory, goroutines, files in /dev/shm.
func Belongings(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pid := range Children(os.Getpid()) {
		all = append(all, fmt.Sprintf("process %d", pid))
	}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.Contains(target, "memfd:hogwild") {
			all = append(all, "descriptor of "+target)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "memfd:hogwild") {
			all = append(all, "mapping "+strings.TrimSpace(line))
		}
	}
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(stack, "run.(*coordinator)") || strings.Contains(stack, "run.(*worker)") {
			all = append(all, stack)
		}
	}
	files, _ := filepath.Glob("/dev/shm/*hogwild*")
	return append(all, files...)
}

// Left fails the test if it has more now than it had before.
func Left(t *testing.T, before []string) {
	t.Helper()
	var more []string
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		more = slices.DeleteFunc(Belongings(t), func(s string) bool { return slices.Contains(before, s) })
		if len(more) == 0 {
			return
		}
	}
	t.Errorf("left behind:\n%s", strings.Join(more, "\n"))
}

// Children returns the processes that a process has started, those included that have
// ended but were not waited for.
func Children(pid int) (found []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

func stacks() string {
	for n := 1 << 16; ; n *= 4 {
		text := make([]byte, n)
		if used := runtime.Stack(text, true); used < n {
			return string(text[:used])
		}
	}
}

// WeightsOf returns the tensors that a run has left, included the ones in its snapshot that decide how it would go on.
func WeightsOf(t *testing.T, dir string) map[string]rundir.Tensor {
	t.Helper()
	_, all, err := rundir.ReadTensors(filepath.Join(dir, rundir.SnapshotFile))
	_, weights, err2 := rundir.ReadTensors(filepath.Join(dir, rundir.WeightsFile))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	named := map[string]rundir.Tensor{}
	for _, tensor := range all {
		named[tensor.Name] = tensor
	}
	for _, tensor := range weights {
		// else they are of the best epoch
		if _, ok := named["hogwild.best"]; !ok && !reflect.DeepEqual(tensor, named[tensor.Name]) {
			t.Errorf("%s: tensor %s is not that of the snapshot", dir, tensor.Name)
		}
	}
	return named
}

// SameEnd fails the test unless two runs have left the same bits.
func SameEnd(t *testing.T, a, b string) {
	t.Helper()
	x, y := WeightsOf(t, a), WeightsOf(t, b)
	for name, tensor := range x {
		if !reflect.DeepEqual(tensor, y[name]) {
			t.Errorf("tensor %s differs between %s and %s", name, a, b)
		}
	}
	if len(x) != len(y) {
		t.Errorf("%d tensors in %s, %d in %s", len(x), a, len(y), b)
	}
}

// Within returns a time at random, up to d.
func Within(d time.Duration) time.Duration { return rand.N(d) }
