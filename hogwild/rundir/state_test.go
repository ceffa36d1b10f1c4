package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// TestStates has a run folder for each way in which a run can end.
func TestStates(t *testing.T) {
	all := t.TempDir()
	for _, x := range []struct {
		name, result string // "": none
		snapshot     bool
		state        State
		resumable    bool
	}{
		{"1-done", `{"epochs": 2}`, true, Done, false},
		{"2-target", `{"stopped": "target loss"}`, true, Done, false},
		{"3-interrupted", `{"stopped": "interrupted"}`, true, Interrupted, true},
		{"4-terminated", `{"stopped": "terminated"}`, true, Interrupted, true},
		{"5-early", `{"stopped": "interrupted"}`, false, Interrupted, false},
		{"6-diverged", `{"stopped": "diverged"}`, true, Diverged, false},
		{"7-failed", `{"stopped": "failed", "error": "no space left on device"}`, true, Failed, true},
		{"8-killed", "", true, Unfinished, true},
		{"9-begun", "", false, Unfinished, false},
	} {
		folder := filepath.Join(all, x.name)
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		write(ConfigFile, "epochs: 3\n")
		write(MetricsName, `{"kind": "epoch", "epoch": 1, "seconds": 0.5, "test_loss": 0.25}`+"\n")
		if x.snapshot {
			write(SnapshotFile, "")
		}
		if x.result != "" {
			write(ResultFile, x.result)
		}
		r, err := ReadSummary(folder)
		if err != nil || r.State() != x.state || r.Resumable() != x.resumable {
			t.Errorf("%s: %s, resumable %v (%v)", x.name, r.State(), r.Resumable(), err)
		}
		if last := r.Last(); (last != nil) != (x.result == "") || last != nil && last.TestLoss != 0.25 {
			t.Errorf("%s: its last epoch is %+v: of a run with a result the metrics are not read", x.name, last)
		}
		if age := time.Since(r.Updated()); age < 0 || age > time.Hour {
			t.Errorf("%s: last written %v ago", x.name, age)
		}
	}
	found, err := FindRuns(all)
	if err != nil || len(found) != 9 || !slices.IsSorted(found) {
		t.Errorf("%v, %v: want nine runs", found, err)
	}
	if one, err := FindRuns(found[0]); err != nil || !slices.Equal(one, found[:1]) {
		t.Errorf("%v, %v: want the folder itself", one, err)
	}
	if _, err := FindRuns(filepath.Join(all, "none")); !errors.Is(err, config.ErrUsage) {
		t.Errorf("%v is not ErrUsage", err)
	}
}
