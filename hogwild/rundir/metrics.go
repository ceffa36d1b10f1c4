package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hogwild/internal/atomicfile"
)

// MetricsFile is metrics.jsonl in the run folder: one JSON object a line, of kind "epoch" or "second".
type MetricsFile struct{ growing }

// Past is the part of a run that is over when it is resumed.
type Past struct {
	History  []EpochResult
	Examples int64 // trained
}

// OpenMetrics begins the file of a run folder, or with a past continues it. Lines of what was trained
// after the past, and lost, are then removed, and so is a line that was cut off by the end of a process.
// Epochs whose lines are missing get them, and are returned: a process was killed before it wrote these.
func OpenMetrics(run string, past *Past) (m *MetricsFile, missing []EpochResult, err error) {
	path, mode := filepath.Join(run, MetricsName), os.O_TRUNC
	if past != nil {
		mode = 0
		missing, err = past.mendMetrics(path)
	}
	m = &MetricsFile{}
	if err == nil {
		m.f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|mode, 0o666)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	return m, missing, nil
}

// mendMetrics replaces the file by one with the lines that belong to the past.
func (p *Past) mendMetrics(path string) (missing []EpochResult, err error) {
	old, err := atomicfile.Read(path, mostMetrics)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the file to continue: %w", err)
	}
	text, missing, err := p.mend(string(old))
	if err == nil && text != string(old) {
		err = atomicfile.Write(path, []byte(text))
	}
	return missing, err
}

// metric is a line of metrics.jsonl. Of kinds that this version does not know only the text is.
type metric struct {
	text   string
	epoch  *EpochResult
	second *Status
}

// mend returns the lines of the past: the file's, and in their places the missing ones.
func (p *Past) mend(old string) (text string, missing []EpochResult, err error) {
	var lines []metric
	there, known := map[int]bool{}, map[int]bool{} // epochs
	for line := range strings.Lines(old) {
		if !strings.HasSuffix(line, "\n") || !json.Valid([]byte(line)) {
			continue
		}
		e, s, _ := ReadMetric([]byte(line))
		if e != nil {
			there[e.Epoch] = true
		}
		lines = append(lines, metric{line, e, s})
	}
	for _, e := range p.History {
		known[e.Epoch] = true
		if !there[e.Epoch] {
			missing = append(missing, e)
		}
	}
	var b strings.Builder
	left := missing
	add := func(before func(EpochResult) bool) {
		for err == nil && len(left) > 0 && before(left[0]) {
			var line []byte
			line, err = epochLine(left[0])
			b.Write(line)
			left = left[1:]
		}
	}
	for _, l := range lines {
		switch e, s := l.epoch, l.second; {
		case e != nil && !known[e.Epoch], s != nil && s.Examples > p.Examples:
			continue
		case e != nil:
			add(func(m EpochResult) bool { return m.Epoch < e.Epoch })
		case s != nil:
			add(func(m EpochResult) bool { return m.Examples < s.Examples })
		}
		b.WriteString(l.text)
	}
	add(func(EpochResult) bool { return true })
	return b.String(), missing, err
}

// Epoch adds the line of an epoch. If that fails it is tried again with the next line.
func (m *MetricsFile) Epoch(e EpochResult) error {
	line, err := epochLine(e)
	return m.line(line, true, err)
}

// Second adds the line of a moment.
func (m *MetricsFile) Second(s Status) error {
	s.Kind = "second"
	line, err := json.Marshal(s)
	return m.line(append(line, '\n'), false, err)
}

func (m *MetricsFile) line(text []byte, owe bool, err error) error {
	if err == nil {
		err = m.add(text, owe)
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// epochLine returns the line of an epoch.
func epochLine(e EpochResult) ([]byte, error) {
	e.Kind = "epoch"
	text, err := json.Marshal(e)
	return append(text, '\n'), err
}
