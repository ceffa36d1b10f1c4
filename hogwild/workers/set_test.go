package workers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// endVariable says how workers of the tests end: "read" when they have copied what they inherited to their standard
// error, "wait" when they are killed.
const endVariable = "HOGWILD_TEST_END"

// TestMain: a worker of a test is this test binary started again.
func TestMain(m *testing.M) {
	if !IsWorker() {
		os.Exit(m.Run())
	}
	if os.Getenv(endVariable) == "wait" {
		time.Sleep(time.Hour)
	}
	rank, err1 := Rank()
	words, err2 := io.ReadAll(Inherited(0, "words"))
	if err := errors.Join(err1, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Fprintf(os.Stderr, "worker %d: %s\n", rank, words)
}

// begin starts workers that end when they are killed.
func begin(t *testing.T, n, maxRestarts int) *Set {
	t.Helper()
	t.Setenv(endVariable, "wait")
	s := New(n, maxRestarts)
	t.Cleanup(func() { s.Close(0) })
	for rank := range n {
		begin1(t, s, rank)
	}
	return s
}

func begin1(t *testing.T, s *Set, rank int) *Process {
	t.Helper()
	p, err := s.Start(rank, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// dies kills the worker of a rank and takes its exit.
func dies(t *testing.T, s *Set, rank int) *Exit {
	t.Helper()
	s.ranks[rank].process.Kill()
	dead, start := s.Take(<-s.Events())
	if dead == nil || dead.Rank != rank || dead.How != "was killed by SIGKILL" || !dead.Crash.Signal || start {
		t.Fatalf("%v, start %v", dead, start)
	}
	return dead
}

// TestStart: a worker has its rank, its files and a log, and its end is heard of.
func TestStart(t *testing.T) {
	t.Setenv(endVariable, "read")
	s := New(2, 0)
	defer s.Close(0)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "some words")
	w.Close()
	var path string
	p, err := s.Start(1, []*os.File{r}, NewLog("worker.log", t.TempDir(), func(p string) { path = p }))
	if err != nil {
		t.Fatal(err)
	}
	e, start := s.Take(<-s.Events())
	if e == nil || e.Rank != 1 || e.PID != p.PID() || !e.Clean || e.Left || start ||
		e.How != "exited with status 0: worker 1: some words" {
		t.Errorf("%+v", e)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "worker 1: some words\n" {
		t.Errorf("%q, %v", text, err)
	}
	if len(s.Running()) > 0 {
		t.Error("it has ended, and runs")
	}
}

// TestRestart: a worker is started again within the limit. Lives that are long, and in which it trains, give it all
// restarts back.
func TestRestart(t *testing.T) {
	s := begin(t, 1, 2)
	for _, x := range []struct {
		lived   time.Duration
		trained uint64
		n       int
	}{{0, 0, 1}, {2 * shortLife, 0, 2}, {2 * shortLife, 10, 1}, {shortLife / 2, 20, 2}, {2 * shortLife, 20, 0}} {
		e := dies(t, s, 0)
		e.Lived = x.lived
		if n := s.Restart(e, x.trained); n != x.n {
			t.Fatalf("lived %v, trained %d: restart %d, want %d", x.lived, x.trained, n, x.n)
		}
		if x.n == 0 {
			break
		}
		if dead, start := s.Take(<-s.Events()); dead != nil || !start {
			t.Fatalf("%v, start %v", dead, start)
		}
		begin1(t, s, 0)
	}
	if s.State(0) != Gone || !s.AllGone() || s.Restarts(0) != 4 {
		t.Errorf("state %v, %d restarts", s.State(0), s.Restarts(0))
	}
	if start := s.Scale(2); !slices.Equal(start, []int{0, 1}) || s.Restarts(0) != 0 || s.AllGone() {
		t.Errorf("to be started: %d; %d restarts", start, s.Restarts(0))
	}
}

// TestBackOff: the first restart comes at once, also after a long life; the others ever later.
func TestBackOff(t *testing.T) {
	for n, want := range []time.Duration{1: 0, 2: 80 * time.Millisecond, 3: 160 * time.Millisecond,
		30: 2 * time.Second} {
		if got := backOff(n, shortLife/2); want > 0 && got != want || n == 1 && got != 0 {
			t.Errorf("before restart %d: %v, want %v", n, got, want)
		}
		if got := backOff(n, 2*shortLife); got != 0 {
			t.Errorf("after a long life: %v", got)
		}
	}
}

// TestScaleRanks: those that are too many leave, and are started again only when they have, if there are to be more by
// then; one whose wait is over is not started if it is not needed.
func TestScaleRanks(t *testing.T) {
	s := begin(t, 3, 5)
	if start := s.Scale(1); len(start) > 0 || s.State(2) != Leaving || s.State(0) != Active || s.Capacity() != 3 {
		t.Errorf("to be started: %d", start)
	}
	if e := dies(t, s, 2); !e.Left || s.State(2) != Left {
		t.Errorf("%+v", e)
	}
	if start := s.Scale(3); !slices.Equal(start, []int{2}) || s.State(2) != Active || s.State(1) != Active {
		t.Errorf("to be started: %d", start)
	}
	begin1(t, s, 2)
	if e := dies(t, s, 1); e.Left { // it was killed, and has not left by itself
		t.Errorf("%+v", e)
	} else if s.Restart(e, 0) != 1 {
		t.Error("no restart")
	}
	if start := s.Scale(2); len(start) > 0 { // one is waited for
		t.Errorf("to be started: %d", start)
	}
	s.Scale(1)
	if dead, start := s.Take(<-s.Events()); dead != nil || start {
		t.Errorf("%v, start %v, of a rank that is not needed", dead, start)
	}
}

// TestLost: of a process that was given up nothing is heard any more. One that is killed because it hung says so.
func TestLost(t *testing.T) {
	s := begin(t, 2, 0)
	lost, hung := s.Running()[0], s.Running()[1]
	if e := s.MarkLost(lost); e == nil || e.PID != lost.PID() || !e.Crash.Signal || len(s.Running()) != 1 {
		t.Errorf("%+v", e)
	}
	lost.Kill()
	if dead, start := s.Take(<-s.Events()); dead != nil || start {
		t.Errorf("%v, start %v", dead, start)
	}
	hung.Hung = "was killed: it hung"
	hung.Kill()
	var all []string
	if !s.AwaitEnd(time.Minute, func(e *Exit) { all = append(all, e.String()) }) || len(all) != 1 ||
		!strings.HasSuffix(all[0], ") was killed: it hung") {
		t.Errorf("%q", all)
	}
}

// TestOrphansEnd: memory is not given back while the program of a dead worker still runs; a zombie does not.
func TestOrphansEnd(t *testing.T) {
	program := exec.Command("sleep", "60")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Wait()
	defer program.Process.Kill()
	s := New(0, 0)
	s.Orphan(program.Process.Pid)
	if s.awaitOrphans(10 * time.Millisecond) {
		t.Error("it runs, and counts as ended")
	}
	time.AfterFunc(50*time.Millisecond, func() { program.Process.Kill() })
	if !s.Close(time.Minute) || len(s.orphans) > 0 {
		t.Errorf("it was killed, and has not ended: %v", s.orphans)
	}
}
