package control

import (
	"math/bits"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/shm"
)

// LockLine is the distance of two locks.
const LockLine = 2 * RankWords // words of 32 bits from one lock to the next

// LockShift returns log2 of the weights under one lock: 1,024 or, in models of more than
// 4 M weights, as many as make 4,096 locks.
func LockShift(p int) int { return max(10, bits.Len(uint(max(p-1, 0)))-12) }

// lockBlocks returns how many locks p weights have.
func lockBlocks(p int) int { return (p-1)>>LockShift(p) + 1 }

// Lock is one lock: a word that holds 1 + the rank that has it, or 0; and behind it a word that is
// 1 while a worker sleeps until the lock is free. So a lock that no worker waits for is given back without a system
// call.
type Lock []uint32

// Lock returns the lock of a block of weights.
func (m *Weights) Lock(block int) Lock { return m.Locks[block*LockLine:][:LockLine] }

// Acquire takes the lock for a rank: it looks, then gives way, and then sleeps until the lock is given
// back. The one that has it may be stopped.
func (l Lock) Acquire(rank int) {
	for tries := 0; !atomic.CompareAndSwapUint32(&l[0], 0, uint32(rank+1)); tries++ {
		if tries < lockTries {
			Pause(tries)
			continue
		}
		atomic.StoreUint32(&l[1], asleep)
		if atomic.LoadUint32(&l[0]) != 0 {
			_ = shm.Wait(&l[1], asleep, 10*time.Millisecond) // looks again in any case: see vec.Guard
		}
	}
}

// asleep is what a word holds on which somebody sleeps until a lock is free, or a turn comes. Waking changes the word.
const asleep = 1

// lockTries are the times that a worker looks before it sleeps.
const lockTries = 1000

// Release gives the lock back.
func (l Lock) Release() {
	atomic.StoreUint32(&l[0], 0)
	l.Wake()
}

// Wake wakes those who sleep until the lock is free.
func (l Lock) Wake() {
	if atomic.LoadUint32(&l[1]) == asleep {
		shm.Wake(&l[1])
	}
}

// FreeLocks frees the locks of a worker that is dead.
func (m *Weights) FreeLocks(rank int) {
	for block := range len(m.Locks) / LockLine {
		if l := m.Lock(block); atomic.CompareAndSwapUint32(&l[0], uint32(rank+1), 0) {
			l.Wake()
		}
	}
}

// Pause waits a moment for another worker: at first by looking again, then by giving
// it this core, which it may need.
func Pause(tries int) {
	if tries >= 100 {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
