package workers

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCheckThreads: a limit that Go's own threads would reach is named before, but for root, who has none.
func TestCheckThreads(t *testing.T) {
	IsWorker() // else it is refused
	const variable = "PLAYED_FEW_THREADS"
	if os.Getenv(variable) != "" {
		var was unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_NPROC, &was)
		few := was
		few.Cur = min(12, was.Max)
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &few)
		err := CheckStart(2)
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &was)
		if err == nil || !strings.Contains(err.Error(), "about 20 threads, and this user may have 12: raise") {
			t.Error(err)
		}
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestCheckThreads$")
	cmd.Env, cmd.Dir = append(os.Environ(), variable+"=1"), "/"
	if os.Geteuid() == 0 {
		if err := CheckStart(1 << 30); err != nil {
			t.Error(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if said, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState == nil {
		t.Skip(err)
	} else if err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
