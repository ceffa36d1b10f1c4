package control

import "math"

const RankWords = 16 // 128 bytes: x86 fetches lines in pairs

// The words of control, a line each.
const (
	WordEpoch      = iota * RankWords // the open epoch, from 1; 0: none yet
	wordNext                          // async mode: the next chunk that no worker has looked at
	wordStop                          // 1: end after the chunk in hand
	WordPause                         // 1: wait before the next chunk
	wordGeneration                    // which header counts: see Announce
	wordHold                          // barrier mode: 1: rank 0 is to hold all after a round
	// barrier mode: the number, in the run and from 1, of the round after which all wait
	wordHeld
	wordMerged // barrier mode, several nodes: the number of the last round whose weights are averaged over them
	wordCount
)

// The futex words, a line each. Workers wait on tick, the coordinator on call.
const (
	FutexTick  = 0
	FutexCall  = RankWords * 2
	futexWords = RankWords * 4
)

// The words of a rank's record. The rank writes them, but for state and pid, which
// the coordinator writes while the process is not there.
const (
	RankPID = iota
	RankState
	RankExamples
	RankSteps
	RankBegan    // monotonic ns: ready to train
	RankFirst    // monotonic ns: first step done
	RankDone     // monotonic ns: its last chunk done
	RankTrained  // ns within chunks
	RankWaited   // ns waiting for others, or for the next epoch
	RankFailStep // 1 or more: the loss was not finite in that step
	RankFailLoss
	RankFailRate
	RankThread  // the thread that trains; 0: it has not said yet
	RankProgram // the process of a program that it waits for; 0: it does not
)

// What a worker is doing.
const (
	StateStarting = iota
	StateTraining
	StateWaiting // for other workers: at the barrier, or for the next epoch
	StatePaused
	StateRestarting
	StateGone
)

// StateNames are the names of the states.
var StateNames = [...]string{"starting", "training", "waiting", "paused", "restarting", "gone"}

// The state of a chunk: the epoch (from 1) in the upper half, in the lower half one
// of these, or 1 + the rank that has it.
const (
	chunkFree = 0
	ChunkDone = 1<<32 - 1
	ChunkLost = 1<<32 - 2
)

// AppendChunk appends the words of a chunk of an epoch that is done with a loss, or free.
func AppendChunk(chunks []uint64, epoch uint64, done bool, loss float64) []uint64 {
	if done {
		return append(chunks, epoch<<32|ChunkDone, math.Float64bits(loss))
	}
	return append(chunks, epoch<<32|chunkFree, 0)
}

// SavedChunk reports whether the state of a chunk is one that a snapshot within an epoch has: no
// worker had it.
func SavedChunk(state, epoch uint64) bool {
	s := state & (1<<32 - 1)
	return state>>32 == epoch && (s == chunkFree || s == ChunkDone || s == ChunkLost)
}
