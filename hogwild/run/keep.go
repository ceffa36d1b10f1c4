package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hogwild/hogwild/config"
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
			r.report.event("%v; trying again", err)
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
