package run_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
)

// crowded returns a run of three workers that merge centred weights at every other step.
func crowded(t *testing.T) config.Config {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Workers, c.Batch = "digits:3000", "mlp:32", 3, 1
	c.Center, c.MergeEvery, c.LR, c.SaveEvery = "on", "2", 0.002, "0"
	return c
}

// TestStoppedWorkerKeepsNobody: a worker that is stopped, at 50 moments at random, keeps the others from
// nothing but the chunks that it has in hand: they train all others of the epoch. In mode locked
// it may have a lock then, and this fails.
func TestStoppedWorkerKeepsNobody(t *testing.T) {
	const stops, victim = 50, 1
	for what, edit := range map[string]func(*config.Config){
		"merged":   func(*config.Config) {},
		"in place": func(c *config.Config) { c.MergeEvery, c.Center = "1", "off" },
	} {
		t.Run(what, func(t *testing.T) {
			c := crowded(t)
			c.Epochs = 1_000_000
			edit(&c)
			if mode := os.Getenv("HOGWILD_TEST_MODE"); mode != "" {
				c.Mode, c.MergeEvery = config.MustMode(mode), "auto"
			}
			r := runtest.Start(t, c)
			pid := r.PID(victim)
			defer syscall.Kill(pid, syscall.SIGCONT) // if the test failed
			for i := range stops {
				time.Sleep(runtest.Within(10 * time.Millisecond))
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				runtest.Await(t, "the stop", func() bool { return runtest.Stopped(pid) })
				epoch := r.Block.Get(control.WordEpoch)
				runtest.Await(t, fmt.Sprintf("all chunks but the stopped worker's, stop %d", i), func() bool {
					return r.Block.Get(control.WordEpoch) != epoch || othersDone(r.Block, victim)
				})
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			r.Stop()
			if _, err := r.Wait(); err == nil {
				t.Error("the run was not interrupted")
			}
		})
	}
}

// othersDone reports whether all chunks of the open epoch are done, but for those that a rank has.
// (The epoch ends only when the rank has none.)
func othersDone(w *control.Block, rank int) bool {
	for i := range w.Plan.Chunks() {
		if state, _ := w.Chunk(i); state != control.ChunkDone && state != uint64(rank+1) {
			return false
		}
	}
	return true
}

// sharedWait is a system call by which a process waits for, or wakes, another: a futex that is
// not private to it, or giving up its core.
var sharedWait = regexp.MustCompile(`futex\([^,]+, FUTEX_(WAIT|WAKE)(_BITSET)?[,)| ]|sched_yield\(`)

// TestNoSystemCallsBetweenChunks: under strace, async workers make a few such calls when an
// epoch begins and when it ends, however many chunks and merges lie between the two.
func TestNoSystemCallsBetweenChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: make race, whose runtime gives up its core by itself")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing (Debian: strace)")
	}
	const epochs = 10
	calls := func(mode string) (n int) {
		c := crowded(t)
		c.Epochs, c.Run, c.Mode, c.Data = epochs, t.TempDir(), config.MustMode(mode), "digits:6000"
		if mode != "async" {
			c.MergeEvery, c.Center, c.AverageEvery, c.Data = "auto", "off", 1, "digits:600"
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(strace, "-ff", "-o", log, "-e", "trace=futex,sched_yield,execve", os.Args[0])
		cmd.Env = append(os.Environ(), runtest.ConfigVariable+"="+string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			if strings.Contains(string(out), "ptrace") {
				t.Skipf("strace cannot trace here: %s", out)
			}
			t.Fatalf("%v\n%s", err, out)
		}
		workers := 0
		logs, _ := filepath.Glob(log + ".*")
		for _, path := range logs {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			in := bufio.NewScanner(f)
			for in.Scan() {
				if strings.Contains(in.Text(), `"worker"`) {
					workers++
				}
				if sharedWait.MatchString(in.Text()) {
					n++
				}
			}
		}
		t.Logf("%s: %d such calls of %d workers, all told", mode, n, workers)
		return n
	}
	// Ten epochs of 5,000 steps and 2,500 merges: each of three workers waits for each of the epochs and reports its
	// end, some 150 calls. Go's own threads yield too, the more the busier the machine is: that only adds, so the
	// fewest of three runs count.
	const few = 1000
	async := calls("async")
	for i := 1; i < 3 && async > few; i++ {
		async = min(async, calls("async"))
	}
	if async > few {
		t.Errorf("%d calls of async workers, more than %d", async, few)
	}
	if sync := calls("sync"); sync < 3*few {
		t.Errorf("%d calls of workers that meet at every step: the test does not see them", sync)
	}
}
