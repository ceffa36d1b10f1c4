package worker

import (
	"errors"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/internal/fault"
)

// Worker is one rank of a run: it takes chunks, trains them on its device, and
// reports. It does not know where the weights are.
type Worker struct {
	rank    int
	block   *control.Block
	device  device.Device
	chunks  []plan.Chunk     // taken for the next call of Train
	queued  []plan.Chunk     // the device has them, and has not told what they came to
	begun   plan.ChunkResult // the first step, which was timed by itself: of the first chunk
	delayed bool             // updates are kept back
	lazy    bool             // rows may wait for the moves of an optimizer with state
	idle    bool             // meets and averages in the place of a rank that is gone; trains nothing

	join func(*control.Header) (device.Device, error) // makes the device
}

// New returns one of a run in this process.
func New(rank int, block *control.Block, d device.Device) *Worker {
	own := *block
	return &Worker{rank: rank, block: &own, device: d}
}

// errLeft ends a worker that the run no longer needs.
var errLeft = errors.New("there are fewer workers now")

// train gives chunks to the device. A worker's first step is timed, unless it is short.
func (w *Worker) train(cs []plan.Chunk) error {
	defer w.block.Spent(w.rank, control.RankTrained, control.Monotonic())
	if err := fault.Point("chunk.taken"); err != nil {
		return err
	}
	if w.block.Rank(w.rank, control.RankFirst) == 0 && cs[0].Count > 0 {
		if s, ok := w.device.(strider); !ok || !s.Strides() {
			step, rest := cs[0].Split(1)
			ys, err := device.Complete(w.device, []plan.Chunk{step})
			if err != nil {
				return err
			}
			w.begun, cs[0] = ys[0], rest
		}
		w.block.SetRank(w.rank, control.RankFirst, control.Monotonic())
	}
	w.queued = append(w.queued, cs...)
	return w.report(w.device.Train(cs))
}

// strider is a device that may take many short steps at once. The rate of a step, or its row, then depends on where its
// chunk begins: were the first one taken alone, a resumed run would have other bits than one left alone.
type strider interface{ Strides() bool }

// settle waits for what the device still has: before this worker waits for anybody.
func (w *Worker) settle() error {
	if len(w.queued) == 0 {
		return nil
	}
	defer w.block.Spent(w.rank, control.RankTrained, control.Monotonic())
	return w.report(w.device.Train(nil))
}

// report writes what chunks came to: the first of those that the device has.
func (w *Worker) report(ys []plan.ChunkResult, err error) error {
	if err != nil || len(ys) == 0 {
		return err
	}
	if err := fault.Point("chunk.report"); err != nil {
		return err
	}
	done := w.queued[:len(ys)]
	if w.delayed && w.block.Last(done[len(done)-1]) || w.lazy && w.block.Ahead() == 0 {
		w.drain() // before the coordinator copies the weights
	}
	w.block.SetRank(w.rank, control.RankDone, control.Monotonic())
	for i, c := range done {
		w.block.Finish(w.rank, c, w.begun.Plus(ys[i]))
		w.begun = plan.ChunkResult{}
	}
	w.queued = w.queued[:copy(w.queued, w.queued[len(ys):])]
	return nil
}

// flusher is a device that keeps updates back, or whose workers wait for each other's steps: delayed and ordered mode.
type flusher interface{ Flush() }

// drain has all updates written that the device keeps back: before this worker waits,
// and when an epoch is complete.
func (w *Worker) drain() {
	if d, ok := w.device.(flusher); ok {
		d.Flush()
	}
}
