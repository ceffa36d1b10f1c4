package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// keepWaits are the pauses after which a failed save at the end of a run is tried again.
var keepWaits = []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}

// keep writes what a run leaves behind to its folder, which the first node has. While that fails it tries again. If all
// tries fail, it saves the whole run to another folder.
func (r *saver) keep(write func() error) error {
	if !r.peers.First() {
		return nil
	}
	err := r.tryKeep(write)
	for i, wait := range keepWaits {
		if err == nil {
			return nil
		}
		if i == 0 {
			r.report.Event("%v; trying again", err)
		}
		time.Sleep(wait)
		err = r.tryKeep(write)
	}
	if err == nil || !r.good {
		return err
	}
	if also := r.keepElsewhere(err, write); also != nil {
		return fmt.Errorf("%w; and elsewhere: %w", err, also)
	}
	return nil
}

func (r *saver) tryKeep(write func() error) error {
	if err := r.mend(); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return r.folder.Settle()
}

// keepElsewhere makes a run folder among the temporary files and saves the run there: its own cannot be written, for
// a cause.
func (r *saver) keepElsewhere(cause error, write func() error) error {
	name := strings.ReplaceAll(filepath.Base(r.dir), "*", "-")
	dir, err := os.MkdirTemp("", fmt.Sprintf("hogwild-%s-%d-*", name, os.Getpid()))
	if err != nil {
		return err
	}
	folder, err := rundir.Claim(dir)
	if err == nil || errors.Is(err, rundir.ErrNoLocks) {
		err = folder.Open(r.job.Asked, r.past())
	}
	if err == nil {
		r.copy.Within = folder.Info()
		err = r.copy.Save(dir, r.params, r.trained)
	}
	if err != nil {
		folder.Close()
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.folder.Close()
	r.folder, r.dir, r.job.Asked.Run = folder, dir, dir
	r.elsewhere = fmt.Errorf("%w: %w; the whole run is in %s: continue it with --resume %s", config.ErrElsewhere, cause, dir, human.ShellWord(dir))
	return write()
}

// saveLast saves the run as of the last round, when the job ends within an epoch.
func (r *saver) saveLast() {
	_, done, lost, _ := r.progressOfAll()
	r.good = true
	r.failed(r.keep(func() error { return r.saveRound((*rundir.Snapshot).Save) }))
	r.position.Examples += int64(done)
	r.position.Lost += int64(lost)
}

// saveHostCopy saves the weights of the host copy. A snapshot that is there stays, for it is
// exact and these are of some moment within an epoch: the run resumes from it. Where there
// is none they make one, that begins the epoch again.
func (r *saver) saveHostCopy() error {
	r.position.Within, r.position.Round = false, 0
	r.capture(true, false)
	if i := device.NotFiniteAt(r.copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the copy in host memory is %v: the copy is not saved (%s)", i, r.copy.W[i], r.lastGood())
	}
	what, save := "--resume continues from the previous snapshot", func() error { return r.copy.SaveWeights(r.dir, r.params, r.trained) }
	if !rundir.HasSnapshot(r.dir) {
		what, save = fmt.Sprintf("--resume continues with them at the start of epoch %d", r.position.Epoch), r.saveCopy
	}
	if err := r.keep(save); err != nil {
		return err
	}
	r.report.Event("the weights cannot be read back from the GPU: saved the copy in host memory, from %.1f s before the run ended; %s",
		r.age.Seconds(), what)
	return nil
}

// saveBetween saves a run that ended between two epochs, the last of which was not saved, or not with success.
func (r *saver) saveBetween() error {
	if !r.whole {
		if err := r.copyRun(); err != nil {
			r.failed(err)
			return r.saveHostCopy()
		}
	}
	return r.keep(r.saveCopy)
}
