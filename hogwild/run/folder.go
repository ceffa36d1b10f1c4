package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// FreshRun returns the run folder that a run of c would choose now. (Where the model is chosen
// by the data, it names that too.)
func FreshRun(c config.Config) string {
	if folder := cmp.Or(c.Run, c.Resume); folder != "" {
		return folder
	}
	return freshFolder(filepath.Join("runs", time.Now().Format("20060102-150405")+"-"+runName(&c)))
}

// claimFolder locks the run folder, if it is there, before anything in it is read: no other process may write to it
// then.
func claimFolder(r *core.Run) error {
	dir := cmp.Or(r.Job.Asked.Run, r.Job.Asked.Resume)
	if !r.Peers.First() {
		return nil
	}
	if info, err := os.Stat(dir); dir == "" || err != nil || !info.IsDir() {
		return nil // it is made, or refused, later
	}
	if r.Job.Asked.Resume == "" && r.Rollback == nil && !rundir.HasSnapshot(dir) {
		if err := ofRuns(dir); err != nil {
			return err
		}
	}
	return inFolder(lockFolder(r, dir))
}

// Vacant returns an error if a new run cannot have the folder that it names: what comes before the run would be in
// vain.
func Vacant(c *config.Config) error {
	info, err := os.Stat(c.Run)
	switch {
	case c.Run == "" || errors.Is(err, os.ErrNotExist):
		return nil
	case err == nil && !info.IsDir():
		err = &os.PathError{Op: "mkdir", Path: c.Run, Err: syscall.ENOTDIR}
	case err == nil && rundir.HasSnapshot(c.Run):
		err = occupied(c.Run)
	case err == nil:
		return ofRuns(c.Run)
	}
	return inFolder(err)
}

// ofRuns refuses a folder with files that no run has written.
func ofRuns(dir string) error {
	name, err := rundir.Stranger(dir)
	if err == nil && name != "" {
		err = config.Usage("%s holds %s and is no run folder: name another one with --run", dir, human.Quote(name))
	}
	return inFolder(err)
}

// occupied returns the error of a folder with a run.
func occupied(dir string) error {
	return fmt.Errorf("%s holds a run already: resume it with --resume %s", dir, human.ShellPath(dir))
}

// lockFolder locks a run folder that exists.
func lockFolder(r *core.Run, dir string) (err error) {
	r.Folder, err = rundir.Claim(dir)
	if errors.Is(err, rundir.ErrNoLocks) {
		r.Report.Event("run folder %s: %v; do not start a second run in it", dir, err)
		return nil
	}
	return err
}

// inFolder says of an error that it is one of the run folder.
func inFolder(err error) error {
	if err == nil || errors.Is(err, config.ErrUsage) {
		return err
	}
	return config.Usage("run folder: %w; choose another with --run", err)
}

// makeFolder makes and locks the folder of a new run. A name that the run has chosen for itself belongs to the
// one that makes the folder first.
func makeFolder(r *core.Run) error {
	for r.Folder == nil {
		dir := FreshRun(r.Job.Asked)
		if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
			return err
		}
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, os.ErrExist) {
			if r.Job.Asked.Run == "" {
				continue
			}
			if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
				err = nil
			} else if statErr == nil {
				err = &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
			}
		}
		if err != nil {
			return err
		}
		if err := lockFolder(r, dir); err != nil {
			return err
		}
	}
	return nil
}

// runName returns a folder's name from what is trained on what.
func runName(c *config.Config) string {
	name := filepath.Base(c.Data) + "-" + c.Model
	if c.Program != "" {
		name = scriptName(c.Program)
		if c.Data != data.None {
			name = filepath.Base(c.Data) + "-" + name
		}
	}
	return strings.Trim(notInNames.ReplaceAllString(name, "-"), "-.")
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// freshFolder returns a name that is not taken.
func freshFolder(name string) string {
	for i, try := 2, name; ; i++ {
		if _, err := os.Lstat(try); errors.Is(err, os.ErrNotExist) {
			return try
		}
		try = fmt.Sprintf("%s-%d", name, i)
	}
}

// scriptName returns the name of a program's script, without its folder and ending, for the run folder.
func scriptName(line string) string {
	words, err := program.Words(line)
	if err != nil {
		return model.ProgramName
	}
	name := words[0]
	for _, word := range words[1:] {
		if filepath.Ext(word) != "" && !strings.HasPrefix(word, "-") {
			name = word
			break
		}
	}
	name = filepath.Base(name)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// prepareFolder makes the run folder, unless it is there, and what belongs in it from the start. Of several nodes only
// the first has one.
func prepareFolder(r *core.Run) error {
	if !r.Peers.First() {
		return nil
	}
	return inFolder(openFolder(r))
}

func openFolder(r *core.Run) error {
	if err := makeFolder(r); err != nil {
		return err
	}
	r.Dir, r.Job.Asked.Run = r.Folder.Path, r.Folder.Path
	if r.Job.Asked.Resume != r.Dir && r.Rollback == nil && rundir.HasSnapshot(r.Dir) {
		return occupied(r.Dir)
	}
	var past *rundir.Past
	if r.Job.Asked.Resume != "" || r.Rollback != nil {
		past = r.Past()
	}
	if t := r.Task.Train.Text; t != nil {
		r.Folder.Words = t.Vocabulary
	}
	if err := r.Folder.Open(r.Job.Asked, past); err != nil {
		return err
	}
	return r.Notify(&core.Folder{})
}
