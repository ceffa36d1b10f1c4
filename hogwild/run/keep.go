package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// finalSaver saves what a run leaves behind.
type finalSaver struct {
	*core.Run
	snapshots *snapshotter
	finalCopy bool          // the copy is of the run's end, and is to be kept
	age       time.Duration // of the copy in host memory when the run ended
	elsewhere error         // where the run is saved, if the folder cannot be written
}

// keepWaits are the pauses after which a failed save at the end of a run is tried again.
var keepWaits = []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}

// keep writes what a run leaves behind to its folder, which the first node has. While that fails it tries again. If all
// tries fail, it saves the whole run to another folder.
func (r *finalSaver) keep(write func() error) error {
	if !r.Peers.First() {
		return nil
	}
	err := r.tryKeep(write)
	for i, wait := range keepWaits {
		if err == nil {
			return nil
		}
		if i == 0 {
			r.Report.Event("%v; trying again", err)
		}
		time.Sleep(wait)
		err = r.tryKeep(write)
	}
	if err == nil || !r.finalCopy {
		return err
	}
	if also := r.keepElsewhere(err, write); also != nil {
		return fmt.Errorf("%w; and elsewhere: %w", err, also)
	}
	return nil
}

func (r *finalSaver) tryKeep(write func() error) error {
	if err := r.snapshots.mend(); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return r.Folder.Settle()
}

// keepElsewhere makes a run folder among the temporary files and saves the run there: its own cannot be written, for
// a cause.
func (r *finalSaver) keepElsewhere(cause error, write func() error) error {
	name := strings.ReplaceAll(filepath.Base(r.Dir), "*", "-")
	dir, err := os.MkdirTemp("", fmt.Sprintf("hogwild-%s-%d-*", name, os.Getpid()))
	if err != nil {
		return err
	}
	folder, err := rundir.Claim(dir)
	if err == nil || errors.Is(err, rundir.ErrNoLocks) {
		folder.Words = r.Folder.Words
		err = folder.Open(r.Job.Asked, r.Past())
	}
	if err == nil {
		r.Copy.Within = folder.Info()
		err = r.Copy.Save(dir, r.Task.Params, r.Task.Trained)
	}
	if err != nil {
		folder.Close()
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.Folder.Close()
	r.Folder, r.Dir, r.Job.Asked.Run = folder, dir, dir
	r.elsewhere = fmt.Errorf("%w: %w; the whole run is in %s: continue it with --resume %s", config.ErrElsewhere, cause,
		dir, human.ShellPath(dir))
	return write()
}

// saveLast saves the run as of the last round, when the job ends within an epoch.
func (r *finalSaver) saveLast() {
	_, done, lost, _ := r.ProgressOfAll()
	r.finalCopy = true
	r.Failed(r.keep(func() error { return r.snapshots.saveRound((*rundir.Snapshot).Save) }))
	r.Position.Examples += int64(done)
	r.Position.Lost += int64(lost)
}

// saveHostCopy saves the weights of the host copy. A snapshot that is there stays, for it is
// exact and these are of some moment within an epoch: the run resumes from it. Where there
// is none they make one, that begins the epoch again.
func (r *finalSaver) saveHostCopy() error {
	r.Position.Within, r.Position.Round = false, 0
	r.snapshots.fill(true, false)
	if i := device.NotFiniteAt(r.Copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the copy in host memory is %v: the copy is not saved (%s)", i, r.Copy.W[i],
			r.LastGood())
	}
	what, save := "--resume continues from the previous snapshot",
		func() error { return r.Copy.SaveWeights(r.Dir, r.Task.Params, r.Task.Trained) }
	if !rundir.HasSnapshot(r.Dir) {
		what, save = fmt.Sprintf("--resume continues with them at the start of epoch %d", r.Position.Epoch),
			r.snapshots.saveCopy
	}
	if err := r.keep(save); err != nil {
		return err
	}
	r.Report.Event("the weights cannot be read back from the GPU: saved the copy in host memory, from %.1f s before "+
		"the run ended; %s",
		r.age.Seconds(), what)
	return nil
}

// saveBetween saves a run that ended between two epochs, if the last was not saved, or not with success.
func (r *finalSaver) saveBetween() error {
	if !r.snapshots.whole {
		if err := r.snapshots.snapshot(); err != nil {
			r.Failed(err)
			return r.saveHostCopy()
		}
	}
	return r.keep(r.snapshots.saveCopy)
}

// saveResult writes result.json, and the run once more if its folder was removed after the last save.
func (r *finalSaver) saveResult(res *rundir.Result) error {
	r.snapshots.savePending = false
	return r.keep(func() error {
		if r.snapshots.savePending && r.finalCopy {
			if err := r.snapshots.saveCopy(); err != nil {
				return err
			}
		}
		res.Run = r.Dir
		var text bytes.Buffer
		if err := res.WriteJSON(&text); err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(r.Dir, rundir.ResultFile), text.Bytes()); err != nil {
			return fmt.Errorf("the result could not be saved: %w", err)
		}
		return nil
	})
}
