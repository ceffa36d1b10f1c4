package rundir

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/control"
)

// EventFile is a run as TensorBoard shows it: a file in the run folder, next to metrics.jsonl and written when that is.
// Its steps are examples. A run that is resumed begins another one, which takes back what those before it say of later
// steps.
type EventFile struct{ growing }

// The fields of an Event, its Summary and SessionLog, and a Summary's Value.
const (
	EventTime, EventStep, EventVersion, EventSummary, eventSession = 1, 2, 3, 5, 7

	SummaryValue                          = 1
	ValueTag, ValueNumber, valueHistogram = 1, 2, 5
	sessionStatus, sessionStart           = 1, 1

	histogramMin, histogramMax, histogramN, histogramSum, histogramSum2, histogramLimits, histogramCounts = 1,
		2, 3, 4, 5, 6, 7
)

// OpenEvents begins a file in a run folder. The files that are there stay if the run has a past, else
// they are removed. Of the epochs missing the losses and scores are added: see OpenMetrics.
func OpenEvents(run string, past *Past, missing []EpochResult) (*EventFile, error) {
	var err error
	if past == nil {
		err = removeEvents(run)
	}
	e := &EventFile{}
	if err == nil {
		e.f, err = createEvents(run)
	}
	if err != nil {
		return nil, fmt.Errorf("events for TensorBoard: %w", err)
	}
	err = e.write(0, EventVersion, []byte("brain.Event:2"), true)
	if past != nil {
		var start Message
		start.Integer(sessionStatus, sessionStart)
		err = errors.Join(err, e.write(past.Examples+1, eventSession, start, true))
	}
	for _, m := range missing {
		err = errors.Join(err, e.Epoch(m, &control.Instruments{}, nil))
	}
	return e, err
}

// createEvents makes the file. Its name has the time and by custom the host, and a number if a run
// began in the same second: that one's file may end within a record.
func createEvents(run string) (*os.File, error) {
	host, _ := os.Hostname()
	name := fmt.Sprintf("%s%010d.%s", EventPrefix, time.Now().Unix(), host)
	for i, try := 2, name; ; i++ {
		f, err := os.OpenFile(filepath.Join(run, try), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
		try = fmt.Sprintf("%s.%d", name, i)
	}
}

// removeEvents removes the files of a run whose folder another one takes.
func removeEvents(run string) error {
	entries, err := os.ReadDir(run)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), EventPrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(run, entry.Name())))
		}
	}
	return err
}

// write adds an event of this moment. With owe, one that cannot be written is written before the next one.
func (e *EventFile) write(step int64, field uint64, content []byte, owe bool) error {
	var m Message
	m.Double(EventTime, float64(time.Now().UnixMicro())/1e6)
	m.Integer(EventStep, step)
	m.Bytes(field, content)
	if err := e.add(AppendRecord(nil, m), owe); err != nil {
		return fmt.Errorf("events for TensorBoard: %w", err)
	}
	return nil
}

// Epoch adds an epoch, how stale updates were until its end, and how the weights lay then.
// It is written while the next one trains: what has a tag here has none in seconds, whose
// steps are further.
func (e *EventFile) Epoch(r EpochResult, in *control.Instruments, weights []Histogram) error {
	var s summary
	s.number("train/loss", r.TrainLoss)
	s.numbers("train/", r.TrainMetrics)
	on := r.Judged()
	s.number(on.Set+"/loss", on.Loss)
	s.optional(on.Set+"/accuracy", on.Accuracy)
	s.optional(on.Set+"/rmse", on.RMSE)
	s.optional(on.Set+"/r2", on.R2)
	s.numbers(on.Set+"/", on.Metrics)
	if in.StalenessSamples > 0 && len(weights) > 0 { // histograms are large, and come seldom
		s.histogram(stalenessHistogram(in))
	}
	for _, h := range weights {
		s.histogram(h)
	}
	return e.write(r.Examples, EventSummary, s.Message, true)
}

// Second adds a moment, at which the learning rate is lr.
func (e *EventFile) Second(now Status, in *control.Instruments, lr float64) error {
	var s summary
	s.number("rate/examples_per_second", now.Rate)
	s.number("workers", float64(len(now.Workers)))
	for _, w := range now.Workers {
		s.number(fmt.Sprintf("worker/%d/examples_per_second", w.Rank), w.Rate)
	}
	s.number("lr", lr)
	if in.StalenessSamples > 0 {
		s.number("staleness/mean", in.StalenessMean)
		s.number("conflicts", in.Conflicts)
		s.number("lost_updates", in.LostUpdates)
	}
	return e.write(now.Examples, EventSummary, s.Message, false)
}

// summary is what an event says: numbers and histograms, each under a tag.
type summary struct{ Message }

func (s *summary) number(tag string, v float64) {
	var m Message
	m.Bytes(ValueTag, []byte(tag))
	m.Float(ValueNumber, float32(v))
	s.Bytes(SummaryValue, m)
}

func (s *summary) numbers(before string, metrics map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		s.number(before+name, metrics[name])
	}
}

func (s *summary) optional(tag string, v *float64) {
	if v != nil {
		s.number(tag, *v)
	}
}

func (s *summary) histogram(h Histogram) {
	var p Message
	p.Double(histogramMin, h.Min)
	p.Double(histogramMax, h.Max)
	p.Double(histogramN, h.N)
	p.Double(histogramSum, h.Sum)
	p.Double(histogramSum2, h.sum2)
	p.doubles(histogramLimits, h.Limits)
	p.doubles(histogramCounts, h.Counts)
	var m Message
	m.Bytes(ValueTag, []byte(h.tag))
	m.Bytes(valueHistogram, p)
	s.Bytes(SummaryValue, m)
}
