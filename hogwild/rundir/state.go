package rundir

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// State is how a run ended.
type State string

// The states of a run.
const (
	Running     State = "live"
	Done        State = "done"
	Interrupted State = "interrupted" // by Ctrl-C, SIGTERM or SIGHUP, and saved
	Diverged    State = "diverged"
	Failed      State = "failed"
	Unfinished  State = "unfinished" // no result: it was killed
)

// State reports whether the run is going on, or how it ended.
func (r *Recorded) State() State {
	if _, live := Live(r.Folder); live {
		return Running
	}
	return r.Ended()
}

// Ended returns the State of a run that does not go on.
func (r *Recorded) Ended() State {
	if r.Result == nil {
		return Unfinished
	}
	if r.Result.interrupted() {
		return Interrupted
	}
	switch r.Result.Stopped {
	case StoppedDiverged:
		return Diverged
	case StoppedFailed:
		return Failed
	}
	return Done // a target that was reached too
}

// Resumable reports whether --resume can continue the run as it stands.
func (r *Recorded) Resumable() bool {
	if state := r.State(); state == Running || state == Done || state == Diverged {
		return false
	}
	return HasSnapshot(r.Folder)
}

// Last returns the run's last epoch; nil before it has ended.
func (r *Recorded) Last() *EpochResult {
	if n := len(r.Epochs); n > 0 {
		return &r.Epochs[n-1]
	}
	return nil
}

// Outcome returns how far the run has got: its result, or what its last epoch and its last moment say.
func (r *Recorded) Outcome() *Result {
	if r.Result != nil {
		return r.Result
	}
	e, now := EpochResult{TrainLoss: math.NaN(), Tested: Tested{TestLoss: math.NaN()}}, Status{}
	if last := r.Last(); last != nil {
		e = *last
	}
	if n := len(r.Seconds); n > 0 {
		now = r.Seconds[n-1]
	}
	return &Result{Epochs: e.Epoch, Seconds: max(e.Seconds, now.Seconds), Examples: max(e.Examples, now.Examples),
		Batch:  r.Config.AskedBatch(),
		LRUsed: cmp.Or(e.LR, r.Config.LR), TrainLoss: e.TrainLoss, Tested: e.Tested}
}

// Updated returns when the run ended; if it has no result, when it last wrote something.
func (r *Recorded) Updated() time.Time {
	if r.Result != nil && !r.Result.Time.IsZero() {
		return r.Result.Time
	}
	var last time.Time
	for _, name := range []string{ConfigFile, MetricsName, SnapshotFile} {
		if info, err := os.Stat(filepath.Join(r.Folder, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last.UTC().Truncate(time.Second)
}

// FindRuns lists the run folders in a folder, or the folder itself if it is one. The error
// matches config.ErrUsage.
func FindRuns(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, config.Usage("%s: %w: give a folder with run folders in it", folder, err)
	}
	is := func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, ConfigFile))
		return err == nil
	}
	if is(folder) {
		return []string{folder}, nil
	}
	var runs []string
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); is(path) {
			runs = append(runs, path)
		}
	}
	return runs, nil
}

// Ask asks the run that is live in a folder. Of DoStop it returns when the run has ended. An error that the run answers
// with matches config.ErrUsage, and so does the error for a folder without a live run.
func Ask(dir string, q Request) (Answer, error) {
	a, err := ask(dir, q)
	if none := (silent{}); errors.As(err, &none) {
		err = notLive(dir, none.error)
	}
	return a, err
}

// notLive says why no run answers in a folder.
func notLive(dir string, why error) error {
	r, err := ReadSummary(dir)
	switch {
	case err != nil && !errors.Is(why, fs.ErrNotExist) && !errors.Is(why, syscall.ENOTDIR):
		// somebody else's socket, for one
		return config.Usage("%s: %w", dir, why)
	case err != nil:
		return config.Usage("%w; hogwild runs lists runs and their states", err)
	case r.State() == Running:
		return config.Usage("%s: the run does not take requests: %w", dir, why)
	case r.Resumable():
		return config.Usage("%s: that run has ended (%s); hogwild train --resume %s continues it", dir, r.State(),
			human.ShellPath(dir))
	}
	return config.Usage("%s: that run has ended (%s); hogwild runs lists runs and their states", dir, r.State())
}
