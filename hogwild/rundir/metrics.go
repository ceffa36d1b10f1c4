package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MetricsFile is metrics.jsonl in the run folder: one JSON object a line, of kind
// "epoch" or "second". A run that is resumed from before its end repeats epochs: the
// last line of an epoch is the one that counts.
type MetricsFile struct{ f *os.File }

// OpenMetrics begins the file of a run folder, or goes on with it when resuming. A
// line that was cut off by the end of the process is then removed.
func OpenMetrics(run string, resume bool) (*MetricsFile, error) {
	path := filepath.Join(run, MetricsName)
	whole := int64(0) // bytes to keep
	if resume {
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading the metrics to continue: %w", err)
		}
		whole = int64(bytes.LastIndexByte(old, '\n') + 1)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if err := f.Truncate(whole); err != nil {
		f.Close()
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &MetricsFile{f}, nil
}

// Epoch adds the line of an epoch.
func (m *MetricsFile) Epoch(e EpochResult) error {
	e.Kind = "epoch"
	return m.line(e)
}

// Second adds the line of a moment.
func (m *MetricsFile) Second(s Status) error {
	s.Kind = "second"
	return m.line(s)
}

// line writes in one call, so that another process that reads sees whole lines.
func (m *MetricsFile) line(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = m.f.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Close closes the file.
func (m *MetricsFile) Close() error { return m.f.Close() }
