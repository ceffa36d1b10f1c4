package worker

import (
	"errors"
	"os"

	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/device"
)

// StandIn meets and averages, in barrier mode, in the place of a rank that is gone. It returns nil when the run stops,
// or is to have another number of workers.
func (w *Worker) StandIn() error {
	w.idle = true
	if err := w.rounds(); !errors.Is(err, control.ErrStopped) && !errors.Is(err, control.ErrScaled) {
		return err
	}
	return nil
}

// Run trains until the run stops or its numbers diverge.
func (w *Worker) Run() error {
	w.block.SetRank(w.rank, control.RankPID, uint64(os.Getpid()))
	if w.block.Rank(w.rank, control.RankBegan) == 0 {
		w.block.SetRank(w.rank, control.RankBegan, control.Monotonic())
	}
	w.block.SetRank(w.rank, control.RankState, control.StateTraining)
	work := w.free
	if w.block.Plan.Barrier {
		work = w.rounds
	}
	err := work()
	for errors.Is(err, control.ErrScaled) && w.join != nil {
		if err = w.rejoin(); err == nil {
			err = work()
		}
	}
	var nan *device.NotFiniteError
	switch {
	case errors.As(err, &nan):
		w.block.Fail(w.rank, nan.Step, nan.Loss, nan.LR)
		err = nil
	case errors.Is(err, control.ErrStopped), errors.Is(err, errLeft):
		err = nil
	}
	return err
}

// rejoin takes over another number of workers: with what follows from it, as the learning rate
// and how often copies are merged, the device is made anew. The worker has no chunk.
func (w *Worker) rejoin() error {
	h, err := w.block.Renew()
	switch {
	case err != nil:
		return err
	case w.rank >= h.Job.Asked.Workers:
		return errLeft
	}
	if err := w.device.Close(); err != nil {
		return err
	}
	w.device = nil
	cpu.Pin(&h.Job.Asked, w.rank)
	d, err := w.join(&h)
	if err == nil {
		w.device = d
	}
	return err
}

// free trains in async mode: chunk after chunk, without waiting for any other worker.
func (w *Worker) free() error {
	for {
		c, ok := w.block.Next(w.rank)
		if !ok {
			w.drain()
			err := w.settle()
			if err == nil {
				c, err = w.block.Take(w.rank)
			}
			if err != nil {
				return err
			}
		}
		w.chunks = append(w.chunks[:0], c)
		for fair := w.fair(); len(w.chunks) < min(fair, w.device.PreferredChunks()); {
			i := w.block.Find(w.rank, uint64(c.Epoch+1))
			if i < 0 {
				break
			}
			w.chunks = append(w.chunks, w.block.Plan.At(c.Epoch, i))
		}
		if err := w.train(w.chunks); err != nil {
			return err
		}
	}
}

// fair returns how many of the chunks that are left this worker may take. However much a device
// wants at once, the others shall find something too, and all be done at about the same time:
// what two calls of Train have in hand is this worker's part. One alone takes them all.
func (w *Worker) fair() int {
	left, workers := 1+w.block.Ahead(), w.block.Plan.Workers
	if workers == 1 {
		return left
	}
	return left / (2 * workers)
}
