// Package self starts this very program again: a run's workers, and whatever else is to be
// a process of its own.
package self

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Emulator is the environment variable that names an emulator: the command line of qemu-user
// up to the program, such as "qemu-x86_64 -cpu Nehalem". It is for tests. Linux would start
// the program again on the real processor, or not at all where that is of another kind.
const Emulator = "HOGWILD_EMULATOR"

// Command is this very program, even if its file has been replaced since, with other
// arguments. It keeps the name that it was called by: a program that looks at its own name
// to decide what it is decides the same again. It is killed when ctx is done.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	line := []string{"/proc/self/exe"}
	if emulator := strings.Fields(os.Getenv(Emulator)); len(emulator) > 0 {
		file, err := os.Executable() // of the program: /proc/self/exe is the emulator
		if err != nil {
			file = os.Args[0]
		}
		line = slices.Concat(emulator, []string{"-0", os.Args[0], file})
	}
	cmd := exec.CommandContext(ctx, line[0], append(line[1:], args...)...)
	if len(line) == 1 {
		cmd.Args[0] = os.Args[0]
	}
	return cmd
}
