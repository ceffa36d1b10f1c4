package hogwild

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const lockLine = 2 * lineWords // words of 32 bits from one lock to the next

// lockShift is log2 of the weights under one lock: 1,024 or, in models of more than
// 4 M weights, as many as make 4,096 locks.
func lockShift(p int) int { return max(10, bits.Len(uint(max(p-1, 0)))-12) }

// lockBlocks is how many locks p weights have.
func lockBlocks(p int) int { return (p-1)>>lockShift(p) + 1 }

// freeLocks frees the locks of a worker that is dead.
func (m *weights) freeLocks(rank int) {
	for at := 0; at < len(m.locks); at += lockLine {
		atomic.CompareAndSwapUint32(&m.locks[at], uint32(rank+1), 0)
	}
}

// pause waits a moment for another worker: at first by looking again, then by giving
// it this core, which it may need.
func pause(tries int) {
	if tries >= 100 {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
