package format

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"

	"hogwild/internal/human"
	"hogwild/internal/machine"
	"hogwild/shm"
)

// Budget is the memory that the readers of a run's files, and the sets they make, may hold. It
// counts what they hold, not what a file says of itself: a file of a few bytes can promise, or
// unpack to, more than any machine has. A nil Budget has no limit.
type Budget struct {
	Limit, Held int64
	Asked       bool   // the user gave the limit
	Trains      bool   // the limit is a setting: of a run
	Files       *Space // where large arrays go instead, uncounted; nil: nowhere

	mu   sync.Mutex     // the test file is read by a goroutine of its own
	lent []*shm.Segment // what readers have made for sets, and no set has claimed
	over bool           // no more sets are made
}

// NewBudget has a limit in bytes; 0 is DefaultMemory.
func NewBudget(limit int64) *Budget {
	b := &Budget{Limit: limit, Asked: limit > 0}
	if !b.Asked {
		b.Limit = DefaultMemory()
	}
	return b
}

// DefaultMemory returns what a run may take by default: three quarters of the free
// memory, so that the machine has some left. Without /proc there is no limit.
func DefaultMemory() int64 {
	if room, known := machine.Room(os.DirFS("/")); known {
		return room / 4 * 3
	}
	return math.MaxInt64
}

// Space returns where large arrays go, nil for memory.
func (b *Budget) Space() *Space {
	if b == nil {
		return nil
	}
	return b.Files
}

// Uncounted returns a Budget without a limit for what b has counted already.
func (b *Budget) Uncounted() *Budget { return &Budget{Limit: math.MaxInt64, Files: b.Space()} }

// Take counts n bytes more, before they are allocated; what says what for.
func (b *Budget) Take(path string, n int64, what string) error {
	if b.Space() != nil || b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n >= 0 && n <= b.Limit-b.Held {
		b.Held += n
		return nil
	}
	return &MemoryError{Of: "data: " + path, What: what, Need: n, Held: b.Held, Limit: b.Limit, Asked: b.Asked,
		Trains: b.Trains}
}

// Give counts n bytes less.
func (b *Budget) Give(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Held -= n
}

// SharedAt is where the images begin in a segment: in front of them is room for its table.
const SharedAt = 4096

// lend keeps a segment for the set that claims it.
func (b *Budget) lend(s *shm.Segment) {
	if s == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lent = append(b.lent, s); b.over {
		_ = s.Close()
	}
}

// Around returns the segment in which images lie; nil if they lie elsewhere.
func (b *Budget) Around(images []uint8) *shm.Segment {
	if b == nil || len(images) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.lent {
		if &s.Bytes()[SharedAt] == &images[0] {
			return s
		}
	}
	return nil
}

// Claim gives a set a segment for its own.
func (b *Budget) Claim(s *shm.Segment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lent = slices.DeleteFunc(b.lent, func(t *shm.Segment) bool { return t == s })
}

// LetGo closes the segments that no set has claimed.
func (b *Budget) LetGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.lent {
		_ = s.Close()
	}
	b.lent, b.over = nil, true
}

// MemoryError is the error that something would take more memory than it may.
type MemoryError struct {
	Of, What          string
	Need, Held, Limit int64  // bytes
	Asked             bool   // the limit is the user's own
	Trains            bool   // a run's, which has --max-memory
	Cure              string // what to do, if it is not what helps with a file
}

// Error says what needs how much, what the limit is, and what to do.
func (e *MemoryError) Error() string {
	held, limit := "", human.Bytes(e.Limit)
	if e.Held > 0 {
		held = fmt.Sprintf(" beside the %s held already", human.Bytes(e.Held))
	}
	if e.Asked {
		limit += " (--max-memory)"
	} else {
		limit += " (three quarters of the free memory)"
	}
	cure := cmp.Or(e.Cure, "split the file, or convert it: hogwild data convert")
	if e.Trains {
		cure = "raise it with --max-memory, or convert data larger than memory: hogwild data convert"
	}
	return fmt.Sprintf("%s: %s: needs %s%s, and the limit is %s: %s", e.Of, e.What, human.Bytes(e.Need),
		held, limit, cure)
}

// read returns all that r has, counted as it comes. hint is its probable length.
func (b *Budget) read(path string, r io.Reader, hint int64) ([]byte, error) {
	size := max(hint, 0) + bytes.MinRead // room for the read that finds the end
	if b.Take(path, size, "") != nil {
		size = bytes.MinRead // the hint may be wrong
		if err := b.Take(path, size, "reading the file"); err != nil {
			return nil, err
		}
	}
	text := make([]byte, 0, size)
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		if len(text) < cap(text) {
			continue
		}
		// While it is copied, both are there.
		more := int64(cap(text)) + max(int64(cap(text))/4, 1<<16)
		if err := b.Take(path, more, fmt.Sprintf("reading on after %s", human.Bytes(int64(len(text))))); err != nil {
			return nil, err
		}
		text = append(make([]byte, 0, more), text...)
		b.Give(size)
		if size = more; size >= 16<<20 {
			runtime.GC() // now, and not when as much again is garbage
		}
	}
}

// Array returns an array of no elements with room for n, in memory or in a file without a name; of several errors the
// first is kept.
func Array[T shm.Element](b *Budget, n int, err *error) []T {
	scratch := b.Space()
	if scratch == nil {
		return make([]T, 0, n)
	}
	if *err = cmp.Or(*err, scratch.Ctx.Err()); *err != nil {
		return nil
	}
	v, seg, failed := shm.Scratch[T](scratch.Dir, n)
	if failed != nil {
		*err = fmt.Errorf("data: no room to convert in %s: %w", scratch.Dir, failed)
		return nil
	}
	scratch.segments = append(scratch.segments, seg)
	return v
}
