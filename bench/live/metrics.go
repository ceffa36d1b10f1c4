package live

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"hogwild/hogwild/rundir"
)

// The text format of Prometheus, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// steps is when a run and its workers last trained an example, as far as the metrics tell.
type steps struct {
	run     progress
	workers []progress // by rank
}

// progress is a number of examples, and since when it has been that.
type progress struct {
	examples int64
	since    time.Time
}

func (p *progress) look(examples int64, now time.Time) {
	if examples != p.examples || p.since.IsZero() {
		*p = progress{examples, now}
	}
}

// look takes in what the tail has read.
func (s *steps) look(t *tail, now time.Time) {
	s.run.look(t.examples(), now)
	if t.seconds.last == nil {
		return
	}
	for _, w := range t.seconds.last.Workers {
		for w.Rank >= len(s.workers) {
			s.workers = append(s.workers, progress{since: now})
		}
		s.workers[w.Rank].look(w.Examples, now)
	}
}

// exposition is what Prometheus reads: families of samples, each with its help.
type exposition struct{ bytes.Buffer }

func (x *exposition) family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP hogwild_%s %s\n# TYPE hogwild_%[1]s %[3]s\n", name, help, kind)
}

// sample is one of a family's; labels are empty or in braces.
func (x *exposition) sample(name, labels string, v float64) {
	fmt.Fprintf(x, "hogwild_%s%s %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
}

// gauge is a family of one sample.
func (x *exposition) gauge(name, help string, v float64) {
	x.family(name, "gauge", help)
	x.sample(name, "", v)
}

// workers is a family with a sample of each worker.
func (x *exposition) workers(name, kind, help string, all []rundir.WorkerStatus, value func(w rundir.WorkerStatus) float64) {
	x.family(name, kind, help)
	for _, w := range all {
		x.sample(name, rankLabel(w.Rank), value(w))
	}
}

func rankLabel(rank int) string { return fmt.Sprintf(`{rank="%d"}`, rank) }

// metrics is the run at this moment. What is not known yet is left out.
func (s *server) metrics() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look() // the page may not have been looked after for a second
	var x exposition
	x.family("examples_total", "counter", "Examples trained since the start of the run.")
	x.sample("examples_total", "", float64(s.tail.examples()))
	x.gauge("last_step_age_seconds", "Time since the number of examples last grew.", s.now().Sub(s.steps.run.since).Seconds())
	ended := 0.0
	if s.ended {
		ended = 1
	}
	x.gauge("run_ended", "1 when the run is over.", ended)
	if e := s.tail.epochs.last; e != nil {
		x.scores(e)
	}
	if now := s.tail.seconds.last; now != nil {
		x.moment(now)
		x.family("worker_last_step_age_seconds", "gauge", "Time since the number of examples of a worker last grew.")
		for _, w := range now.Workers {
			x.sample("worker_last_step_age_seconds", rankLabel(w.Rank), s.now().Sub(s.steps.workers[w.Rank].since).Seconds())
		}
	}
	return x.Bytes()
}

// scores is the last epoch that was evaluated.
func (x *exposition) scores(e *rundir.EpochResult) {
	x.family("loss", "gauge", "Mean loss of the last epoch that was evaluated.")
	x.sample("loss", `{set="train"}`, e.TrainLoss)
	x.sample("loss", `{set="test"}`, e.TestLoss)
	for _, score := range []struct {
		name, help string
		value      *float64
	}{
		{"accuracy", "Share of the test set that is predicted right.", e.TestAccuracy},
		{"rmse", "Root of the mean squared error on the test set.", e.TestRMSE},
		{"r2", "Share of the test set's variance that is explained.", e.TestR2},
	} {
		if score.value != nil {
			x.gauge(score.name, score.help, *score.value)
		}
	}
}

// moment is the last second.
func (x *exposition) moment(s *rundir.Status) {
	x.gauge("epoch", "The epoch under way, from 1.", float64(s.Epoch))
	x.gauge("epochs", "Epochs that are to be trained.", float64(s.Epochs))
	x.gauge("examples_per_second", "Speed of all workers over the last moment.", s.Rate)
	x.workers("worker_examples_total", "counter", "Examples that a worker has trained since the start of the run.", s.Workers,
		func(w rundir.WorkerStatus) float64 { return float64(w.Examples) })
	x.workers("worker_restarts_total", "counter", "Times that a worker died and was started again.", s.Workers,
		func(w rundir.WorkerStatus) float64 { return float64(w.Restarts) })
	x.workers("worker_up", "gauge", "1 while a worker trains or waits, 0 while it starts or is gone.", s.Workers, up)
	samples, staleness, lost := 0.0, 0.0, 0.0
	for _, w := range s.Workers {
		if w.Instruments != nil {
			n := float64(w.StalenessSamples)
			samples, staleness, lost = samples+n, staleness+n*w.StalenessMean, lost+n*w.LostUpdates
		}
	}
	if samples > 0 {
		x.gauge("staleness_mean", "Updates by others between a step's read of the weights and its write, mean over the run.", staleness/samples)
		x.gauge("lost_updates", "Share of writes that overwrite the update of another worker, an estimate from samples.", lost/samples)
	}
}

func up(w rundir.WorkerStatus) float64 {
	switch w.State {
	case "starting", "restarting", "gone":
		return 0
	}
	return 1
}
