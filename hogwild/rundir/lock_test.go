package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hogwild/hogwild/config"
)

// A second lock is refused, by the pid of the first, until that one is released.
func TestOneLockAtATime(t *testing.T) {
	dir := t.TempDir()
	if pid, live := Live(dir); live || pid != 0 {
		t.Errorf("a new folder is live: %d", pid)
	}
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid, live := Live(dir); !live || pid != os.Getpid() {
		t.Errorf("Live = %d, %v", pid, live)
	}
	_, err = Lock(dir)
	if want := fmt.Sprintf("a run is going on in %s (pid %d)", dir, os.Getpid()); !errors.Is(err, config.ErrUsage) ||
		err.Error() != want {
		t.Errorf("the second lock: %v, want %s", err, want)
	}
	first.Release()
	if pid, live := Live(dir); live || pid != 0 {
		t.Errorf("live after the release: %d", pid)
	}
	second, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the folder holds %v", left)
	}
}

// TestLockOfAMovedFolder: the file goes when the lock does, whatever the folder is called then.
func TestLockOfAMovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if left, err := os.ReadDir(dir + "-away"); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// Locks that are taken and released while others look on: never two at a time, and looking on
// never makes a lock fail.
func TestLockIsNeverHeldTwice(t *testing.T) {
	dir := t.TempDir()
	done := make(chan bool)
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				Live(dir)
			}
		}
	})
	var takers sync.WaitGroup
	var held sync.Mutex
	taken := 0
	for range 4 {
		takers.Go(func() {
			for range 10 {
				l, err := Lock(dir)
				if err != nil {
					continue
				}
				if !held.TryLock() {
					t.Error("two hold the lock")
					l.Release()
					return
				}
				taken++
				held.Unlock()
				l.Release()
			}
		})
	}
	takers.Wait()
	l, err := Lock(dir) // only Live wants it now
	close(done)
	looks.Wait()
	if err != nil || taken == 0 {
		t.Fatalf("%d taken, the last: %v", taken, err)
	}
	l.Release()
}

// The file that a killed run left does not keep others out. A link in its place is not followed.
func TestLockFileLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LockFile)
	if err := os.WriteFile(path, []byte("1 elsewhere\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if pid, live := Live(dir); live {
		t.Errorf("live, by a file that nobody has locked: %d", pid)
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()

	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil {
		t.Error("followed a link")
	}
	if text, _ := os.ReadFile(other); string(text) != "mine" {
		t.Errorf("wrote %q through a link", text)
	}
}

// The owner of a lock as the refusal shows it.
func TestLockOwner(t *testing.T) {
	host, _ := os.Hostname()
	for o, want := range map[owner]string{
		{}:                      "",
		{1, host}:               " (pid 1)",
		{7, "\x1b[31mfar away"}: ` (pid 7 on "\x1b[31mfar away")`,
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
	if text := (owner{os.Getpid(), host}).String(); strings.Contains(text, "stopped") {
		t.Error(text)
	}
}

// A temporary folder goes with its process: at the latest the next of its kind removes it, and no other.
func TestTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	live, remove, err := Temporary("kind-")
	if err != nil {
		t.Fatal(err)
	}
	var killed, other string
	for _, x := range []struct {
		dir    *string
		prefix string
	}{{&killed, "kind-"}, {&other, "other-"}} {
		if *x.dir, _, err = Temporary(x.prefix); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(*x.dir, LockFile)
		err := errors.Join(os.WriteFile(filepath.Join(*x.dir, "x"), nil, 0o600), os.Remove(lock),
			os.WriteFile(lock, []byte("1 here\n"), 0o600)) // which no process locks
		if err != nil {
			t.Fatal(err)
		}
	}
	unsigned := filepath.Join(os.Getenv("TMPDIR"), "kind-mine")
	err = errors.Join(os.Mkdir(unsigned, 0o700), os.WriteFile(filepath.Join(unsigned, LockFile), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	_, again, err := Temporary("kind-")
	if err != nil {
		t.Fatal(err)
	}
	for dir, there := range map[string]bool{live: true, killed: false, other: true, unsigned: true} {
		if _, err := os.Stat(dir); (err == nil) != there {
			t.Errorf("%s: %v, want there: %v", dir, err, there)
		}
	}
	again()
	remove()
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "kind-*")); len(left) != 1 || left[0] != unsigned {
		t.Errorf("left: %q", left)
	}
}
