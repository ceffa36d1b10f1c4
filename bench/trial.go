package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// trialFile is what a run's folder holds of it once it has ended.
const trialFile = "trial.json"

// mostJSON is how many bytes the results of a run or of an experiment may have.
const mostJSON = 256 << 20

// trial is a run of a case as its folder has it: by what, and what came of it.
type trial struct {
	Case     string         `json:"case"`
	Settings []Setting      `json:"settings"`
	Launcher string         `json:"launcher,omitempty"`
	Version  string         `json:"version"`
	Commit   string         `json:"commit"`
	Machine  rundir.Machine `json:"machine"`
	Time     time.Time      `json:"time"` // of the start
	Config   config.Config  `json:"config"`
	Run
}

// done reports whether there is nothing to run again: a run that diverged would do so again.
func (t *trial) done() bool { return t != nil && (t.Failed == "" || t.Diverged) }

// folder returns the folder of a run.
func (r *Runner) folder(c Case, seed uint64) string {
	return filepath.Join(r.Folder, cmp.Or(r.part, "runs"), fmt.Sprintf("%s.%d", c.Name, seed))
}

// trials returns the trials of a plan that the folder holds, by case and seed; nil: none that is
// still worth anything.
func (r *Runner) trials(p Plan) [][]*trial {
	all, here := make([][]*trial, len(p.Cases)), rundir.ThisMachine()
	for i, c := range p.Cases {
		for _, seed := range p.Seeds {
			t, err := readTrial(r.folder(c, seed))
			if err != nil || !t.of(c, seed, here) {
				t = nil // it is run again
			}
			all[i] = append(all[i], t)
		}
	}
	return all
}

// of reports whether a trial is what this program would measure here.
func (t *trial) of(c Case, seed uint64, here rundir.Machine) bool {
	return t.Seed == seed && SameSettings(t.Settings, c.All()) && t.Launcher == c.Launcher &&
		t.Version == config.Version && t.Commit == rundir.Commit() &&
		t.Machine.CPU == here.CPU && t.Machine.Cores == here.Cores
}

func readTrial(folder string) (*trial, error) {
	text, err := atomicfile.Read(filepath.Join(folder, trialFile), mostJSON)
	if err != nil {
		return nil, err
	}
	t := &trial{}
	return t, json.Unmarshal(text, t)
}

// run runs a case once, with a folder for the data that it shares with others, "" for none. What it leaves is read back
// from the disk, so that an experiment that was interrupted is put together from the same as one that was not.
func (w *work) run(ctx context.Context, c Case, seed uint64, kept string) (*trial, error) {
	folder := w.folder(c, seed)
	if err := os.RemoveAll(folder); err != nil { // of another program or other settings, or cut off
		return nil, err
	}
	t := &trial{Case: c.Name, Settings: c.All(), Launcher: c.Launcher, Version: config.Version,
		Commit: rundir.Commit(), Machine: rundir.ThisMachine(), Time: time.Now().UTC().Truncate(time.Millisecond),
		Run: Run{Seed: seed}}
	start := time.Now()
	how, err := w.train(ctx, c, seed, folder, kept)
	t.Took = time.Since(start).Seconds()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	t.Failed, t.Diverged = how.failed, how.diverged
	t.collect(folder, w.keeps(seed))
	if err := os.MkdirAll(folder, 0o777); err != nil { // a program that failed may not have made it
		return nil, err
	}
	if err := WriteFile(filepath.Join(folder, trialFile),
		func(w io.Writer) error { return human.WriteJSON(w, t) }); err != nil {
		return nil, err
	}
	return readTrial(folder)
}

// keeps reports whether runs with a seed keep their weights until the best case is known: of a sweep those with the
// first one.
func (w *work) keeps(seed uint64) bool {
	return w.plan.Kind == "sweep" && w.part == "" && seed == w.plan.Seeds[0]
}

// collect takes in what the run has left in its folder. Its weights are dropped unless they are to be kept: among
// thousands of runs they are not looked at, and the settings and the seed make them again.
func (t *trial) collect(folder string, keep bool) {
	drop := []string{rundir.SnapshotFile, rundir.PreviousFile, rundir.LockFile, rundir.SocketFile}
	if !keep {
		drop = append(drop, rundir.WeightsFile)
	}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name := e.Name(); slices.Contains(drop, name) || strings.HasSuffix(name, atomicfile.Ending) {
			_ = os.Remove(filepath.Join(folder, name)) // some are of a run that was killed
		}
	}
	left, err := rundir.ReadRun(folder)
	switch {
	case err == nil:
		t.Config, t.History = left.Config, left.Epochs
		if t.Failed == "" {
			t.Result = left.Result
		}
	case t.Failed == "":
		t.Failed = err.Error()
	}
	if t.Failed == "" && t.Result == nil {
		t.Failed = "exited without a result"
	}
}

// WriteFile writes a file that readers find whole, the old one or the new one, whatever happens to
// this process or the machine.
func WriteFile(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return atomicfile.Write(path, text.Bytes())
}

// forget drops what the folder holds of the plan.
func (w *work) forget() error {
	for i, c := range w.plan.Cases {
		for j, seed := range w.plan.Seeds {
			err := os.Remove(filepath.Join(w.folder(c, seed), trialFile))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			w.trials[i][j] = nil
		}
	}
	return nil
}
