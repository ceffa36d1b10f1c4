package live

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"os"

	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
)

// tail follows the metrics.jsonl of a run in progress. It reads on from where it was; a
// line that is not whole yet waits for its rest.
type tail struct {
	path    string
	offset  int64  // up to here whole lines are read
	line    []byte // the last of them
	lines   int    // read so far, which tells whether there is something new
	epochs  curve[rundir.EpochResult]
	seconds curve[rundir.Status]
}

// read takes in what was written since. A file that is not there yet is empty.
func (t *tail) read() error {
	f, err := atomicfile.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if !t.same(f) {
		*t = tail{path: t.path, lines: t.lines + 1}
	}
	r := bufio.NewReader(io.NewSectionReader(f, t.offset, math.MaxInt64-t.offset))
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t.take(line)
	}
}

// same reports whether the file still has the last line that was read, where it was. A run that begins in the folder of
// another begins the file anew, and one that is resumed or goes back replaces it by the lines up to the snapshot.
func (t *tail) same(f *os.File) bool {
	again := make([]byte, len(t.line))
	_, err := f.ReadAt(again, t.offset-int64(len(t.line)))
	return len(again) == 0 || err == nil && bytes.Equal(again, t.line)
}

// take adds a line. One that cannot be read is left out: a later version may write other kinds.
func (t *tail) take(line []byte) {
	t.offset += int64(len(line))
	t.line = line
	t.lines++
	switch e, s, _ := rundir.ReadMetric(line); {
	case e != nil:
		t.epochs.add(*e)
	case s != nil:
		t.seconds.add(*s)
	}
}

// maxKept is how many values of a curve are kept, at most: a figure, of 640 pixels,
// shows no more. It is even.
const maxKept = 256

// curve keeps values in the order in which they come, and of many only some, evenly:
// when it is full every other one goes, and from then on every other one comes. So a run
// of days costs no more memory and no more time to draw than one of minutes.
type curve[T any] struct {
	kept  []T // the first, and each every-th after it
	every int // 0: 1
	n     int // that came
	last  *T  // the newest; nil: none came
}

func (c *curve[T]) add(v T) {
	c.every = max(c.every, 1)
	if c.n%c.every == 0 {
		if len(c.kept) == maxKept { // n is then a multiple of twice every, too
			for i := range maxKept / 2 {
				c.kept[i] = c.kept[2*i]
			}
			c.kept = c.kept[:maxKept/2]
			c.every *= 2
		}
		c.kept = append(c.kept, v)
	}
	c.n++
	c.last = &v
}

// all is the values that are kept, and the newest.
func (c *curve[T]) all() []T {
	all := append([]T(nil), c.kept...)
	if c.last != nil && (c.n-1)%c.every != 0 {
		all = append(all, *c.last)
	}
	return all
}
