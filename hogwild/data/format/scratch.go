package format

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"hogwild/shm"
)

// Space is where a conversion puts its arrays: the sets into the file that it writes, and what is
// read on the way there into files without a name. The kernel keeps as much of either in memory
// as there is room for. A nil Space is memory.
type Space struct {
	Ctx  context.Context
	Out  *os.File
	Dir  string // of Out: there is room, as there must be for Out
	Tell func(what string, done, total int)

	segments []*shm.Segment
	texts    [][]byte // mapped files
}

// Segment makes the segment of a set.
func (scratch *Space) Segment(l *shm.Layout) (*shm.Segment, error) {
	if scratch == nil {
		return l.Create("data")
	}
	return l.CreateIn(scratch.Out)
}

// LetGo frees what was read on the way to a set.
func (scratch *Space) LetGo() {
	if scratch == nil {
		return
	}
	for _, s := range scratch.segments {
		_ = s.Close()
	}
	for _, t := range scratch.texts {
		_ = unix.Munmap(t)
	}
	scratch.segments, scratch.texts = nil, nil
}

// stopped returns an error once the conversion is to stop.
func (scratch *Space) stopped() error {
	if scratch == nil {
		return nil
	}
	return scratch.Ctx.Err()
}

// text returns file f, which need not fit in memory: it is mapped, after what was packed, or comes from a pipe, went
// into a file without a name. r is its content.
func (scratch *Space) text(f *os.File, r *bufio.Reader, packed bool) ([]byte, error) {
	info, err := f.Stat()
	if err == nil && (packed || !info.Mode().IsRegular()) {
		if f, err = shm.Nameless(scratch.Dir); err != nil {
			return nil, fmt.Errorf("no room to convert in %s: %w", scratch.Dir, err)
		}
		defer f.Close()
		if _, err = io.Copy(f, r); err == nil {
			info, err = f.Stat()
		}
	}
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, nil
	}
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		scratch.texts = append(scratch.texts, text)
	}
	return text, err
}
