package shm

import (
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

func TestCheck(t *testing.T) {
	checkLeaks(t)
	if err := Check(); err != nil {
		t.Fatal(err)
	}
}

// What a kernel that is too old, a sandbox and a policy answer, each with its cure; what
// else goes wrong speaks for itself.
func TestExplain(t *testing.T) {
	const sandbox = "sandbox"
	for _, c := range []struct {
		err     unix.Errno
		release string
		says    string
	}{
		{unix.ENOSYS, "3.10.0-1160.el7.x86_64", "this is Linux 3.10.0-1160.el7.x86_64, and 3.17 or later is needed"},
		{unix.ENOSYS, "2.6.32", "3.17 or later"},
		{unix.ENOSYS, "3.16.85", "3.17 or later"},
		{unix.ENOSYS, "3.17.0", sandbox},
		{unix.ENOSYS, "4.4.0", sandbox},
		{unix.ENOSYS, "10.1-new", sandbox},
		{unix.EPERM, "6.1.0-13-amd64", "Linux 6.1.0-13-amd64 has this system call, but a sandbox or container " +
			"forbids it"},
		{unix.EPERM, "3.10.0", sandbox},
		{unix.EACCES, "6.5.0", "sysctl vm.memfd_noexec=1"},
	} {
		check.Error(t, explain(c.err, c.release), c.err.Error(), c.says)
	}
	if err := explain(unix.EMFILE, "6.1.0"); err != unix.EMFILE {
		t.Errorf("too many open files became %q", err)
	}
}
