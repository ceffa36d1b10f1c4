package check

import (
	"flag"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// Limits of a fuzz target.
const (
	mostTime     = 5 * time.Second // of the processor, for one input
	mostResident = 512 << 20       // bytes of the process that tries inputs
)

// Bounded fails the test if do allocates more than this many bytes or computes for more than
// mostTime, or if this process, started by go test -fuzz, has ever held more than mostResident.
func Bounded(t testing.TB, bytes uint64, do func()) {
	t.Helper()
	had, began := allocated(), used()
	do()
	if n := allocated() - had; n > bytes {
		t.Errorf("%d MB were allocated, want %d at most", n>>20, bytes>>20)
	}
	now := used()
	if took := computed(now) - computed(began); took > mostTime {
		t.Errorf("it took %v of processor time, want %v at most", took, mostTime)
	}
	if f := flag.Lookup("test.fuzzworker"); f != nil && f.Value.String() == "true" && now.Maxrss<<10 > mostResident {
		t.Errorf("%d MB were held at once, want %d at most", now.Maxrss>>10, mostResident>>20)
	}
}

// allocated returns how many bytes this process has allocated on the heap so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// used returns the resources that this process has used so far.
func used() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for a bad address
	return u
}

func computed(u syscall.Rusage) time.Duration { return time.Duration(u.Utime.Nano() + u.Stime.Nano()) }
