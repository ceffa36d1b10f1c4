// Package runtest has what tests that train share: runs to look at while they go on, and to hurt, and what they leave.
// Only tests import it; a package whose tests train has a TestMain that calls Main.
//
//	hurt.go         what happens to processes
//	coordinator.go  a coordinator in a process of its own
//	folder.go       what a run has left
//	trial.go        a run of this process, while it goes on
//	jobs.go         data, rows and weights
//	main.go         Main: the test binary as worker, program or coordinator
package runtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program/programtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// ConfigVariable makes a process of the test binary a coordinator: it holds the
// Config, as JSON.
const ConfigVariable = "HOGWILD_TEST_CONFIG"

// UnaskedVariable makes a process of the test binary one that does not ask IsWorker.
const UnaskedVariable = "HOGWILD_TEST_UNASKED"

// Run is called by a test's coordinator.
var Run = run.Run

// Main is called by TestMain of a package whose tests train: a worker of a test is this test binary started again,
// and so is a coordinator that a test wants to kill.
func Main(m *testing.M) {
	registerSlow("slow", time.Millisecond)
	registerSlow("slower", 10*time.Millisecond)
	registerSlow("slowest", 400*time.Millisecond)
	// The race detector lets each process sleep for a second before it ends.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if programtest.IsProgram() {
		os.Exit(programtest.Main(os.Args[1:]))
	}
	if os.Getenv(UnaskedVariable) == "" && workers.IsWorker() {
		dieAtStart(os.Getenv(StartVariable))
		os.Exit(worker.Main())
	}
	if text := os.Getenv(ConfigVariable); text != "" {
		os.Exit(coordinate(text))
	}
	os.Exit(m.Run())
}

// coordinate runs the Config in text and prints the Result as JSON.
func coordinate(text string) int {
	var c config.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer config.OutlivePipes()()
	result, err := Run(context.Background(), c, run.Options{Signals: true, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := result.WriteJSON(os.Stdout); err != nil {
		return 2
	}
	if err != nil {
		return 1
	}
	return 0
}

// slow is the softmax model with a pause in each step, so that a test has the time
// to do something to a run: an epoch lasts as long on any machine, and the numbers are softmax's.
type slow struct {
	model.Model
	pause time.Duration
	turns *turns
}

func (s slow) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	if s.turns != nil {
		s.turns.handOver()
	}
	time.Sleep(s.pause)
	return s.Model.Grad(w, b, g)
}

func registerSlow(name string, pause time.Duration) {
	model.Register(name, func(m data.Meta) (model.Model, error) {
		softmax, err := model.New(model.Options{Name: "softmax", Bias: true}, m)
		return slow{softmax, pause, joinTurns()}, err
	})
}

// turnsVariable is set in workers that take turns: the folder of their pipes.
const turnsVariable = "HOGWILD_TEST_TURNS"

// turns has the workers of a slow model write in the order of their ranks, however the scheduler runs them: a worker
// waits within its gradient, and the one before it lets it go on once it has begun its own next step. So all others
// write once between a worker's read and its write.
type turns struct {
	own, next *os.File
	left      int // steps; then a worker goes on without waiting, since those before it may find no more chunks
}

// InTurns has the workers of the runs to come take turns, for that many steps of each.
func InTurns(t *testing.T, workers, steps int) {
	t.Helper()
	dir := t.TempDir()
	for rank := range workers {
		if err := unix.Mkfifo(filepath.Join(dir, strconv.Itoa(rank)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(turnsVariable, fmt.Sprintf("%d %d %s", workers, steps, dir))
}

// joinTurns returns the turns of a worker, and nil elsewhere. Rank after rank begins its first step.
var joinTurns = sync.OnceValue(func() *turns {
	var n, steps int
	var dir string
	rank, err := workers.Rank()
	if _, e := fmt.Sscan(os.Getenv(turnsVariable), &n, &steps, &dir); err != nil || e != nil {
		return nil
	}
	open := func(rank int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(rank)), os.O_RDWR|unix.O_NONBLOCK, 0)
		if err == nil {
			err = f.SetReadDeadline(time.Now().Add(time.Minute))
		}
		if err != nil {
			panic(err)
		}
		return f
	}
	t := &turns{open(rank), open((rank + 1) % n), steps}
	if rank > 0 {
		t.wait()
	}
	return t
})

func (t *turns) wait() {
	if _, err := t.own.Read(make([]byte, 1)); err != nil {
		panic(fmt.Sprintf("no turn: %v", err))
	}
}

// handOver lets the next worker go on, and waits for the one before.
func (t *turns) handOver() {
	if t.left < 0 {
		return
	}
	if _, err := t.next.Write([]byte{0}); err != nil {
		panic(err)
	}
	if t.left--; t.left >= 0 {
		t.wait()
	}
}

// StartVariable has workers of a test die while they start: "fault FILE" by a page that is gone, once, which FILE
// marks; "SIGSEGV" and others by that signal, always; "sleep": when it is killed.
const StartVariable = "HOGWILD_TEST_START"

func dieAtStart(how string) {
	if how == "sleep" {
		fmt.Fprintln(os.Stderr, "asleep")
		time.Sleep(time.Hour)
	}
	if s := map[string]syscall.Signal{"SIGSEGV": syscall.SIGSEGV, "SIGILL": syscall.SIGILL,
		"SIGKILL": syscall.SIGKILL}[how]; s != 0 {
		_ = syscall.Kill(os.Getpid(), s)
		select {}
	}
	if sign, ok := strings.CutPrefix(how, "fault "); ok {
		if f, err := os.OpenFile(sign, os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			_ = f.Close()
			readMissing()
		}
	}
}

// readMissing reads a page that is not there.
func readMissing() {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		os.Exit(int(page[0]))
	}
}

// ones is a model whose steps are exact in float32: at learning rate 1 each takes 1
// from some of its weights, so that after n steps they are -n, unless some were lost.
// The first 3,000 are a layer on an input with three features that occur; then its
// bias, and a dense part.
type ones struct {
	dense int
	d     []float32
	x     data.Row
	g     []float32
}

func (m *ones) Params() []model.Param {
	return []model.Param{{Name: "w", Shape: []int{2, 1500}, Transposed: true}, {Name: "b", Shape: []int{2}},
		{Name: "g", Shape: []int{m.dense}}}
}

func (m *ones) Init(w []float32, _ uint64) { clear(w) }

func (m *ones) Grad(_ []float32, b *data.Batch, g *model.Gradient) float64 {
	g.Parts = append(g.Parts[:0],
		model.Part{In: 1500, Out: 2, Bias: 3000, X: []data.Row{m.x}, D: m.d},
		model.Part{Offset: 3002, Bias: -1, G: m.g})
	return float64(len(b.Y))
}

func (m *ones) Eval(_ []float32, b *data.Batch) model.Score { return model.Score{N: len(b.Y)} }

func init() {
	for name, dense := range map[string]int{"ones": 100, "heavy": 1 << 21} {
		model.Register(name, func(data.Meta) (model.Model, error) {
			m := &ones{dense: dense, d: []float32{1, 1},
				x: data.Row{Idx: []uint32{0, 700, 1499}, Val: []float32{1, 1, 1}}}
			for range dense {
				m.g = append(m.g, 1)
			}
			return m, nil
		})
	}
}
