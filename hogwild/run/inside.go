package run

import (
	"fmt"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
)

// insider is device memory that no other process may be able to open. Then there is one rank,
// and it trains in the coordinator's process.
type insider interface{ Inside() bool }

// startsInside tells whether the memory is such.
func (r *task) startsInside() bool {
	o, ok := r.owner.(insider)
	return ok && o.Inside()
}

// mayStartInside tells whether the rank of a worker that cannot start may be tried here. A program is another process
// in any case.
func (r *task) mayStartInside() bool {
	_, ok := r.owner.(insider)
	return ok && r.job.Workers == 1 && r.job.Program == ""
}

// spawnInside starts a worker in this process. An error of its ends the run: a GPU that has
// failed is lost for the whole process, so that another worker here would fail too.
func (r *coordinator) spawnInside(rank int) error {
	d, err := askFor(r, r.patient(), func() (device.Device, error) { return r.owner.Device(rank) })
	if err != nil {
		return onDevice(err)
	}
	block := *r.block
	w := &worker{rank: rank, block: &block, device: d}
	profiles := &control.Header{CPUProfile: r.options.CPUProfile, Trace: r.options.Trace}
	r.aside.Go(func() {
		if err := profile(profiles, w.life); err != nil {
			r.workers.Failed(rank, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
	return nil
}
