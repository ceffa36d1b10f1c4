package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// disturb trains c, and calls do when its first snapshot is there.
func disturb(t *testing.T, c config.Config, do func(*runtest.Said)) (rundir.Result, error) {
	t.Helper()
	out := &runtest.Said{}
	var result rundir.Result
	done := make(chan error, 1)
	go func() {
		var err error
		result, err = run.Run(context.Background(), c, run.Options{Progress: out})
		done <- err
	}()
	runtest.Await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	do(out)
	err := <-done
	t.Log(out)
	return result, err
}

// lasting returns a run of many short epochs.
func lasting(t *testing.T) config.Config {
	c := configtest.Quick(t)
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
			_, err := disturb(t, c, func(out *runtest.Said) {
				for do(c.Run) != nil { // a save may put a file into it meanwhile
				}
				out.Await(t, "was removed or renamed: made again")
				runtest.Await(t, "an answer over the socket in the new folder", func() bool {
					_, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoStatus})
					return err == nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			runtest.Whole(t, c.Run, c.Epochs)
			if name == "renamed" { // it is as it was left, and no process holds it
				if _, live := rundir.Live(c.Run + ".old"); live {
					t.Error("the old folder is locked")
				}
				c.Run += ".old"
				runtest.Train(t, runtest.Resumed(c))
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
	c := configtest.Quick(t)
	c.Run = filepath.Join(c.Run, "mine")
	out := &remover{c.Run, "epoch   3", os.RemoveAll}
	if _, err := run.Run(context.Background(), c, run.Options{Progress: out}); err != nil {
		t.Fatal(err)
	}
	if out.when != "" {
		t.Fatal("the folder was not removed")
	}
	runtest.Whole(t, c.Run, c.Epochs)
}

// TestFolderTaken: the place of a run folder that was renamed has another run now, which nothing is written to. The
// whole run is saved elsewhere, and the error says where.
func TestFolderTaken(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	other := lasting(t)
	other.Epochs = 2
	runtest.Train(t, other)
	before := runtest.State(t, other.Run)
	c := lasting(t)
	got, err := disturb(t, c, func(*runtest.Said) {
		if err := trade(c.Run, other.Run); err != nil {
			t.Error(err)
		}
	})
	elsewhere(t, c, got, err)
	for name, text := range runtest.State(t, c.Run) {
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
	got, err := disturb(t, c, func(*runtest.Said) {
		if err := trade(c.Run, other); err != nil {
			t.Error(err)
		}
	})
	elsewhere(t, c, got, err)
	text, err := os.ReadFile(filepath.Join(c.Run, rundir.WeightsFile))
	if now := runtest.State(t, c.Run); len(now) != 1 || err != nil || string(text) != "mine" {
		t.Errorf("the folder of others holds %d files, %q (%v)", len(now), text, err)
	}
}

// trade exchanges two files or folders in one step: between two renames a save could make the folder again.
func trade(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// shorten has saves at the end tried again once only, here and in coordinators that are started.
func shorten(t *testing.T) {
	t.Setenv(hurryVariable, "1")
	t.Cleanup(run.Hurry())
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
	runtest.Whole(t, got.Run, c.Epochs)
	c.Run, c.Epochs = got.Run, c.Epochs+1
	if more := runtest.Train(t, runtest.Resumed(c)); more.Epochs != c.Epochs {
		t.Errorf("resumed from there: %d epochs", more.Epochs)
	}
}

// saving returns a coordinator that has saved a first snapshot.
func saving(t *testing.T, c config.Config) *runtest.Coordination {
	t.Helper()
	p := runtest.StartCoordinator(t, c)
	runtest.Await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	return p
}

// TestDiskFull for some epochs: nothing can be written, neither snapshots nor metrics. (A limit on the size of files
// stands for the disk.) Training continues, and when there is room again all is written, each line in its place.
func TestDiskFull(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.Limit(unix.RLIMIT_FSIZE, 1)
	p.Stderr.Await(t, "a save failed: ")
	p.Stderr.Await(t, "lines of epochs are written later")
	back()
	p.Stderr.Await(t, "the run is saved again")
	p.Stderr.Await(t, "metrics are written again")
	p.Ends(c)
	if n := strings.Count(p.Stderr.String(), "a save failed: "); n != 1 {
		t.Errorf("said %d times:\n%s", n, &p.Stderr)
	}
}

// TestDiskFullAtTheEnd: there is room again a moment after the last epoch.
func TestDiskFullAtTheEnd(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.Limit(unix.RLIMIT_FSIZE, 1)
	p.Stderr.Await(t, "; trying again")
	back()
	p.Ends(c)
}

// TestDescriptorsUsedUp: a save needs one. While there is none training continues.
func TestDescriptorsUsedUp(t *testing.T) {
	c := lasting(t)
	p := saving(t, c)
	back := p.Limit(unix.RLIMIT_NOFILE, 3)
	p.Stderr.Await(t, "too many open files")
	back()
	p.Stderr.Await(t, "the run is saved again")
	p.Ends(c)
}

// TestFolderUnwritable: a file takes the place of the run folder, and stays.
func TestFolderUnwritable(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	c := lasting(t)
	got, err := disturb(t, c, func(out *runtest.Said) {
		if err := errors.Join(os.WriteFile(c.Run+".file", nil, 0o666), trade(c.Run, c.Run+".file")); err != nil {
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
	_ = p.Limit(unix.RLIMIT_FSIZE, 1)
	err := p.Wait()
	if err == nil || !strings.Contains(p.Stderr.String(), "file too large; and elsewhere: ") {
		t.Errorf("error %v: %s", err, &p.Stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "hogwild-mine-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if f, err := rundir.ReadSnapshot(c.Run); err != nil || f.Damage != nil {
		t.Errorf("the last snapshot: %v", err)
	}
	runtest.Train(t, runtest.Resumed(c))
	runtest.Whole(t, c.Run, c.Epochs)
}

// TestTerminatedWithoutAFolder: what a signal saves may go elsewhere too.
func TestTerminatedWithoutAFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	shorten(t)
	c := lasting(t)
	c.Epochs = 1000
	p := saving(t, c)
	if err := errors.Join(os.WriteFile(c.Run+".file", nil, 0o666), trade(c.Run, c.Run+".file")); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	_ = p.Wait()
	got := p.Result()
	if got.Stopped != rundir.StoppedTerminated || filepath.Dir(got.Run) != os.TempDir() ||
		!strings.Contains(p.Stderr.String(), got.Run) {
		t.Errorf("stopped %q, saved in %s; stderr %s", got.Stopped, got.Run, &p.Stderr)
	}
	if f, err := rundir.ReadSnapshot(got.Run); err != nil || f.Pos.Examples > got.Examples {
		t.Errorf("snapshot: %v", err)
	}
}
