package workers

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hogwild/internal/lastwords"
)

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
		{"panic", "loaded\npanic: no such luck [recovered]\n" + below, "panic: no such luck [recovered]",
			"dense_amd64.s:41", false},
		{"instruction", "SIGILL: illegal instruction\nPC=0x47a3a1 m=0 sigcode=2\n" + below,
			"SIGILL: illegal instruction", "dense_amd64.s:41", true},
		{"sent", "SIGILL: illegal instruction\nPC=0x47a3a1 m=0 sigcode=0\n" + below,
			"SIGILL: illegal instruction", "", true},
		{"nil", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: " +
			"segmentation violation code=0x1 addr=0x0 pc=0x4]\n" + below,
			"panic: runtime error: invalid memory address or nil pointer dereference", "dense_amd64.s:41", true},
		{"file cut off", "unexpected fault address 0x7f1\nfatal error: fault\n[signal SIGBUS: bus error code=0x2 " +
			"addr=0x7f1 pc=0x4]\n" + below,
			"SIGBUS: bus error, unexpected fault address 0x7f1", "dense_amd64.s:41", true},
		{"runtime", "fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation " +
			"violation code=0x1 addr=0x0 pc=0x4]\n" + below,
			"SIGSEGV: segmentation violation, fatal error: unexpected signal during runtime execution",
			"dense_amd64.s:41", true},
		{"runtime, sent", "fatal error: unexpected signal during runtime execution\n[signal SIGILL: illegal " +
			"instruction code=0x0 addr=0x0 pc=0x4]\n" + below,
			"SIGILL: illegal instruction, fatal error: unexpected signal during runtime execution", "", true},
		{"memory", "fatal error: runtime: out of memory\n", "fatal error: runtime: out of memory", "", false},
		{"error", "hogwild worker 3: no such device", "no such device", "", false},
		{"own words", "one\ntwo", "two", "", false},
		{"nothing", "", "", "", false},
	} {
		got := ReadCrash(c.said)
		if got.First != c.first || got.Place != c.place || got.Signal != c.signal {
			t.Errorf("%s: %q at %q, signal %v", c.name, got.First, got.Place, got.Signal)
		}
	}
	a, b := ReadCrash("panic: index 3\n"+below), ReadCrash("panic: index 17\n"+below)
	if other := ReadCrash("panic: another\n" + below); !a.same(&b) || a.same(&other) {
		t.Error("what is the same crash")
	}
}

// TestReadProgram: a program's own words come before its worker's, which say how it ended.
func TestReadProgram(t *testing.T) {
	const exception = "epoch 1\nTraceback (most recent call last):\n  File \"/a/step.py\", line 12, in <module>\n    " +
		"f(%s)\nValueError: %s rows\n"
	trace := strings.ReplaceAll(exception, "%s", "7")
	const ended = "hogwild worker 0: the program exited with status 1"
	for _, c := range []struct {
		name, said, first, place, all string
		signal                        bool
	}{
		{"exception", trace + ended, "ValueError: 7 rows (step.py:12)", "step.py:12",
			strings.TrimPrefix(trace, "epoch 1\n") + "the program exited with status 1", false},
		{"before it left", trace + "hogwild worker 0: after its loop: the program exited with status 1",
			"ValueError: 7 rows (step.py:12)", "step.py:12",
			strings.TrimPrefix(trace, "epoch 1\n") + "after its loop: the program exited with status 1", false},
		{"slow to end", trace + "hogwild worker 0: program python3 step.py: it has closed its socket, and runs on",
			"ValueError: 7 rows (step.py:12)", "step.py:12",
			strings.TrimPrefix(trace, "epoch 1\n") + "program python3 step.py: it has closed its socket, and runs on",
			false},
		{"sys.exit", "epoch 1\nno such file: x.csv\n" + ended, "the program exited with status 1: no such file: x.csv",
			"",
			"epoch 1\nno such file: x.csv\nthe program exited with status 1", false},
		{"silent", ended, "the program exited with status 1", "", "the program exited with status 1", false},
		{"too soon", "done\nhogwild worker 0: the program exited with status 0 before it was told to",
			"the program exited with status 0 before it was told to", "",
			"hogwild worker 0: the program exited with status 0 before it was told to", false},
		{"killed", trace + "hogwild worker 0: the program was killed by SIGKILL",
			"the program was killed by SIGKILL", "",
			strings.TrimSpace(trace) + "\nthe program was killed by SIGKILL", true},
		{"C++", "terminate called after throwing an instance of 'c10::Error'\n  what():  boom\nhogwild worker 0: the " +
			"program was killed by SIGABRT (aborted)",
			"c10::Error: boom", "", "terminate called after throwing an instance of 'c10::Error'\n  what():  " +
				"boom\nthe program was killed by SIGABRT (aborted)", true},
		{"another model", "hogwild worker 0: the program's model is not that of the run:\n  a.weight  [3], and [4] " +
			"in the run\n  b  surplus\n",
			"the program's model is not that of the run: a.weight  [3], and [4] in the run", "hogwild.join",
			"hogwild worker 0: the program's model is not that of the run:\n  a.weight  [3], and [4] in the run\n  b " +
				" surplus", false},
	} {
		got := ReadCrash(strings.TrimSpace(c.said))
		if got.First != c.first || got.Place != c.place || got.Signal != c.signal || got.all != c.all {
			t.Errorf("%s: %q at %q, signal %v; all %q", c.name, got.First, got.Place, got.Signal, got.all)
		}
	}
	a, b := ReadCrash(trace+ended), ReadCrash(strings.ReplaceAll(exception, "%s", "9")+ended)
	if !a.same(&b) {
		t.Error("what is the same exception")
	}
}

// TestLongLastWords: a crash of any size is one line of the error.
func TestLongLastWords(t *testing.T) {
	var words lastwords.Tail
	for range 1000 {
		fmt.Fprintln(&words, strings.Repeat("noise ", 20))
	}
	fmt.Fprintf(&words, "panic: %s\n", strings.Repeat("x", 5000))
	c := ReadCrash(words.String())
	if how := howEnded(2<<8, &c); len(how) > 350 || !strings.HasPrefix(how, "exited with status 2: panic: xxx") ||
		strings.Contains(how, "\n") {
		t.Errorf("%d bytes: %q", len(how), how)
	}
	if how := howEnded(syscall.WaitStatus(syscall.SIGSEGV),
		&Crash{}); how != "was killed by SIGSEGV (segmentation fault)" {
		t.Error(how)
	}
	e := Exit{Rank: 2, PID: 7, Crash: Crash{all: "panic: x\n\ngoroutine 1"}}
	if path := e.Keep(filepath.Join(t.TempDir(), "gone")); path != "" {
		t.Errorf("kept in %s, a folder that is not there", path)
	}
}
