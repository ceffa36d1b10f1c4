// Package shm shares memory between processes: memfd segments with a table of named arrays, and a barrier. It knows
// nothing of learning.
package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrClosed is what a closed segment answers.
var ErrClosed = errors.New("shm: segment is closed")

// Segment is one memfd, mapped whole, or a part of a file. A memfd has no name in any file
// system: when the last process that holds it ends, however it ends, the memory is gone.
type Segment struct {
	mu     sync.Mutex
	file   *os.File
	mem    []byte
	inFile bool   // not a memfd
	offset int64  // of the part in its file, a multiple of PartAlign
	table  *table // nil until a layout was written or read
}

// Create makes a zeroed segment of size bytes and maps it for reading and writing.
// The name shows up in /proc/PID/maps, nowhere else.
func Create(name string, size int) (*Segment, error) {
	if size <= 0 {
		return nil, fmt.Errorf("shm: segment %q of %d bytes: the size must be positive", name, size)
	}
	f, err := memfd("hogwild-" + name)
	if err != nil {
		return nil, fmt.Errorf("shm: memfd_create for %q: %w", name, err)
	}
	if err := unix.Ftruncate(int(f.Fd()), int64(size)); err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: %d bytes for segment %q: %w", size, name, err)
	}
	// No process may shrink the file under another's mapping: that would be a SIGBUS there.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: sealing the size of segment %q: %w", name, err)
	}
	return mapMemfd(f, unix.PROT_READ|unix.PROT_WRITE, 0)
}

// Map maps a segment that another process created, and owns f from then on, also
// when it fails. A sealed segment can only be mapped for reading; one that is so mapped
// has all its pages at once, and none is missed at its first use. Any other file is
// refused: a file that can shrink is a crash to come.
func Map(f *os.File, write bool) (*Segment, error) {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		name := f.Name()
		f.Close()
		return nil, fmt.Errorf("shm: %s is not a segment: it was not made by Create", name)
	}
	if write {
		return mapMemfd(f, unix.PROT_READ|unix.PROT_WRITE, 0)
	}
	return mapMemfd(f, unix.PROT_READ, unix.MAP_POPULATE)
}

func mapMemfd(f *os.File, prot, flags int) (*Segment, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: %w", err)
	}
	return mapPart(f, 0, info.Size(), prot, flags)
}

// mapPart maps a part of a file, which it owns from then on, also when it fails.
func mapPart(f *os.File, offset, size int64, prot, flags int) (*Segment, error) {
	if size <= 0 || size != int64(int(size)) {
		f.Close()
		return nil, fmt.Errorf("shm: %s holds %d bytes: not a segment", f.Name(), size)
	}
	mem, err := shared(f, offset, int(size), prot, flags)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: mapping %d bytes of %s: %w", size, f.Name(), err)
	}
	return &Segment{file: f, mem: mem, offset: offset}, nil
}

// mmap is the system call; tests have the one of an older Linux.
var mmap = unix.Mmap

// shared maps a part of a file so that all processes see the same bytes. Older kernels, such as the 5.15 of Ubuntu
// 22.04, refuse every shared mapping of a sealed memfd, for reading too (github.com/iree-org/iree/pull/23776). A
// private one shows the same bytes, in the same memory: no process can write to either.
func shared(f *os.File, offset int64, size, prot, flags int) ([]byte, error) {
	mem, err := mmap(int(f.Fd()), offset, size, prot, unix.MAP_SHARED|flags)
	if err == unix.EPERM && prot&unix.PROT_WRITE == 0 {
		mem, err = mmap(int(f.Fd()), offset, size, prot, unix.MAP_PRIVATE|flags)
	}
	return mem, err
}

// Seal makes the segment read-only for every process, for good; a part of a file, which has no
// seals, only for this one. The caller's mapping is replaced, also when Seal fails: views taken
// before are invalid, and new ones cannot be written.
func (s *Segment) Seal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return ErrClosed
	}
	// F_SEAL_WRITE is refused while any writable mapping exists, so unmap first.
	if err := unix.Munmap(s.mem); err != nil {
		return fmt.Errorf("shm: unmapping %s: %w", s.file.Name(), err)
	}
	var sealed error
	if !s.inFile {
		sealed = addSeals(s.file)
	}
	if sealed != nil {
		sealed = fmt.Errorf("shm: sealing %s: %w (does another process hold it writable, or is it sealed already?)",
			s.file.Name(), sealed)
	}
	mem, err := shared(s.file, s.offset, len(s.mem), unix.PROT_READ, 0)
	s.mem = mem
	if err != nil {
		err = fmt.Errorf("shm: mapping %s again after sealing: %w", s.file.Name(), err)
		return errors.Join(sealed, err, s.file.Close())
	}
	return sealed
}

// sealPatience is how long pages may be in use by the kernel, which moves pages on a loaded machine.
const sealPatience = time.Second

// addSeals refuses writing to a memfd, for good. Linux answers EBUSY while somebody refers to one of its pages, be it
// the kernel itself for a moment.
func addSeals(f *os.File) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
		if err != unix.EBUSY || time.Since(began) > sealPatience {
			return err
		}
	}
}

// Bytes returns the whole mapping, nil when closed.
func (s *Segment) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mem
}

// File returns the memfd, or the file that the segment is a part of, to be handed to a child process;
// it stays the segment's.
func (s *Segment) File() *os.File { return s.file }

// Close unmaps the segment: every view of it is invalid from then on. A second
// Close returns ErrClosed.
func (s *Segment) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return ErrClosed
	}
	err := unix.Munmap(s.mem)
	s.mem, s.table = nil, nil
	return errors.Join(err, s.file.Close())
}
