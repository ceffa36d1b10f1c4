package hogwild

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// eventFile is a run as TensorBoard shows it: a file in the run folder, beside
// metrics.jsonl and written when that is. Its steps are examples. A run that is resumed
// begins another one, which takes back what those before it say of later steps.
type eventFile struct{ f *os.File }

const eventPrefix = "events.out.tfevents."

// The fields of an Event, its Summary and SessionLog, and a Summary's Value.
const (
	eventTime, eventStep, eventVersion, eventSummary, eventSession = 1, 2, 3, 5, 7

	summaryValue                          = 1
	valueTag, valueNumber, valueHistogram = 1, 2, 5
	sessionStatus, sessionStart           = 1, 1

	histogramMin, histogramMax, histogramN, histogramSum, histogramSum2, histogramLimits, histogramCounts = 1, 2, 3, 4, 5, 6, 7
)

// openEvents begins a file in a run folder. What is there stays when resuming a run that
// has trained so many examples, and else goes.
func openEvents(run string, resume bool, examples int64) (*eventFile, error) {
	e, err := &eventFile{}, error(nil)
	if !resume {
		err = removeEvents(run)
	}
	if err == nil {
		host, _ := os.Hostname() // part of the name by custom
		name := fmt.Sprintf("%s%010d.%s", eventPrefix, time.Now().Unix(), host)
		e.f, err = os.OpenFile(filepath.Join(run, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("events for TensorBoard: %w", err)
	}
	err = e.write(0, eventVersion, []byte("brain.Event:2"))
	if resume {
		var start message
		start.integer(sessionStatus, sessionStart)
		err = errors.Join(err, e.write(examples+1, eventSession, start))
	}
	return e, err
}

// removeEvents removes the files of a run whose folder another one takes.
func removeEvents(run string) error {
	entries, err := os.ReadDir(run)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), eventPrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(run, entry.Name())))
		}
	}
	return err
}

// write adds an event, of this moment, in one call.
func (e *eventFile) write(step int64, field uint64, content []byte) error {
	var m message
	m.double(eventTime, float64(time.Now().UnixMicro())/1e6)
	m.integer(eventStep, step)
	m.bytes(field, content)
	if _, err := e.f.Write(appendRecord(nil, m)); err != nil {
		return fmt.Errorf("events for TensorBoard: %w", err)
	}
	return nil
}

// epoch adds an epoch, how stale updates were until its end, and how the weights lay then.
// It is written while the next one trains: what has a tag here has none in seconds, whose
// steps are further.
func (e *eventFile) epoch(r EpochResult, in *Instruments, weights []histogram) error {
	var s summary
	s.number("train/loss", r.TrainLoss)
	s.number("test/loss", r.TestLoss)
	s.optional("test/accuracy", r.TestAccuracy)
	s.optional("test/rmse", r.TestRMSE)
	s.optional("test/r2", r.TestR2)
	if in.StalenessSamples > 0 {
		s.histogram(stalenessHistogram(in))
	}
	for _, h := range weights {
		s.histogram(h)
	}
	return e.write(r.Examples, eventSummary, s.message)
}

// second adds a moment, at which the learning rate is lr.
func (e *eventFile) second(now Status, in *Instruments, lr float64) error {
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
	return e.write(now.Examples, eventSummary, s.message)
}

func (e *eventFile) close() error { return e.f.Close() }

// summary is what an event says: numbers and histograms, each under a tag.
type summary struct{ message }

func (s *summary) number(tag string, v float64) {
	var m message
	m.bytes(valueTag, []byte(tag))
	m.float(valueNumber, float32(v))
	s.bytes(summaryValue, m)
}

func (s *summary) optional(tag string, v *float64) {
	if v != nil {
		s.number(tag, *v)
	}
}

func (s *summary) histogram(h histogram) {
	var p message
	p.double(histogramMin, h.min)
	p.double(histogramMax, h.max)
	p.double(histogramN, h.n)
	p.double(histogramSum, h.sum)
	p.double(histogramSum2, h.sum2)
	p.doubles(histogramLimits, h.limits)
	p.doubles(histogramCounts, h.counts)
	var m message
	m.bytes(valueTag, []byte(h.tag))
	m.bytes(valueHistogram, p)
	s.bytes(summaryValue, m)
}
