package check

import (
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// mostTime is how long an input of a fuzz target may be worked on, in time of the processor.
const mostTime = 5 * time.Second

// Bounded fails the test if do allocates more than so many bytes, or computes for more than
// mostTime. What one input may cost is far below what a whole file may.
func Bounded(t testing.TB, bytes uint64, do func()) {
	t.Helper()
	had, began := allocated(), computed()
	do()
	if n := allocated() - had; n > bytes {
		t.Errorf("%d MB were allocated, want %d at most", n>>20, bytes>>20)
	}
	if took := computed() - began; took > mostTime {
		t.Errorf("it took %v of processor time, want %v at most", took, mostTime)
	}
}

// allocated is what this process has allocated on the heap so far, in bytes.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// computed is the processor time of this process.
func computed() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
