package run

import (
	"context"
	"runtime/debug"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// NewCoordinator and its methods below are what tests from outside need of a coordinator that Run has not made.
func NewCoordinator(c config.Config, o Options) *coordinator { return newCoordinator(c, o) }

// CarryOut carries the run out.
func (r *coordinator) CarryOut(ctx context.Context) (rundir.Result, error) { return r.run(ctx) }

// Prepare does what comes before the workers.
func (r *coordinator) Prepare() error { return r.prepare() }

// Kill kills workers.
func (r *coordinator) Kill(p ...*workers.Process) { r.crew.Kill(p...) }

// Halt stops all workers.
func (r *coordinator) Halt() { r.crew.halt() }

// Close gives back what the run has.
func (r *coordinator) Close() { r.close() }

// CountsEvery is the least time between two histograms of the weights.
const CountsEvery = countsEvery

// Hurry has saves at the end tried again once only, until it is taken back.
func Hurry() (back func()) {
	was := keepWaits
	keepWaits = keepWaits[:1]
	return func() { keepWaits = was }
}

func RaceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
