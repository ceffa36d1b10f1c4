package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// said is what a run has said so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the run has said something.
func (s *said) await(t *testing.T, part string) {
	t.Helper()
	await(t, part, func() bool { return strings.Contains(s.String(), part) })
}

// disturb trains c, and calls do when its first snapshot is there.
func disturb(t *testing.T, c config.Config, do func(*said)) (rundir.Result, error) {
	t.Helper()
	out := &said{}
	var result rundir.Result
	done := make(chan error, 1)
	go func() {
		var err error
		result, err = Run(context.Background(), c, Options{Progress: out})
		done <- err
	}()
	await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	do(out)
	err := <-done
	t.Log(out)
	return result, err
}

// whole fails the test unless a folder has a whole run of so many epochs, each with its line, in order.
func whole(t *testing.T, dir string, epochs int) {
	t.Helper()
	r, err := rundir.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.State() != rundir.Done || r.Result.Epochs != epochs || r.Result.Run != dir {
		t.Errorf("state %s, result %+v", r.State(), r.Result)
	}
	onceEach(t, dir, epochs)
	f, err := rundir.ReadSnapshot(dir)
	if err != nil || f.Damage != nil || int(f.Pos.Epoch) != epochs+1 {
		t.Errorf("snapshot: %+v, %v", f, err)
	}
	noHalves(t, dir)
}

// onceEach fails the test unless metrics.jsonl has one line for each epoch, in order.
func onceEach(t *testing.T, dir string, epochs int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, rundir.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for line := range strings.Lines(string(text)) {
		e, _, err := rundir.ReadMetric([]byte(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e != nil {
			got = append(got, e.Epoch)
		}
	}
	for i, epoch := range got {
		if epoch != i+1 {
			t.Fatalf("lines of epochs %v", got)
		}
	}
	if len(got) != epochs {
		t.Errorf("lines of epochs %v, want %d", got, epochs)
	}
}

// lasting is a run of many short epochs.
func lasting(t *testing.T) config.Config {
	c := quick(t)
	c.Model, c.Data, c.Epochs, c.Run = "slow", "digits:300", 40, filepath.Join(t.TempDir(), "mine")
	return c
}

// TestFolderGone: a run folder that is removed or renamed away is made again, with all that belongs in it. So are its
// files.
func TestFolderGone(t *testing.T) {
	for name, do := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+".old") },
		"files": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, rundir.ConfigFile)),
				os.Remove(filepath.Join(dir, rundir.MetricsName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := lasting(t)
			_, err := disturb(t, c, func(out *said) {
				for do(c.Run) != nil { // a save may put a file into it meanwhile
				}
				out.await(t, "was removed or renamed: made again")
				await(t, "an answer over the socket in the new folder", func() bool {
					_, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoStatus})
					return err == nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			whole(t, c.Run, c.Epochs)
			if name == "renamed" { // it is as it was left, and nobody holds it
				if _, live := rundir.Live(c.Run + ".old"); live {
					t.Error("the old folder is locked")
				}
				c.Run += ".old"
				train(t, resumed(c))
			}
		})
	}
}

// remover removes a run folder, or part of it, when the run has said something.
type remover struct {
	dir, when string
	remove    func(dir string) error
}

func (r *remover) Write(b []byte) (int, error) {
	if r.when != "" && strings.Contains(string(b), r.when) {
		r.when = ""
		for r.remove(r.dir) != nil { // a save may put a file into it meanwhile
		}
	}
	return len(b), nil
}

// TestFolderGoneAtTheEnd: one that is removed after the last save has the result and the weights all the same.
func TestFolderGoneAtTheEnd(t *testing.T) {
	c := quick(t)
	c.Run = filepath.Join(c.Run, "mine")
	out := &remover{c.Run, "epoch   3", os.RemoveAll}
	if _, err := Run(context.Background(), c, Options{Progress: out}); err != nil {
		t.Fatal(err)
	}
	if out.when != "" {
		t.Fatal("the folder was not removed")
	}
	whole(t, c.Run, c.Epochs)
}

// TestFolderTaken: the place of a run folder that was renamed has another run now, which nothing is written to. The
// whole run is saved elsewhere, and the error says where.
func TestFolderTaken(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	other := lasting(t)
	other.Epochs = 2
	train(t, other)
	before := state(t, other.Run)
	c := lasting(t)
	got, err := disturb(t, c, func(*said) {
		if err := errors.Join(os.Rename(c.Run, c.Run+".old"), os.Rename(other.Run, c.Run)); err != nil {
			t.Error(err)
		}
	})
	elsewhere(t, c, got, err)
	for name, text := range state(t, c.Run) {
		if before[name] != text {
			t.Errorf("%s of the other run was changed", name)
		}
	}
}

// TestFolderOfOthers: the same with a folder of files that no run has written.
func TestFolderOfOthers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, rundir.WeightsFile), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := lasting(t)
	got, err := disturb(t, c, func(*said) {
		if err := errors.Join(os.Rename(c.Run, c.Run+".old"), os.Rename(other, c.Run)); err != nil {
			t.Error(err)
		}
	})
	elsewhere(t, c, got, err)
	text, err := os.ReadFile(filepath.Join(c.Run, rundir.WeightsFile))
	if now := state(t, c.Run); len(now) != 1 || err != nil || string(text) != "mine" {
		t.Errorf("the folder of others holds %d files, %q (%v)", len(now), text, err)
	}
}

// shorten has saves at the end tried again once only, here and in coordinators that are started.
func shorten(t *testing.T) {
	was := keepWaits
	t.Setenv(hurryVariable, "1")
	keepWaits = keepWaits[:1]
	t.Cleanup(func() { keepWaits = was })
}

// elsewhere fails the test unless the run was saved, whole, to a folder among the temporary files.
func elsewhere(t *testing.T, c config.Config, got rundir.Result, err error) {
	t.Helper()
	if !errors.Is(err, config.ErrElsewhere) || !strings.Contains(err.Error(), "--resume "+got.Run) {
		t.Fatalf("error %v, want one that names %s", err, got.Run)
	}
	if filepath.Dir(got.Run) != os.TempDir() || !strings.HasPrefix(filepath.Base(got.Run), "hogwild-mine-") {
		t.Errorf("saved in %s", got.Run)
	}
	whole(t, got.Run, c.Epochs)
	c.Run, c.Epochs = got.Run, c.Epochs+1
	if more := train(t, resumed(c)); more.Epochs != c.Epochs {
		t.Errorf("resumed from there: %d epochs", more.Epochs)
	}
}

// limit sets a limit of the process, and returns what sets it back.
func (p *coordination) limit(resource int, to uint64) (back func()) {
	p.t.Helper()
	var was unix.Rlimit
	pid := p.cmd.Process.Pid
	if err := unix.Prlimit(pid, resource, nil, &was); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: to, Max: was.Max}, nil); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, resource, &was, nil); err != nil {
			p.t.Error(err)
		}
	}
}

// saving is a coordinator that has saved a first snapshot.
func saving(t *testing.T, c config.Config) *coordination {
	t.Helper()
	p := startCoordinator(t, c)
	await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	return p
}

// ends waits for the end of a run, which must be a good one.
func (p *coordination) ends(c config.Config) {
	p.t.Helper()
	if err := p.wait(); err != nil {
		p.t.Fatalf("%v: %s", err, &p.stderr)
	}
	if n := p.result().Examples; n != int64(c.Epochs)*300 {
		p.t.Errorf("%d examples", n)
	}
	whole(p.t, c.Run, c.Epochs)
}

// TestDiskFull for some epochs: nothing can be written, neither snapshots nor metrics. (A limit on the size of files
// stands for the disk.) Training continues, and when there is room again all is written, each line in its place.
func TestDiskFull(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.limit(unix.RLIMIT_FSIZE, 1)
	p.stderr.await(t, "a save failed: ")
	p.stderr.await(t, "lines of epochs are written later")
	back()
	p.stderr.await(t, "the run is saved again")
	p.stderr.await(t, "metrics are written again")
	p.ends(c)
	if n := strings.Count(p.stderr.String(), "a save failed: "); n != 1 {
		t.Errorf("said %d times:\n%s", n, &p.stderr)
	}
}

// TestDiskFullAtTheEnd: there is room again a moment after the last epoch.
func TestDiskFullAtTheEnd(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.limit(unix.RLIMIT_FSIZE, 1)
	p.stderr.await(t, "; trying again")
	back()
	p.ends(c)
}

// TestDescriptorsUsedUp: a save needs one. While there is none training continues.
func TestDescriptorsUsedUp(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.limit(unix.RLIMIT_NOFILE, 3)
	p.stderr.await(t, "too many open files")
	back()
	p.stderr.await(t, "the run is saved again")
	p.ends(c)
}

// TestFolderUnwritable: a file takes the place of the run folder, and stays.
func TestFolderUnwritable(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	c := lasting(t)
	got, err := disturb(t, c, func(out *said) {
		if err := errors.Join(os.Rename(c.Run, c.Run+".old"), os.WriteFile(c.Run, nil, 0o666)); err != nil {
			t.Error(err)
		}
	})
	elsewhere(t, c, got, err)
}

// TestNothingCanBeWritten: the error says both, and the run's last snapshot stays.
func TestNothingCanBeWritten(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	c := lasting(t)
	p := saving(t, c)
	_ = p.limit(unix.RLIMIT_FSIZE, 1)
	err := p.wait()
	if err == nil || !strings.Contains(p.stderr.String(), "file too large; and elsewhere: ") {
		t.Errorf("error %v: %s", err, &p.stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "hogwild-mine-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if f, err := rundir.ReadSnapshot(c.Run); err != nil || f.Damage != nil {
		t.Errorf("the last snapshot: %v", err)
	}
	train(t, resumed(c))
	whole(t, c.Run, c.Epochs)
}

// TestTerminatedWithoutAFolder: what a signal saves may go elsewhere too.
func TestTerminatedWithoutAFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	c := lasting(t)
	c.Epochs = 1000
	p := saving(t, c)
	if err := errors.Join(os.Rename(c.Run, c.Run+".old"), os.WriteFile(c.Run, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTERM)
	_ = p.wait()
	got := p.result()
	if got.Stopped != rundir.StoppedTerminated || filepath.Dir(got.Run) != os.TempDir() ||
		!strings.Contains(p.stderr.String(), got.Run) {
		t.Errorf("stopped %q, saved in %s; stderr %s", got.Stopped, got.Run, &p.stderr)
	}
	if f, err := rundir.ReadSnapshot(got.Run); err != nil || f.Pos.Examples > got.Examples {
		t.Errorf("snapshot: %v", err)
	}
}
