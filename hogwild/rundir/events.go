package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hogwild/hogwild/control"
)

// EventFile is a run as TensorBoard shows it: a file in the run folder, beside
// metrics.jsonl and written when that is. Its steps are examples. A run that is resumed
// begins another one, which takes back what those before it say of later steps.
type EventFile struct{ f *os.File }

// EventPrefix begins the names of TensorBoard's files.
const EventPrefix = "events.out.tfevents."

// The fields of an Event, its Summary and SessionLog, and a Summary's Value.
const (
	EventTime, EventStep, EventVersion, EventSummary, eventSession = 1, 2, 3, 5, 7

	SummaryValue                          = 1
	ValueTag, ValueNumber, valueHistogram = 1, 2, 5
	sessionStatus, sessionStart           = 1, 1

	histogramMin, histogramMax, histogramN, histogramSum, histogramSum2, histogramLimits, histogramCounts = 1, 2, 3, 4, 5, 6, 7
)

// OpenEvents begins a file in a run folder. What is there stays when resuming a run that
// has trained so many examples, and else goes.
func OpenEvents(run string, resume bool, examples int64) (*EventFile, error) {
	e, err := &EventFile{}, error(nil)
	if !resume {
		err = removeEvents(run)
	}
	if err == nil {
		host, _ := os.Hostname() // part of the name by custom
		name := fmt.Sprintf("%s%010d.%s", EventPrefix, time.Now().Unix(), host)
		e.f, err = os.OpenFile(filepath.Join(run, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("events for TensorBoard: %w", err)
	}
	err = e.write(0, EventVersion, []byte("brain.Event:2"))
	if resume {
		var start Message
		start.Integer(sessionStatus, sessionStart)
		err = errors.Join(err, e.write(examples+1, eventSession, start))
	}
	return e, err
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

// write adds an event, of this moment, in one call.
func (e *EventFile) write(step int64, field uint64, content []byte) error {
	var m Message
	m.Double(EventTime, float64(time.Now().UnixMicro())/1e6)
	m.Integer(EventStep, step)
	m.Bytes(field, content)
	if _, err := e.f.Write(AppendRecord(nil, m)); err != nil {
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
	on := r.Judged()
	s.number(on.Set+"/loss", on.Loss)
	s.optional(on.Set+"/accuracy", on.Accuracy)
	s.optional(on.Set+"/rmse", on.RMSE)
	s.optional(on.Set+"/r2", on.R2)
	if in.StalenessSamples > 0 {
		s.histogram(stalenessHistogram(in))
	}
	for _, h := range weights {
		s.histogram(h)
	}
	return e.write(r.Examples, EventSummary, s.Message)
}

// Second adds a moment, at which the learning rate is lr.
func (e *EventFile) Second(now Status, in *control.Instruments, lr float64) error {
	var s summary
	s.number("rate/examples_per_second", now.Rate)
	for _, w := range now.Workers {
		s.number(fmt.Sprintf("worker/%d/examples_per_second", w.Rank), w.Rate)
	}
	s.number("lr", lr)
	if in.StalenessSamples > 0 {
		s.number("staleness/mean", in.StalenessMean)
		s.number("conflicts", in.Conflicts)
		s.number("lost_updates", in.LostUpdates)
	}
	return e.write(now.Examples, EventSummary, s.Message)
}

// Close closes the file.
func (e *EventFile) Close() error { return e.f.Close() }

// summary is what an event says: numbers and histograms, each under a tag.
type summary struct{ Message }

func (s *summary) number(tag string, v float64) {
	var m Message
	m.Bytes(ValueTag, []byte(tag))
	m.Float(ValueNumber, float32(v))
	s.Bytes(SummaryValue, m)
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
