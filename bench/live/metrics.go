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

// steps is when the workers, by rank, and the whole run last trained an example, as far as
// the metrics tell.
type steps map[int]progress

// wholeRun is its place among the steps.
const wholeRun = -1

// progress is a number of examples, and since when it has been that.
type progress struct {
	examples int64
	since    time.Time
}

// look takes in what the tail has read.
func (s steps) look(t *tail, now time.Time) {
	note := func(who int, examples int64) {
		if was, ok := s[who]; !ok || was.examples != examples {
			s[who] = progress{examples, now}
		}
	}
	note(wholeRun, t.examples())
	if t.seconds.last != nil {
		for _, w := range t.seconds.last.Workers {
			note(w.Rank, w.Examples)
		}
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

// single is a family of one sample.
func (x *exposition) single(name, kind, help string, v float64) {
	x.family(name, kind, help)
	x.sample(name, "", v)
}

// workers is a family with a sample of each worker.
func (x *exposition) workers(name, kind, help string, all []rundir.WorkerStatus,
	value func(w rundir.WorkerStatus) float64) {
	x.family(name, kind, help)
	for _, w := range all {
		x.sample(name, fmt.Sprintf(`{rank="%d"}`, w.Rank), value(w))
	}
}

// metrics is the run at this moment. What is not known yet is left out.
func (s *server) metrics() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look() // the page may not have been looked after for a second
	age := func(who int) float64 { return s.now().Sub(s.steps[who].since).Seconds() }
	var x exposition
	x.single("examples_total", "counter", "Examples trained since the start of the run.", float64(s.tail.examples()))
	x.single("last_step_age_seconds", "gauge", "Seconds since the run last trained an example.", age(wholeRun))
	x.single("run_ended", "gauge", "1 after the run has ended.", one(s.ended))
	if e := s.tail.epochs.last; e != nil {
		x.scores(e)
	}
	if now := s.tail.seconds.last; now != nil {
		x.moment(now)
		x.workers("worker_last_step_age_seconds", "gauge", "Seconds since a worker last trained an example.",
			now.Workers,
			func(w rundir.WorkerStatus) float64 { return age(w.Rank) })
	}
	return x.Bytes()
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// scores is the last epoch that was evaluated.
func (x *exposition) scores(e *rundir.EpochResult) {
	x.family("loss", "gauge", "Mean loss of the last evaluated epoch.")
	x.sample("loss", `{set="train"}`, e.TrainLoss)
	on := e.Judged()
	x.sample("loss", fmt.Sprintf(`{set="%s"}`, on.Set), on.Loss)
	optional := func(name, help string, value *float64) {
		if value != nil {
			x.single(name, "gauge", help, *value)
		}
	}
	optional("accuracy", "Accuracy on the "+on.Set+" set.", on.Accuracy)
	optional("rmse", "Root mean squared error on the "+on.Set+" set.", on.RMSE)
	optional("r2", "R squared on the "+on.Set+" set.", on.R2)
}

// moment is the last second.
func (x *exposition) moment(s *rundir.Status) {
	x.single("epoch", "gauge", "Current epoch, from 1.", float64(s.Epoch))
	x.single("epochs", "gauge", "Number of epochs of the run.", float64(s.Epochs))
	x.single("examples_per_second", "gauge", "Throughput of all workers, smoothed over about two seconds.", s.Rate)
	x.single("rollbacks_total", "counter", "Rollbacks to the last good snapshot after divergence.",
		float64(s.Rollbacks))
	x.workers("worker_examples_total", "counter", "Examples trained by a worker since the start of the run.", s.Workers,
		func(w rundir.WorkerStatus) float64 { return float64(w.Examples) })
	x.workers("worker_restarts_total", "counter", "Restarts of a worker.", s.Workers,
		func(w rundir.WorkerStatus) float64 { return float64(w.Restarts) })
	x.workers("worker_up", "gauge", "1 while a worker trains or waits, 0 while it starts or is dead.", s.Workers,
		func(w rundir.WorkerStatus) float64 { return one(w.State == "training" || w.State == "waiting") })
	samples, staleness, lost := 0.0, 0.0, 0.0
	for _, w := range s.Workers {
		if w.Instruments != nil {
			n := float64(w.StalenessSamples)
			samples, staleness, lost = samples+n, staleness+n*w.StalenessMean, lost+n*w.LostUpdates
		}
	}
	if samples > 0 {
		x.single("staleness_mean", "gauge", "Mean number of updates by other workers between a step's read of the "+
			"weights and its write.", staleness/samples)
		x.single("lost_updates", "gauge", "Estimated share of writes that overwrite another worker's update.",
			lost/samples)
	}
}

// look takes in what the folder has that is new. s.mu is held.
func (s *server) look() {
	if err := s.tail.read(); err != nil {
		return // the next look may do better; until then the age of the last step grows
	}
	s.steps.look(&s.tail, s.now())
}
