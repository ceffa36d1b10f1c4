package run

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
	"hogwild/internal/machine"
)

// endEpoch carries out the boundary between two epochs, a quiet moment: all chunks are done and no worker has one. The
// weights are copied where they are, the next epoch opens, and while it trains the copy is evaluated. On cores that
// takes one which no worker has; where workers have all, they evaluate it first. To host memory the weights are copied
// only to be saved, or where a program or another node needs them there. It returns why the run ends.
func (r *coordinator) endEpoch() (end error) {
	_ = fault.Point("epoch.end")
	nodes := r.Several()
	r.Position.Seconds = r.Seconds(r.lastDone(nodes))
	if end = r.Task.Train.CheckUnchanged(); end == nil && nodes {
		end = r.snapshots.downloadAll()
	}
	if end != nil {
		r.snapshots.endJobOnPeers(end)
		return end // the epoch stays open, to be saved as one within which the run ended
	}
	r.secondHalf = r.secondHalfLoss()
	if end = r.evaluator.awaitCopy(); end != nil && nodes {
		return end // as one within which the job ended
	}
	last := int(r.Position.Epoch) >= r.Job.Asked.Epochs
	if end == nil {
		end = r.Notify(&core.Completes{Last: last})
	}
	save := last || r.snapshots.wantsSave(int(r.Position.Epoch))
	whole := save || nodes || r.Hooks.Program != nil
	if end == nil {
		if end = r.snapshots.copyWeights(whole && !nodes); end != nil {
			r.snapshots.endJobOnPeers(end)
			return end // the epoch stays open
		}
	}
	r.Opened = 0
	_, done, lost, loss := r.ProgressOfAll()
	r.Position.Examples += int64(done)
	r.Position.Lost += int64(lost)
	if end != nil {
		return end
	}
	rate := plan.NewSchedule(&r.Job.Asked, r.Job.Used.LR, r.Task.Train.Rows)
	e := rundir.EpochResult{Kind: "epoch", Epoch: int(r.Position.Epoch), Seconds: r.Position.Seconds,
		Examples: r.Position.Examples, LR: rate.At(int64(r.Position.Epoch) * int64(r.Mem.Block.Plan.N)),
		TrainLoss: loss / float64(max(done, 1)), TrainMetrics: control.Means(r.Mem.Weights.Measures)}
	for _, m := range r.Mem.Weights.Measures {
		m.Clear()
	}
	r.Position.Epoch++
	r.Position.Round, r.Position.Within = 0, false
	r.Position.Base, r.Position.BaseDone, r.Position.BaseLoss = 0, 0, 0
	// a change of the settings waits for the evaluation, which reads them
	completed := &core.Completed{Examples: done, Await: last || r.Hooks.Change != nil}
	if end = r.Notify(completed); end != nil {
		return end
	}
	r.snapshots.fill(whole, true)
	scored := r.evaluator.evaluate(e, save)
	r.snapshots.savePending = false
	if nodes || r.Hooks.Program != nil || r.Mem.Traits.SharesCores && r.Job.Asked.Workers >= machine.Cores() {
		r.Mem.Owner.Await()
		<-scored // it speaks with other nodes, which nothing else may meanwhile; or the workers have all cores
	}
	if completed.Await {
		end = r.evaluator.awaitTogether()
	}
	switch {
	case end != nil:
		return end
	case last && r.End.ScoreSkipped: // the last score is still to come, when the run is resumed
		return r.End.Cause()
	case last:
		return core.ErrDone
	}
	return r.openNext()
}

// openNext opens the next epoch.
func (r *coordinator) openNext() error {
	_ = fault.Point("epoch.open")
	if err := r.ApplyChange(); err != nil {
		return err
	}
	at := control.Monotonic() // before workers can be done with it
	r.Mem.Block.Open(r.Position.Epoch)
	for rank := range r.Mem.Workers.Capacity() {
		if r.Mem.Workers.State(rank) == workers.Gone {
			r.Mem.Block.GiveUp(rank)
		}
	}
	r.Open(at)
	r.Rounds.Open(r.Position.Epoch)
	_ = fault.Point("epoch.opened")
	return nil
}

// closed takes in that the open epoch is complete on all nodes, or the job ends.
func (r *coordinator) closed(err error) error {
	end, note := r.Rounds.Ended(err, r.snapshots.ownFolder(), r.LastGood())
	if note != "" {
		r.Report.Event("%s", note)
	}
	if end == nil {
		end = r.endEpoch()
	}
	return end
}

// tellPeers ends the job on the other nodes, if it has not ended there: before the workers of this one stop.
func (r *coordinator) tellPeers() {
	if !r.Rounds.Stopping() {
		return
	}
	if config.Interruption(r.End.Err) != nil && !r.Mem.Busy {
		// the launcher may not leave time for more
		r.snapshots.noteSave(r.snapshots.saveRound((*rundir.Snapshot).SaveAtOnce))
	}
	for r.Rounds.Stop(r.End.Err) {
		if end := r.endEpoch(); end != nil {
			r.End.Err = end
			return
		}
	}
}

// lastDone returns when the last chunk of the open epoch was done. In barrier mode an average comes after
// it, between nodes a round: just now.
func (r *coordinator) lastDone(nodes bool) (at uint64) {
	if r.Mem.Block.Plan.Barrier || nodes {
		return control.Monotonic()
	}
	for rank := range r.Mem.Workers.Capacity() {
		at = max(at, r.Mem.Block.Rank(rank, control.RankDone))
	}
	return at
}

// secondHalfLoss returns the mean loss of the second half of the open epoch, which is complete; of an epoch of one
// chunk the loss of the whole.
func (r *coordinator) secondHalfLoss() float64 {
	p, epoch := &r.Mem.Block.Plan, int(r.Mem.Block.Get(control.WordEpoch))-1
	sum, n := 0.0, 0
	for i := range p.Chunks() {
		c := p.At(epoch, i)
		state, loss := r.Mem.Block.Chunk(i)
		if state == control.ChunkDone && (p.Chunks() == 1 || c.Seen-int64(epoch)*int64(p.N) >= int64(p.N/2)) {
			sum, n = sum+loss, n+c.Count
		}
	}
	return sum / float64(n)
}
