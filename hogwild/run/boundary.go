package run

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/fault"
	"hogwild/internal/machine"
)

// endEpoch is the boundary between two epochs, a quiet moment: all chunks are done and nobody has
// one. The weights are copied where they are, the next epoch opens, and while it trains the copy is evaluated. On cores
// that takes one which no worker has; where workers have all, those evaluate it first. To host memory the weights
// come only to be saved, or where a program or another node needs them there. It returns why the run ends.
func (r *coordinator) endEpoch() (end error) {
	_ = fault.Point("epoch.end")
	r.position.Seconds = r.seconds(r.lastDone())
	if end = r.train.Changed(); end == nil && r.several() {
		end = r.download()
	}
	if end != nil {
		r.tell(end)
		return end // the epoch stays open, to be saved as one within which the run ended
	}
	r.secondHalf = r.secondHalfLoss()
	if end = r.awaitCopy(); end != nil && r.several() {
		return end // as one within which the job ended
	}
	last := int(r.position.Epoch) >= r.job.Asked.Epochs
	if !last {
		r.recount(fewSamples)
	}
	save := last || r.wantsSave(int(r.position.Epoch))
	whole := save || r.several() || r.evaluator != nil
	if end == nil {
		if end = r.keepCopy(whole && !r.several()); end != nil {
			r.tell(end)
			return end // the epoch stays open
		}
	}
	r.opened = 0
	_, done, lost, loss := r.progressOfAll()
	r.position.Examples += int64(done)
	r.position.Lost += int64(lost)
	if end != nil {
		return end
	}
	rate := plan.NewSchedule(&r.job.Asked, r.job.Used.LR, r.train.Rows)
	e := rundir.EpochResult{Kind: "epoch", Epoch: int(r.position.Epoch), Seconds: r.position.Seconds, Examples: r.position.Examples,
		LR: rate.At(int64(r.position.Epoch) * int64(r.block.Plan.N)), TrainLoss: loss / float64(max(done, 1)), TrainMetrics: r.trainMetrics()}
	for _, m := range r.mem.Measures {
		m.Clear()
	}
	r.position.Epoch++
	r.position.Round, r.position.Within = 0, false
	r.position.Base, r.position.BaseDone, r.position.BaseLoss = 0, 0, 0
	if done > 0 {
		r.tellUnused()
	}
	r.capture(whole, true)
	scored := r.evaluate(e, save)
	r.due = false
	if r.several() || r.evaluator != nil || r.job.Asked.GPU == "" && r.job.Asked.Workers >= machine.Cores() {
		r.owner.Await()
		<-scored // it speaks with other nodes, and nobody else may meanwhile; or there is no core for it beside the workers
	}
	if last || score.StopSetting(&r.job.Asked) != "" || r.scaling != nil {
		end = r.awaitTogether() // whether to go on depends on it, or it reads the settings that are to change
	}
	switch {
	case end != nil:
		return end
	case last && r.late: // the last score is still to come, when the run is resumed
		return r.cause()
	case last:
		return errDone
	}
	return r.openNext()
}

// openNext opens the next epoch.
func (r *coordinator) openNext() error {
	_ = fault.Point("epoch.open")
	if r.scaling != nil {
		epoch := r.position.Epoch
		if err := r.rescale(control.Start{Epoch: epoch, Rounds: r.block.Before(epoch)}); err != nil {
			return err
		}
	}
	at := control.Monotonic() // before workers can be done with it
	r.block.Open(r.position.Epoch)
	for rank := range r.workers.Most() {
		if r.workers.Gone(rank) {
			r.block.GiveUp(rank)
		}
	}
	r.opened = at
	r.rounds.Open(r.position.Epoch)
	_ = fault.Point("epoch.opened")
	r.halted.opened(at)
	return nil
}

// closed takes in that the open epoch is complete on all nodes, or the job ends.
func (r *coordinator) closed(err error) error {
	end, note := r.rounds.Ended(err, r.ownFolder(), r.lastGood())
	if note != "" {
		r.report.Event("%s", note)
	}
	if end == nil {
		end = r.endEpoch()
	}
	return end
}

// tellPeers ends the job on the other nodes, if it has not ended there: before the workers of this one stop.
func (r *coordinator) tellPeers() {
	if !r.rounds.Stopping() {
		return
	}
	if config.Interruption(r.ended) != nil && !r.busy {
		r.noteSave(r.saveRound((*rundir.Snapshot).SaveAtOnce)) // the launcher may not leave time for more
	}
	for r.rounds.Stop(r.ended) {
		if end := r.endEpoch(); end != nil {
			r.ended = end
			return
		}
	}
}
