package progress

import (
	"slices"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
)

// status returns the run at this moment.
func (a *ability) status(r *core.Run) rundir.Status {
	epoch := int(r.Mem.Block.Get(control.WordEpoch))
	s := rundir.Status{Kind: "second", Epoch: epoch, Epochs: r.Job.Asked.Epochs,
		Seconds: r.Seconds(control.Monotonic()),
		Total:   int64(r.Mem.Block.Plan.N) * int64(r.Job.Asked.Epochs), Last: r.Last, Rollbacks: r.Position.Rollbacks}
	_, done, _, loss := r.ProgressOfAll()
	s.Examples = r.Position.Examples
	if r.Opened != 0 {
		s.Examples += int64(done)
		if done > 0 {
			mean := loss / float64(done)
			s.TrainLoss = &mean
			s.TrainMetrics = control.Means(r.Mem.Weights.Measures)
		}
	}
	passed := max(time.Since(a.lastPoll).Seconds(), 1e-3)
	a.lastPoll = time.Now()
	s.Workers = slices.DeleteFunc(workerStatus(r), func(w rundir.WorkerStatus) bool {
		return w.State == stateLeft
	})
	for i := range s.Workers {
		w := &s.Workers[i]
		w.Rate = a.rates[w.Rank].Next(w.Examples, passed)
		s.Rate += w.Rate
	}
	return s
}

// stateLeft is that of a worker that has ended because there are fewer now.
const stateLeft = "left"

// workerStatus is each of them at this moment, but for its speed.
func workerStatus(r *core.Run) []rundir.WorkerStatus {
	var all []rundir.WorkerStatus
	for rank := range r.Mem.Workers.Most() {
		w := rundir.WorkerStatus{Rank: rank, PID: int(r.Mem.Block.Rank(rank, control.RankPID)),
			State:    control.StateNames[r.Mem.Block.Rank(rank, control.RankState)%uint64(len(control.StateNames))],
			Examples: int64(r.Mem.Block.Rank(rank, control.RankExamples)), Restarts: r.Mem.Workers.Restarts(rank)}
		switch {
		case r.Mem.Workers.Gone(rank):
			w.State = control.StateNames[control.StateGone] // whatever its stand-in is doing
		case r.Mem.Workers.Left(rank):
			w.State = stateLeft
		case r.Mem.Workers.Leaving(rank): // there may be more again, and it stays
			w.State = "leaving"
		}
		waited := float64(r.Mem.Block.Rank(rank, control.RankWaited)) / 1e9
		w.Instruments = r.Mem.Weights.Records[rank].Instruments(waited)
		w.StalenessHistogram = nil // of each worker and each second it is too much
		all = append(all, w)
	}
	return all
}

// shares adds up the workers of each device, in the order of ranks; nil if there is one
// device only.
func shares(r *core.Run, workers []rundir.WorkerStatus) (all []rundir.Share) {
	total := int64(0)
	for _, w := range workers {
		device := r.Mem.Owner.Where(w.Rank)
		i := slices.IndexFunc(all, func(s rundir.Share) bool { return s.Device == device })
		if i < 0 {
			i = len(all)
			all = append(all, rundir.Share{Device: device})
		}
		all[i].Examples += w.Examples
		total += w.Examples
	}
	if len(all) < 2 {
		return nil
	}
	for i := range all {
		all[i].Share = float64(all[i].Examples) / float64(max(total, 1))
	}
	return all
}
