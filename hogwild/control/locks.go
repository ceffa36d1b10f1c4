package control

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// LockLine is the distance of two locks.
const LockLine = 2 * RankWords // words of 32 bits from one lock to the next

// LockShift is log2 of the weights under one lock: 1,024 or, in models of more than
// 4 M weights, as many as make 4,096 locks.
func LockShift(p int) int { return max(10, bits.Len(uint(max(p-1, 0)))-12) }

// lockBlocks is how many locks p weights have.
func lockBlocks(p int) int { return (p-1)>>LockShift(p) + 1 }

// FreeLocks frees the locks of a worker that is dead.
func (m *Weights) FreeLocks(rank int) {
	for at := 0; at < len(m.Locks); at += LockLine {
		atomic.CompareAndSwapUint32(&m.Locks[at], uint32(rank+1), 0)
	}
}

// Pause waits a moment for another worker: at first by looking again, then by giving
// it this core, which it may need.
func Pause(tries int) {
	if tries >= 100 {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
