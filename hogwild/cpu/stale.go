package cpu

import (
	"hogwild/hogwild/clock"
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// stale is what --stale adds to a worker: it counts how late each update is, a step in place or a merge of a copy, and
// scales it by a rule. Nil: nobody counts, and updates are written as they are.
//
// An update is late by those that others have written since the weights were read: the sampler's counts of all ranks.
// These are of steps. So of merges they are divided by the steps between two, and rounded up: 0 is that nobody else has
// written. What is written while this worker writes is not seen; of a copy it counts at the next merge.
//
// If an update is dropped, the worker goes back to where the one before ended: its examples are trained again, once.
type stale struct {
	sample *sampler
	rule   *clock.Scaler
	every  uint64           // steps of an update
	from   uint64           // updates of the others when the weights were read
	again  bool             // the examples at hand are trained for the second time
	undone bool             // the update at hand was dropped, and the worker has not gone back yet
	sofar  plan.ChunkResult // of the chunk at hand, when the update before ended
	queue  []int32          // what was left then
}

// newStale is nil without a rule. A copy is merged at the end of a chunk at the latest.
func newStale(c *tuning.Job, chunk int, sample *sampler) *stale {
	if c.Asked.Stale.Kind == config.Plain {
		return nil
	}
	every := min(max(1, c.Used.MergeEvery), plan.CeilDiv(chunk, c.Used.Batch))
	s := &stale{sample: sample, rule: clock.NewScaler(c.Asked.Stale, c.Asked.Workers), every: uint64(every)}
	s.read()
	return s
}

// read says that the weights are read from here on.
func (s *stale) read() {
	if s != nil {
		s.from = s.sample.others()
	}
}

// scale counts the n steps at hand, and is by what they are scaled; 0: drop them. The next are read from here on.
func (s *stale) scale(n int) (rho float64) {
	if s == nil {
		return 1
	}
	from := s.from
	s.read()
	rho = s.rule.Of(int((s.from - from + s.every - 1) / s.every))
	s.undone = rho == 0 && !s.again
	switch s.again = s.undone; {
	case s.undone:
		s.sample.record.Ruled(control.RecordRepeated, n, 0)
	case rho == 0:
		s.sample.record.Ruled(control.RecordDropped, n, 0)
	default:
		s.sample.record.Ruled(control.RecordApplied, n, rho)
	}
	return rho
}

// mark says that an update ends where the device is in its chunk, or that a chunk begins there.
func (s *stale) mark(y plan.ChunkResult, queue []int32) {
	if s != nil {
		s.sofar, s.queue = y, queue
	}
}

// shrink scales what the copy has learnt since its last merge, of centred weights in the form of merges.
func (l *localCopy) shrink(rho float32) {
	if rho == 1 {
		return
	}
	if c := l.center; c != nil {
		c.ToMerged(l.mine, c.mean)
		defer c.ToLocal(l.mine, c.mean)
	}
	for i, was := range l.base {
		l.mine[i] = was + rho*(l.mine[i]-was)
	}
}
