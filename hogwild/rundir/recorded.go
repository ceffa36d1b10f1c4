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
	Epochs  []EpochResult `json:"epochs"`
	Seconds []Status      `json:"seconds"` // moments, a second apart
}

// ReadRun reads a run folder: config.yaml, metrics.jsonl and, if the run has ended,
// result.json. A line of metrics.jsonl that is not whole yet is left out. Errors match ErrUsage.
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

// ReadSummary does as ReadRun without the metrics of a run that has a result: they can be long.
func ReadSummary(folder string) (*Recorded, error) {
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
	text, err := config.ReadYAML(filepath.Join(folder, ConfigFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, config.Usage("%s is not a run folder: %w", folder, err)
	case err != nil:
		return nil, config.Usage("run folder %s: %w", folder, err)
	}
	if err := config.UnmarshalYAML(text, &r.Config); err != nil {
		return nil, config.Usage("%s: not the settings of a run: %w", filepath.Join(folder, ConfigFile), err)
	}
	return r, nil
}

// How many bytes other files of a run folder may have.
const (
	mostJSON    = 256 << 20
	mostMetrics = 4 << 30 // weeks of seconds
)

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
	if err == nil && !r.Result.Detail.complete() {
		err = errors.New("its confusion matrix does not have a row and a column for each class")
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
		switch e, s, err := ReadMetric(line); {
		case err != nil:
			return config.Usage("%s:%d: not a line of metrics: %w", path, n, err)
		case e != nil:
			r.Epochs = append(r.Epochs, *e)
		default:
			r.Seconds = append(r.Seconds, *s)
		}
	}
	return nil
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
