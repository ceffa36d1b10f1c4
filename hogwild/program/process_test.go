package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/internal/check"
	"hogwild/shm"
)

func TestHello(t *testing.T) {
	p := started(t)
	var names []string
	for _, tensor := range p.Layout.Tensors {
		names = append(names, fmt.Sprint(tensor.Name, tensor.Shape, tensor.Kind))
	}
	want := []string{"weight[1 3]parameter", "bias[1]parameter", "steps[]integer"}
	if !slices.Equal(names, want) || p.Language != "Go" {
		t.Errorf("it said %v in %s, want %v", names, p.Language, want)
	}
	pid := p.PID()
	if err := p.Close(); err == nil { // it was not welcomed yet, and takes leave for the welcome
		t.Log("it left")
	}
	if shm.Alive(pid) {
		t.Error("it runs on after Close")
	}
}

// Every way not to say hello has one error that says what happened, and leaves no process behind.
func TestBadStarts(t *testing.T) {
	hello := func(tensors string) string {
		return `line={"hello":1,"language":"Go","tensors":` + tensors + `}@hello`
	}
	for _, c := range []struct {
		line string
		says []string
	}{
		{"", []string{"program: the command has no words"}},
		{"python3 'step.py", []string{"program python3 'step.py: ", "unterminated single-quoted string"}},
		{"no-such-program-anywhere --fast",
			[]string{"program no-such-program-anywhere --fast: ", "executable file not found"}},
		{"/", []string{"program /: ", "is a directory"}},
		{"true", []string{"the program exited with status 0 before it was told to"}},
		{"echo hello", []string{"the program exited with status 0", "hello"}},
		{own("exit=3@hello"), []string{"the program exited with status 3: the last line before the exit"}},
		{own("kill=hello"), []string{"the program was killed by SIGKILL"}},
		{own("child=hello"), []string{"the program was killed by SIGKILL"}},
		{own("line=what?@hello"), []string{"what?", "invalid character"}},
		{own("line=[1,2]@hello"), []string{"[1,2]", "array"}},
		{own(`line={"hello":"one"}@hello`), []string{`hello cannot be string`}},
		{own(`line={"hello":2}@hello`), []string{"it speaks version 2 of the protocol, and this hogwild version 1"}},
		{own(`line={"hi":1}@hello`), []string{"it speaks version 0"}},
		{own(hello(`[]`)), []string{"its model has no tensors"}},
		{own(hello(`[{"name":"w","shape":[-1],"kind":"parameter"}]`)), []string{"tensor w has the shape [-1]"}},
		{own(hello(`[{"name":"w","shape":[1048576,1048576,1048576],"kind":"parameter"}]`)),
			[]string{"tensor w has the shape", "too large"}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"weight"}]`)),
			[]string{`tensor w is of kind "weight"; there are parameter, frozen`}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"frozen"}]`)), []string{"its model has no parameter to train"}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"parameter"},{"name":"w","shape":[1],"kind":"parameter"}]`)),
			[]string{"two tensors are called w"}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"parameter"}],"same":{"v":"u"}`)),
			[]string{"tensor v is to be the same as u"}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"parameter"}],"rows":-4`)), []string{"a data set of -4 rows"}},
		{own(hello(`[{"name":"","shape":[1],"kind":"parameter"}]`)), []string{"a tensor has no name"}},
		{own(hello(`[{"name":"hogwild.state","shape":[1],"kind":"parameter"}]`)),
			[]string{"tensor hogwild.state has a name that run folders use"}},
		{own(hello(`[{"name":"w","shape":[1],"kind":"parameter"}],"same":{"__metadata__":"w"}`)),
			[]string{"tensor __metadata__ has a name that run folders use"}},
	} {
		p, err := Start(t.Context(), Command{Line: c.line, Workers: 1})
		if err == nil {
			p.finish(os.ErrClosed)
		}
		check.Error(t, err, c.says...)
	}
	noChildren(t)
}

// noChildren fails the test if this process has a child.
func noChildren(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*/children")
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && len(bytes.TrimSpace(text)) > 0 {
			t.Errorf("processes are left: %s", text)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// A program that never says hello waits as long as the context lets it.
func TestStartEndsWithItsContext(t *testing.T) {
	tired := errors.New("nobody waits any more")
	for _, trick := range []string{"busy=hello", "sleep=hello", "close=hello"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(tired) })
		_, err := Start(ctx, quiet(trick))
		if trick == "close=hello" {
			check.Error(t, err)
		} else if !errors.Is(err, tired) {
			t.Errorf("%s: %v", trick, err)
		}
		cancel(nil)
	}
	noChildren(t)
}

// What a program prints goes on, and its end is kept.
func TestStderr(t *testing.T) {
	var all bytes.Buffer
	c := quiet("exit=1@hello")
	c.Stderr = &all
	_, err := Start(t.Context(), c)
	var ended *EndError
	if !errors.As(err, &ended) || ended.Said != "the last line before the exit" || all.String() != ended.Said+"\n" {
		t.Errorf("%v, and it printed %q", err, &all)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.Stderr = file
	_, err = Start(t.Context(), c)
	text, e := os.ReadFile(file.Name())
	if !errors.As(err, &ended) || ended.Said != "" || string(text) != all.String() || e != nil {
		t.Errorf("%v, and the file has %q (%v)", err, text, e)
	}
}

// The environment is the user's, with what a program needs, and without what is for workers.
func TestEnvironment(t *testing.T) {
	t.Setenv("HOGWILD_RANK", "3")
	t.Setenv("HOGWILD_FAULT", "worker.join:crash")
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("HOGWILD_DATA", "here")
	t.Setenv("PYTHONPATH", "/mine")
	for _, threads := range []string{"", "3"} {
		if threads != "" {
			t.Setenv("OMP_NUM_THREADS", threads)
		}
		var said bytes.Buffer
		c := quiet("env=start")
		c.Workers, c.Stderr = 1000, &said
		_, err := Start(t.Context(), c)
		check.Error(t, err, "exited with status 0")
		env := map[string]string{}
		for line := range strings.Lines(said.String()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			env[name] = value
		}
		for _, name := range []string{"HOGWILD_RANK", "HOGWILD_FAULT", "GOMAXPROCS"} {
			if v, ok := env[name]; ok {
				t.Errorf("%s=%s", name, v)
			}
		}
		if threads == "" {
			threads = "1"
		}
		for name, want := range map[string]string{"HOGWILD_DATA": "here", "HOGWILD_SEED": "7", "HOGWILD_SOCKET": "3",
			"OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1"} {
			if env[name] != want {
				t.Errorf("%s=%s, want %s", name, env[name], want)
			}
		}
		folder, rest, _ := strings.Cut(env["PYTHONPATH"], ":")
		text, err := os.ReadFile(filepath.Join(folder, "hogwild/__init__.py"))
		if rest != "/mine" || err != nil || !bytes.Equal(text, pythonText("hogwild/__init__.py")) {
			t.Errorf("PYTHONPATH=%s: %v", env["PYTHONPATH"], err)
		}
	}
}

// The module is written once, replaced if it is damaged, and finds a place without a cache.
func TestPythonFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	defer syscall.Umask(syscall.Umask(0))
	folder := func() string {
		t.Helper()
		folder, err := PythonFolder()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, "hogwild/__init__.py")
		text, err := os.ReadFile(path)
		names, _ := os.ReadDir(folder)
		if err != nil || !bytes.Equal(text, pythonText("hogwild/__init__.py")) || len(names) != 1 {
			t.Errorf("%s: %v, and %d entries", path, err, len(names))
		}
		return folder
	}
	first := folder()
	for dir := filepath.Join(first, "hogwild"); dir != os.Getenv("XDG_CACHE_HOME"); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v: others may write what programs import", dir, info.Mode(), err)
		}
	}
	info, _ := os.Stat(filepath.Join(first, "hogwild/__init__.py"))
	if again := folder(); again != first {
		t.Errorf("%s, and then %s", first, again)
	}
	if now, err := os.Stat(filepath.Join(first, "hogwild/__init__.py")); err != nil || !os.SameFile(now, info) {
		t.Errorf("it was written again: %v", err)
	}
	if err := os.WriteFile(filepath.Join(first, "hogwild/__init__.py"), pythonText("hogwild/__init__.py")[:5],
		0o666); err != nil {
		t.Fatal(err)
	}
	folder()
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	second := folder()
	if !strings.HasPrefix(second, os.Getenv("TMPDIR")) || folder() != second {
		t.Errorf("without a cache it is in %s", second)
	}
	if err := os.Chmod(filepath.Dir(second), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := PythonFolder()
	check.Error(t, err, "no place for the package hogwild", "/proc/nowhere", "is not a folder of this user alone")
}
