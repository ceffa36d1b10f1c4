package hogwild

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"hogwild/shm"
)

// errStopped ends a worker that was asked to stop.
var errStopped = errors.New("stopped")

// world is the control block: the segment through which the coordinator and the
// workers of a run speak. Every word in it has one kind of writer, and every word
// that is written often has a cache line of its own.
//
// The heart is the table of chunks, one record each: who has it, and once it is
// done, its loss. A record changes hands by one compare-and-swap and is done by
// one store, so that a process may be killed between any two instructions: a chunk
// is either done, with its loss, or it is not and is given back. Nothing is counted
// that would have to be repaired after a death.
type world struct {
	seg     *shm.Segment
	control []uint64 // one word a line: see the constants
	bells   []uint32
	lines   []uint64 // one line a rank
	chunks  []uint64 // two words a chunk: state, loss
	barrier *shm.Barrier
	plan    plan
	cursor  int // where this worker goes on looking among its own chunks
}

const lineWords = 16 // 128 bytes: x86 fetches lines in pairs

// The words of control, a line each.
const (
	controlEpoch = iota * lineWords // the open epoch, from 1; 0: none yet
	controlNext                     // async mode: the next chunk that nobody has looked at
	controlStop                     // 1: end after the chunk in hand
	controlHold                     // 1: wait before the next chunk
	controlRound                    // barrier mode: the first round of the epoch that is not complete (after a resume)
	controlWords
)

// The bells: futex words, a line each. Workers wait on tick, the coordinator on call.
const (
	bellTick  = 0
	bellCall  = lineWords * 2
	bellWords = lineWords * 4
)

// The words of a rank's line. The rank writes them, but for state and pid, which
// the coordinator writes while the process is not there.
const (
	linePID = iota
	lineState
	lineExamples
	lineSteps
	lineBegan    // monotonic ns: ready to train
	lineFirst    // monotonic ns: first step done
	lineDone     // monotonic ns: its last chunk done
	lineTrained  // ns within chunks
	lineWaited   // ns waiting for others, or for the next epoch
	lineFailStep // 1 or more: the loss was not finite in that step
	lineFailLoss
	lineFailRate
)

// What a worker is doing.
const (
	stateStarting = iota
	stateTraining
	stateWaiting // for other workers: at the barrier, or for the next epoch
	stateHeld
	stateRestarting
	stateGone
)

var stateNames = [...]string{"starting", "training", "waiting", "held", "restarting", "gone"}

// The state of a chunk: the epoch (from 1) in the upper half, in the lower half one
// of these, or 1 + the rank that has it.
const (
	chunkFree = 0
	chunkDone = 1<<32 - 1
	chunkLost = 1<<32 - 2
)

// worldHeader travels with the world: what a worker needs to know beyond its rank.
type worldHeader struct {
	Version string `json:"version"`
	Job     Job    `json:"job"`
	Rows    int    `json:"rows"`
	Weights uint64 `json:"weights"` // checksum of the layout of the weights' segment
	Data    string `json:"data"`    // checksum of the data

	Device []byte `json:"device,omitempty"` // the handle of the weights, where they are not in host memory

	CPUProfile string `json:"cpu_profile"` // worker 0 writes them
	Trace      string `json:"trace"`
}

func createWorld(h worldHeader) (*world, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	p := newPlan(&h.Job.Config, h.Rows)
	var l shm.Layout
	l.Add("control", shm.U64, controlWords)
	l.Add("bells", shm.U32, bellWords)
	l.Add("lines", shm.U64, h.Job.Workers, lineWords)
	l.Add("chunks", shm.U64, p.chunks(), 2)
	l.AddBarrier("barrier", h.Job.Workers)
	l.Add("header", shm.U8, len(text))
	seg, err := l.Create("world")
	if err != nil {
		return nil, err
	}
	header, err := shm.View[uint8](seg, "header")
	if err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	copy(header, text)
	w, _, err := openWorld(seg)
	if err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	return w, nil
}

// openWorld finds the control block in a mapped segment, and refuses another
// version of the program.
func openWorld(seg *shm.Segment) (*world, worldHeader, error) {
	var h worldHeader
	text, err := shm.View[uint8](seg, "header")
	if err != nil {
		return nil, h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, h, fmt.Errorf("the control block's header: %w", err)
	}
	if h.Version != Version {
		return nil, h, fmt.Errorf("the coordinator is hogwild %s, this worker is %s: start both from one binary", h.Version, Version)
	}
	w := &world{seg: seg, plan: newPlan(&h.Job.Config, h.Rows)}
	var errs [5]error
	w.control, errs[0] = shm.View[uint64](seg, "control")
	w.bells, errs[1] = shm.View[uint32](seg, "bells")
	w.lines, errs[2] = shm.View[uint64](seg, "lines")
	w.chunks, errs[3] = shm.View[uint64](seg, "chunks")
	w.barrier, errs[4] = shm.OpenBarrier(seg, "barrier")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, h, err
	}
	if len(w.control) != controlWords || len(w.bells) != bellWords ||
		len(w.lines) != h.Job.Workers*lineWords || len(w.chunks) != 2*w.plan.chunks() {
		return nil, h, errors.New("the control block has another shape than this program gives it")
	}
	return w, h, nil
}

func (w *world) get(word int) uint64        { return atomic.LoadUint64(&w.control[word]) }
func (w *world) set(word int, v uint64)     { atomic.StoreUint64(&w.control[word], v) }
func (w *world) stopped() bool              { return w.get(controlStop) != 0 }
func (w *world) line(rank, word int) uint64 { return atomic.LoadUint64(&w.lines[rank*lineWords+word]) }

// spent adds the time since start to a word of a rank's line.
func (w *world) spent(rank, word int, start uint64) {
	w.setLine(rank, word, w.line(rank, word)+monotonic()-start)
}

func (w *world) setLine(rank, word int, v uint64) {
	atomic.StoreUint64(&w.lines[rank*lineWords+word], v)
}

// tick wakes all workers that wait for something to do.
func (w *world) tick() { shm.Wake(&w.bells[bellTick]) }

// call wakes the coordinator.
func (w *world) call() { shm.Wake(&w.bells[bellCall]) }

// open starts an epoch: every chunk is free. Only while no worker has a chunk.
func (w *world) open(epoch uint64) {
	for i := range w.plan.chunks() {
		w.setChunk(i, epoch, chunkFree)
	}
	w.publish(epoch, 0)
}

// publish tells the workers of an epoch whose table of chunks is ready.
func (w *world) publish(epoch uint64, round int) {
	w.set(controlNext, 0)
	w.set(controlRound, uint64(round))
	w.set(controlEpoch, epoch)
	w.tick()
}

func (w *world) setChunk(i int, epoch uint64, state uint64) {
	atomic.StoreUint64(&w.chunks[2*i], epoch<<32|state)
}

// chunk is the state of a chunk in the open epoch and, once done, its loss.
func (w *world) chunk(i int) (state uint64, loss float64) {
	state = atomic.LoadUint64(&w.chunks[2*i]) & (1<<32 - 1)
	return state, math.Float64frombits(atomic.LoadUint64(&w.chunks[2*i+1]))
}

// claim takes chunk i of an epoch, if it is free.
func (w *world) claim(rank int, epoch uint64, i int) bool {
	return atomic.CompareAndSwapUint64(&w.chunks[2*i], epoch<<32|chunkFree, epoch<<32|uint64(rank+1))
}

// finish reports a chunk: its loss, and that it is done.
func (w *world) finish(rank int, c Chunk, t Tally) {
	atomic.StoreUint64(&w.chunks[2*c.Index+1], math.Float64bits(t.Loss))
	w.setChunk(c.Index, uint64(c.Epoch+1), chunkDone)
	w.setLine(rank, lineExamples, w.line(rank, lineExamples)+uint64(t.Examples))
	w.setLine(rank, lineSteps, w.line(rank, lineSteps)+uint64(t.Steps))
}

// release gives back the chunks of a dead worker.
func (w *world) release(rank int) {
	epoch := w.get(controlEpoch)
	for i := range w.plan.chunks() {
		atomic.CompareAndSwapUint64(&w.chunks[2*i], epoch<<32|uint64(rank+1), epoch<<32|chunkFree)
	}
	w.tick()
}

// giveUp marks the chunks that only a rank may train, and has not, as lost.
func (w *world) giveUp(rank int) {
	if !w.plan.shares && !w.plan.barrier {
		return // any other worker will take them
	}
	epoch := w.get(controlEpoch)
	from, to := w.plan.owned(rank)
	for i := from; i < to; i++ {
		atomic.CompareAndSwapUint64(&w.chunks[2*i], epoch<<32|chunkFree, epoch<<32|chunkLost)
	}
	w.tick()
}

// take finds a worker's next chunk in async mode, and waits for one across the gate
// between epochs. It returns errStopped when the run ends.
func (w *world) take(rank int) (Chunk, error) {
	for {
		tick := atomic.LoadUint32(&w.bells[bellTick])
		if err := w.mayRun(rank); err != nil {
			return Chunk{}, err
		}
		if c, ok := w.next(rank); ok {
			return c, nil
		}
		w.await(rank, tick)
	}
}

// next finds a worker's next chunk without waiting for it: there may be none, or
// workers may be told to wait or to stop.
func (w *world) next(rank int) (Chunk, bool) {
	epoch := w.get(controlEpoch)
	if epoch == 0 || w.stopped() || w.get(controlHold) != 0 {
		return Chunk{}, false
	}
	i := w.find(rank, epoch)
	if i < 0 {
		return Chunk{}, false
	}
	return w.plan.at(int(epoch-1), i), true
}

// last tells whether all chunks of the open epoch but c are done.
func (w *world) last(c Chunk) bool {
	for i := w.plan.chunks() - 1; i >= 0; i-- {
		if state, _ := w.chunk(i); i != c.Index && state != chunkDone {
			return false
		}
	}
	return true
}

// ahead is how many chunks nobody has looked at yet: in the open epoch, or in this
// worker's share of it.
func (w *world) ahead() int {
	if w.plan.shares {
		return (w.plan.perRank - w.cursor) * w.plan.workers
	}
	return max(0, w.plan.chunks()-int(w.get(controlNext)))
}

// find claims a free chunk: the next in line, or else any that was given back.
func (w *world) find(rank int, epoch uint64) int {
	from, to := w.plan.owned(rank)
	if !w.plan.shares {
		w.cursor = int(atomic.AddUint64(&w.control[controlNext], 1) - 1)
	}
	for i := from + w.cursor; i < to; i++ {
		if w.claim(rank, epoch, i) {
			w.cursor = i + 1 - from
			return i
		}
	}
	for i := from; i < to; i++ {
		if w.claim(rank, epoch, i) {
			w.cursor = i + 1 - from
			return i
		}
	}
	w.cursor = 0
	return -1
}

// await tells the coordinator that there is nothing to do and sleeps until the
// next tick.
func (w *world) await(rank int, tick uint32) {
	defer w.spent(rank, lineWaited, monotonic())
	w.setLine(rank, lineState, stateWaiting)
	w.call()
	_ = shm.Wait(&w.bells[bellTick], tick, time.Second) // the caller looks again in any case
	w.setLine(rank, lineState, stateTraining)
}

// mayRun is the place where a worker notices that it shall stop, or wait: before
// each chunk.
func (w *world) mayRun(rank int) error {
	for {
		tick := atomic.LoadUint32(&w.bells[bellTick]) // before what it tells of
		if w.stopped() {
			return errStopped
		}
		if w.get(controlHold) == 0 {
			return nil
		}
		w.setLine(rank, lineState, stateHeld)
		w.call()
		if err := shm.Wait(&w.bells[bellTick], tick, time.Second); err != nil {
			return err
		}
		w.setLine(rank, lineState, stateTraining)
	}
}

// fail reports a loss that is not finite, and stops everybody.
func (w *world) fail(rank int, step int64, loss, lr float64) {
	w.setLine(rank, lineFailLoss, math.Float64bits(loss))
	w.setLine(rank, lineFailRate, math.Float64bits(lr))
	w.setLine(rank, lineFailStep, uint64(step))
	w.stop()
}

// stop asks every worker to end after the chunk in hand.
func (w *world) stop() {
	w.set(controlStop, 1)
	w.tick()
	w.call()
}

// progress adds up the open epoch: chunks not done yet, examples, losses.
func (w *world) progress() (left int, done, lost int, loss float64) {
	epoch := int(w.get(controlEpoch)) - 1
	for i := range w.plan.chunks() {
		n := w.plan.at(epoch, i).Count
		switch state, l := w.chunk(i); state {
		case chunkDone:
			done += n
			loss += l
		case chunkLost:
			lost += n
		default:
			left++
		}
	}
	return left, done, lost, loss
}
