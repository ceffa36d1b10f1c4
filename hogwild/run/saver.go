package run

import (
	"errors"
	"fmt"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// snapshotter has the copy of the weights in host memory: between two epochs it is taken, and evaluated and saved while
// workers train on.
type snapshotter struct {
	*core.Run
	evaluated   chan evaluation // at most one evaluation is in flight, or one save
	copied      time.Time       // when the weights were last copied to host memory
	whole       bool            // the copy has all that a snapshot needs
	captured    time.Time       // when it was made
	saved       time.Time       // when it was last saved, or the run began
	cost        time.Duration   // of that
	counted     time.Time       // when the weights were last counted
	savePending bool            // a save that found the copy in use, or failed, and is left to the next epoch boundary
	failing     bool            // the last save failed
}

// snapshot copies weights and state into the snapshot.
func (r *snapshotter) snapshot() error {
	if err := r.copyWeights(true); err != nil {
		return err
	}
	r.fill(true, true)
	return nil
}

// copyWeights has the owner keep a copy of the weights where they are; whole: and brings all of the run's state to host
// memory.
func (r *snapshotter) copyWeights(whole bool) error {
	if len(r.Copy.W) != len(r.Mem.Weights.W) {
		r.Copy.W = make([]float32, len(r.Mem.Weights.W))
	}
	changed, err := core.CallDevice(r.Mem, r.Mem.CopyTimeout(), func() ([]bool, error) {
		return r.Mem.Owner.Keep(r.Copy.W, r.Hooks.Compared != nil)
	})
	if err != nil {
		return err
	}
	if compared := r.Hooks.Compared; compared != nil && !compared(changed) {
		r.Hooks.Compared = nil
	}
	if !whole {
		return nil
	}
	return r.downloadAll()
}

// fill makes the snapshot of where the run is; whole: with the host copy of the weights and the state; kept: with
// the weights as copyWeights has just copied them.
func (r *snapshotter) fill(whole, kept bool) {
	r.whole, r.captured = whole, time.Now()
	history := r.Copy.Pos.History[:0]
	r.Copy.Job, r.Copy.Meta, r.Copy.Mean, r.Copy.Pos = r.Job, r.Task.Train.Meta, r.Task.Train.Mean, r.Position
	r.Copy.Pos.Rounds = r.Mem.Block.Before(r.Position.Epoch)
	r.Copy.Pos.Seconds, r.Copy.Pos.Wall = r.Seconds(control.Monotonic()), r.Wall()
	r.Copy.Pos.History = append(history, r.Position.History...)
	r.Copy.Begin(nil)
	if kept && r.Mem.Traits.InHost { // then the owner has written them where they belong
		r.Copy.Begin(func() []float32 { w, _ := r.Mem.Owner.Kept(); return w })
	}
	if whole {
		r.Copy.Capture(r.Mem.Weights, r.Mem.Block)
		r.Rounds.Capture(&r.Copy, false)
	}
}

// The default is to save as often as costs little: after some seconds, and so seldom that it takes 2% of the time at
// most.
const (
	leastBetweenSaves = time.Second
	saveShare         = 50 // one part in this many
)

// wantsSave reports whether the run is to be saved at the end of an epoch.
func (r *snapshotter) wantsSave(epoch int) bool {
	if r.Job.Asked.SavesByCost() {
		return r.savePending || time.Since(r.saved) >= max(leastBetweenSaves, saveShare*r.cost)
	}
	every, _, _ := r.Job.Asked.SavePeriod()
	return r.savePending ||
		every > 0 && epoch%every == 0 && (epoch <= manyEpochs || time.Since(r.saved) >= saveShare*r.cost)
}

// manyEpochs is from how many epochs on the history in a snapshot is long. Writing it after each of many short epochs
// would write the square of their number, so saves are as seldom then as by default.
const manyEpochs = 1000

// Counting weights takes longer than all else that is done with a copy, and most of what TensorBoard gets is counts: it
// is done seldom.
const countsEvery = 2 * time.Second

// wantsCounts reports whether the weights of an epoch are to be counted, for TensorBoard.
func (r *snapshotter) wantsCounts(save bool) bool {
	if !save && time.Since(r.counted) < countsEvery {
		return false
	}
	r.counted = time.Now()
	return true
}

// saveSoon saves the run within an epoch: it asks the workers to wait before their next chunk. Of several nodes the
// first saves the last round, while training continues.
func (r *snapshotter) saveSoon() {
	switch {
	case r.Several():
		r.saveLastRound()
	case r.Opened == 0 || r.Paused(core.ToSave):
	case r.Mem.Busy:
		r.savePending = true
	default:
		_ = fault.Point("pause.ask")
		r.Pause(core.ToSave)
	}
}

// saving sees to it that the run folder is there, and returns a function that saves the copy to it. Another goroutine
// may call that.
func (r *snapshotter) saving() func() error {
	if !r.Peers.First() {
		return func() error { return nil }
	}
	if err := r.mend(); err != nil {
		return func() error { return err }
	}
	return r.saveCopy
}

func (r *snapshotter) saveCopy() error { return r.Copy.Save(r.Dir, r.Task.Params, r.Task.Trained) }

// noteSave takes in the outcome of a save. A run does not end because one fails: the disk may have room again later.
func (r *snapshotter) noteSave(err error) {
	was := r.failing
	if r.failing = err != nil; r.failing {
		r.savePending = true
	}
	r.saved, r.cost = time.Now(), time.Since(r.captured)
	switch {
	case err != nil && !was:
		r.Report.Event("a save failed: %v; training continues, and it is tried again after the next epoch", err)
	case err == nil && was:
		r.Report.Event("the run is saved again")
	}
}

// mend makes the run folder, or files in it, again if they are gone. Only while no copy is being saved.
func (r *snapshotter) mend() error {
	gone, err := r.Folder.Mend(r.Job.Asked, r.Past())
	if gone != "" {
		r.savePending = true
		r.Report.Event("%s was removed or renamed: made again", gone)
		_ = r.Notify(&core.Folder{})
	}
	r.Copy.Within = r.Folder.Info()
	return err
}

// Weights on a GPU have a copy in host memory. It is whole when the run begins and whenever the run is
// saved, and the weights alone are renewed every two seconds. When the GPU fails it is what is left:
// nothing can be read back then.

// downloadAll renews the host copy, all of it. Only while no worker is within a chunk.
func (r *snapshotter) downloadAll() error {
	return r.noteCopied(r.Mem.CallDevice(r.Mem.CopyTimeout(), r.Mem.Owner.Download))
}

// refreshHost renews the weights in host memory. Training and an evaluation may go on.
func (r *snapshotter) refreshHost() error {
	if r.Several() { // each round does
		return nil
	}
	return r.noteCopied(r.Mem.CallDevice(r.Mem.CopyTimeout(), r.Mem.Owner.Refresh))
}

// noteCopied notes when the host copy was renewed.
func (r *snapshotter) noteCopied(err error) error {
	if err == nil {
		r.copied = time.Now()
	}
	return core.OnDevice(err)
}

// snapshotMidEpoch copies the run within an epoch.
func (r *snapshotter) snapshotMidEpoch() error {
	if err := r.finishRound(); err != nil {
		return err
	}
	r.Within()
	return r.snapshot()
}

// finishRound takes the average of a round whose chunks were all done when the
// workers stopped: some had averaged their slice, others not.
func (r *snapshotter) finishRound() error {
	if !r.Mem.Block.Plan.Barrier {
		return nil
	}
	r.Within()
	round := r.Position.Round
	if round == r.Mem.Block.Plan.Rounds {
		return nil
	}
	for rank := range r.Job.Asked.Workers {
		from, to := r.Mem.Block.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := r.Mem.Block.Chunk(i); state != control.ChunkDone && state != control.ChunkLost {
				return nil
			}
		}
	}
	_, averaged := r.Mem.Block.Tickets(r.Position.Epoch, round)
	for rank := range r.Job.Asked.Workers {
		if r.Mem.Block.Barrier.Arrived(rank) >= averaged {
			continue
		}
		if err := r.Mem.CallDevice(r.Mem.CopyTimeout(), func() error {
			d, err := r.Mem.Owner.Device(rank)
			if err == nil {
				err = d.Average(r.Mem.Block.Round(r.Position.Epoch, round))
			}
			return err
		}); err != nil {
			return err
		}
		r.Mem.Block.Barrier.Arrive(rank, averaged)
	}
	return nil
}

// evaluation is what came of a snapshot: its test loss, and the saving of it.
type evaluation struct {
	result  rundir.EpochResult
	weights []rundir.Histogram // how each tensor's values lie, for TensorBoard
	err     error
	saves   bool  // the copy was to be saved too
	unsaved error // why it could not be
}

// fillRound copies the last round into the snapshot.
func (r *snapshotter) fillRound() {
	r.fill(true, false)
	r.Rounds.Capture(&r.Copy, true)
}

// saveRound saves the last round, on node 0.
func (r *snapshotter) saveRound(save func(s *rundir.Snapshot, dir string, params, trained []model.Param) error) error {
	if !r.Peers.First() {
		return nil
	}
	if err := r.mend(); err != nil {
		return err
	}
	r.fillRound()
	if i := device.NotFiniteAt(r.Copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the last round is %v: it is not saved (%s)", i, r.Copy.W[i], r.LastGood())
	}
	return save(&r.Copy, r.Dir, r.Task.Params, r.Task.Trained)
}

// saveLastRound saves the last round while training continues.
func (r *snapshotter) saveLastRound() {
	if !r.Peers.First() || r.Mem.Busy || r.Opened == 0 {
		return
	}
	save := r.saving()
	r.fillRound()
	r.Mem.Busy = true
	go func() {
		i, w := device.NotFiniteAt(r.Copy.W), r.Copy.W
		is := evaluation{err: r.errNotFinite(i, w[max(i, 0)],
			&rundir.EpochResult{Epoch: int(r.Position.Epoch), LR: r.Job.Used.LR})}
		if is.saves = is.err == nil; is.saves {
			is.unsaved = save()
		}
		r.evaluated <- is
	}()
}

// errNotFinite returns the error of a weight i that is not; i is -1 if all are.
func (r *snapshotter) errNotFinite(i int, value float32, e *rundir.EpochResult) error {
	if i < 0 {
		return nil
	}
	return r.Diverged(fmt.Errorf("weight %d is %v after epoch %d, learning rate %g", i, value, e.Epoch, e.LR))
}

// CopyWeights copies the weights where they are.
func (r *snapshotter) CopyWeights() error { return r.copyWeights(false) }

// SaveNow saves the weights that are in host memory.
func (r *snapshotter) SaveNow() {
	r.fill(true, false)
	r.noteSave(r.saving()())
}

// lostPeers adds to an error that the connection to other nodes is lost what to do.
func (r *snapshotter) lostPeers(err error) error { return r.Peers.Lost(err, r.ownFolder()) }

// ownFolder returns the run folder; "" on nodes that have none.
func (r *snapshotter) ownFolder() string {
	if r.Folder == nil {
		return ""
	}
	return r.Dir
}

// endJobOnPeers ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (r *snapshotter) endJobOnPeers(err error) { _ = r.Peers.Together(func() error { return err }) }

// lastRound takes one with the other nodes, after the workers have stopped.
func (r *snapshotter) lastRound() error {
	var diverged error // while they stopped
	if errors.Is(r.End.Err, config.ErrDiverged) {
		diverged = r.End.Err
	}
	return r.Rounds.Last(r.Position.Epoch, diverged)
}
