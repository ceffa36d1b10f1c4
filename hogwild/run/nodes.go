package run

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// several reports whether the run is one node of a job.
func (r *task) several() bool { return r.peers.Name() != "" }

// startRounds begins the rounds with other nodes.
func (r *epochs) startRounds() (err error) {
	r.rounds, err = r.peers.Start(Core{Job: &r.job, Block: r.block, Mem: r.mem, Owner: r.owner,
		Ask:      func(call func() error) error { return onDevice(r.ask(r.patience, call)) },
		Complete: r.complete,
		Diverged: func(what error) error { return divergence{what, r.lowerRate()} },
	}, r.resumed, &r.position)
	return err
}

// settleJob decides what the run decides for itself, the same on all nodes.
func (r *task) settleJob(own error) error {
	var data []string
	if own == nil {
		data = []string{r.train.Checksum, r.test.Checksum, fmt.Sprint(r.train.Rows)}
	}
	note, err := r.peers.Settle(&r.job, data, own, r.choose)
	if note != "" {
		r.report.event("%s", note)
	}
	return err
}

// lostPeers adds to an error that the connection to other nodes is lost what to do.
func (r *task) lostPeers(err error) error { return r.peers.Lost(err, r.ownFolder()) }

// ownFolder is the run folder; "" on nodes that have none.
func (r *task) ownFolder() string {
	if r.folder == nil {
		return ""
	}
	return r.dir
}

// closed takes in that the open epoch is complete on all nodes, or the job ends.
func (r *coordinator) closed(err error) error {
	end, note := r.rounds.Ended(err, r.ownFolder(), r.lastGood())
	if note != "" {
		r.report.event("%s", note)
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

// tell ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (r *task) tell(err error) { _ = r.peers.Together(func() error { return err }) }

// lastRound takes one with the other nodes, after the workers have stopped.
func (r *epochs) lastRound() error {
	var diverged error // while they stopped
	if errors.Is(r.ended, config.ErrDiverged) {
		diverged = r.ended
	}
	return r.rounds.Last(r.position.Epoch, diverged)
}

// saveLast saves the run as of the last round, when the job ends within an epoch.
func (r *saver) saveLast() {
	_, done, lost, _ := r.progressOfAll()
	r.good = true
	r.failed(r.keep(func() error { return r.saveRound((*rundir.Snapshot).Save) }))
	r.position.Examples += int64(done)
	r.position.Lost += int64(lost)
}

// captureRound copies the last round into the snapshot.
func (r *saver) captureRound() {
	r.capture(true, false)
	r.rounds.Capture(&r.copy, true)
}

// saveRound saves the last round, on node 0.
func (r *saver) saveRound(save func(s *rundir.Snapshot, dir string, params, trained []model.Param) error) error {
	if !r.peers.First() {
		return nil
	}
	if err := r.mend(); err != nil {
		return err
	}
	r.captureRound()
	if i := device.NotFiniteAt(r.copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the last round is %v: it is not saved (%s)", i, r.copy.W[i], r.lastGood())
	}
	return save(&r.copy, r.dir, r.params, r.trained)
}

// saveSoon saves the last round while training continues.
func (r *saver) saveSoon() {
	if !r.peers.First() || r.busy || r.opened == 0 {
		return
	}
	save := r.saving()
	r.captureRound()
	r.busy = true
	go func() {
		i, w := device.NotFiniteAt(r.copy.W), r.copy.W
		is := evaluation{err: r.finite(i, w[max(i, 0)], &rundir.EpochResult{Epoch: int(r.position.Epoch), LR: r.job.Used.LR})}
		if is.saves = is.err == nil; is.saves {
			is.unsaved = save()
		}
		r.evaluated <- is
	}()
}

// progressOfAll is progress of all nodes.
func (r *epochs) progressOfAll() (left, done, lost int, loss float64) {
	done, lost, loss, several := r.rounds.Progress()
	if !several {
		return r.progress()
	}
	at := &r.position
	return 0, done + at.BaseDone, lost + at.Base - at.BaseDone, loss + at.BaseLoss
}
