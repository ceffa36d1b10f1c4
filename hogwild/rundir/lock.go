package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/internal/fault"
	"hogwild/internal/human"
	"hogwild/shm"
)

// LockFile is the file of a run folder that its coordinator locks. The kernel drops the lock when the coordinator dies,
// however it dies; one that is merely stopped keeps it. While it is locked, the file holds the coordinator's process id
// and host. It is open to its owner alone: a process that can read a file can lock it.
const LockFile = ".lock"

// ErrNoLocks is the error of Lock on a file system without locks. Nothing keeps a second run out then.
var ErrNoLocks = errors.New("its file system has no locks")

// A lock that is held is tried again for 0.1 s, since Live takes it for some microseconds.
const (
	lockTries = 20
	lockWait  = 5 * time.Millisecond
)

// FolderLock is the lock on a run folder. It belongs to this process: workers do not inherit it.
type FolderLock struct {
	f   *os.File
	dir *os.Root // of the folder, whatever its name is by now
}

// Lock locks a run folder that exists, until Release or the end of the process. If a run holds the
// lock, the error matches config.ErrUsage and says which process it is.
func Lock(dir string) (l *FolderLock, err error) {
	path := filepath.Join(dir, LockFile)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if l == nil {
			root.Close()
		}
	}()
	for try := 1; ; try++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if err = fault.Point("folder.lock"); err == nil {
			err = flock(f, unix.LOCK_EX)
		}
		if err == nil && isAt(f, path) { // its last holder may have removed it since
			l := &FolderLock{f, root}
			l.sign()
			return l, nil
		}
		owner := readOwner(f)
		f.Close()
		switch {
		case errors.Is(err, unix.EWOULDBLOCK) && try >= lockTries && owner.dead():
			return nil, config.Usage("%s is locked by another process than the run's (pid %d, dead): `fuser -v %s` "+
				"names it", dir, owner.pid, human.ShellPath(path))
		case errors.Is(err, unix.EWOULDBLOCK) && try >= lockTries:
			return nil, config.Usage("a run is going on in %s%s", dir, owner)
		case err != nil && !errors.Is(err, unix.EWOULDBLOCK):
			_ = os.Remove(path)
			return nil, fmt.Errorf("%w: %w", ErrNoLocks, err)
		}
		time.Sleep(lockWait)
	}
}

// Temporary makes a folder among the temporary files, and removes folders of the same prefix and user whose process was
// killed: no process holds the lock that it had signed.
func Temporary(prefix string) (dir string, remove func(), err error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range old {
		var s unix.Stat_t
		_, live := Live(dir)
		if !live && unix.Lstat(filepath.Join(dir, LockFile), &s) == nil && s.Size > 0 && int(s.Uid) == os.Getuid() {
			_ = os.RemoveAll(dir)
		}
	}
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", nil, err
	}
	lock, err := Lock(dir)
	if err != nil && !errors.Is(err, ErrNoLocks) {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() { _ = os.RemoveAll(dir); lock.Release() }, nil
}

// sign writes who holds the lock. A full disk costs a message its pid, and nothing else.
func (l *FolderLock) sign() {
	host, _ := os.Hostname()
	_ = l.f.Chmod(0o600) // of one that was there, which other users might lock
	if l.f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(l.f, "%d %s\n", os.Getpid(), host)
	}
}

// Release gives up the lock and removes its file. Of nil it does nothing.
func (l *FolderLock) Release() {
	if l == nil {
		return
	}
	open, err1 := l.f.Stat()
	// not one that was made since
	if there, err2 := l.dir.Lstat(LockFile); err1 == nil && err2 == nil && os.SameFile(open, there) {
		_ = l.dir.Remove(LockFile)
	}
	_ = l.f.Close()
	_ = l.dir.Close()
}

// Live reports whether a run is going on in a folder, and in which process; 0 if that is not known.
func Live(dir string) (pid int, live bool) {
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, errors.Is(err, os.ErrPermission) && listed(path)
	}
	defer f.Close()
	if !errors.Is(flock(f, unix.LOCK_SH), unix.EWOULDBLOCK) {
		return 0, false
	}
	return readOwner(f).pid, true
}

// listed reports whether the kernel's list of locks, which all users can read, has one on the file.
func listed(path string) bool {
	var s unix.Stat_t
	if unix.Lstat(path, &s) != nil {
		return false
	}
	locks, _ := os.ReadFile("/proc/locks")
	return strings.Contains(string(locks), fmt.Sprintf(" %02x:%02x:%d ", unix.Major(s.Dev), unix.Minor(s.Dev), s.Ino))
}

// flock locks a file, or fails at once with EWOULDBLOCK.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// isAt reports whether the path still leads to the file.
func isAt(f *os.File, path string) bool {
	open, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(open, there)
}

// owner is the process that holds a lock.
type owner struct {
	pid  int // 0: unknown
	host string
}

func readOwner(f *os.File) (o owner) {
	text := make([]byte, 100)
	n, _ := f.ReadAt(text, 0)
	pid, host, _ := strings.Cut(strings.TrimSpace(string(text[:n])), " ")
	o.pid, _ = strconv.Atoi(pid)
	o.host = host
	return o
}

// dead reports whether the process is known, and has ended; its parent need not have heard of it.
func (o owner) dead() bool {
	host, _ := os.Hostname()
	return o.pid > 0 && o.host == host && !shm.Alive(o.pid)
}

// String returns the owner in brackets, and how to continue it if it is stopped.
func (o owner) String() string {
	host, _ := os.Hostname()
	switch {
	case o.pid <= 0:
		return ""
	case o.host != host:
		return fmt.Sprintf(" (pid %d on %q)", o.pid, o.host)
	case stopped(o.pid):
		return fmt.Sprintf(" (pid %d, stopped: kill -CONT %[1]d continues it)", o.pid)
	}
	return fmt.Sprintf(" (pid %d)", o.pid)
}

// stopped reports whether a process is in state T, as after Ctrl-Z.
func stopped(pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	defer f.Close()
	text, _ := io.ReadAll(f)
	i := strings.LastIndex(string(text), ") ") // the name before it may have any bytes
	return i >= 0 && strings.HasPrefix(string(text[i+2:]), "T")
}
