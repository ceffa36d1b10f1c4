package rundir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/format"
)

// within fails the test if f, which must fail with one of the words, waits.
func within(t *testing.T, name string, f func() error, words ...string) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		if err == nil {
			t.Errorf("%s: no error", name)
			return
		}
		for _, word := range words {
			if strings.Contains(err.Error(), word) {
				return
			}
		}
		t.Errorf("%s: %v, want one of %q", name, err, words)
	case <-time.After(time.Minute):
		t.Fatalf("%s: it waits", name)
	}
}

// TestNoPipesAndDevices: each file that is read of a run folder, and weights, may be a pipe without a writer, or a
// device without an end.
func TestNoPipesAndDevices(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		for name, read := range map[string]func(dir string) error{
			ConfigFile:  func(dir string) error { _, err := ReadSummary(dir); return err },
			ResultFile:  func(dir string) error { _, err := ReadRun(dir); return err },
			MetricsName: func(dir string) error { _, err := ReadRun(dir); return err },
			MetricsName + " continued": func(dir string) error {
				_, _, err := OpenMetrics(dir, &Past{})
				return err
			},
			SnapshotFile: func(dir string) error { _, err := ReadSnapshot(dir); return err },
			WeightsFile:  func(dir string) error { _, err := ReadWeights(dir, 0); return err },
		} {
			dir, file := t.TempDir(), strings.TrimSuffix(name, " continued")
			if err := os.WriteFile(filepath.Join(dir, ConfigFile), []byte("epochs: 1\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(filepath.Join(dir, file))
			if err := put(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			within(t, what+" as "+name, func() error { return read(dir) }, "a pipe or socket, not a file",
				"a device, not a file")
		}
	}
}

// TestWeightsLargerThanMemory: a file larger than memory, or than the limit, is not begun to be read.
func TestWeightsLargerThanMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.safetensors")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(f.Truncate(1<<40), f.Close()) // nothing of it is on the disk
	}
	if err != nil {
		t.Skipf("a file with a hole: %v", err)
	}
	for _, most := range []int64{0, 1 << 20} {
		_, err := ReadWeights(path, most)
		if full := (*format.MemoryError)(nil); !errors.As(err, &full) || full.Need != 1<<40 ||
			full.Asked != (most > 0) {
			t.Errorf("limit %d: %v", most, err)
		}
	}
	if _, err := ReadSaved(path); err == nil {
		t.Error("it is read")
	}
}

// TestStranger: files that a run leaves, and logs of it, are no strangers, others are.
func TestStranger(t *testing.T) {
	for name, text := range map[string]string{
		ConfigFile: "epochs: 1\n", MetricsName: "{}\n", ResultFile: "{}", PreviousFile: "x", "worker-3.log": "x",
		"program-evaluator.log": "x",
		EventPrefix + "1.host":  "x", WeightsFile + ".12345678.tmp": "x", LockFile: "1 host\n", ".gitignore": "*",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := Stranger(dir); got != "" || err != nil {
			t.Errorf("%s is a stranger (%v)", got, err)
		}
	}
	for _, name := range []string{"table.csv", WeightsFile, "report.html", "worker.log", "x.tmp"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := Stranger(dir); got != name || err != nil {
			t.Errorf("%s: %q is the stranger (%v)", name, got, err)
		}
	}
	dir := t.TempDir()
	if err := WriteTensors(filepath.Join(dir, WeightsFile), nil, someTensors()); err != nil {
		t.Fatal(err)
	}
	if got, err := Stranger(dir); got != "" || err != nil {
		t.Errorf("weights of ours: %q, %v", got, err)
	}
}

// TestMend: files that grow, and the settings, are made again where they were removed; a folder of others is left
// alone.
func TestMend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { f.Close() }()
	c, past := config.Default(),
		&Past{History: []EpochResult{{Epoch: 1, TrainLoss: 0.5}, {Epoch: 2, TrainLoss: 0.25}}, Examples: 20}
	if err := f.Open(c, nil); err != nil {
		t.Fatal(err)
	}
	if gone, err := f.Mend(c, past); gone != "" || err != nil {
		t.Errorf("nothing is gone: %q, %v", gone, err)
	}
	for _, name := range []string{ConfigFile, MetricsName, filepath.Base(f.Events.f.Name())} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if gone, err := f.Mend(c, past); filepath.Base(gone) == "" || err != nil {
			t.Errorf("%s is gone: %q, %v", name, gone, err)
		}
	}
	if err := f.Metrics.Epoch(EpochResult{Epoch: 3}); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRun(dir); err != nil || len(r.Epochs) != 3 || r.Epochs[1].TrainLoss != 0.25 {
		t.Errorf("%+v, %v", r, err)
	}
	if events, _ := filepath.Glob(filepath.Join(dir, EventPrefix+"*")); len(events) != 1 {
		t.Errorf("events: %v", events)
	}

	was := dir + ".old"
	if err := errors.Join(os.Rename(dir, was), os.Mkdir(dir, 0o777),
		os.WriteFile(filepath.Join(dir, WeightsFile), []byte("mine"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if gone, err := f.Mend(c, past); gone != "" || err == nil ||
		!strings.Contains(err.Error(), `with "weights.safetensors" in it`) {
		t.Errorf("a folder with a file of the user's: %q, %v", gone, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it holds %v", left)
	}
	if err := os.Remove(filepath.Join(dir, WeightsFile)); err != nil {
		t.Fatal(err)
	}
	if gone, err := f.Mend(c, past); gone != "the run folder "+dir || err != nil {
		t.Errorf("an empty folder: %q, %v", gone, err)
	}
}

// TestMendMeanwhile: a folder that is removed while it is mended is whole after the next time.
func TestMendMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { f.Close() }()
	c, past := config.Default(), &Past{}
	if err := f.Open(c, nil); err != nil {
		t.Fatal(err)
	}
	times := 1000
	if testing.Short() {
		times = 200
	}
	for i := range times {
		var removed sync.WaitGroup
		removed.Go(func() {
			for os.RemoveAll(dir) != nil { // a file may be put into it meanwhile
			}
		})
		time.Sleep(time.Duration(i) * 200 * time.Microsecond / time.Duration(times))
		_, _ = f.Mend(c, past)
		removed.Wait()
		_, err := f.Mend(c, past)
		now, gone := os.Stat(dir)
		if err != nil || gone != nil || !os.SameFile(now, f.Info()) {
			t.Fatalf("%v, %v", err, gone)
		}
	}
}

// TestLockIsTheOwners: no other user can open the lock, an old one neither; and the owner is named only while it lives.
func TestLockIsTheOwners(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LockFile)
	if err := errors.Join(os.WriteFile(path, []byte("1 host\n"), 0o644), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if !listed(path) {
		t.Error("the kernel does not list the lock")
	}
	l.Release()
	if listed(path) {
		t.Error("the kernel lists a lock that was released")
	}

	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	host, _ := os.Hostname()
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d %s\n", gone.Process.Pid, host), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	if want := fmt.Sprintf("%s is locked by another process than the run's (pid %d, dead)", dir,
		gone.Process.Pid); !errors.Is(err, config.ErrUsage) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
