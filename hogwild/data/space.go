package data

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"hogwild/internal/fault"
	"hogwild/shm"
)

// space is where a conversion puts its arrays: the sets into the file that it writes, and what is
// read on the way there into files without a name. The kernel keeps as much of either in memory
// as there is room for. A nil space is memory.
type space struct {
	ctx     context.Context
	out     *os.File
	dir     string // of out: there is room, as there must be for out
	scratch []*shm.Segment
	texts   [][]byte // mapped files
	tell    func(what string, done, total int)
}

// windowBytes is how much of a set is in memory at a time while its rows are put in their places.
var windowBytes = 128 << 20 // tests need less

// newArray is an array of no elements with room for n, in memory or in a file without a name.
func newArray[T shm.Element](b *budget, n int) ([]T, error) {
	sp := b.space()
	if sp == nil {
		return make([]T, 0, n), nil
	}
	if err := sp.ctx.Err(); err != nil {
		return nil, err
	}
	v, seg, err := shm.Scratch[T](sp.dir, n)
	if err != nil {
		return nil, fmt.Errorf("data: no room to convert in %s: %w", sp.dir, err)
	}
	sp.scratch = append(sp.scratch, seg)
	return v, nil
}

// arrayOf is newArray; of several errors the first is kept.
func arrayOf[T shm.Element](b *budget, n int, err *error) []T {
	v, e := newArray[T](b, n)
	if *err == nil {
		*err = e
	}
	return v
}

// make makes the segment of a set.
func (sp *space) make(l *shm.Layout) (*shm.Segment, error) {
	if sp == nil {
		return l.Create("data")
	}
	return l.CreateIn(sp.out)
}

// letGo frees what was read on the way to a set.
func (sp *space) letGo() {
	if sp == nil {
		return
	}
	for _, s := range sp.scratch {
		_ = s.Close()
	}
	for _, t := range sp.texts {
		_ = unix.Munmap(t)
	}
	sp.scratch, sp.texts = nil, nil
}

// windows calls do for one part of n rows after the other, each of so many bytes of s that memory
// has room for it, and writes it to the disk. In memory there is one part.
func (sp *space) windows(s *Set, n int, do func(from, to int)) error {
	if sp == nil {
		do(0, n)
		return nil
	}
	step := max(1, n*windowBytes/max(1, s.size()))
	for from := 0; from < n; from += step {
		if err := sp.ctx.Err(); err != nil {
			return err
		}
		to := min(n, from+step)
		do(from, to)
		if err := errors.Join(fault.Point("convert.window"), s.flush(from, to)); err != nil {
			return fmt.Errorf("data: writing %s: %w", sp.out.Name(), err)
		}
		sp.tell("rows written", to, n)
	}
	return nil
}

// filled is a set whose rows are made by fill, a part of them at a time by each processor, sealed.
func filled(s *Set, room *budget, fill func(from, to int)) (*Set, error) {
	err := room.space().windows(s, s.Rows, func(from, to int) {
		parallel(to-from, func(a, b int) { fill(from+a, from+b) })
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return sealed(s)
}

// flush writes rows of a set that is being made to its file.
func (s *Set) flush(from, to int) error {
	d := s.Features
	err := shm.Flush(s.Y[from:to])
	switch s.Kind {
	case Bytes:
		err = errors.Join(err, shm.Flush(s.X8[from*d:to*d]))
	case Floats:
		err = errors.Join(err, shm.Flush(s.X[from*d:to*d]))
	case Pairs:
		err = errors.Join(err, shm.Flush(s.Idx[2*from:2*to]))
	default:
		first, last := s.Ptr[from], s.Ptr[to]
		err = errors.Join(err, shm.Flush(s.Ptr[from:to]), shm.Flush(s.Idx[first:last]), shm.Flush(s.Val[first:last]))
	}
	return err
}

// inOrder calls do with the positions from to to-1 and the row that each is to hold; where not all are
// in memory, in the order of the rows, which are then read one behind the other.
func (sp *space) inOrder(from, to int, row func(at int) int, do func(at, row int)) {
	if sp == nil {
		for at := from; at < to; at++ {
			do(at, row(at))
		}
		return
	}
	keys := make([]uint64, to-from)
	for k := range keys {
		keys[k] = uint64(row(from+k))<<32 | uint64(from+k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		do(int(k&(1<<32-1)), int(k>>32))
	}
}

// read is read of a file that need not fit in memory: it is mapped, after it was unpacked into a
// file without a name if it is packed.
func (sp *space) read(path string, room *budget) (*source, error) {
	s, f := &source{path: path, room: room}, os.Stdin
	if path == stdinName {
		s.path = stdinTitle
	} else {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		defer f.Close()
	}
	sum := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(stopping{sp.ctx, f}, sum), 1<<20)
	head, _ := r.Peek(2)
	info, err := f.Stat()
	if err != nil {
		return nil, s.errorf("%v", err)
	}
	if packed := string(head) == "\x1f\x8b"; packed || !info.Mode().IsRegular() {
		if f, err = sp.copy(s, r, packed); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, s.errorf("%v", err)
	}
	s.sum = hex.EncodeToString(sum.Sum(nil))
	if info, err = f.Stat(); err != nil {
		return nil, s.errorf("%v", err)
	}
	if info.Size() == 0 {
		return nil, s.errorf("the file is empty")
	}
	if s.text, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, s.errorf("%v", err)
	}
	sp.texts = append(sp.texts, s.text)
	return s, s.checkText()
}

// copy unpacks r, or what comes from a pipe, into a file without a name.
func (sp *space) copy(s *source, r io.Reader, packed bool) (*os.File, error) {
	f, err := shm.Nameless(sp.dir)
	if err != nil {
		return nil, fmt.Errorf("data: no room to convert in %s: %w", sp.dir, err)
	}
	if packed {
		z, err := gzip.NewReader(r)
		if err != nil {
			f.Close()
			return nil, s.errorf("unpacking gzip: %v; the file is damaged or incomplete", err)
		}
		r = z
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		if packed {
			return nil, s.errorf("unpacking gzip: %v; the file is damaged or incomplete", err)
		}
		return nil, s.errorf("%v", err)
	}
	return f, nil
}

// stopping reads until the conversion is to stop.
type stopping struct {
	ctx context.Context
	io.Reader
}

// Read fails once the context is done.
func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(b)
}
