package program

import (
	"os"
	"testing"

	"github.com/kballard/go-shellquote"

	"hogwild/hogwild/program/programtest"
)

// The programs of these tests are this test binary, started again.
func TestMain(m *testing.M) {
	// The race detector lets each process sleep for a second before it ends.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if programtest.IsProgram() {
		os.Exit(programtest.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// own returns the command line of a program of these tests.
func own(tricks ...string) string {
	return shellquote.Join(append([]string{"/proc/self/exe"}, tricks...)...)
}

// quiet returns a command that does not pass on its program's output.
func quiet(tricks ...string) Command { return Command{Line: own(tricks...), Workers: 2, Seed: 7} }

// started returns a program that has said hello.
func started(t *testing.T, tricks ...string) *Process {
	t.Helper()
	p, err := Start(t.Context(), quiet(tricks...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.finish(os.ErrClosed) })
	return p
}
