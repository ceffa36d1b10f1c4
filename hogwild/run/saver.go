package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
)

// copyRun copies weights and state into the snapshot.
func (r *coordinator) copyRun() error {
	if err := r.download(); err != nil {
		return err
	}
	r.capture()
	return nil
}

// capture copies the mirror into the snapshot.
func (r *coordinator) capture() {
	r.saver.copy.Config, r.saver.copy.Meta, r.saver.copy.Mean, r.saver.copy.Pos = r.job, r.train.Meta, r.train.Mean, r.epochs.position
	r.saver.copy.Pos.Seconds = r.seconds(control.Monotonic())
	r.saver.copy.Pos.History = slices.Clone(r.epochs.position.History)
	r.saver.copy.Capture(r.mem, r.world)
}

// hold asks the workers to wait before their next chunk, so that the run can be
// copied within an epoch.
func (r *coordinator) hold() {
	if r.epochs.opened == 0 || r.saver.paused {
		return
	}
	if r.saver.busy {
		r.saver.due = true
		return
	}
	r.saver.paused = true
	r.world.Set(control.WordHold, 1)
	r.world.Tick()
	r.world.Call() // they may all be waiting already
}

// quiet tells whether nobody is within a chunk. One who is held keeps the others
// from getting beyond their barrier, so waiting there is quiet too.
func (r *task) quiet() bool {
	held := false
	for rank := range r.job.Workers {
		switch r.world.Rank(rank, control.RankState) {
		case control.StateHeld:
			held = true
		case control.StateWaiting, control.StateGone:
		default:
			return false
		}
	}
	return held
}

// saveHeld copies the run, lets the workers go on, and saves the copy.
func (r *coordinator) saveHeld() {
	switch {
	case r.complete() || r.saver.busy: // since hold an epoch has come to its end
		r.saver.due = true
	default:
		r.within()
		if r.epochs.ended = r.copyRun(); r.epochs.ended != nil {
			return
		}
		r.saver.busy = true
		go func() { r.saver.evaluated <- evaluation{err: r.saver.copy.Save(r.dir, r.params, r.trained)} }()
	}
	r.saver.paused = false
	r.world.Set(control.WordHold, 0)
	r.world.Tick()
}

// Weights on a GPU have a mirror in host memory. It is whole when the run begins, between
// epochs and whenever the run is saved, and the weights alone are renewed every two
// seconds. When the GPU fails it is what is left: nothing can be read back then.

// deviceError is an error of the place where the weights are. What was copied before it
// is good.
type deviceError struct{ error }

func (e deviceError) Unwrap() error { return e.error }

func onDevice(err error) error {
	if err == nil {
		return nil
	}
	return deviceError{err}
}

// download renews the mirror, all of it. Only while no worker is within a chunk.
func (r *coordinator) download() error { return r.mirror(r.owner.Download()) }

// refresh renews its weights, while workers train.
func (r *coordinator) refresh() error { return r.mirror(r.owner.Refresh()) }

// mirror notes when the mirror was renewed.
func (r *coordinator) mirror(err error) error {
	if err == nil {
		r.saver.copied = time.Now()
	}
	return onDevice(err)
}

// saveMirror saves the weights of the mirror. A snapshot that is there stays, for it is
// exact and these are of some moment within an epoch: the run resumes from it. Where there
// is none they make one, that begins the epoch again.
func (r *coordinator) saveMirror() error {
	r.epochs.position.Within, r.epochs.position.Round = false, 0
	r.capture()
	if i := notFiniteAt(r.saver.copy.W); i >= 0 {
		return fmt.Errorf("weight %d of the mirror in host memory is %v: it is not saved (%s)", i, r.saver.copy.W[i], r.lastGood())
	}
	what, save := "the run resumes from the snapshot before", r.saver.copy.SaveWeights
	if _, err := os.Stat(filepath.Join(r.dir, rundir.SnapshotFile)); err != nil {
		what, save = fmt.Sprintf("the run resumes with them, at the beginning of epoch %d", r.epochs.position.Epoch), r.saver.copy.Save
	}
	if err := save(r.dir, r.params, r.trained); err != nil {
		return err
	}
	r.report.event("the weights cannot be read back from the GPU: saved are those that host memory had %.1f s before the run ended; %s",
		r.saver.age.Seconds(), what)
	return nil
}

// notFiniteAt is the first weight that is infinite or no number, -1 if all are finite.
func notFiniteAt(w []float32) int {
	for i, v := range w {
		if v-v != 0 {
			return i
		}
	}
	return -1
}
