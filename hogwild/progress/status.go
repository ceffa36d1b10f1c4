package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
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

// stateLeft is the state of a worker that has ended because there are fewer now.
const stateLeft = "left"

// workerStatus returns the status of each worker at this moment, but for its speed.
func workerStatus(r *core.Run) []rundir.WorkerStatus {
	var all []rundir.WorkerStatus
	for rank := range r.Mem.Workers.Capacity() {
		w := rundir.WorkerStatus{Rank: rank, PID: int(r.Mem.Block.Rank(rank, control.RankPID)),
			State:    control.StateNames[r.Mem.Block.Rank(rank, control.RankState)%uint64(len(control.StateNames))],
			Examples: int64(r.Mem.Block.Rank(rank, control.RankExamples)), Restarts: r.Mem.Workers.Restarts(rank)}
		switch r.Mem.Workers.State(rank) {
		case workers.Gone:
			w.State = control.StateNames[control.StateGone] // whatever its stand-in is doing
		case workers.Left:
			w.State = stateLeft
		case workers.Leaving: // there may be more again, and it stays
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

// header shows what is about to be trained.
func (a *ability) header(r *core.Run) {
	if r.Options.Dashboard != "" { // quiet or not: the port cannot be guessed
		r.Report.Warn("dashboard " + r.Options.Dashboard)
	}
	r.Report.Start(top(r)...)
	lines := r.Job.Header()
	if text := r.Job.MergeText(); text != "" && r.Job.Asked.Workers > 1 {
		lines = append([]string{text}, lines...)
	}
	for _, line := range append(lines, r.Job.Changes()...) {
		r.Report.Say(line)
	}
}

// top returns what the display shows at the top.
func top(r *core.Run) []string {
	c, m := &r.Job.Asked, r.Task.Train.Meta
	what := fmt.Sprintf("%d x %d %s, %s", m.Rows, m.Features, m.Kind, m.ScaleText())
	if n := len(m.Classes); n > 0 {
		what += fmt.Sprintf(", %d classes", n)
	}
	if r.Task.Validation != nil {
		what += fmt.Sprintf("), validation set of %d (%s", r.Task.Validation.Rows, c.Validation)
	}
	on := fmt.Sprintf("%s (%s), test set of %d", c.Data, what, r.Task.Test.Rows)
	if m.OfProgram() {
		on = fmt.Sprintf("its own data of %d examples, test set of %d", m.Rows, c.Layout.TestRows)
	}
	head := []string{fmt.Sprintf("%s on %s", cmp.Or(c.Program, c.Model), on),
		fmt.Sprintf("%s, %s, batch %d, %s, lr %g; run folder %s", c.Mode, rundir.WorkersText(c.AllNodes(), c.Workers),
			r.Job.Used.Batch, c.Optimizer, c.LR, r.Dir)}
	for _, note := range notes(r) {
		head = append(head, "note: "+note)
	}
	return head
}

// notes returns what the user should know of the data, the device and the processor.
func notes(r *core.Run) []string {
	// one that hangs has none
	device, _ := core.CallDevice(r.Mem, r.Mem.CopyTimeout(),
		func() ([]string, error) { return r.Mem.Owner.Notes(), nil })
	notes := slices.Clone(r.Task.Train.Notes)
	for _, note := range r.Task.Test.Notes {
		notes = append(notes, "test set: "+note)
	}
	if r.Task.Validation != nil {
		for _, note := range r.Task.Validation.Notes {
			notes = append(notes, "validation set: "+note)
		}
	}
	return append(notes, device...)
}
