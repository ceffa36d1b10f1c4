package run

import (
	"fmt"
	"slices"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/fault"
)

// saver is the copy of the weights in host memory: between two epochs it is taken, and
// evaluated and saved while workers train on.
type saver struct {
	*epochs
	copy      rundir.Snapshot
	evaluated chan evaluation // at most one evaluation is in flight, or one save
	copied    time.Time       // when the weights were last copied to host memory
	age       time.Duration   // of that copy when the run ended
	whole     bool            // the copy has all that a snapshot needs
	captured  time.Time       // when it was made
	saved     time.Time       // when it was last saved, or the run began
	cost      time.Duration   // of that
	counted   time.Time       // when the weights were last counted
	due       bool            // a save that found the copy in use, or failed, and is left to the next epoch boundary
	failing   bool            // the last save failed
	good      bool            // the copy is of the run's end, and is to be kept
	elsewhere error           // where the run is saved, if the folder cannot be written
}

// copyRun copies weights and state into the snapshot.
func (r *saver) copyRun() error {
	if err := r.keepCopy(true); err != nil {
		return err
	}
	r.capture(true, true)
	return nil
}

// keepCopy has the owner keep a copy of the weights where they are; whole: and brings all of the run's state to host memory.
func (r *saver) keepCopy(whole bool) error {
	if len(r.copy.W) != len(r.mem.W) {
		r.copy.W = make([]float32, len(r.mem.W))
	}
	changed, err := askFor(r.shared, r.patient(), func() ([]bool, error) {
		return r.owner.Keep(r.copy.W, len(r.unmoved) > 0)
	})
	if err != nil {
		return onDevice(err)
	}
	r.unmoved = slices.DeleteFunc(r.unmoved, func(i int) bool { return changed[i] })
	if !whole {
		return nil
	}
	return r.download()
}

// A layer that the loss does not depend on keeps its first weights, and nothing else tells: the run
// trains, and is saved. So the first epoch compares the weights with those before it, tensor by
// tensor. The owner's copy holds those, which until the first epoch's end has no other use, and a
// comparison on cores stops at the first weight that has changed. No worker takes part.

// watchTensors begins the comparison, if the run has its first epoch before it.
func (r *saver) watchTensors() error {
	if p := &r.position; p.Epoch > 1 || p.Within || r.job.Asked.Sample > 0 {
		return nil
	}
	err := r.keepCopy(false)
	for i, p := range r.params {
		if !p.Fixed {
			r.unmoved = append(r.unmoved, i)
		}
	}
	return err
}

// tellUnused names the tensors that the first epoch has not changed.
func (r *saver) tellUnused() {
	if len(r.unmoved) > 0 {
		var line string
		r.position.Unused, line = score.Unused(r.params, r.unmoved)
		r.unmoved = nil
		r.report.Event("%s", line)
	}
}

// capture makes the snapshot of where the run is; whole: with the host copy of the weights and the state; kept: with the weights as
// keepCopy has just copied them.
func (r *saver) capture(whole, kept bool) {
	r.whole, r.captured = whole, time.Now()
	r.copy.Job, r.copy.Meta, r.copy.Mean, r.copy.Pos = r.job, r.train.Meta, r.train.Mean, r.position
	r.copy.Pos.Rounds = r.block.Before(r.position.Epoch)
	r.copy.Pos.Seconds, r.copy.Pos.Wall = r.seconds(control.Monotonic()), r.wall()
	r.copy.Pos.History = slices.Clone(r.position.History)
	r.copy.Begin(nil)
	if kept && r.job.Asked.GPU == "" { // then the owner has written them where they belong
		r.copy.Begin(func() []float32 { w, _ := r.owner.Kept(); return w })
	}
	if whole {
		r.copy.Capture(r.mem, r.block)
		r.rounds.Capture(&r.copy, false)
	}
}

// The default is to save as often as costs little: after some seconds, and so seldom that it takes 2% of the time at most.
const (
	leastBetweenSaves = time.Second
	saveShare         = 50 // one part in so many
)

// wantsSave reports whether the run is to be saved at the end of an epoch.
func (r *saver) wantsSave(epoch int) bool {
	if r.job.Asked.SavesByCost() {
		return r.due || time.Since(r.saved) >= max(leastBetweenSaves, saveShare*r.cost)
	}
	every, _, _ := r.job.Asked.SavePeriod()
	return r.due || every > 0 && epoch%every == 0 && (epoch <= manyEpochs || time.Since(r.saved) >= saveShare*r.cost)
}

// manyEpochs is when the history in a snapshot is long. Writing it after each of many short epochs would write the square of
// their number, so saves are as seldom then as by default.
const manyEpochs = 1000

// Counting weights takes longer than all else that is done with a copy, and most of what TensorBoard gets is counts: it is done seldom.
const countsEvery = 2 * time.Second

// wantsCounts reports whether the weights of an epoch are to be counted, for TensorBoard.
func (r *saver) wantsCounts(save bool) bool {
	if !save && time.Since(r.counted) < countsEvery {
		return false
	}
	r.counted = time.Now()
	return true
}

// pause asks the workers to wait before their next chunk, so that the run can be
// copied within an epoch.
func (r *saver) pause() {
	if r.several() {
		r.saveSoon()
		return
	}
	if r.opened == 0 || r.pausing {
		return
	}
	if r.busy {
		r.due = true
		return
	}
	r.pausing = true
	_ = fault.Point("pause.ask")
	r.hold()
}

// saving sees to it that the run folder is there, and returns a function that saves the copy to it. Another goroutine
// may call that.
func (r *saver) saving() func() error {
	if !r.peers.First() {
		return func() error { return nil }
	}
	if err := r.mend(); err != nil {
		return func() error { return err }
	}
	return r.saveCopy
}

func (r *saver) saveCopy() error { return r.copy.Save(r.dir, r.params, r.trained) }

// noteSave takes in the outcome of a save. A run does not end because one fails: the disk may have room again later.
func (r *saver) noteSave(err error) {
	was := r.failing
	if r.failing = err != nil; r.failing {
		r.due = true
	}
	r.saved, r.cost = time.Now(), time.Since(r.captured)
	switch {
	case err != nil && !was:
		r.report.Event("a save failed: %v; training continues, and it is tried again after the next epoch", err)
	case err == nil && was:
		r.report.Event("the run is saved again")
	}
}

// mend makes the run folder, or files in it, again if they are gone. Only while no copy is being saved.
func (r *saver) mend() error {
	gone, err := r.folder.Mend(r.job.Asked, r.past())
	if gone != "" {
		r.due = true
		r.report.Event("%s was removed or renamed: made again", gone)
		r.takeRequests()
	}
	r.copy.Within = r.folder.Info()
	return err
}

// Weights on a GPU have a copy in host memory. It is whole when the run begins and whenever the run is
// saved, and the weights alone are renewed every two seconds. When the GPU fails it is what is left:
// nothing can be read back then.

// download renews the host copy, all of it. Only while no worker is within a chunk.
func (r *saver) download() error { return r.renewed(r.ask(r.patient(), r.owner.Download)) }

// refresh renews its weights, while workers train, and beside an evaluation: those are of its own copy.
func (r *saver) refresh() error {
	if r.several() { // each round does
		return nil
	}
	return r.renewed(r.ask(r.patient(), r.owner.Refresh))
}

// renewed notes when the host copy was renewed.
func (r *saver) renewed(err error) error {
	if err == nil {
		r.copied = time.Now()
	}
	return onDevice(err)
}

// copyWithin copies the run within an epoch.
func (r *saver) copyWithin() error {
	if err := r.finishRound(); err != nil {
		return err
	}
	r.within()
	return r.copyRun()
}

// evaluation is what came of a snapshot: its test loss, and the saving of it.
type evaluation struct {
	result  rundir.EpochResult
	weights []rundir.Histogram // how those of each tensor lie, for TensorBoard
	newton  float64            // the curvature, see curvature.go; 0: it was not measured
	err     error
	saves   bool  // the copy was to be saved too
	unsaved error // why it could not be
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
