package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PartAlign is where parts of a file begin: at a multiple of the pages of every processor.
const PartAlign = 64 << 10

// CreateIn makes a segment that holds the arrays, all zero, at the end of a file, or at its
// beginning if it is empty, and takes the space on the disk: what is written later cannot fail for
// lack of it. f stays the caller's.
func (l *Layout) CreateIn(f *os.File) (*Segment, error) {
	text, size, err := l.place(f.Name())
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	offset := int64(roundUp(int(info.Size()), PartAlign))
	if err := grow(f, offset, int64(size)); err != nil {
		return nil, fmt.Errorf("shm: %.1f GB for %s: %w", float64(size)/1e9, f.Name(), err)
	}
	s, err := part(f, offset, int64(size), unix.PROT_READ|unix.PROT_WRITE)
	if err == nil {
		s.writeHead(text)
	}
	return s, err
}

// CreateAround writes the table into the head of a segment in which one of the arrays lies already, at byte at; the
// others, all zero, come behind it.
func (l *Layout) CreateAround(s *Segment, there string, at int) error {
	l.there, l.at = there, at
	text, end, err := l.place(there)
	if err == nil && (at%align != 0 || end > len(s.mem)) {
		err = fmt.Errorf("shm: no room for %d bytes around %q in a segment of %d", end, there, len(s.mem))
	}
	if err == nil {
		s.writeHead(text)
	}
	return err
}

// grow makes a file longer by size bytes from offset on.
func grow(f *os.File, offset, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, offset, size)
		if errors.Is(err, unix.EOPNOTSUPP) { // of a network: a full disk shows at a write
			return f.Truncate(offset + size)
		}
		if err != unix.EINTR {
			return err
		}
	}
}

// MapPart maps a part of a file for reading. Nothing holds the file as it is: if somebody makes it
// shorter, a look at what is gone ends in SIGBUS. f stays the caller's.
func MapPart(f *os.File, offset, size int64) (*Segment, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	if offset < 0 || offset%PartAlign != 0 || size <= 0 || size > info.Size() || offset > info.Size()-size {
		return nil, fmt.Errorf("shm: %s has %d bytes: no part of %d at %d", f.Name(), info.Size(), size, offset)
	}
	return part(f, offset, size, unix.PROT_READ)
}

// part maps a part of a file over a descriptor that is the segment's.
func part(f *os.File, offset, size int64, prot int) (*Segment, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: a second descriptor of %s: %w", f.Name(), err)
	}
	s, err := mapPart(os.NewFile(uintptr(fd), f.Name()), offset, size, prot, 0)
	if err == nil {
		s.inFile = true
	}
	return s, err
}

// Again maps the same segment for reading once more, which takes no memory.
func (s *Segment) Again() (*Segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return nil, ErrClosed
	}
	t, err := part(s.file, s.offset, int64(len(s.mem)), unix.PROT_READ)
	if err == nil {
		t.inFile = s.inFile
	}
	return t, err
}

// Part returns where the segment lies in its file.
func (s *Segment) Part() (offset, size int64) { return s.offset, int64(len(s.Bytes())) }

// InFile reports whether the segment is a part of a file, and not a memfd.
func (s *Segment) InFile() bool { return s.inFile }

// Scattered tells the kernel that stretches of the array are read in no order: a page that is
// missed brings no others along.
func Scattered[T Element](v []T) error {
	return advise(v, func(pages []byte) error { return unix.Madvise(pages, unix.MADV_RANDOM) })
}

// Fetch has the kernel read an array of a file from the disk, as far as it is not in memory, and
// does not wait for it.
func Fetch[T Element](v []T) error {
	return advise(v, func(pages []byte) error {
		// The kernel reads no more at a call than the disk takes at once.
		const piece = 256 << 10
		for len(pages) > 0 {
			n := min(piece, len(pages))
			if err := unix.Madvise(pages[:n], unix.MADV_WILLNEED); err != nil {
				return err
			}
			pages = pages[n:]
		}
		return nil
	})
}

// Flush writes what was changed in an array of a file to the disk, and lets go of its memory.
func Flush[T Element](v []T) error {
	return advise(v, func(pages []byte) error {
		return errors.Join(unix.Msync(pages, unix.MS_SYNC), unix.Madvise(pages, unix.MADV_DONTNEED))
	})
}

// Scratch makes an array of no elements with room for n in a file of its own, which it makes in the
// folder and which has no name: memory holds the array only as far as there is room. It is
// gone when the segment is closed.
func Scratch[T Element](dir string, n int) ([]T, *Segment, error) {
	f, err := Nameless(dir)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var l Layout
	l.Add("scratch", kindOf[T](), n)
	s, err := l.CreateIn(f)
	if err != nil {
		return nil, nil, err
	}
	v, err := View[T](s, "scratch")
	if err != nil {
		s.Close()
	}
	return v[:0], s, err
}

// Nameless makes an empty file in the folder that no other process can open: it is gone when it is closed,
// or this process ends.
func Nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".hogwild-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
