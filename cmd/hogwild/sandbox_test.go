package main

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// sandboxes are ranges of system calls that a kernel or a container lacks, by their
// numbers: on x86-64 and arm64 a call that came to Linux later has a greater number.
var sandboxes = map[string]struct {
	from, to uint32
	errno    syscall.Errno
	old      bool // uname says 2.6 too
}{
	"no-memfd":   {unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_CREATE, unix.EPERM, false},
	"hide-memfd": {unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_CREATE, unix.ENOSYS, false},
	"no-pidfd":   {unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_OPEN, unix.EPERM, false},
	"linux-3.16": {unix.SYS_MEMFD_CREATE, 1 << 30, unix.ENOSYS, true},
	"linux-3.17": {unix.SYS_MEMFD_CREATE + 1, 1 << 30, unix.ENOSYS, true},
}

// sandbox carries out "sandbox NAME PROGRAM [ARGS]": it runs the program in this process's place, with a filter in the
// kernel (seccomp) that refuses the system calls of a sandbox.
func sandbox() {
	s, ok := sandboxes[os.Args[1]]
	path, err := exec.LookPath(os.Args[2])
	if ok && err == nil {
		if s.old {
			const uname26 = 0x0020000 // UNAME26 in linux/personality.h
			_, _, _ = unix.Syscall(unix.SYS_PERSONALITY, uname26, 0, 0)
		}
		runtime.LockOSThread() // a filter is a thread's, and of what the thread executes
		if err = refuse(s.from, s.to, s.errno); err == nil {
			err = syscall.Exec(path, os.Args[2:], os.Environ())
		}
	}
	fmt.Fprintln(os.Stderr, "sandbox:", os.Args[1], err)
	os.Exit(125)
}

// refuse lets the system calls from..to fail with errno, in this thread.
func refuse(from, to uint32, errno syscall.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: from, Jf: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: to, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	defer runtime.KeepAlive(program)
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, reflect.ValueOf(program).Pointer(), 0, 0)
}

// sandboxTries are commands that succeed where scripts can have such a sandbox.
var sandboxTries = map[string][]string{
	"seccomp":  {"sandbox", "no-pidfd", "true"},
	"hideproc": {"unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc"},
}
