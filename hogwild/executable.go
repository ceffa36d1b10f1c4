package hogwild

import (
	"fmt"
	"os"
	"os/exec"
)

// Executable is a path by which this program is started again: /proc/self/exe, which is
// the very file that runs, even if it has been replaced since. Without /proc it is the
// file of the name by which the program was called, as a shell finds it; a worker of
// another version refuses to work. It is an error if there is none.
func Executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", fmt.Errorf("this program cannot start itself again without /proc: %w; as root, mount -t proc proc /proc, or call the program by its path", err)
	}
	return path, nil
}
