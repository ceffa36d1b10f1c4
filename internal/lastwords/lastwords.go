// Package lastwords says how a process ended: the last lines that it printed, and its status in words. Messages about
// dead workers and programs are made of it.
package lastwords

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tail keeps the end of what a process writes. A crash comes last, after whatever it prints before.
type Tail struct {
	Next io.Writer // gets all of it too, unless it is nil
	mu   sync.Mutex
	text []byte
}

// Limit is how much a Tail keeps, in bytes: Go's traceback of a crash has a few KiB.
const Limit = 64 << 10

// Write is io.Writer's.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - Limit; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	if t.Next == nil {
		return len(b), nil
	}
	return t.Next.Write(b)
}

// String returns what it has kept, without space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// Ended says in words how a process ended: "exited with status 1", "was killed by SIGKILL".
func Ended(status syscall.WaitStatus) string {
	switch {
	case status.Signal() == syscall.SIGKILL:
		return "was killed by SIGKILL"
	case status.Signaled():
		return fmt.Sprintf("was killed by %s (%v)", unix.SignalName(status.Signal()), status.Signal())
	}
	return fmt.Sprintf("exited with status %d", status.ExitStatus())
}
