package get

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// diskError is an error of this machine, such as a full disk: another request would not help.
type diskError struct{ error }

func (e diskError) Unwrap() error { return e.error }

// copy writes what it reads, tells how far it is, and ends when ctx does.
func (g *Getter) copy(ctx context.Context, to io.Writer, from io.Reader, what string, done, total int64) error {
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		full := fault.Point("download.write")
		if full == nil {
			_, full = to.Write(buffer[:n])
		}
		if full != nil {
			return diskError{fmt.Errorf("%w: make room", full)}
		}
		if done += int64(n); done != total {
			g.Progress(what, done, total)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == io.EOF:
			g.Progress(what, done, done)
			return nil
		case err != nil:
			return err
		}
	}
}

// alive is a reader that puts off its timer whenever something comes.
type alive struct {
	io.Reader
	timer *time.Timer
	stall time.Duration
}

func (a alive) Read(b []byte) (n int, err error) {
	n, err = a.Reader.Read(b)
	a.timer.Reset(a.stall)
	return n, err
}

// contents reads a file from its start.
func contents(f *os.File) *io.SectionReader { return io.NewSectionReader(f, 0, size(f)) }

func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// Bytes is a size for people: 9.91 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return human.Plural(int(n), "byte")
	}
	return human.Rate(float64(n)) + "B"
}
