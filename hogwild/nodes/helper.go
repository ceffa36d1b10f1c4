package nodes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// HelperVariable is the environment variable with the path of hogwild-mpi. Without it, the program lies next to this
// one.
const HelperVariable = "HOGWILD_MPI_HELPER"

// helper is the process hogwild-mpi (mpi/hogwild-mpi.c), which speaks MPI.
type helper struct {
	cmd    *exec.Cmd
	socket *os.File
	said   said
	// stays open: MPICH's launcher kills the whole job when it is closed, before anybody could save
	pmi   *os.File
	ended chan struct{} // closed when the process has ended
}

// What is exchanged with the helper, as in hogwild-mpi.c.
const helperProtocol = 2

const (
	callJoin = iota
	callSumFloats
	callSumDoubles
	callShare
	callSend
	callReceive
	callLeave
	callRoll // at any time: the call that waits is called off
)

type request struct {
	Call, From            uint32
	Memory, Offset, Count uint64
}

type reply struct {
	Failed, Protocol, Call uint32
	Node, Nodes            int32
	Local, OnHost          int32
	Text                   [484]byte
}

func (r *reply) text() string {
	text, _, _ := bytes.Cut(r.Text[:], []byte{0})
	return strings.TrimSpace(string(text))
}

// findHelper returns the path of hogwild-mpi.
func findHelper() (string, error) {
	path := os.Getenv(HelperVariable)
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		path = filepath.Join(filepath.Dir(self), "hogwild-mpi")
	}
	if _, err := exec.LookPath(path); err != nil {
		l := Launched()
		return "", fmt.Errorf("training on several nodes needs the program hogwild-mpi: %w\n"+
			"build it on the cluster, with its mpicc (make mpi), and put it beside hogwild, or set %s to its path\n"+
			"by %s this is a rank of a job that %s has started; if it is a shell in one, unset that: with --mpi off "+
			"each rank is a run of its own", err, HelperVariable, l.says, l.Launcher)
	}
	return path, nil
}

// startHelper starts hogwild-mpi with one end of a socket and the memory.
func startHelper(path string, memory *os.File) (*helper, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("a socket for hogwild-mpi: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	h := &helper{cmd: exec.Command(path), socket: os.NewFile(uintptr(pair[0]), "socket"), ended: make(chan struct{})}
	_ = unix.SetNonblock(pair[1], false) // only this side has deadlines; fails for a bad descriptor only
	h.cmd.ExtraFiles = []*os.File{theirs, memory}
	h.cmd.Stdout, h.cmd.Stderr = &h.said, &h.said
	h.cmd.WaitDelay = time.Second // an MPI library may leave a process behind that holds stderr
	h.cmd.Env = os.Environ()
	h.pmi = h.passOn("PMI_FD")
	started := make(chan error)
	go h.live(started)
	if err := <-started; err != nil {
		h.socket.Close()
		return nil, fmt.Errorf("starting hogwild-mpi: %w", err)
	}
	return h, nil
}

// passOn hands a descriptor to the helper whose number is in a variable. MPICH's launcher, and
// Slurm's pmi2, connect a rank in this way.
func (h *helper) passOn(variable string) *os.File {
	fd, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return nil
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), variable)
	h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, f)
	h.cmd.Env = slices.DeleteFunc(h.cmd.Env, func(s string) bool { return strings.HasPrefix(s, variable+"=") })
	h.cmd.Env = append(h.cmd.Env, fmt.Sprintf("%s=%d", variable, 2+len(h.cmd.ExtraFiles)))
	return f
}

// live starts the process and waits for its end, on one thread: the kernel kills the helper when the
// thread that started it ends.
func (h *helper) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := h.cmd.Start()
	started <- err
	if err == nil {
		_ = h.cmd.Wait() // ProcessState says how it ended
		close(h.ended)
	}
}

// call makes one request and waits for the reply, for no longer than timeout; 0: for ever.
func (h *helper) call(r request, timeout time.Duration) (*reply, error) {
	if err := h.send(r); err != nil {
		return nil, h.lost()
	}
	a, err := h.reply(timeout)
	switch {
	case errors.Is(err, ErrSilent):
		return nil, fmt.Errorf("%w (%v)%s", err, timeout, h.silent(r.Call))
	case err == nil && a.Failed != 0:
		return nil, fmt.Errorf("%w: %s", ErrLost, a.text())
	}
	return a, err
}

func (h *helper) send(r request) error {
	packet, err := binary.Append(nil, binary.NativeEndian, r)
	if err == nil {
		_, err = h.socket.Write(packet)
	}
	return err
}

// silent says which nodes have not answered a call, as far as they can be found out, and what the MPI library has
// printed.
func (h *helper) silent(call uint32) (text string) {
	const patience = 10 * time.Second // hogwild-mpi waits for 3 to 6
	if call != callJoin && call != callLeave && h.send(request{Call: callRoll}) == nil {
		a, err := h.reply(patience)
		if err == nil && a.Call != callRoll { // of the call that was called off
			a, err = h.reply(patience)
		}
		if err == nil && a.text() != "" {
			text = ": nothing came from " + a.text()
		}
	}
	return text + h.said.end()
}

// reply waits for one, for no longer than timeout; 0: for ever.
func (h *helper) reply(timeout time.Duration) (*reply, error) {
	var a reply
	b := make([]byte, binary.Size(a))
	switch n, err := h.read(b, timeout); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrSilent
	case err != nil:
		return nil, h.lost()
	case n != len(b) || binary.NativeEndian.Uint32(b[4:]) != helperProtocol:
		return nil, fmt.Errorf("%s is of another version of hogwild: build it again (make mpi)", h.cmd.Path)
	}
	if _, err := binary.Decode(b, binary.NativeEndian, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// read waits for a packet. Time is counted in looks: while this process was stopped (Ctrl-Z), only one passes.
func (h *helper) read(b []byte, timeout time.Duration) (n int, err error) {
	look := min(timeout, time.Second)
	for waited := time.Duration(0); ; {
		if timeout > 0 {
			if err := h.socket.SetReadDeadline(time.Now().Add(look)); err != nil {
				return 0, err
			}
		}
		n, err = h.socket.Read(b)
		if waited += look; !errors.Is(err, os.ErrDeadlineExceeded) || waited >= timeout {
			return n, err
		}
	}
}

// lost says how the helper ended. It is called when the socket has closed.
func (h *helper) lost() error {
	select {
	case <-h.ended:
	case <-time.After(5 * time.Second): // it is stuck in its end
		h.kill()
	}
	err := fmt.Errorf("%w: hogwild-mpi ended (%v)", ErrLost, h.cmd.ProcessState)
	if lines := h.said.lines(); len(lines) > 0 {
		err = fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return err
}

// kill ends the process at once.
func (h *helper) kill() {
	_ = h.cmd.Process.Kill() // an error means that it has ended
	<-h.ended
}

// close kills the process, if it has not ended, and closes the socket. A second close does nothing.
func (h *helper) close() {
	h.kill()
	h.socket.Close()
}

// said keeps the end of what the helper writes to its standard output and error.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b...)
	const most = 16 << 10
	s.text = s.text[max(0, len(s.text)-most):]
	return len(b), nil
}

// lines returns the lines with words in them.
func (s *said) lines() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range strings.Lines(string(s.text)) {
		if strings.ContainsAny(l, "abcdefghijklmnopqrstuvwxyz") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return lines
}

// end returns the last lines, each on one of its own, below a heading; "" if nothing was said.
func (s *said) end() string {
	lines := s.lines()
	if len(lines) == 0 {
		return ""
	}
	return "\nthe MPI library printed:\n  " + strings.Join(lines[max(0, len(lines)-10):], "\n  ")
}
