package control

import "golang.org/x/sys/unix"

// Monotonic returns the time in ns, by a clock that all processes of a machine share.
func Monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail for this clock
	return uint64(t.Nano())
}

// threadTime returns how long the calling thread has been on a core, in ns.
func threadTime() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return uint64(t.Nano())
}
