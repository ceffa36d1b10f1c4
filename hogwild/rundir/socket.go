package rundir

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// Request is what a run is asked through SocketFile. A request and its answer are one line of JSON each.
type Request struct {
	Do      string `json:"do"`                // see the constants
	Workers int    `json:"workers,omitempty"` // for DoScale
}

// What a run can be asked.
const (
	DoStatus   = "status"
	DoScale    = "scale"
	DoPause    = "pause"
	DoContinue = "continue"
	DoStop     = "stop" // the connection is closed when the run has ended
)

// Answer is what a run says to it.
type Answer struct {
	Error  string  `json:"error,omitempty"`  // why it was not done
	Says   string  `json:"says,omitempty"`   // what was done
	Status *Status `json:"status,omitempty"` // of DoStatus
	Chunks int     `json:"chunks,omitempty"` // of DoStatus: in an epoch
}

// Requests are at most so long. A run waits so long for one, and for its answer to be read.
const (
	requestBytes = 4096
	requestTime  = 5 * time.Second
)

// answerBytes are enough for the answer of a run with the most workers.
const answerBytes = 1 << 20

// answerTime is how long a run may take to answer: between epochs it may be busy.
const answerTime = 30 * time.Second

// Listener is the end of the run.
type Listener struct{ dir, socket *os.File }

// Listen makes the socket of a run folder, in place of one that an earlier run has left.
func Listen(dir string) (l *Listener, err error) {
	l = &Listener{}
	defer func() {
		if err != nil {
			_ = l.Close()
			err = fmt.Errorf("%s: %w", filepath.Join(dir, SocketFile), err)
		}
	}()
	var s int
	if l.dir, s, err = socketOf(dir); err != nil {
		return l, err
	}
	l.socket = os.NewFile(uintptr(s), SocketFile)
	if err := unix.Unlinkat(int(l.dir.Fd()), SocketFile, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return l, err
	}
	// Linux gives the file the mode that the socket has when it is bound: it is never open to others.
	if err := unix.Fchmod(s, 0o600); err != nil {
		return l, err
	}
	if err := unix.Bind(s, addressIn(l.dir)); err != nil {
		return l, err
	}
	return l, unix.Listen(s, 16)
}

// socketOf opens a folder, and makes a socket for it.
func socketOf(dir string) (*os.File, int, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, -1, err
	}
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	return os.NewFile(uintptr(fd), dir), s, err
}

// addressIn returns the address of the socket in an open folder. An address has at most 107 bytes, which the path of a
// run folder may exceed.
func addressIn(dir *os.File) unix.Sockaddr {
	return &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketFile)}
}

// Accept waits for a connection of this user or root; others are closed. After Close it returns
// os.ErrClosed.
func (l *Listener) Accept() (*os.File, error) {
	raw, err := l.socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	for {
		var s int
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			s, _, failed = unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return nil, os.ErrClosed
		case errors.Is(failed, unix.EINTR), errors.Is(failed, unix.ECONNABORTED):
			continue
		case failed != nil:
			return nil, failed
		}
		peer, err := unix.GetsockoptUcred(s, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid()) {
			return os.NewFile(uintptr(s), SocketFile), nil
		}
		_ = unix.Close(s)
	}
}

// Close removes the socket.
func (l *Listener) Close() (err error) {
	if l.socket != nil {
		err = l.socket.Close()
	}
	if l.dir != nil {
		_ = unix.Unlinkat(int(l.dir.Fd()), SocketFile, 0)
		err = errors.Join(err, l.dir.Close())
	}
	return err
}

// ReadRequest reads a request, within requestTime.
func ReadRequest(f *os.File) (q Request, err error) {
	if err := f.SetDeadline(time.Now().Add(requestTime)); err != nil {
		return q, err
	}
	line, err := bufio.NewReaderSize(f, requestBytes).ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &q)
	}
	return q, err
}

// WriteAnswer writes an answer, within requestTime.
func WriteAnswer(f *os.File, a Answer) error {
	text, err := json.Marshal(a)
	if err == nil {
		err = f.SetDeadline(time.Now().Add(requestTime))
	}
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	return err
}

// silent is the error of a folder in which no run answers.
type silent struct{ error }

// ask does as Ask, but returns a silent error where no run answers.
func ask(dir string, q Request) (a Answer, err error) {
	f, err := dial(dir)
	if err != nil {
		return a, silent{err}
	}
	defer f.Close()
	text, err := json.Marshal(q)
	if err == nil {
		err = f.SetDeadline(time.Now().Add(answerTime))
	}
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err != nil && !errors.Is(err, unix.EPIPE) { // closed already: then there is nothing to read
		return a, err
	}
	in := bufio.NewReaderSize(f, answerBytes)
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return a, fmt.Errorf("%s: more than %d KiB in answer: what listens there is no run", dir, answerBytes>>10)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a, fmt.Errorf(
			"%s: the run does not answer within %v: is it suspended (Ctrl-Z), or in a long evaluation?",
			dir, answerTime)
	case err != nil:
		return a, fmt.Errorf("%s: the run has ended, or too many others ask it at once: try again", dir)
	}
	if err = json.Unmarshal(line, &a); err == nil && q.Do == DoStatus && a.Error == "" && a.Status == nil {
		err = errors.New("it has no status")
	}
	if err != nil {
		return a, fmt.Errorf("%s: the run's answer: %w", dir, err)
	}
	a.Error, a.Says = human.Line(a.Error), human.Line(a.Says) // nor has it lines that look like ours
	if a.Error != "" {
		return a, config.Usage("%s: %s", dir, a.Error)
	}
	if q.Do == DoStop {
		_ = f.SetDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, in)
	}
	return a, nil
}

// dial connects to the run of a folder.
func dial(dir string) (*os.File, error) {
	d, s, err := socketOf(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f := os.NewFile(uintptr(s), SocketFile)
	for end := time.Now().Add(requestTime); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Connect(s, addressIn(d))
		if err == nil {
			err = ofOwner(s, d)
		}
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EAGAIN) || time.Now().After(end) { // EAGAIN: many others wait to be accepted
			f.Close()
			return nil, err
		}
	}
}

// ofOwner refuses a connection to a process of a user other than the folder's owner, this user and root.
func ofOwner(s int, dir *os.File) error {
	var folder unix.Stat_t
	peer, err := unix.GetsockoptUcred(s, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil {
		err = unix.Fstat(int(dir.Fd()), &folder)
	}
	if err == nil && peer.Uid != folder.Uid && peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		err = fmt.Errorf("%s is of user %d, who does not own the folder", SocketFile, peer.Uid)
	}
	return err
}
