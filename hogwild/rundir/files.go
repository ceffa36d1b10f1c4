package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
)

// The files of a run folder. Those up to ConfigFile are replaced atomically: a reader finds the old one or the new,
// never half of either. The metrics grow line by line, and TensorBoard's events, whose names begin with EventPrefix,
// record by record.
const (
	// the weights alone, as PyTorch names and shapes them; of the best epoch: see Best
	WeightsFile  = "weights.safetensors"
	SnapshotFile = "snapshot.safetensors"      // all that is needed to continue
	PreviousFile = "snapshot.prev.safetensors" // the snapshot before it
	ResultFile   = "result.json"               // the result, once the run has ended
	ConfigFile   = "config.yaml"               // its settings
	WordsFile    = "words.txt"                 // of a text: its vocabulary, a word and its count in each line
	MetricsName  = "metrics.jsonl"             // a line for each epoch and each second
	SocketFile   = "control.sock"              // where a live run takes requests, from its own user and root alone
)

// EventPrefix begins the names of TensorBoard's files.
const EventPrefix = "events.out.tfevents."

// lacks says why a folder has no such file.
func lacks(folder, name string) string {
	if _, err := os.Stat(filepath.Join(folder, ConfigFile)); err != nil {
		return "it is no run folder: it has neither " + ConfigFile + " nor " + name + "; hogwild runs lists run folders"
	}
	return "no " + name + " in it: the run ended before it first saved; start a new one"
}

// Stranger returns the first file of a folder that is of no run: what begins there would mix with it, or replace it. A
// hidden file does not count, nor one to which this process prints. "" if there is none.
func Stranger(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !ofRun(dir, e) {
			return e.Name(), nil
		}
	}
	return "", err
}

func ofRun(dir string, e os.DirEntry) bool {
	path, name := filepath.Join(dir, e.Name()), e.Name()
	if strings.HasPrefix(name, ".") || name == SocketFile {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, out := range []*os.File{os.Stdout, os.Stderr} {
		if to, err := out.Stat(); err == nil && os.SameFile(to, info) {
			return true
		}
	}
	switch name {
	case ConfigFile, WordsFile, MetricsName, ResultFile, PreviousFile:
		return true
	case WeightsFile:
		is, err := atomicfile.Is(path, atomicfile.Weights)
		return is && err == nil
	case "report.html":
		is, err := atomicfile.Is(path, atomicfile.Page)
		return is && err == nil
	}
	worker, _ := filepath.Match("worker-*.log", name)
	program, _ := filepath.Match("program-*.log", name)
	return worker || program || strings.HasPrefix(name, EventPrefix) || isLeftover(name)
}

// isLeftover reports by its name whether a file is what a process left that was killed while it saved.
func isLeftover(name string) bool {
	for _, file := range []string{WeightsFile, SnapshotFile, ResultFile, ConfigFile, WordsFile, MetricsName} {
		if strings.HasPrefix(name, file+".") && strings.HasSuffix(name, atomicfile.Ending) {
			return true
		}
	}
	return false
}

// HasSnapshot reports whether a folder has a snapshot, the newest or the one before.
func HasSnapshot(dir string) bool {
	for _, name := range []string{SnapshotFile, PreviousFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// keepPrevious gives the newest snapshot of an open folder the name of the previous one too, before another file takes
// its name: so at every moment one of the two names leads to a whole snapshot.
func keepPrevious(dir int) error {
	if err := fault.Point("snapshot.link"); err != nil {
		return err
	}
	const link = SnapshotFile + ".link" + atomicfile.Ending
	_ = unix.Unlinkat(dir, link, 0) // of a process that was killed
	err := unix.Linkat(dir, SnapshotFile, dir, link, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // this is the first
	case err != nil: // some file systems have no links
		err = unix.Renameat(dir, SnapshotFile, dir, PreviousFile)
	default:
		err = unix.Renameat(dir, link, dir, PreviousFile)
		_ = unix.Unlinkat(dir, link, 0) // rename leaves both of two names of one file
	}
	if err == nil {
		err = fault.Point("snapshot.linked")
	}
	return err
}

// removeLeftovers removes what processes that were killed while they saved have left in a folder.
// Only the holder of its lock may do so.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if isLeftover(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
