package worker

import (
	"sync/atomic"

	"hogwild/hogwild/control"
	"hogwild/internal/fault"
)

// rounds trains in barrier mode: all ranks in step, epoch after epoch.
func (w *Worker) rounds() error {
	for done := uint64(0); ; {
		tick := atomic.LoadUint32(&w.block.Futexes[control.FutexTick])
		if err := w.block.MayRun(w.rank); err != nil {
			return err
		}
		epoch := w.block.Get(control.WordEpoch)
		if epoch == done || epoch < w.block.Start().Epoch {
			w.block.Await(w.rank, tick)
			continue
		}
		w.block.Cut(epoch)
		for r := w.block.First(epoch); r < w.block.Plan.Rounds; r++ {
			err := w.round(epoch, r)
			if err == nil {
				err = w.block.AwaitNodes(w.rank, epoch, r)
			}
			if err != nil {
				return err
			}
			if w.block.Held(epoch, r) {
				break
			}
		}
		done = epoch
	}
}

// round takes part in one round of barrier mode. A worker that takes the place of a dead one
// comes through here too: what that one has done already is skipped. Copying the
// replica and averaging weights can be done twice without harm. Only a death within
// the average can leave a trace: a common step of gradients, or an average of
// optimizer states, is then taken twice on a part of one slice.
func (w *Worker) round(epoch uint64, round int) error {
	trained, averaged := w.block.Tickets(epoch, round)
	if w.block.Barrier.Arrived(w.rank) < trained && !w.idle {
		if err := w.trainRound(epoch, round); err != nil {
			return err
		}
	}
	if err := w.meet(trained); err != nil {
		return err
	}
	if w.block.Barrier.Arrived(w.rank) < averaged {
		err := fault.Point("round.average")
		if err == nil {
			err = w.device.Average(w.block.Round(epoch, round))
		}
		if err == nil {
			err = fault.Point("round.averaged")
		}
		if err != nil {
			return err
		}
		if w.rank == 0 {
			w.block.Decide(epoch, round)
		}
	}
	return w.meet(averaged)
}

// trainRound trains this rank's chunks of a round.
func (w *Worker) trainRound(epoch uint64, round int) error {
	from, to := w.block.Plan.Round(w.rank, round)
	if state, _ := w.block.Chunk(from); state != control.ChunkDone {
		if err := w.device.Pull(); err != nil {
			return err
		}
	}
	for i := from; i < to; {
		if !w.block.Running() {
			err := w.settle()
			if err == nil {
				err = w.block.MayRun(w.rank)
			}
			if err != nil {
				return err
			}
		}
		w.chunks = w.chunks[:0]
		for ; i < to && len(w.chunks) < w.device.PreferredChunks(); i++ {
			if w.block.Claim(w.rank, epoch, i) {
				w.chunks = append(w.chunks, w.block.Plan.At(int(epoch-1), i))
			}
		}
		if len(w.chunks) == 0 {
			continue
		}
		if err := w.train(w.chunks); err != nil {
			return err
		}
	}
	return w.settle()
}

// meet waits for all ranks; stopping ends the wait.
func (w *Worker) meet(ticket uint64) error {
	if err := fault.Point("barrier.meet"); err != nil {
		return err
	}
	defer w.block.Spent(w.rank, control.RankWaited, control.Monotonic())
	w.block.SetRank(w.rank, control.RankState, control.StateWaiting)
	err := w.block.Barrier.Meet(w.rank, ticket, func(int) error {
		if w.block.Stopped() {
			return control.ErrStopped
		}
		return nil
	})
	w.block.SetRank(w.rank, control.RankState, control.StateTraining)
	if err == nil {
		err = fault.Point("barrier.met")
	}
	return err
}
