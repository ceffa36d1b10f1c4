package nodes

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestNoHelper(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hogwild-mpi")
	t.Setenv(HelperVariable, path)
	if _, err := StartMPI(time.Minute); err == nil || !strings.Contains(err.Error(), "make mpi") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("without the program: %v", err)
	}
	t.Setenv(HelperVariable, "")
	if _, err := StartMPI(time.Minute); err == nil || !strings.Contains(err.Error(), filepath.Dir(os.Args[0])) {
		t.Errorf("it was not looked for beside this program: %v", err)
	}
}

// TestHelperFails: programs in place of hogwild-mpi that fail in each way.
func TestHelperFails(t *testing.T) {
	for _, c := range []struct {
		script string
		is     error
		says   string
	}{
		{"echo one >&2; echo 'libmpi.so.40: cannot open shared object file' >&2; echo '-----' >&2; exit 127", ErrLost,
			"exit status 127): libmpi.so.40: cannot"},
		{"kill -9 $$", ErrLost, "signal: killed"},
		{"exec sleep 60 # 300ms", nil, "within 300ms"},
		// the shell starts in that time
		{"echo 'failed to TCP connect' >&2; exec sleep 60 # 2s", nil, "printed:\n  failed to TCP connect"},
		{"echo nonsense >&3; exec sleep 60", nil, "of another version"},
	} {
		path := filepath.Join(t.TempDir(), "hogwild-mpi")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		t.Setenv(HelperVariable, path)
		before, _ := filepath.Glob("/proc/self/fd/*")
		goroutines := runtime.NumGoroutine()
		start := time.Minute
		if _, limit, is := strings.Cut(c.script, " # "); is {
			start, _ = time.ParseDuration(limit)
		}
		_, err := startMPI(time.Minute, start)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.script, err)
		}
		if after, _ := filepath.Glob("/proc/self/fd/*"); len(after) > len(before) {
			t.Errorf("%s: %d descriptors were open, now %d", c.script, len(before), len(after))
		}
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%s: %d goroutines before, %d after", c.script, goroutines, n)
		}
	}
}

// TestStartLimit: ranks have longer to join than to answer, and more of them have more.
func TestStartLimit(t *testing.T) {
	t.Setenv("PMI_SIZE", "2")
	t.Setenv("PMI_RANK", "0")
	if some, many := startLimit(time.Second, 2), startLimit(time.Second, 1000); some < 2*time.Minute || many < 2*some ||
		startLimit(time.Hour, 2) < time.Hour {
		t.Errorf("2 ranks: %v, 1000 ranks: %v", some, many)
	}
	if err := notJoined(ErrSilent, time.Minute, ""); strings.Contains(err.Error(), "mpicc") {
		t.Errorf("the others are late: %v", err)
	}
	if err := notJoined(ErrLost, time.Minute, ""); !strings.Contains(err.Error(), "mpicc") {
		t.Errorf("the helper ended: %v", err)
	}
}

func TestLibraryName(t *testing.T) {
	for text, want := range map[string]string{
		"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022": "Open MPI 4.1.4",
		"MPICH Version:\t4.0.2":                      "MPICH 4.0.2",
		"MVAPICH2 Version      :\t2.3.7":             "MVAPICH2 2.3.7",
		"Intel(R) MPI Library 2021.10 for Linux* OS": "Intel(R) MPI Library 2021.10 for Linux* OS",
	} {
		if got := libraryName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
