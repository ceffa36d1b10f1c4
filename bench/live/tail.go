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

// same tells whether the file still has the last line that was read, where it was. A run
// that begins in a folder where another was killed begins the file anew.
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
		t.epoch(*e)
	case s != nil:
		t.second(*s)
	}
}

// epoch adds an epoch. A run that is resumed from before its end repeats epochs: what was
// after the snapshot is then past.
func (t *tail) epoch(e rundir.EpochResult) {
	if last := t.epochs.last; last != nil && e.Epoch <= last.Epoch {
		t.epochs.cut(func(was rundir.EpochResult) bool { return was.Epoch >= e.Epoch })
		t.seconds.cut(func(was rundir.Status) bool { return was.Seconds > e.Seconds })
	}
	t.epochs.add(e)
}

// second adds a moment; see epoch. Epochs come later than moments, since they are
// evaluated first, but neither time nor examples go back within a run, except that a rollback takes
// back examples.
func (t *tail) second(s rundir.Status) {
	if last := t.seconds.last; last != nil && (s.Seconds < last.Seconds || s.Examples < last.Examples) {
		t.seconds.cut(func(was rundir.Status) bool { return was.Seconds > s.Seconds || was.Examples > s.Examples })
		t.epochs.cut(func(was rundir.EpochResult) bool { return was.Seconds > s.Seconds || was.Examples > s.Examples })
	}
	t.seconds.add(s)
}

// examples is how many the run has trained, by the newest line that says it.
func (t *tail) examples() int64 {
	n := int64(0)
	if s := t.seconds.last; s != nil {
		n = s.Examples
	}
	if e := t.epochs.last; e != nil {
		n = max(n, e.Examples)
	}
	return n
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

// cut removes the newest values as long as they are past.
func (c *curve[T]) cut(past func(T) bool) {
	if c.last == nil || !past(*c.last) {
		return
	}
	for len(c.kept) > 0 && past(c.kept[len(c.kept)-1]) {
		c.kept = c.kept[:len(c.kept)-1]
	}
	c.n, c.last = 0, nil
	if n := len(c.kept); n > 0 {
		newest := c.kept[n-1]
		c.n, c.last = (n-1)*c.every+1, &newest
	}
}

// all is the values that are kept, and the newest.
func (c *curve[T]) all() []T {
	all := append([]T(nil), c.kept...)
	if c.last != nil && (c.n-1)%c.every != 0 {
		all = append(all, *c.last)
	}
	return all
}
