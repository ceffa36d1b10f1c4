package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data/text"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// Folder is the folder of a run that is going on in this process. It is locked, so no other run writes
// to it.
type Folder struct {
	Path    string
	Metrics *MetricsFile
	Events  *EventFile
	Words   *text.Vocabulary // of a text; nil of other data
	lock    *FolderLock      // nil: the file system has no locks
	made    os.FileInfo      // the folder itself, whatever its name is now
	again   os.FileInfo      // the one that was made in its place, in which not all could be written yet
}

// Claim locks a folder that exists, and nothing else. On a file system without locks it returns the
// folder and ErrNoLocks.
func Claim(path string) (*Folder, error) {
	made, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	lock, err := Lock(path)
	if err != nil && !errors.Is(err, ErrNoLocks) {
		return nil, err
	}
	return &Folder{Path: path, lock: lock, made: made}, err
}

// Open writes the settings and opens the files that grow: with a past it continues those that are there.
func (f *Folder) Open(c config.Config, past *Past) error {
	if f.lock != nil {
		if err := removeLeftovers(f.Path); err != nil {
			return err
		}
	}
	// The result is from a run which this one replaces or continues: until it ends it has none.
	if err := os.Remove(filepath.Join(f.Path, ResultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := errors.Join(f.WriteConfig(c), f.writeWords()); err != nil {
		return err
	}
	metrics, missing, err := OpenMetrics(f.Path, past)
	if err != nil {
		return err
	}
	f.Metrics = metrics
	f.Events, err = OpenEvents(f.Path, past, missing)
	return err
}

// WriteConfig writes the settings.
func (f *Folder) WriteConfig(c config.Config) error {
	c.Run = f.Path
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(f.Path, ConfigFile), text)
}

func (f *Folder) writeWords() error {
	if f.Words == nil {
		return nil
	}
	lines, _ := f.Words.File()
	return atomicfile.Write(filepath.Join(f.Path, WordsFile), lines)
}

// Mend makes again what is gone, and says what that is: the folder, if it was removed or renamed, or files that grow or
// are written once; of the lock's file it is silent. It fails if another run, or other files, have taken the place.
func (f *Folder) Mend(c config.Config, past *Past) (gone string, err error) {
	if f == nil {
		return "", nil
	}
	now, err := os.Stat(f.Path)
	same := err == nil && os.SameFile(now, f.made)
	if same && (f.lock == nil || isAt(f.lock.f, f.lock.f.Name())) {
		return f.mendFiles(c, past)
	}
	if err == nil && !same && !os.SameFile(now, f.again) {
		if err := vacant(f.Path); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(f.Path, 0o777); err != nil {
		return "", fmt.Errorf("the run folder is gone: %w", err)
	}
	n, err := Claim(f.Path)
	if err != nil && !errors.Is(err, ErrNoLocks) {
		return "", err
	}
	if same && !os.SameFile(n.made, f.made) { // it was removed a moment ago, and n is a new one
		n.Close()
		return f.Mend(c, past)
	}
	if same {
		f.lock.Release()
		f.lock = n.lock
		return f.mendFiles(c, past)
	}
	f.again, n.Words = n.made, f.Words
	if err := n.Open(c, past); err != nil {
		n.Close()
		return "", err
	}
	f.Close()
	*f = *n
	return "the run folder " + f.Path, nil
}

// vacant refuses a folder in which anything is.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if HasSnapshot(dir) {
			return fmt.Errorf("%s is the folder of another run now", dir)
		}
		if e.Name() != LockFile {
			return fmt.Errorf("%s is another folder now, with %s in it", dir, human.Quote(e.Name()))
		}
	}
	return err
}

// mendFiles makes again what is missing of the settings, words, metrics and events.
func (f *Folder) mendFiles(c config.Config, past *Past) (gone string, err error) {
	missing := func(name string) bool {
		_, err := os.Lstat(filepath.Join(f.Path, name))
		return errors.Is(err, os.ErrNotExist)
	}
	if missing(ConfigFile) {
		if err := f.WriteConfig(c); err != nil {
			return "", err
		}
		gone = filepath.Join(f.Path, ConfigFile)
	}
	if f.Words != nil && missing(WordsFile) {
		if err := f.writeWords(); err != nil {
			return gone, err
		}
		gone = filepath.Join(f.Path, WordsFile)
	}
	if f.Metrics != nil && !isAt(f.Metrics.f, f.Metrics.f.Name()) {
		m, _, err := OpenMetrics(f.Path, past)
		if err != nil {
			return gone, err
		}
		_ = f.Metrics.Close()
		f.Metrics, gone = m, m.f.Name()
	}
	if f.Events != nil && !isAt(f.Events.f, f.Events.f.Name()) {
		e, err := OpenEvents(f.Path, past, past.History)
		if err != nil {
			return gone, err
		}
		_ = f.Events.Close()
		f.Events, gone = e, cmp.Or(gone, e.f.Name())
	}
	return gone, nil
}

// Info returns the folder itself, whatever its name is now; nil for nil.
func (f *Folder) Info() os.FileInfo {
	if f == nil {
		return nil
	}
	return f.made
}

// Epoch writes an epoch's lines: the events come first, since a resumed run notices by the metrics which epochs are
// missing from both. Of nil it does nothing.
func (f *Folder) Epoch(e EpochResult, in *control.Instruments, weights []Histogram) error {
	if f == nil {
		return nil
	}
	return cmp.Or(f.Events.Epoch(e, in, weights), f.Metrics.Epoch(e))
}

// Second writes a second's lines. Of nil it does nothing.
func (f *Folder) Second(s Status, in *control.Instruments, lr float64) error {
	if f == nil {
		return nil
	}
	return cmp.Or(f.Metrics.Second(s), f.Events.Second(s, in, lr))
}

// Settle writes the lines of metrics and events that could not be written before.
func (f *Folder) Settle() error { return errors.Join(f.Metrics.Settle(), f.Events.Settle()) }

// Close closes the files and gives up the lock. Of nil it does nothing.
func (f *Folder) Close() {
	if f == nil {
		return
	}
	if f.Events != nil {
		_ = f.Events.Close() // every record was written, and checked, by its own call
	}
	if f.Metrics != nil {
		_ = f.Metrics.Close()
	}
	f.lock.Release()
}
