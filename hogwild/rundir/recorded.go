package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
)

// Recorded is what a run folder holds of a run: its settings, what it came to and how it
// went. It may be read while the run goes on.
type Recorded struct {
	Folder  string        `json:"folder"`
	Config  config.Config `json:"config"`
	Result  *Result       `json:"result,omitempty"` // result.json; nil: the run has not ended yet, or was killed
	Epochs  []EpochResult `json:"epochs"`           // of each epoch the last line
	Seconds []Status      `json:"seconds"`          // moments, a second apart
}

// ReadRun reads a run folder: config.yaml, metrics.jsonl and, if the run has ended,
// result.json. Of the lines of metrics.jsonl that a run has which was resumed from before
// its end, those count that came last; one that is not whole yet is left out. Errors match
// ErrUsage.
func ReadRun(folder string) (*Recorded, error) {
	r, err := readSettings(folder)
	if err == nil {
		err = r.readMetrics()
	}
	if err == nil {
		err = r.readResult()
	}
	return r, err
}

// Glance is ReadRun without the metrics of a run that has a result: they can be long.
func Glance(folder string) (*Recorded, error) {
	r, err := readSettings(folder)
	if err == nil {
		err = r.readResult()
	}
	if err == nil && r.Result == nil {
		err = r.readMetrics()
	}
	return r, err
}

func readSettings(folder string) (*Recorded, error) {
	r := &Recorded{Folder: folder, Config: config.Default()}
	text, err := atomicfile.Read(filepath.Join(folder, ConfigFile), MostYAML)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, config.Usage("%s is not a run folder: %w", folder, err)
	case err != nil:
		return nil, config.Usage("run folder %s: %w", folder, err)
	}
	if err := UnmarshalYAML(text, &r.Config); err != nil {
		return nil, config.Usage("%s: not the settings of a run: %w", filepath.Join(folder, ConfigFile), err)
	}
	return r, nil
}

// readResult reads result.json, if it is there.
func (r *Recorded) readResult() error {
	path := filepath.Join(r.Folder, ResultFile)
	text, err := atomicfile.Read(path, mostJSON)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	r.Result = &Result{}
	if err == nil {
		err = json.Unmarshal(text, r.Result)
	}
	if err != nil {
		return config.Usage("%s: not the result of a run: %w", path, err)
	}
	r.Result.History = r.Epochs
	return nil
}

// readMetrics reads metrics.jsonl.
func (r *Recorded) readMetrics() error {
	path := filepath.Join(r.Folder, MetricsName)
	text, err := atomicfile.Read(path, mostMetrics)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a run that has just begun has none
		return config.Usage("run folder %s: %w", r.Folder, err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		if n++; line[len(line)-1] != '\n' {
			break
		}
		if err := r.add(line); err != nil {
			return config.Usage("%s:%d: not a line of metrics: %w", path, n, err)
		}
	}
	return nil
}

// add takes in a line, and forgets those of the same time or later: the run was resumed
// from before them.
func (r *Recorded) add(line []byte) error {
	e, s, err := ReadMetric(line)
	switch {
	case e != nil:
		r.Epochs = append(before(r.Epochs, func(o EpochResult) bool { return o.Epoch < e.Epoch }), *e)
	case s != nil:
		r.Epochs = before(r.Epochs, func(o EpochResult) bool { return o.Examples <= s.Examples })
		r.Seconds = append(before(r.Seconds, func(o Status) bool { return o.Examples <= s.Examples }), *s)
	}
	return err
}

// ReadMetric reads a line of metrics.jsonl: an epoch, or a moment.
func ReadMetric(line []byte) (*EpochResult, *Status, error) {
	var is struct{ Kind string }
	if err := json.Unmarshal(line, &is); err != nil {
		return nil, nil, err
	}
	switch is.Kind {
	case "epoch":
		e := &EpochResult{}
		if err := json.Unmarshal(line, e); err != nil {
			return nil, nil, err
		}
		return e, nil, nil
	case "second":
		s := &Status{}
		if err := json.Unmarshal(line, s); err != nil {
			return nil, nil, err
		}
		return nil, s, nil
	}
	return nil, nil, fmt.Errorf("of kind %q", is.Kind)
}

// before is a list without those at its end that do not come before what is added.
func before[T any](list []T, comes func(T) bool) []T {
	for len(list) > 0 && !comes(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	return list
}
