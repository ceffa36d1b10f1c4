package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/internal/fault"
)

// TestResumeFromThePreviousSnapshot, where the newest is torn or missing: the run says so and ends as one that was
// left alone.
func TestResumeFromThePreviousSnapshot(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Epochs = "digits:500", 4
	want := runtest.Train(t, c)
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"torn":    func(path string) error { return os.Truncate(path, 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			part := runtest.WithRun(c, t.TempDir())
			part.Epochs = 3
			runtest.Train(t, part)
			newest, previous := filepath.Join(part.Run, rundir.SnapshotFile),
				filepath.Join(part.Run, rundir.PreviousFile)
			if err := damage(newest); err != nil {
				t.Fatal(err)
			}
			if r, err := rundir.ReadSummary(part.Run); err != nil || !rundir.HasSnapshot(part.Run) {
				t.Errorf("%+v, %v", r, err)
			}
			if _, err := saved.Eval(part.Run, "", "auto", ""); err != nil {
				t.Errorf("eval: %v", err)
			}
			part.Epochs = 4
			got := runtest.Train(t, runtest.Resumed(part))
			if text := strings.Join(got.Events, "\n"); !strings.Contains(text, newest) ||
				!strings.Contains(text, "the run continues from the previous snapshot, after epoch 2") {
				t.Errorf("it said %q", text)
			}
			runtest.SameEnd(t, want.Run, part.Run)
			runtest.Whole(t, part.Run, 4)
			if f, err := rundir.ReadSaved(previous); err != nil || f.Pos.Epoch != 4 {
				t.Errorf("the previous snapshot: %v", err)
			}
			if err := errors.Join(damage(newest), damage(previous)); err != nil {
				t.Fatal(err)
			}
			part.Epochs = 5
			if _, err := runtest.Try(t, runtest.Resumed(part)); !errors.Is(err, config.ErrUsage) ||
				name != "missing" && !strings.Contains(err.Error(), newest) {
				t.Errorf("both are damaged: %v", err)
			}
			if _, err := runtest.Try(t, part); (err == nil) != (name == "missing") {
				t.Errorf("a new run in the folder: %v", err)
			}
		})
	}
}

// TestKilledWhileItSaves: the run resumes, ends as one that was left alone, and has a line for each epoch.
func TestKilledWhileItSaves(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Data = "slow", "digits:300"
	want := runtest.Train(t, c)
	for _, point := range []string{
		"file.sync:crash@4", "snapshot.linked:crash@2", "file.rename:crash@5", "file.folder:crash@5",
		"snapshot.saved:crash@2",
	} {
		t.Run(point, func(t *testing.T) {
			c := runtest.WithRun(c, t.TempDir())
			t.Setenv(fault.Variable, point)
			cmd := runtest.Command(t, c)
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.Exited() {
				t.Fatalf("it was not killed: %s", out)
			}
			os.Unsetenv(fault.Variable)
			if err := os.WriteFile(filepath.Join(c.Run, rundir.SnapshotFile+".0badcafe.tmp"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			got := runtest.Train(t, runtest.Resumed(c))
			if len(got.Events) > 0 {
				t.Errorf("it said %q", got.Events)
			}
			runtest.SameEnd(t, want.Run, got.Run)
			runtest.Whole(t, c.Run, 3)
		})
	}
}
