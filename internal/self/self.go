// Package self starts this same binary again in another role. Workers and other helpers of a run are such processes.
package self

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hogwild/internal/human"
)

// Emulator is the environment variable that names an emulator: the command line of qemu-user
// up to the program, such as "qemu-x86_64 -cpu Nehalem". It is for tests. Linux would start
// the program again on the real processor, or not at all where that is of another kind.
const Emulator = "HOGWILD_EMULATOR"

// Path is a path by which this program is started again: /proc/self/exe, which is the very
// file that runs, even if it has been replaced since. Without /proc it is the file of the
// name by which the program was called, as a shell finds it; a worker of another version
// refuses to work. It is an error if there is none.
func Path() (string, error) {
	const link = "/proc/self/exe"
	if _, err := os.Stat(link); err == nil {
		return link, nil
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", fmt.Errorf("cannot find this program's own file without /proc: %w; run mount -t proc proc /proc "+
			"as root, or start the program by its full path", err)
	}
	return path, nil
}

// Name is how the user calls this program, as a shell takes it: hogwild, bin/hogwild, or the command of a checkout
// where go has built and started it, under a name that is gone afterwards. A program that has it as a library is not
// it.
func Name() string {
	switch dir, base := filepath.Split(os.Args[0]); {
	case base == "hogwild" && strings.Contains(dir, "/go-build"):
		return "go run ./cmd/hogwild"
	case strings.HasPrefix(base, "hogwild"):
		return human.ShellWord(os.Args[0])
	}
	return "hogwild"
}

// Command is this program with other arguments, to be started. It keeps the name that it
// was called by: a program that looks at its own name to decide what it is decides the same
// again. It is killed when ctx is done. An error of Path is the command's.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	if emulator := strings.Fields(os.Getenv(Emulator)); len(emulator) > 0 {
		file, err := os.Executable() // of the program: /proc/self/exe is the emulator
		if err != nil {
			file = os.Args[0]
		}
		return exec.CommandContext(ctx, emulator[0],
			slices.Concat(emulator[1:], []string{"-0", os.Args[0], file}, args)...)
	}
	path, err := Path()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = os.Args[0]
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// Probe has Go find out now how it starts processes, for which it starts one, and not later: that one has the memory
// and the handlers of this process, and a signal to it would end both. So it has all signals blocked.
func Probe() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, was unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if unix.PthreadSigmask(unix.SIG_BLOCK, &all, &was) != nil {
		return
	}
	_, _ = os.FindProcess(os.Getpid()) // of this one there is always one
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil)
}
