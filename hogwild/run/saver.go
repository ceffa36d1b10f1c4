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

// saver is the copy of the weights in host memory: between two epochs it is taken, and
// evaluated and saved while workers train on.
type saver struct {
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

// copyRun copies weights and state into the snapshot.
func (r *saver) copyRun() error {
	if err := r.keepCopy(true); err != nil {
		return err
	}
	r.capture(true, true)
	return nil
}

// keepCopy has the owner keep a copy of the weights where they are; whole: and brings all of the run's state to host
// memory.
func (r *saver) keepCopy(whole bool) error {
	if len(r.Copy.W) != len(r.Mem.W) {
		r.Copy.W = make([]float32, len(r.Mem.W))
	}
	changed, err := core.AskFor(r.Memory, r.Patient(), func() ([]bool, error) {
		return r.Owner.Keep(r.Copy.W, r.Hooks.Compared != nil)
	})
	if err != nil {
		return core.OnDevice(err)
	}
	if compared := r.Hooks.Compared; compared != nil {
		compared(changed)
	}
	if !whole {
		return nil
	}
	return r.download()
}

// capture makes the snapshot of where the run is; whole: with the host copy of the weights and the state; kept: with
// the weights as keepCopy has just copied them.
func (r *saver) capture(whole, kept bool) {
	r.whole, r.captured = whole, time.Now()
	history := r.Copy.Pos.History[:0]
	r.Copy.Job, r.Copy.Meta, r.Copy.Mean, r.Copy.Pos = r.Job, r.Train.Meta, r.Train.Mean, r.Position
	r.Copy.Pos.Rounds = r.Block.Before(r.Position.Epoch)
	r.Copy.Pos.Seconds, r.Copy.Pos.Wall = r.Seconds(control.Monotonic()), r.Wall()
	r.Copy.Pos.History = append(history, r.Position.History...)
	r.Copy.Begin(nil)
	if kept && r.Traits.InHost { // then the owner has written them where they belong
		r.Copy.Begin(func() []float32 { w, _ := r.Owner.Kept(); return w })
	}
	if whole {
		r.Copy.Capture(r.Mem, r.Block)
		r.Rounds.Capture(&r.Copy, false)
	}
}

// The default is to save as often as costs little: after some seconds, and so seldom that it takes 2% of the time at
// most.
const (
	leastBetweenSaves = time.Second
	saveShare         = 50 // one part in so many
)

// wantsSave reports whether the run is to be saved at the end of an epoch.
func (r *saver) wantsSave(epoch int) bool {
	if r.Job.Asked.SavesByCost() {
		return r.savePending || time.Since(r.saved) >= max(leastBetweenSaves, saveShare*r.cost)
	}
	every, _, _ := r.Job.Asked.SavePeriod()
	return r.savePending ||
		every > 0 && epoch%every == 0 && (epoch <= manyEpochs || time.Since(r.saved) >= saveShare*r.cost)
}

// manyEpochs is when the history in a snapshot is long. Writing it after each of many short epochs would write the
// square of their number, so saves are as seldom then as by default.
const manyEpochs = 1000

// Counting weights takes longer than all else that is done with a copy, and most of what TensorBoard gets is counts: it
// is done seldom.
const countsEvery = 2 * time.Second

// wantsCounts reports whether the weights of an epoch are to be counted, for TensorBoard.
func (r *saver) wantsCounts(save bool) bool {
	if !save && time.Since(r.counted) < countsEvery {
		return false
	}
	r.counted = time.Now()
	return true
}

// saveSoon saves the run within an epoch: it asks the workers to wait before their next chunk. Of several nodes the
// first saves the last round, while training continues.
func (r *saver) saveSoon() {
	switch {
	case r.Several():
		r.saveLastRound()
	case r.Opened == 0 || r.Waits(core.ToSave):
	case r.Busy:
		r.savePending = true
	default:
		_ = fault.Point("pause.ask")
		r.Hold(core.ToSave)
	}
}

// saving sees to it that the run folder is there, and returns a function that saves the copy to it. Another goroutine
// may call that.
func (r *saver) saving() func() error {
	if !r.Peers.First() {
		return func() error { return nil }
	}
	if err := r.mend(); err != nil {
		return func() error { return err }
	}
	return r.saveCopy
}

func (r *saver) saveCopy() error { return r.Copy.Save(r.Dir, r.Params, r.Trained) }

// noteSave takes in the outcome of a save. A run does not end because one fails: the disk may have room again later.
func (r *saver) noteSave(err error) {
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
func (r *saver) mend() error {
	gone, err := r.Folder.Mend(r.Job.Asked, r.Past())
	if gone != "" {
		r.savePending = true
		r.Report.Event("%s was removed or renamed: made again", gone)
		_ = r.Do.Tell(&core.Folder{})
	}
	r.Copy.Within = r.Folder.Info()
	return err
}

// Weights on a GPU have a copy in host memory. It is whole when the run begins and whenever the run is
// saved, and the weights alone are renewed every two seconds. When the GPU fails it is what is left:
// nothing can be read back then.

// download renews the host copy, all of it. Only while no worker is within a chunk.
func (r *saver) download() error { return r.renewed(r.Ask(r.Patient(), r.Owner.Download)) }

// refresh renews its weights, while workers train, and beside an evaluation: those are of its own copy.
func (r *saver) refresh() error {
	if r.Several() { // each round does
		return nil
	}
	return r.renewed(r.Ask(r.Patient(), r.Owner.Refresh))
}

// renewed notes when the host copy was renewed.
func (r *saver) renewed(err error) error {
	if err == nil {
		r.copied = time.Now()
	}
	return core.OnDevice(err)
}

// copyWithin copies the run within an epoch.
func (r *saver) copyWithin() error {
	if err := r.Do.FinishRound(); err != nil {
		return err
	}
	r.Within()
	return r.copyRun()
}

// evaluation is what came of a snapshot: its test loss, and the saving of it.
type evaluation struct {
	result  rundir.EpochResult
	weights []rundir.Histogram // how those of each tensor lie, for TensorBoard
	err     error
	saves   bool  // the copy was to be saved too
	unsaved error // why it could not be
}

// captureRound copies the last round into the snapshot.
func (r *saver) captureRound() {
	r.capture(true, false)
	r.Rounds.Capture(&r.Copy, true)
}

// saveRound saves the last round, on node 0.
func (r *saver) saveRound(save func(s *rundir.Snapshot, dir string, params, trained []model.Param) error) error {
	if !r.Peers.First() {
		return nil
	}
	if err := r.mend(); err != nil {
		return err
	}
	r.captureRound()
	if i := device.NotFiniteAt(r.Copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the last round is %v: it is not saved (%s)", i, r.Copy.W[i], r.LastGood())
	}
	return save(&r.Copy, r.Dir, r.Params, r.Trained)
}

// saveLastRound saves the last round while training continues.
func (r *saver) saveLastRound() {
	if !r.Peers.First() || r.Busy || r.Opened == 0 {
		return
	}
	save := r.saving()
	r.captureRound()
	r.Busy = true
	go func() {
		i, w := device.NotFiniteAt(r.Copy.W), r.Copy.W
		is := evaluation{err: r.finite(i, w[max(i, 0)],
			&rundir.EpochResult{Epoch: int(r.Position.Epoch), LR: r.Job.Used.LR})}
		if is.saves = is.err == nil; is.saves {
			is.unsaved = save()
		}
		r.evaluated <- is
	}()
}

// finite returns the error of a weight i that is not; i is -1 if all are.
func (r *saver) finite(i int, value float32, e *rundir.EpochResult) error {
	if i < 0 {
		return nil
	}
	return r.Diverged(fmt.Errorf("weight %d is %v after epoch %d, learning rate %g", i, value, e.Epoch, e.LR))
}

// CopyWeights copies the weights where they are.
func (r *saver) CopyWeights() error { return r.keepCopy(false) }

// SaveNow saves the weights that are in host memory.
func (r *saver) SaveNow() {
	r.capture(true, false)
	r.noteSave(r.saving()())
}

// lostPeers adds to an error that the connection to other nodes is lost what to do.
func (r *saver) lostPeers(err error) error { return r.Peers.Lost(err, r.ownFolder()) }

// ownFolder is the run folder; "" on nodes that have none.
func (r *saver) ownFolder() string {
	if r.Folder == nil {
		return ""
	}
	return r.Dir
}

// tell ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (r *saver) tell(err error) { _ = r.Peers.Together(func() error { return err }) }

// lastRound takes one with the other nodes, after the workers have stopped.
func (r *saver) lastRound() error {
	var diverged error // while they stopped
	if errors.Is(r.Ended, config.ErrDiverged) {
		diverged = r.Ended
	}
	return r.Rounds.Last(r.Position.Epoch, diverged)
}
