package run

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/fault"
)

// copyRun copies weights and state into the snapshot.
func (r *coordinator) copyRun() error {
	if err := r.keepCopy(true); err != nil {
		return err
	}
	r.capture(true)
	return nil
}

// keepCopy has the owner keep a copy of the weights where they are; whole: and brings all of the run's state to host memory.
func (r *coordinator) keepCopy(whole bool) error {
	changed, err := askFor(r, r.patient(), func() ([]bool, error) {
		return r.owner.Keep(r.saver.copy.W, len(r.epochs.unmoved) > 0)
	})
	if err != nil {
		return onDevice(err)
	}
	r.epochs.unmoved = slices.DeleteFunc(r.epochs.unmoved, func(i int) bool { return changed[i] })
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
func (r *coordinator) watchTensors() error {
	r.saver.copy.W = make([]float32, len(r.mem.W))
	if p := &r.epochs.position; p.Epoch > 1 || p.Within || r.job.Sample > 0 {
		return nil
	}
	err := r.keepCopy(false)
	for i, p := range r.params {
		if !p.Fixed {
			r.epochs.unmoved = append(r.epochs.unmoved, i)
		}
	}
	return err
}

// tellUnused names the tensors that the first epoch has not changed.
func (r *coordinator) tellUnused() {
	if len(r.epochs.unmoved) > 0 {
		var line string
		r.epochs.position.Unused, line = score.Unused(r.params, r.epochs.unmoved)
		r.epochs.unmoved = nil
		r.report.event("%s", line)
	}
}

// capture makes the snapshot of where the run is; whole: with the host copy of the weights and the state.
func (r *coordinator) capture(whole bool) {
	r.saver.whole, r.saver.captured = whole, time.Now()
	r.saver.copy.Config, r.saver.copy.Meta, r.saver.copy.Mean, r.saver.copy.Pos = r.job, r.train.Meta, r.train.Mean, r.epochs.position
	r.saver.copy.Pos.Rounds = r.block.Before(r.epochs.position.Epoch)
	r.saver.copy.Pos.Seconds, r.saver.copy.Pos.Wall = r.seconds(control.Monotonic()), r.wall()
	r.saver.copy.Pos.History = slices.Clone(r.epochs.position.History)
	if whole {
		r.saver.copy.Capture(r.mem, r.block)
		r.rounds.Capture(&r.saver.copy, false)
	}
}

// The default is to save as often as costs little: after some seconds, and so seldom that it takes 2% of the time at most.
const (
	leastBetweenSaves = time.Second
	saveShare         = 50 // one part in so many
)

// wantsSave tells whether the run is to be saved at the end of an epoch.
func (r *coordinator) wantsSave(epoch int) bool {
	s := &r.saver
	if r.job.SavesByCost() {
		return s.due || time.Since(s.saved) >= max(leastBetweenSaves, saveShare*s.cost)
	}
	every, _, _ := r.job.SavePeriod()
	return s.due || every > 0 && epoch%every == 0 && (epoch <= manyEpochs || time.Since(s.saved) >= saveShare*s.cost)
}

// manyEpochs is when the history in a snapshot is long. Writing it after each of many short epochs would write the square of
// their number, so saves are as seldom then as by default.
const manyEpochs = 1000

// Counting weights takes longer than all else that is done with a copy, and most of what TensorBoard gets is counts: it is done seldom.
const countsEvery = 2 * time.Second

// wantsCounts tells whether the weights of an epoch are to be counted, for TensorBoard.
func (r *coordinator) wantsCounts(save bool) bool {
	if !save && time.Since(r.saver.counted) < countsEvery {
		return false
	}
	r.saver.counted = time.Now()
	return true
}

// pause asks the workers to wait before their next chunk, so that the run can be
// copied within an epoch.
func (r *coordinator) pause() {
	if r.several() {
		r.saveSoon()
		return
	}
	if r.epochs.opened == 0 || r.saver.paused {
		return
	}
	if r.saver.busy {
		r.saver.due = true
		return
	}
	r.saver.paused = true
	_ = fault.Point("pause.ask")
	r.hold()
}

// hold has workers wait before their next chunk, until letGo.
func (r *task) hold() {
	r.block.Set(control.WordPause, 1)
	r.block.Tick()
	r.block.Call() // they may all be waiting already
}

// quiet tells whether nobody is within a chunk. One who is paused keeps the others
// from getting beyond their barrier, so waiting there is quiet too.
func (r *coordinator) quiet() bool {
	paused := false
	for rank := range r.workers.Most() {
		if r.workers.Left(rank) {
			continue
		}
		switch r.block.Rank(rank, control.RankState) {
		case control.StatePaused:
			paused = true
		case control.StateWaiting, control.StateGone:
		default:
			return false
		}
	}
	return paused
}

// savePaused copies the run, lets the workers go on, and saves the copy.
func (r *coordinator) savePaused() error {
	switch {
	case r.complete() || r.saver.busy: // since the pause an epoch has come to its end
		r.saver.due = true
	default:
		r.within()
		if err := r.copyRun(); err != nil {
			return err
		}
		r.saver.busy = true
		saveCopy := r.saving()
		e := rundir.EpochResult{Epoch: int(r.epochs.position.Epoch), LR: r.job.Tuning.LR}
		if _, done, _, loss := r.progress(); done > 0 {
			e.TrainLoss = loss / float64(done)
		}
		go func() {
			is := evaluation{err: r.stillGood(e)}
			if is.saves = !errors.Is(is.err, config.ErrDiverged); is.saves {
				is.unsaved = saveCopy()
			}
			r.saver.evaluated <- is
		}()
	}
	_ = fault.Point("pause.end")
	r.saver.paused = false
	r.letGo()
	return nil
}

// saving sees to it that the run folder is there, and returns a function that saves the copy to it. Another goroutine
// may call that.
func (r *coordinator) saving() func() error {
	if !r.peers.First() {
		return func() error { return nil }
	}
	if err := r.mend(); err != nil {
		return func() error { return err }
	}
	return r.saveCopy
}

func (r *coordinator) saveCopy() error { return r.saver.copy.Save(r.dir, r.params, r.trained) }

// saved takes in the outcome of a save. A run does not end because one fails: the disk may have room again later.
func (r *coordinator) saved(err error) {
	was := r.saver.failing
	if r.saver.failing = err != nil; r.saver.failing {
		r.saver.due = true
	}
	r.saver.saved, r.saver.cost = time.Now(), time.Since(r.saver.captured)
	switch {
	case err != nil && !was:
		r.report.event("a save failed: %v; training continues, and it is tried again after the next epoch", err)
	case err == nil && was:
		r.report.event("the run is saved again")
	}
}

// mend makes the run folder, or files in it, again if they are gone. Only while no copy is being saved.
func (r *coordinator) mend() error {
	gone, err := r.folder.Mend(r.job.Config, r.past())
	if gone != "" {
		r.saver.due = true
		r.report.event("%s was removed or renamed: made again", gone)
		r.takeRequests()
	}
	r.saver.copy.Within = r.folder.Info()
	return err
}

// past is the run up to now.
func (r *coordinator) past() *rundir.Past {
	p := &r.epochs.position
	past := &rundir.Past{History: p.History, Examples: p.Examples}
	if p.Within {
		_, done, _, _ := r.progress()
		past.Examples += int64(done)
	}
	return past
}

// stillGood is the error of a copy, taken within an epoch, whose numbers have diverged. Whether finite ones
// have takes an evaluation to see, which is worth its time where a rollback would continue from them.
func (r *coordinator) stillGood(e rundir.EpochResult) error {
	if r.job.OnDivergence == config.Rollback {
		_, err := r.score(&e, false)
		return err
	}
	_, err := r.survey(&e, false)
	return err
}

// Weights on a GPU have a copy in host memory. It is whole when the run begins and whenever the run is
// saved, and the weights alone are renewed every two seconds. When the GPU fails it is what is left:
// nothing can be read back then.

// download renews the host copy, all of it. Only while no worker is within a chunk.
func (r *coordinator) download() error { return r.renewed(r.ask(r.patient(), r.owner.Download)) }

// refresh renews its weights, while workers train, and beside an evaluation: those are of its own copy.
func (r *coordinator) refresh() error {
	if r.several() { // each round does
		return nil
	}
	return r.renewed(r.ask(r.patient(), r.owner.Refresh))
}

// renewed notes when the host copy was renewed.
func (r *coordinator) renewed(err error) error {
	if err == nil {
		r.saver.copied = time.Now()
	}
	return onDevice(err)
}

// saveHostCopy saves the weights of the host copy. A snapshot that is there stays, for it is
// exact and these are of some moment within an epoch: the run resumes from it. Where there
// is none they make one, that begins the epoch again.
func (r *coordinator) saveHostCopy() error {
	r.epochs.position.Within, r.epochs.position.Round = false, 0
	r.capture(true)
	if i := device.NotFiniteAt(r.saver.copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the copy in host memory is %v: the copy is not saved (%s)", i, r.saver.copy.W[i], r.lastGood())
	}
	what, save := "--resume continues from the previous snapshot", func() error { return r.saver.copy.SaveWeights(r.dir, r.params, r.trained) }
	if !rundir.HasSnapshot(r.dir) {
		what, save = fmt.Sprintf("--resume continues with them at the start of epoch %d", r.epochs.position.Epoch), r.saveCopy
	}
	if err := r.keep(save); err != nil {
		return err
	}
	r.report.event("the weights cannot be read back from the GPU: saved the copy in host memory, from %.1f s before the run ended; %s",
		r.saver.age.Seconds(), what)
	return nil
}
