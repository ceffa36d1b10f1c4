package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/lastwords"
)

// crashing is the softmax model with a mistake in it, from the second epoch on.
type crashing struct{ model.Model }

func (c crashing) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	if b.Epoch > 0 {
		fmt.Fprintln(os.Stderr, "a custom model prints")
		_ = w[:len(b.Y)][len(b.Y)+int(b.ID[0])] // the index differs from step to step
	}
	return c.Model.Grad(w, b, g)
}

func registerCrashing() {
	model.Register("crashing", func(m data.Meta) (model.Model, error) {
		softmax, err := model.New(model.Options{Name: "softmax", Bias: true}, m)
		return crashing{softmax}, err
	})
}

// startVariable has workers of a test die while they start: "fault FILE" by a page that is gone, once, of
// which FILE is the sign; "SIGSEGV" and others by that signal, always.
const startVariable = "HOGWILD_TEST_START"

func dieAtStart(how string) {
	if s := map[string]syscall.Signal{"SIGSEGV": syscall.SIGSEGV, "SIGILL": syscall.SIGILL, "SIGKILL": syscall.SIGKILL}[how]; s != 0 {
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

// TestSameFaultEverywhere: a mistake in a model ends the run when each worker has met it, and what was
// trained before is there. The error is one line, and names the file with the rest.
func TestSameFaultEverywhere(t *testing.T) {
	for _, workers := range []int{1, 3} {
		c := quick(t)
		c.Model, c.Workers, c.MaxRestarts, c.Epochs = "crashing", workers, 50, 3
		got, err := try(t, c)
		if err == nil {
			t.Fatal("no error")
		}
		for _, part := range []string{"every worker fails at the same place, lastwords_test.go:", "panic: runtime error: index out of range [", "saved in " + c.Run} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "a custom model prints") {
			t.Errorf("not one line of what matters: %q", err)
		}
		if most := max(2*workers, 2); got.Restarts >= most || got.Epochs != 1 {
			t.Errorf("%d workers: %d restarts, %d epochs", workers, got.Restarts, got.Epochs)
		}
		logs, _ := filepath.Glob(filepath.Join(c.Run, "worker-*.log"))
		if len(logs) != workers || !slices.ContainsFunc(logs, func(path string) bool { return strings.Contains(err.Error(), path) }) {
			t.Errorf("files %v, error %q", logs, err)
		}
		for _, path := range logs {
			if text, _ := os.ReadFile(path); !strings.Contains(string(text), "goroutine ") || !strings.Contains(string(text), "crashing.Grad") {
				t.Errorf("%s holds %q", path, text)
			}
		}
		if _, err := rundir.ReadSnapshot(c.Run); err != nil {
			t.Error(err)
		}
	}
}

// TestDeathAtStart: a worker that a fault ends while it starts is started again.
func TestDeathAtStart(t *testing.T) {
	c := quick(t)
	t.Setenv(startVariable, "fault "+filepath.Join(t.TempDir(), "sign"))
	got := train(t, c)
	if got.Restarts != 1 || got.LostExamples != 0 || len(got.Events) != 1 || !strings.Contains(got.Events[0], "SIGSEGV: segmentation violation, unexpected fault address") {
		t.Errorf("%d restarts, %d lost, events %q", got.Restarts, got.LostExamples, got.Events)
	}
}

// TestAlwaysDiesAtStart: within the limit; then the last words are the error's.
func TestAlwaysDiesAtStart(t *testing.T) {
	for signal, says := range map[string]string{"SIGSEGV": "SIGSEGV: segmentation violation", "SIGILL": "SIGILL: illegal instruction", "SIGKILL": "was killed by SIGKILL"} {
		c := quick(t)
		c.Workers, c.MaxRestarts = 2, 1
		t.Setenv(startVariable, signal)
		got, err := try(t, c)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasSuffix(err.Error(), "no worker is left; this one has died in each of its 2 starts") ||
			len(err.Error()) > 300 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
		if got.Restarts != 2 {
			t.Errorf("%d restarts, want 1 of each worker", got.Restarts)
		}
	}
}

// TestSignalWhileStarting: signals from outside meet workers at any moment of their start. Each time one line
// names the signal, and the worker is started again.
func TestSignalWhileStarting(t *testing.T) {
	const most = 6
	c := quick(t)
	c.Workers, c.Mode, c.MaxRestarts, c.Epochs = 2, config.MustMode("sync"), 2*most, 1_000_000
	r := start(t, c)
	hit := map[int]bool{}
	await(t, "signals", func() bool {
		for _, pid := range children(os.Getpid()) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if _, rank, is := strings.Cut(string(text), "\x00worker\x00"); hit[pid] || !is || rank == "" { // without a rank it checks the loops
				continue
			}
			time.Sleep(within(4 * time.Millisecond))
			if syscall.Kill(pid, []syscall.Signal{syscall.SIGSEGV, syscall.SIGILL, syscall.SIGBUS}[len(hit)%3]) == nil {
				hit[pid] = true
			}
		}
		return len(hit) >= most || ended(r.done)
	})
	r.reach(r.block.Get(control.WordEpoch)+5, 1)
	r.stop()
	got, err := r.wait()
	if !errors.Is(err, config.ErrInterrupted) || got.Restarts != len(hit) || got.LostExamples != 0 {
		t.Errorf("%d restarts after %d signals, %d lost: %v", got.Restarts, len(hit), got.LostExamples, err)
	}
	for _, e := range got.Events {
		if !regexp.MustCompile(`SIG(SEGV|ILL|BUS)[ :].*: restarted, `).MatchString(e) || len(e) > 300 || strings.Contains(e, "\n") {
			t.Errorf("event %q", e)
		}
	}
}

// TestReadCrash: of what a worker says, the first line of its crash, and where in the program it was.
func TestReadCrash(t *testing.T) {
	const below = `
goroutine 1 gp=0xc000002380 m=0 mp=0x5a1c20 [running]:
panic({0x4a2b40?, 0xc0000140f0?})
	/usr/lib/go/src/runtime/panic.go:792 +0x132
hogwild/internal/vec.dotAVX512(...)
	/src/internal/vec/dense_amd64.s:41 +0x2a
main.main()
	/src/main.go:5 +0x1d`
	for _, c := range []struct {
		name, said, first, place string
		signal                   bool
	}{
		{"panic", "loaded\npanic: no such luck [recovered]\n" + below, "panic: no such luck [recovered]", "dense_amd64.s:41", false},
		{"instruction", "SIGILL: illegal instruction\nPC=0x47a3a1 m=0 sigcode=2\n" + below, "SIGILL: illegal instruction", "dense_amd64.s:41", true},
		{"sent", "SIGILL: illegal instruction\nPC=0x47a3a1 m=0 sigcode=0\n" + below, "SIGILL: illegal instruction", "", true},
		{"nil", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4]\n" + below,
			"panic: runtime error: invalid memory address or nil pointer dereference", "dense_amd64.s:41", true},
		{"file cut off", "unexpected fault address 0x7f1\nfatal error: fault\n[signal SIGBUS: bus error code=0x2 addr=0x7f1 pc=0x4]\n" + below,
			"SIGBUS: bus error, unexpected fault address 0x7f1", "dense_amd64.s:41", true},
		{"runtime", "fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4]\n" + below,
			"SIGSEGV: segmentation violation, fatal error: unexpected signal during runtime execution", "dense_amd64.s:41", true},
		{"runtime, sent", "fatal error: unexpected signal during runtime execution\n[signal SIGILL: illegal instruction code=0x0 addr=0x0 pc=0x4]\n" + below,
			"SIGILL: illegal instruction, fatal error: unexpected signal during runtime execution", "", true},
		{"memory", "fatal error: runtime: out of memory\n", "fatal error: runtime: out of memory", "", false},
		{"error", "hogwild worker 3: no such device", "no such device", "", false},
		{"own words", "one\ntwo", "two", "", false},
		{"nothing", "", "", "", false},
	} {
		got := readCrash(c.said)
		if got.first != c.first || got.place != c.place || got.signal != c.signal {
			t.Errorf("%s: %q at %q, signal %v", c.name, got.first, got.place, got.signal)
		}
	}
	a, b := readCrash("panic: index 3\n"+below), readCrash("panic: index 17\n"+below)
	if other := readCrash("panic: another\n" + below); !a.same(&b) || a.same(&other) {
		t.Error("what is the same crash")
	}
}

// TestReadProgram: a program's own words come before those of its worker, which tell how it ended.
func TestReadProgram(t *testing.T) {
	const exception = "epoch 1\nTraceback (most recent call last):\n  File \"/a/step.py\", line 12, in <module>\n    f(%s)\nValueError: %s rows\n"
	trace := strings.ReplaceAll(exception, "%s", "7")
	const ended = "hogwild worker 0: the program exited with status 1"
	for _, c := range []struct {
		name, said, first, place, all string
		signal                        bool
	}{
		{"exception", trace + ended, "ValueError: 7 rows (step.py:12)", "step.py:12", strings.TrimPrefix(trace, "epoch 1\n") + "the program exited with status 1", false},
		{"before it left", trace + "hogwild worker 0: after its loop: the program exited with status 1", "ValueError: 7 rows (step.py:12)", "step.py:12",
			strings.TrimPrefix(trace, "epoch 1\n") + "after its loop: the program exited with status 1", false},
		{"slow to end", trace + "hogwild worker 0: program python3 step.py: it has closed its socket, and runs on", "ValueError: 7 rows (step.py:12)", "step.py:12",
			strings.TrimPrefix(trace, "epoch 1\n") + "program python3 step.py: it has closed its socket, and runs on", false},
		{"sys.exit", "epoch 1\nno such file: x.csv\n" + ended, "the program exited with status 1: no such file: x.csv", "",
			"epoch 1\nno such file: x.csv\nthe program exited with status 1", false},
		{"silent", ended, "the program exited with status 1", "", "the program exited with status 1", false},
		{"too soon", "done\nhogwild worker 0: the program exited with status 0 before it was told to", "the program exited with status 0 before it was told to", "",
			"hogwild worker 0: the program exited with status 0 before it was told to", false},
		{"killed", trace + "hogwild worker 0: the program was killed by SIGKILL", "the program was killed by SIGKILL", "",
			strings.TrimSpace(trace) + "\nthe program was killed by SIGKILL", true},
		{"C++", "terminate called after throwing an instance of 'c10::Error'\n  what():  boom\nhogwild worker 0: the program was killed by SIGABRT (aborted)",
			"c10::Error: boom", "", "terminate called after throwing an instance of 'c10::Error'\n  what():  boom\nthe program was killed by SIGABRT (aborted)", true},
		{"another model", "hogwild worker 0: the program's model is not that of the run:\n  a.weight  [3], and [4] in the run\n  b  surplus\n",
			"the program's model is not that of the run: a.weight  [3], and [4] in the run", "hogwild.join",
			"hogwild worker 0: the program's model is not that of the run:\n  a.weight  [3], and [4] in the run\n  b  surplus", false},
	} {
		got := readCrash(strings.TrimSpace(c.said))
		if got.first != c.first || got.place != c.place || got.signal != c.signal || got.all != c.all {
			t.Errorf("%s: %q at %q, signal %v; all %q", c.name, got.first, got.place, got.signal, got.all)
		}
	}
	a, b := readCrash(trace+ended), readCrash(strings.ReplaceAll(exception, "%s", "9")+ended)
	if !a.same(&b) {
		t.Error("what is the same exception")
	}
}

// TestProgramLog: what a program prints before there is a run folder comes first; without words there is no file.
func TestProgramLog(t *testing.T) {
	dir := t.TempDir()
	var told []string
	log := &programLog{name: "program-0.log", told: func(path string) { told = append(told, path) }}
	log.open(dir)
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%v", files)
	}
	log.dir = ""
	fmt.Fprintln(log, "one")
	log.open(dir)
	fmt.Fprintln(log, "two")
	log.close()
	fmt.Fprintln(log, "late")
	path := filepath.Join(dir, "program-0.log")
	again := &programLog{name: "program-0.log", dir: dir, told: log.told}
	fmt.Fprintln(again, "three")
	again.close()
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\nthree\n" || !slices.Equal(told, []string{path, path}) {
		t.Errorf("%q, %v, told %q", text, err, told)
	}
	if _, err := fmt.Fprintln(&programLog{name: "x", dir: filepath.Join(dir, "gone")}, "lost"); err != nil {
		t.Error(err)
	}
}

// TestLongLastWords: a crash of any size is one line of the error.
func TestLongLastWords(t *testing.T) {
	var words lastwords.Tail
	for range 1000 {
		fmt.Fprintln(&words, strings.Repeat("noise ", 20))
	}
	fmt.Fprintf(&words, "panic: %s\n", strings.Repeat("x", 5000))
	c := readCrash(words.String())
	if how := howEnded(2<<8, &c); len(how) > 350 || !strings.HasPrefix(how, "exited with status 2: panic: xxx") || strings.Contains(how, "\n") {
		t.Errorf("%d bytes: %q", len(how), how)
	}
	if how := howEnded(syscall.WaitStatus(syscall.SIGSEGV), &crash{}); how != "was killed by SIGSEGV (segmentation fault)" {
		t.Error(how)
	}
	e := exit{rank: 2, pid: 7, crash: crash{all: "panic: x\n\ngoroutine 1"}}
	if path := e.keep(filepath.Join(t.TempDir(), "gone")); path != "" {
		t.Errorf("kept in %s, a folder that is not there", path)
	}
}
