package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hogwild/internal/fault"
)

// The files of a run folder. Those up to ConfigFile are replaced atomically: whoever reads one finds
// the old or the new, never half of either. The metrics grow line by line, and TensorBoard's events,
// whose names begin with EventPrefix, record by record.
const (
	WeightsFile  = "weights.safetensors"       // the weights alone, as PyTorch names and shapes them; of the best epoch: see Best
	SnapshotFile = "snapshot.safetensors"      // all that is needed to continue
	PreviousFile = "snapshot.prev.safetensors" // the snapshot before it
	ResultFile   = "result.json"               // the result, once the run has ended
	ConfigFile   = "config.yaml"               // its settings
	MetricsName  = "metrics.jsonl"             // a line for each epoch and each second
)

// EventPrefix begins the names of TensorBoard's files.
const EventPrefix = "events.out.tfevents."

// HasSnapshot tells whether a folder has a snapshot, the newest or the one before.
func HasSnapshot(dir string) bool {
	for _, name := range []string{SnapshotFile, PreviousFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// keepPrevious gives the newest snapshot the name of the previous one too, before another file takes
// its name: so at every moment one of the two names leads to a whole snapshot.
func keepPrevious(dir string) error {
	newest, previous := filepath.Join(dir, SnapshotFile), filepath.Join(dir, PreviousFile)
	if err := fault.Point("snapshot.link"); err != nil {
		return err
	}
	link := temporaryName(newest)
	err := os.Link(newest, link)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // this is the first
	case err != nil: // some file systems have no links
		err = os.Rename(newest, previous)
	default:
		err = os.Rename(link, previous)
		_ = os.Remove(link) // rename leaves both of two names of one file
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
		for _, name := range []string{WeightsFile, SnapshotFile, ResultFile, ConfigFile, MetricsName} {
			if strings.HasPrefix(e.Name(), name+".") && strings.HasSuffix(e.Name(), temporaryEnding) {
				err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
	}
	return err
}
