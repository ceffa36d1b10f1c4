package run

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// finish ends a run: the workers, a round that was under way, the last snapshot,
// the report. What was trained is saved, unless the numbers diverged.
func (r *coordinator) finish() (res rundir.Result, err error) {
	r.tellPeers()
	r.epochs.position.Seconds, r.epochs.position.Wall = r.seconds(control.Monotonic()), r.wall()
	within := r.epochs.opened != 0
	r.epochs.opened = 0
	r.saver.age = time.Since(r.saver.copied)
	r.halt()
	r.drain()
	if nan := r.diverged(); nan != nil {
		r.epochs.ended = nan
	} else if errors.Is(r.epochs.ended, errDone) {
		r.epochs.ended = nil
	}
	r.epochs.failed(r.lostPeers(r.lastRound()))
	r.peers.Leave(func() { res, err = r.conclude(within) })
	if !r.peers.First() && config.Interruption(err) != nil {
		err = config.Reported{Err: err} // node 0 says it
	}
	return res, err
}

// conclude saves what is to be saved, and reports.
func (r *coordinator) conclude(within bool) (rundir.Result, error) {
	good := !errors.Is(r.epochs.ended, config.ErrDiverged)
	if within && good && r.several() {
		r.saveLast()
	} else if within && good && !errors.Is(r.epochs.ended, data.ErrUnreadable) { // who knows what was trained on
		r.epochs.failed(r.saveWithin())
	} else if r.saver.good = good; good && (r.saver.due || !r.saver.whole) {
		r.epochs.failed(r.saveBetween())
	}
	r.report.display.close()
	if r.goesBack() {
		trained := r.epochs.position.Examples
		if within {
			_, done, _, _ := r.progress()
			trained += int64(done)
		}
		r.next = r.followed(trained)
		return rundir.Result{}, r.epochs.ended
	}
	if n := r.rollbacks(); n > 0 && errors.Is(r.epochs.ended, config.ErrDiverged) {
		r.epochs.ended = fmt.Errorf("%w; it has been rolled back %s", r.epochs.ended, human.Plural(n, "time"))
	}
	result := r.result()
	if r.peers.First() {
		r.epochs.failed(r.testEnd(&result))
		r.epochs.failed(r.leaveLoops(&result))
		r.epochs.failed(r.saveResult(&result))
	}
	return result, errors.Join(r.epochs.ended, r.saver.elsewhere)
}

// saveResult writes result.json, and the run once more if its folder was removed after the last save.
func (r *coordinator) saveResult(res *rundir.Result) error {
	r.saver.due = false
	return r.keep(func() error {
		if r.saver.due && r.saver.good {
			if err := r.saveCopy(); err != nil {
				return err
			}
		}
		res.Run = r.dir
		var text bytes.Buffer
		if err := res.WriteJSON(&text); err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(r.dir, rundir.ResultFile), text.Bytes()); err != nil {
			return fmt.Errorf("the result could not be saved: %w", err)
		}
		return nil
	})
}

// failed adds an error to why the run ended; the device's first one is enough.
func (r *epochs) failed(err error) {
	var was, is deviceError
	if err != nil && !(errors.As(err, &is) && errors.As(r.ended, &was)) {
		r.ended = errors.Join(r.ended, err)
	}
}

// drain takes in the evaluation that runs, whatever it says.
func (r *coordinator) drain() {
	_ = r.awaitEvaluation()
}

// saveWithin saves a run that was stopped within an epoch, from the host copy if need be.
func (r *coordinator) saveWithin() error {
	_, done, lost, loss := r.progress()
	defer func() { // only then: a resumed run counts the epoch's chunks again
		r.epochs.position.Examples += int64(done)
		r.epochs.position.Lost += int64(lost)
	}()
	if err := r.copyWithin(); err != nil {
		r.epochs.failed(err)
		return r.saveHostCopy()
	}
	e := rundir.EpochResult{Epoch: int(r.epochs.position.Epoch), Seconds: r.epochs.position.Seconds}
	if e.TrainLoss = loss / float64(done); done == 0 && r.epochs.last != nil { // of no examples it is not a number
		e.TrainLoss = r.epochs.last.TrainLoss
	}
	r.owner.Await()
	_, scored := r.score(&e, false)
	if r.epochs.failed(scored); errors.Is(scored, config.ErrDiverged) {
		return nil
	}
	if scored == nil {
		r.epochs.last = &e
	}
	r.saver.good = true
	return r.keep(r.saveCopy)
}

// saveBetween saves a run that ended between two epochs, the last of which was not saved, or not with success.
func (r *coordinator) saveBetween() error {
	if !r.saver.whole {
		if err := r.copyRun(); err != nil {
			r.epochs.failed(err)
			return r.saveHostCopy()
		}
	}
	return r.keep(r.saveCopy)
}

// copyWithin copies the run within an epoch.
func (r *coordinator) copyWithin() error {
	if err := r.finishRound(); err != nil {
		return err
	}
	r.within()
	return r.copyRun()
}

// finishRound takes the average of a round whose chunks were all done when the
// workers stopped: some had averaged their slice, others not.
func (r *coordinator) finishRound() error {
	if !r.block.Plan.Barrier {
		return nil
	}
	r.within()
	round := r.epochs.position.Round
	if round == r.block.Plan.Rounds {
		return nil
	}
	for rank := range r.job.Workers {
		from, to := r.block.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := r.block.Chunk(i); state != control.ChunkDone && state != control.ChunkLost {
				return nil
			}
		}
	}
	_, averaged := r.block.Tickets(r.epochs.position.Epoch, round)
	for rank := range r.job.Workers {
		if r.block.Barrier.Arrived(rank) >= averaged {
			continue
		}
		if err := r.ask(r.patient(), func() error {
			d, err := r.owner.Device(rank)
			if err == nil {
				err = d.Average(r.block.Round(r.epochs.position.Epoch, round))
			}
			return err
		}); err != nil {
			return onDevice(err)
		}
		r.block.Barrier.Arrive(rank, averaged)
	}
	return nil
}

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }
