package rundir

import (
	"os"

	"hogwild/internal/fault"
)

// growing is a file, opened to append, to which whole lines or records are added. The part of one that
// a failed write leaves is cut off, at once or before the next write.
type growing struct {
	f    *os.File
	torn int64  // bytes to cut off
	owed []byte // lines that could not be written, and are to be
}

// add appends in one call, so that another process that reads sees whole lines. With owe, a line that
// cannot be written is kept, and written before the next one.
func (g *growing) add(line []byte, owe bool) error {
	text := append(g.owed[:len(g.owed):len(g.owed)], line...)
	err := g.put(text)
	if err == nil {
		g.owed = nil
	} else if owe {
		g.owed = text
	}
	return err
}

func (g *growing) put(text []byte) error {
	if err := g.cut(); err != nil {
		return err
	}
	if err := fault.Point("file.append"); err != nil {
		return err
	}
	n, err := g.f.Write(text)
	if err != nil {
		g.torn = int64(n)
		_ = g.cut() // if not now, then before the next write
	}
	return err
}

// cut removes the part of a line at the end.
func (g *growing) cut() error {
	if g.torn == 0 {
		return nil
	}
	info, err := g.f.Stat()
	if err == nil {
		err = g.f.Truncate(info.Size() - g.torn)
	}
	if err == nil {
		g.torn = 0
	}
	return err
}

// Settle writes the lines that are owed, and is an error as long as that fails.
func (g *growing) Settle() error {
	if len(g.owed) == 0 {
		return nil
	}
	return g.add(nil, true)
}

// Close closes the file.
func (g *growing) Close() error { return g.f.Close() }
