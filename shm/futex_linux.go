package shm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The two operations of futex(2), without FUTEX_PRIVATE_FLAG: the word lies in
// memory that several processes map.
const (
	futexWait = 0
	futexWake = 1
)

// Wait sleeps while *word == value, until Wake, a signal or the timeout (0: none).
// It may return early, so callers test their condition again.
func Wait(word *uint32, value uint32, timeout time.Duration) error {
	var ts *unix.Timespec
	if timeout > 0 {
		t := unix.NsecToTimespec(int64(timeout))
		ts = &t
	}
	switch errno := futex(word, futexWait, uintptr(value), ts); errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ETIMEDOUT:
		return nil
	default:
		return fmt.Errorf("shm: futex wait: %w", errno)
	}
}

// Wake adds one to the word and wakes all who wait on it.
func Wake(word *uint32) {
	atomic.AddUint32(word, 1)
	// It fails only for an address that is not mapped, where the line above crashed.
	_ = futex(word, futexWake, 1<<30, nil)
}

// Alive reports whether a process runs; a zombie does not. When that cannot be
// found out, for want of a descriptor, it counts as running.
func Alive(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EINVAL)
	}
	defer unix.Close(fd)
	// A pidfd becomes readable when its process ends.
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err != nil || n == 0
}
