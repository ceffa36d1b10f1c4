package run

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hogwild/hogwild/rundir"
)

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
		r.mirrored = time.Now()
	}
	return onDevice(err)
}

// saveMirror saves the weights of the mirror. A snapshot that is there stays, for it is
// exact and these are of some moment within an epoch: the run resumes from it. Where there
// is none they make one, that begins the epoch again.
func (r *coordinator) saveMirror() error {
	r.pos.Within, r.pos.Round = false, 0
	r.capture()
	if i := notFiniteAt(r.snap.W); i >= 0 {
		return fmt.Errorf("weight %d of the mirror in host memory is %v: it is not saved (%s)", i, r.snap.W[i], r.lastGood())
	}
	what, save := "the run resumes from the snapshot before", r.snap.SaveWeights
	if _, err := os.Stat(filepath.Join(r.dir, rundir.SnapshotFile)); err != nil {
		what, save = fmt.Sprintf("the run resumes with them, at the beginning of epoch %d", r.pos.Epoch), r.snap.Save
	}
	if err := save(r.dir, r.params, r.trained); err != nil {
		return err
	}
	r.event("the weights cannot be read back from the GPU: saved are those that host memory had %.1f s before the run ended; %s",
		r.age.Seconds(), what)
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
