// Package control is the shared memory of a run: the control block, through which the coordinator and the workers
// speak, and the weights with what belongs to them. It gives back what processes had that die, and does not know what a
// step is.
//
//	weights.go  the weights, replicas, states of optimizers
//	tickets.go  the words of ordered mode
//	record.go   what workers have sampled
//	nodes.go    barrier mode: workers wait for other nodes
//	rounds.go   the meetings of barrier mode
//	measures.go what programs have measured
//	locks.go    the words of locked mode
//	header.go   the control block's segment, and what it tells of the run
//	block.go    the control block: chunks, ranks, stop and wait
//	ready.go    mode blocks: which chunks may be trained
//	clock.go    clocks
//	words.go    the words of the control block
package control

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"hogwild/hogwild/plan"
	"hogwild/internal/fault"
	"hogwild/shm"
)

// lookAgain bounds a worker's sleep: a coordinator that sees it wake up knows that it is not stuck.
const lookAgain = 200 * time.Millisecond

// ErrStopped ends a worker that was asked to stop. ErrScaled tells a worker that the number of
// workers has changed: it takes over the change by Renew, or ends if there is no place for it.
var (
	ErrStopped = errors.New("stopped")
	ErrScaled  = errors.New("the number of workers has changed")
)

// Block is the control block: the segment through which the coordinator and the
// workers of a run speak. Every word in it has one kind of writer, and every word
// that is written often has a cache line of its own.
//
// The heart is the table of chunks, one record each: who has it, and once it is
// done, its loss. A record changes hands by one compare-and-swap and is done by
// one store, so that a process may be killed between any two instructions: a chunk
// is either done, with its loss, or it is not and is given back. Nothing is counted
// that would have to be repaired after a death.
type Block struct {
	Seg     *shm.Segment
	control []uint64 // one word a line: see the constants
	Futexes []uint32
	ranks   []uint64 // each rank's record, a line each
	Chunks  []uint64 // two words a chunk: state, loss
	Barrier *shm.Barrier
	Plan    plan.Plan // of the open epoch
	cursor  int       // where this worker goes on looking among its own chunks

	// There is room for more workers than the run has, and for the chunks of any number.
	header     []uint8
	chunks     []uint64
	parties    *shm.Barrier
	whole      plan.Plan // of an epoch from its beginning
	start      Start
	generation uint64 // whose header this process goes by
}

// Get returns a word of control.
func (w *Block) Get(word int) uint64 { return atomic.LoadUint64(&w.control[word]) }

// Set writes a word of control.
func (w *Block) Set(word int, v uint64) { atomic.StoreUint64(&w.control[word], v) }

// Stopped reports whether the run is to end.
func (w *Block) Stopped() bool { return w.Get(wordStop) != 0 }

// Running reports whether workers are told neither to stop, nor to wait, nor of another number of them.
func (w *Block) Running() bool { return !w.Stopped() && w.Get(WordPause) == 0 && !w.Scaled() }

// Scaled reports whether the number of workers has changed since this process took it over.
func (w *Block) Scaled() bool { return w.Get(wordGeneration) != w.generation }

// Rank returns a word of a rank's record.
func (w *Block) Rank(rank, word int) uint64 { return atomic.LoadUint64(&w.ranks[rank*RankWords+word]) }

// Spent adds the time since start to a word of a rank's record.
func (w *Block) Spent(rank, word int, start uint64) {
	w.SetRank(rank, word, w.Rank(rank, word)+Monotonic()-start)
}

// SetRank writes a word of a rank's record.
func (w *Block) SetRank(rank, word int, v uint64) {
	atomic.StoreUint64(&w.ranks[rank*RankWords+word], v)
}

// Tick wakes all workers that wait for something to do.
func (w *Block) Tick() { shm.Wake(&w.Futexes[FutexTick]) }

// Call wakes the coordinator.
func (w *Block) Call() { shm.Wake(&w.Futexes[FutexCall]) }

// Open starts an epoch: every chunk is free. Only while no worker has a chunk.
func (w *Block) Open(epoch uint64) {
	w.Free(epoch)
	w.Publish(epoch)
}

// Free makes every chunk of an epoch free. Only while no worker has a chunk.
func (w *Block) Free(epoch uint64) {
	w.Cut(epoch)
	for i := range w.Plan.Chunks() {
		w.setChunk(i, epoch, chunkFree)
	}
}

// Publish tells the workers of an epoch whose table of chunks is ready.
func (w *Block) Publish(epoch uint64) {
	w.Set(wordNext, 0)
	w.Set(WordEpoch, epoch)
	w.Tick()
}

func (w *Block) setChunk(i int, epoch uint64, state uint64) {
	atomic.StoreUint64(&w.Chunks[2*i], epoch<<32|state)
}

// Chunk returns the state of a chunk in the open epoch and, once done, its loss.
func (w *Block) Chunk(i int) (state uint64, loss float64) {
	state = atomic.LoadUint64(&w.Chunks[2*i]) & (1<<32 - 1)
	return state, math.Float64frombits(atomic.LoadUint64(&w.Chunks[2*i+1]))
}

// Claim takes chunk i of an epoch, if it is free.
func (w *Block) Claim(rank int, epoch uint64, i int) bool {
	return atomic.CompareAndSwapUint64(&w.Chunks[2*i], epoch<<32|chunkFree, epoch<<32|uint64(rank+1))
}

// Finish reports a chunk: its loss, and that it is done.
func (w *Block) Finish(rank int, c plan.Chunk, t plan.ChunkResult) {
	atomic.StoreUint64(&w.Chunks[2*c.Index+1], math.Float64bits(t.Loss*w.Plan.Unit))
	w.setChunk(c.Index, uint64(c.Epoch+1), ChunkDone)
	w.SetRank(rank, RankExamples, w.Rank(rank, RankExamples)+uint64(t.Examples))
	w.SetRank(rank, RankSteps, w.Rank(rank, RankSteps)+uint64(t.Steps))
	if w.Plan.Grid > 0 && !w.Plan.Loose {
		w.Tick() // others may be ready now; of a loose plan none waits for that
	}
}

// Release gives back the chunks of a dead worker.
func (w *Block) Release(rank int) {
	epoch := w.Get(WordEpoch)
	for i := range w.Plan.Chunks() {
		atomic.CompareAndSwapUint64(&w.Chunks[2*i], epoch<<32|uint64(rank+1), epoch<<32|chunkFree)
	}
	w.Tick()
}

// GiveUp marks the chunks that only a rank may train, and has not, as lost.
func (w *Block) GiveUp(rank int) {
	if !w.Plan.Shares && !w.Plan.Barrier {
		return // any other worker will take them
	}
	epoch := w.Get(WordEpoch)
	from, to := w.Plan.Owned(rank)
	for i := from; i < to; i++ {
		atomic.CompareAndSwapUint64(&w.Chunks[2*i], epoch<<32|chunkFree, epoch<<32|ChunkLost)
	}
	w.Tick()
}

// Take finds a worker's next chunk in async mode, and waits for one across the boundary
// between epochs. It returns ErrStopped when the run ends.
func (w *Block) Take(rank int) (plan.Chunk, error) {
	for {
		tick := atomic.LoadUint32(&w.Futexes[FutexTick])
		if err := w.MayRun(rank); err != nil {
			return plan.Chunk{}, err
		}
		if c, ok := w.Next(rank); ok {
			return c, nil
		}
		w.Await(rank, tick)
	}
}

// Next finds a worker's next chunk without waiting for it: there may be none, or
// workers may be told to wait or to stop.
func (w *Block) Next(rank int) (plan.Chunk, bool) {
	epoch := w.Get(WordEpoch)
	if epoch == 0 || !w.Running() {
		return plan.Chunk{}, false
	}
	if w.Plan.Grid > 0 {
		w.Cut(epoch)
	}
	i := w.Find(rank, epoch)
	if i < 0 {
		return plan.Chunk{}, false
	}
	return w.Plan.At(int(epoch-1), i), true
}

// Last reports whether all chunks of the open epoch but c are done.
func (w *Block) Last(c plan.Chunk) bool {
	for i := w.Plan.Chunks() - 1; i >= 0; i-- {
		if state, _ := w.Chunk(i); i != c.Index && state != ChunkDone {
			return false
		}
	}
	return true
}

// Ahead returns how many chunks no worker has looked at yet: in the open epoch, or in this
// worker's share of it.
func (w *Block) Ahead() int {
	if w.Plan.Shares {
		return (w.Plan.PerRank - w.cursor) * w.Plan.Workers
	}
	return max(0, w.Plan.Chunks()-int(w.Get(wordNext)))
}

// Find claims a free chunk: the next in line, or else any that was given back.
func (w *Block) Find(rank int, epoch uint64) int {
	if w.Plan.Grid > 0 {
		return firstReady(w.Chunks, &w.Plan, epoch, &w.cursor,
			func(i int) bool { return w.Claim(rank, epoch, i) })
	}
	from, to := w.Plan.Owned(rank)
	if !w.Plan.Shares {
		w.cursor = int(atomic.AddUint64(&w.control[wordNext], 1) - 1)
	}
	for i := from + w.cursor; i < to; i++ {
		if w.Claim(rank, epoch, i) {
			w.cursor = i + 1 - from
			return i
		}
	}
	for i := from; i < to; i++ {
		if w.Claim(rank, epoch, i) {
			w.cursor = i + 1 - from
			return i
		}
	}
	w.cursor = 0
	return -1
}

// Await tells the coordinator that there is nothing to do and sleeps until the
// next tick.
func (w *Block) Await(rank int, tick uint32) {
	defer w.Spent(rank, RankWaited, Monotonic())
	w.SetRank(rank, RankState, StateWaiting)
	w.Call()
	_ = fault.Point("worker.idle")
	_ = shm.Wait(&w.Futexes[FutexTick], tick, lookAgain) // the caller does in any case
	w.SetRank(rank, RankState, StateTraining)
}

// MayRun is where a worker notices that it shall stop, and where it waits: before
// each chunk.
func (w *Block) MayRun(rank int) error {
	for {
		tick := atomic.LoadUint32(&w.Futexes[FutexTick]) // before what it announces
		if w.Stopped() {
			return ErrStopped
		}
		if w.Scaled() {
			return ErrScaled
		}
		if w.Get(WordPause) == 0 {
			return nil
		}
		w.SetRank(rank, RankState, StatePaused)
		w.Call()
		if err := fault.Point("worker.paused"); err != nil {
			return err
		}
		if err := shm.Wait(&w.Futexes[FutexTick], tick, lookAgain); err != nil {
			return err
		}
		w.SetRank(rank, RankState, StateTraining)
	}
}

// Fail reports a loss that is not finite, and stops everybody.
func (w *Block) Fail(rank int, step int64, loss, lr float64) {
	w.SetRank(rank, RankFailLoss, math.Float64bits(loss))
	w.SetRank(rank, RankFailRate, math.Float64bits(lr))
	w.SetRank(rank, RankFailStep, uint64(step))
	w.Stop()
}

// Stop asks every worker to end after the chunk in hand.
func (w *Block) Stop() {
	w.Set(wordStop, 1)
	w.Tick()
	w.Call()
}

// InHand returns the chunk that each of the first ranks has in hand, counted from 1 within its
// epoch; 0: none.
func (w *Block) InHand(ranks int) []int {
	all := make([]int, ranks)
	for i := range w.Plan.Chunks() {
		if state, _ := w.Chunk(i); state > chunkFree && int(state) <= ranks {
			all[state-1] = i + 1
		}
	}
	return all
}

// Progress adds up the open epoch: chunks not done yet, examples, losses.
func (w *Block) Progress() (left int, done, lost int, loss float64) {
	epoch := int(w.Get(WordEpoch)) - 1
	for i := range w.Plan.Chunks() {
		n := w.Plan.At(epoch, i).Count
		switch state, l := w.Chunk(i); state {
		case ChunkDone:
			done += n
			loss += l
		case ChunkLost:
			lost += n
		default:
			left++
		}
	}
	return left, done, lost, loss
}

// Cut sets the plan to the plan of an epoch.
func (w *Block) Cut(epoch uint64) {
	w.Plan = w.whole
	if epoch == w.start.Epoch {
		w.Plan = w.whole.Times(w.start.Longer).After(w.start.Base)
	}
	w.Plan = w.Plan.Of(epoch)
	w.Chunks = w.chunks[:2*w.Plan.Chunks()]
}

// Start is where a run, or with another number of workers the rest of it, begins.
type Start struct {
	Epoch  uint64 `json:"epoch"`  // from 1
	Longer int    `json:"longer"` // plan.Plan's, of that epoch, where a run that ended began it; 0: as in all others
	Base   int    `json:"base"`   // barrier mode: examples of that epoch that were trained before it was cut anew
	Round  int    `json:"round"`  // barrier mode: its first round, as it is cut now, that is not complete
	Rounds int    `json:"rounds"` // barrier mode: rounds of the run before this epoch's, as it is cut now
}
