package run

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/workers"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// faultVariable has the check in a child process find one loop wrong and be ended by another: "dot wrong,merge trap".
// Workers are ended by SIGILL at their start, as by a loop that traps, until plain Go replaces it. TestMain obeys it.
const faultVariable = "HOGWILD_TEST_FAULTS"

// spoilChecks is faultVariable's effect.
func spoilChecks(text string) {
	right, faults := loops.CheckOne, map[string]string{}
	for fault := range strings.SplitSeq(text, ",") {
		name, how, _ := strings.Cut(fault, " ")
		if faults[name] = how; how == "trap" && os.Getenv(workers.RankVariable) != "" &&
			!slices.Contains(vec.Off(), name) {
			dieAtStart("SIGILL")
		}
	}
	loops.CheckOne = func(l vec.Loop) error {
		switch how := faults[l.String()]; how {
		case "wrong":
			return errors.New("number 3 is 1, plain Go has 2")
		case "trap":
			readMissing()
		case "panic":
			panic("index out of range")
		case "fatal":
			fmt.Fprintln(os.Stderr, "fatal error: newosproc")
			os.Exit(2)
		case "":
		default: // another process does that
			_ = syscall.Kill(os.Getpid(), unix.SignalNum(how))
			select {}
		}
		return right(l)
	}
}

// cached has a test's findings in a folder of its own, and forgets them afterwards.
func cached(t *testing.T, faults string) (folder string) {
	if vec.BestSet() == vec.Plain {
		t.Skip("there is no assembly for this processor")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(faultVariable, faults)
	t.Cleanup(func() { _ = vec.SwitchOff() })
	return filepath.Join(os.Getenv("XDG_CACHE_HOME"), "hogwild")
}

// files are those of a folder.
func files(folder string) []string {
	all, _ := filepath.Glob(filepath.Join(folder, "*"))
	return all
}

// TestCheckLoops: loops that are wrong, or end the process, are found, and kept in the cache folder, which later runs
// obey.
func TestCheckLoops(t *testing.T) {
	folder := cached(t, "dot wrong,merge trap,widen panic")
	faulty, err := loops.Check()
	if got := slices.Sorted(maps.Keys(faulty)); err != nil || !slices.Equal(got, []string{"dot", "merge", "widen"}) {
		t.Fatalf("faulty: %v (%v)", faulty, err)
	}
	for name, says := range map[string]string{"dot": "plain Go has 2", "merge": "SIGSEGV",
		"widen": "panic: index out of range"} {
		if !strings.Contains(faulty[name], says) {
			t.Errorf("%s: %s, want %q", name, faulty[name], says)
		}
	}
	kept := files(folder)
	if len(kept) != 1 || len(vec.Off()) != 0 {
		t.Fatalf("cache: %v; switched off: %v", kept, vec.Off())
	}
	if faulty := loops.Read(); len(faulty) != 3 || !slices.Equal(vec.Off(), []string{"dot", "merge", "widen"}) {
		t.Errorf("from the cache: %v, off %v", faulty, vec.Off())
	}
	_ = vec.SwitchOff()

	other := filepath.Join(folder, "loops-0.json") // of another build, or another processor
	if err := os.Rename(kept[0], other); err != nil {
		t.Fatal(err)
	}
	if faulty := loops.Read(); len(faulty) != 0 {
		t.Errorf("of another build: %v", faulty)
	}
	if err := os.WriteFile(kept[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if faulty := loops.Read(); len(faulty) != 0 {
		t.Errorf("a file that cannot be read: %v", faulty)
	}
	t.Setenv(faultVariable, "")
	if faulty, err := loops.Check(); len(faulty) != 0 || err != nil || !slices.Equal(files(folder), []string{other}) {
		t.Errorf("checked again: %v (%v), kept in %v", faulty, err, files(folder))
	}
}

// TestCheckCutShort: a check that somebody ends, or stops, says nothing of the loops, and leaves what is known.
func TestCheckCutShort(t *testing.T) {
	folder := cached(t, "dot wrong")
	if _, err := loops.Check(); err != nil {
		t.Fatal(err)
	}
	was := loops.CheckTime
	defer func() { loops.CheckTime = was }()
	for _, how := range []string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGILL", "SIGSEGV", "fatal",
		"SIGSTOP"} {
		if loops.CheckTime = was; how == "SIGSTOP" {
			loops.CheckTime = 2 * time.Second
		}
		t.Setenv(faultVariable, "merge "+how)
		if faulty, err := loops.Check(); err == nil || faulty != nil {
			t.Errorf("%s: %v (%v)", how, faulty, err)
		}
		if faulty := loops.Read(); len(faulty) != 1 || len(files(folder)) != 1 {
			t.Errorf("%s: kept is %v in %v", how, faulty, files(folder))
		}
		_ = vec.SwitchOff()
	}
}

// TestCheckWithoutCache: a check finds what is wrong also where nothing can be kept.
func TestCheckWithoutCache(t *testing.T) {
	cached(t, "dot wrong")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, file + "/below", "/proc/self", "not/absolute", ""} {
		t.Setenv("XDG_CACHE_HOME", folder)
		t.Setenv("HOME", "")
		if faulty, err := loops.Check(); len(faulty) != 1 || err != nil || len(loops.Read()) != 0 {
			t.Errorf("cache folder %q: %v (%v), kept is %v", folder, faulty, err, loops.Read())
		}
	}
}

// TestReplacesLoops: workers die of a loop. The run checks all loops then, goes on without those that are wrong, says
// so, and comes to what a run with all of them comes to. The next run knows it from the start.
func TestReplacesLoops(t *testing.T) {
	folder := cached(t, "gemm trap,expsum wrong")
	c := quick(t)
	c.Workers, c.Epochs, c.Model, c.Mode.Kind = 2, 2, "mlp:16", config.Sync
	got := train(t, c)
	if !strings.Contains(got.CPU, "but expsum and gemm in plain Go") || got.Restarts != c.Workers {
		t.Errorf("cpu: %s, %d restarts", got.CPU, got.Restarts)
	}
	const says = "expsum (number 3 is 1, plain Go has 2), gemm (SIGSEGV"
	if n := strings.Count(strings.Join(got.Events, "\n"), says); n != 1 || len(files(folder)) != 1 {
		t.Errorf("events: %q; kept in %v", got.Events, files(folder))
	}

	_ = vec.SwitchOff()
	was := loops.Known
	loops.Known = loops.Read
	c.Run = t.TempDir()
	next := train(t, c)
	loops.Known = was
	if next.Restarts != 0 || !strings.Contains(strings.Join(next.Notes, "\n"), says) {
		t.Errorf("the next run: %d restarts, notes %q", next.Restarts, next.Notes)
	}

	_ = vec.SwitchOff()
	t.Setenv(faultVariable, "")
	c.Run = t.TempDir()
	want := train(t, c)
	for _, got := range []float64{got.TestLoss, next.TestLoss} {
		if d := got - want.TestLoss; !(math.Abs(d) <= 1e-4) || len(want.Notes)+len(want.Events) != 0 {
			t.Errorf("test loss %v, with all loops %v; notes %q, events %q", got, want.TestLoss, want.Notes,
				want.Events)
		}
	}
}

// TestLoopsAreRight: a worker dies of an instruction though all loops are right. It is started again, and the loops
// stay.
func TestLoopsAreRight(t *testing.T) {
	folder := cached(t, "")
	c := quick(t)
	c.Workers, c.Model, c.MaxRestarts = 1, "crashing", 1
	t.Setenv(startVariable, "SIGILL")
	_, err := Run(t.Context(), c, Options{})
	if err == nil || len(vec.Off()) != 0 || len(files(folder)) != 0 {
		t.Errorf("%v; switched off: %v; kept in %v", err, vec.Off(), files(folder))
	}
}

// TestRunWithoutAsking: a program whose workers would begin a run each is told so, and its
// loops are not checked in a child that would do what the program does.
func TestRunWithoutAsking(t *testing.T) {
	refuses := func() {
		t.Helper()
		if _, err := Run(t.Context(), quick(t), Options{}); err == nil ||
			!strings.Contains(err.Error(), "call hogwild.IsWorker first") {
			t.Errorf("%v", err)
		}
		if found, err := loops.Check(); err == nil && vec.BestSet() != vec.Plain {
			t.Errorf("it checked its loops, and found %v", found)
		}
	}
	for _, name := range []string{workers.RankVariable, workers.CheckVariable} {
		args := os.Args
		t.Setenv(name, "1")
		os.Args = []string{args[0], "worker"} // as a run starts it
		refuses()
		os.Unsetenv(name)
		os.Args = args
	}
	if os.Getenv(unaskedVariable) == "" {
		t.Setenv(unaskedVariable, "1")
		if out, err := self.Command(t.Context(), "-test.run=^"+t.Name()+"$").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	refuses()
}
