package self

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCommand(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ emulator, argument, says string }{
		{"", "-test.list=^TestCommand$", "TestCommand\n"},
		{"echo -cpu old", "worker", fmt.Sprintf("-cpu old -0 %s %s worker\n", os.Args[0], file)},
	} {
		t.Setenv(Emulator, c.emulator)
		cmd := Command(t.Context(), c.argument)
		out, err := cmd.Output()
		if err != nil || string(out) != c.says {
			t.Errorf("emulator %q: it said %q (%v), want %q", c.emulator, out, err, c.says)
		}
		if c.emulator == "" && cmd.Args[0] != os.Args[0] {
			t.Errorf("its name is %s, want %s", cmd.Args[0], os.Args[0])
		}
	}
}

// TestProbe: the signals that this thread blocks are the same afterwards.
func TestProbe(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &before); err != nil {
		t.Fatal(err)
	}
	Probe()
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &after); err != nil || before != after {
		t.Errorf("%v blocked, before %v (%v)", after, before, err)
	}
}
