package programs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/human"
)

// ofProgram returns a run of the tests' program, with its tricks.
func ofProgram(t *testing.T, tricks string) config.Config {
	c := configtest.Quick(t)
	c.Program, c.Data, c.Model, c.LR, c.Epochs = "/proc/self/exe own=2000 "+tricks, "none", "", 0.01, 3
	c.Center, c.BiasStep, c.LRCap, c.HangTimeout = "auto", "auto", "auto", runtest.HangTimeout
	return c
}

// TestHungProgramIsReplaced: a program that is stopped is named, and it and its worker are replaced, in each mode.
func TestHungProgramIsReplaced(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			// so slow that it is not over before the signal comes, on a busy machine either
			c := ofProgram(t, "slow=40ms@train")
			c.Mode, c.Workers = config.MustMode(mode), 2
			p := runtest.StartCoordinator(t, c)
			var pid uint64
			runtest.Await(t, "a step of the program", func() bool {
				pid = p.Block.Rank(1, control.RankProgram)
				return pid != 0 && p.Block.Rank(1, control.RankSteps) > 0
			})
			worker := p.Block.Rank(1, control.RankPID)
			if err := syscall.Kill(int(pid), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			if got := p.Result(); got.Examples != 3*2000 || got.LostExamples != 0 || got.Restarts != 1 {
				t.Errorf("%d examples, %d lost, %d restarts", got.Examples, got.LostExamples, got.Restarts)
			}
			who, state := fmt.Sprintf("worker 1 (pid %d) ", worker),
				fmt.Sprintf("state S (sleeping), its program (pid %d) in state T (stopped)", pid)
			p.WantEvents(who+"has not moved for 500ms, "+state+"; it is replaced after 1s (--hang-timeout)",
				who+"was killed: it had not moved for 1s, "+state+": restarted, 1 of 3")
		})
	}
}

// TestProgramBehindAShell: a shell waits while its child computes for longer than the timeout, which is no hang.
func TestProgramBehindAShell(t *testing.T) {
	c := ofProgram(t, "")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	busy := "end=$(($(date +%s)+3)); while [ $(date +%s) -lt $end ]; do :; done; "
	// else the shell becomes the program
	c.Program = "sh -c " + human.ShellWord("( "+busy+human.ShellWord(exe)+" own=2000 ); true")
	if got := runtest.Train(t, c); got.Restarts != 0 || got.Examples != 3*2000 {
		t.Errorf("%d restarts, %d examples, events %q", got.Restarts, got.Examples, got.Events)
	}
}

// TestHungEvaluator: the coordinator's program is started once more, and the run says so.
func TestHungEvaluator(t *testing.T) {
	c := ofProgram(t, "sleeponce="+filepath.Join(t.TempDir(), "sign")+"@score")
	got := runtest.Train(t, c)
	const warned, ended = "the program that evaluates (pid ",
		"evaluating: the program was killed: it had not moved for 1s, state S (sleeping): it is started again"
	if got.Restarts != 0 || got.Epochs != 3 || len(got.Events) != 2 || !strings.HasPrefix(got.Events[0], warned) ||
		got.Events[1] != ended {
		t.Errorf("%d restarts, %d epochs, events %q", got.Restarts, got.Epochs, got.Events)
	}
}

// TestEvaluatorNeverAnswers: a second one that hangs ends the run, which is saved.
func TestEvaluatorNeverAnswers(t *testing.T) {
	c := ofProgram(t, "sleep=score")
	got, err := runtest.Try(t, c)
	if err == nil || !strings.Contains(err.Error(), "evaluating: the program was killed: it had not moved for 1s") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if got.Epochs != 1 {
		t.Errorf("%d epochs", got.Epochs)
	}
	c.Program = strings.ReplaceAll(c.Program, "sleep=score", "")
	if got := runtest.Train(t, runtest.Resumed(c)); got.Epochs != 3 || got.Examples != 3*2000 {
		t.Errorf("resumed: %d epochs, %d examples", got.Epochs, got.Examples)
	}
}

// TestNeverJoins: a program that does not say hello ends the run before it begins.
func TestNeverJoins(t *testing.T) {
	c := ofProgram(t, "sleep=start")
	from := time.Now()
	if _, err := runtest.Try(t, c); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "the program was killed: it had not called hogwild.join, nor moved for 1s, "+
			"state S (sleeping)") {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(c.Run); len(files) > 0 || time.Since(from) < c.HangTimeout {
		t.Errorf("%v after %v", files, time.Since(from))
	}
}
