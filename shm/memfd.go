package shm

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The first Linux with memfd_create and with seals. A segment needs nothing newer.
const (
	oldestMajor = 3
	oldestMinor = 17
)

// Check makes a small segment and closes it. Where that fails no run can work; the
// error says why, and what to do.
func Check() error {
	s, err := Create("check", 1)
	if err != nil {
		return err
	}
	return s.Close()
}

// memfd makes a file in memory, which can be sealed.
func memfd(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, explain(err, kernelRelease())
	}
	return os.NewFile(uintptr(fd), name), nil
}

// explain says what is behind an error of memfd_create: the kernel is too old, or a
// sandbox's filter of system calls (seccomp) answers in its place. There is no
// substitute: files in /dev/shm cannot be sealed, so a worker could shrink or change what
// others have mapped.
func explain(err error, release string) error {
	switch {
	case errors.Is(err, unix.ENOSYS) && older(release):
		return fmt.Errorf("%w: this is Linux %s, and %d.%d or later is needed", err, release, oldestMajor, oldestMinor)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: Linux %s has this system call, but a sandbox or container forbids it: let its seccomp "+
			"profile allow memfd_create, or run outside of it",
			err, release)
	case errors.Is(err, unix.EACCES): // Linux 6.3 to 6.5; a newer one makes the memfd as the setting wants it
		return fmt.Errorf("%w: a security policy of Linux %s forbids it; if vm.memfd_noexec is 2, as root: sysctl "+
			"vm.memfd_noexec=1", err, release)
	}
	return err
}

// older reports whether a release of Linux, such as "3.10.0-1160.el7", has no memfd_create.
func older(release string) bool {
	major, rest, _ := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (x < oldestMajor || x == oldestMajor && y < oldestMinor)
}

// kernelRelease returns, for example, "6.1.0-13-amd64".
func kernelRelease() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // fails only for a bad address
	return unix.ByteSliceToString(u.Release[:])
}
