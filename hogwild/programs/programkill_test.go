package programs_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/internal/check"
	"hogwild/shm"
)

// killsVariable is how many processes of each kind are killed. Without it a few are, and none of PyTorch, whose
// import takes seconds.
const killsVariable = "HOGWILD_TEST_KILLS"

// killTag is in the environment of all processes of a test's runs.
const killTag = "HOGWILD_TEST_TAG"

const softmaxInTorch = `import hogwild, torch, torch.nn.functional as F
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
job = hogwild.join(net)
@job.evaluate
def score(x, y):
    z = net(x)
    return F.cross_entropy(z, y), {"accuracy": (z.argmax(1) == y).float().mean()}
for x, y in job.batches():
    loss = F.cross_entropy(net(x), y)
    net.zero_grad(set_to_none=True)
    loss.backward()
    job.step(loss)
`

// killable returns a run of programs, in folders of its own, and how much worse than an undisturbed one it may be.
func killable(t *testing.T, torch bool) (config.Config, func(rundir.Result) float64) {
	t.Setenv(killTag, t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := ofProgram(t, "slow=1ms@train")
	c.Workers, c.MaxRestarts, c.HangTimeout, c.LR = 2, 1000, time.Minute, 0.1
	c.Run = filepath.Join(t.TempDir(), "run")
	if !torch {
		return c, func(r rundir.Result) float64 { return r.TestLoss }
	}
	python := check.Interpreter(t, "torch")
	script := filepath.Join(t.TempDir(), "step.py")
	if err := os.WriteFile(script, []byte(softmaxInTorch), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Program, c.Data = python+" "+script, "digits:2000"
	return c, func(r rundir.Result) float64 { return 1 - *r.TestAccuracy }
}

// nothingLeft waits until no process of the test's runs is there, and looks for what they may have left.
func nothingLeft(t *testing.T) {
	t.Helper()
	tag := []byte(killTag + "=" + os.Getenv(killTag) + "\x00")
	var left []string
	runtest.Await(t, "the end of all processes", func() bool {
		left = nil
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range all {
			if text, _ := os.ReadFile(path); bytes.Contains(text, tag) {
				left = append(left, path)
			}
		}
		return len(left) == 0
	})
	files, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	stray, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "hogwild", "python-*", ".*"))
	if left = append(files, stray...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// kills returns how many kills there are to be, of each kind.
func kills(few int) int {
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		return n
	}
	return few
}

// TestKilledPrograms: whichever process of a run with programs is killed, the run continues or is resumed, trains each
// example once an epoch, and ends where it would have ended; nothing is left behind.
func TestKilledPrograms(t *testing.T) {
	for _, torch := range []bool{false, true} {
		n, name := kills(5), "go"
		if torch {
			n, name = kills(0), "torch"
		}
		t.Run(name, func(t *testing.T) {
			if n == 0 || testing.Short() {
				t.Skip("only without -short, and of PyTorch with " + killsVariable)
			}
			c, badness := killable(t, torch)
			killPrograms(t, &c, n)
			killCoordinators(t, &c, n)
			c.Resume, c.Epochs = c.Run, c.Epochs+3
			got := runtest.Train(t, c)
			if want := int64(c.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			nothingLeft(t)
			c.Resume, c.Run, c.SaveEvery = "", filepath.Join(t.TempDir(), "undisturbed"), "0"
			c.Epochs = min(c.Epochs, 60)
			if is, was := badness(got), badness(runtest.Train(t, c)); !(is < 1.1*was+0.02) {
				t.Errorf("%g, and %g when nobody is killed", is, was)
			}
		})
	}
}

// killPrograms kills workers and programs in turns, and ends the run kindly. It is left at c.Epochs.
func killPrograms(t *testing.T, c *config.Config, n int) {
	c.Epochs = 1_000_000
	p := runtest.StartCoordinator(t, *c)
	evaluator := programIn(t, p.Workers)
	for i := range 2 * n {
		rank := rand.IntN(c.Workers)
		var pid int
		runtest.Await(t, "a worker and its program", func() bool {
			pid = int(p.Block.Rank(rank, control.RankPID))
			if i%2 == 0 {
				pid = int(p.Block.Rank(rank, control.RankProgram))
			}
			return pid != 0 && shm.Alive(pid)
		})
		time.Sleep(runtest.Within(30 * time.Millisecond)) // the worker may be starting
		_ = syscall.Kill(pid, syscall.SIGKILL)            // it may have ended with its worker
		if i == n {
			_ = syscall.Kill(evaluator, syscall.SIGKILL)
		}
		steps := p.Block.Rank(rank, control.RankSteps)
		runtest.Await(t, "steps after the kill", func() bool {
			now := int(p.Block.Rank(rank, control.RankPID))
			return !shm.Alive(pid) && now != pid && shm.Alive(now) && p.Block.Rank(rank, control.RankSteps) > steps
		})
	}
	p.Signal(syscall.SIGTERM)
	_ = p.Cmd.Wait()
	_ = p.Block.Seg.Close()
	got := p.Result()
	if got.Stopped != rundir.StoppedTerminated || got.LostExamples != 0 || got.Restarts < n {
		t.Errorf("%q, %d lost, %d restarts; stderr: %s", got.Stopped, got.LostExamples, got.Restarts, &p.Stderr)
	}
	nothingLeft(t)
	c.Resume, c.Epochs = c.Run, got.Epochs
}

// programIn returns the one of these processes that is no worker.
func programIn(t *testing.T, pids []int) int {
	t.Helper()
	for _, pid := range pids {
		if text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ"); !strings.Contains(string(text),
			workers.RankVariable+"=") {
			return pid
		}
	}
	t.Fatal("no evaluator")
	return 0
}

// killCoordinators kills one after the other, and each has resumed the run of the one before.
func killCoordinators(t *testing.T, c *config.Config, n int) {
	c.Epochs = 1_000_000
	for range n {
		p := runtest.StartCoordinator(t, *c)
		runtest.Await(t, "a step", func() bool { return p.Block.Rank(0, control.RankSteps) > 0 })
		time.Sleep(runtest.Within(200 * time.Millisecond))
		if err := p.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Cmd.Wait()
		_ = p.Block.Seg.Close()
		nothingLeft(t)
	}
	s, err := rundir.ReadSnapshot(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	c.Epochs = int(s.Pos.Epoch)
}
