package data

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"

	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// budget is the memory that the readers of a run's files, and the sets they make, may hold. It
// counts what they hold, not what a file says of itself: a file of a few bytes can promise, or
// unpack to, more than any machine has. A nil budget has no limit.
type budget struct {
	mu          sync.Mutex // the test file is read by a goroutine of its own
	limit, held int64
	asked       bool // the user gave the limit
	trains      bool // the limit is a setting: of a run

	files *space // where large arrays go instead, uncounted; nil: nowhere
}

// newBudget has a limit in bytes; 0 is DefaultMemory.
func newBudget(limit int64) *budget {
	b := &budget{limit: limit, asked: limit > 0}
	if !b.asked {
		b.limit = DefaultMemory()
	}
	return b
}

// DefaultMemory is what a run may take where nobody says how much: three quarters of the free
// memory, so that the machine has some left. Without /proc there is no limit.
func DefaultMemory() int64 {
	if room, known := machine.Room(os.DirFS("/")); known {
		return room / 4 * 3
	}
	return math.MaxInt64
}

// space is where large arrays go, nil for memory.
func (b *budget) space() *space {
	if b == nil {
		return nil
	}
	return b.files
}

// uncounted is a budget without a limit for what b has counted already.
func (b *budget) uncounted() *budget { return &budget{limit: math.MaxInt64, files: b.space()} }

// take counts n bytes more, before they are allocated; what says what for.
func (b *budget) take(path string, n int64, what string) error {
	if b.space() != nil || b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n >= 0 && n <= b.limit-b.held {
		b.held += n
		return nil
	}
	return &MemoryError{Of: "data: " + path, What: what, Need: n, Held: b.held, Limit: b.limit, Asked: b.asked, Trains: b.trains}
}

// MayTake is a MemoryError if a run that holds the sets may not have need bytes more, of its limit
// in bytes; 0 is DefaultMemory.
func (s *Sets) MayTake(limit, need int64, of, what string) error {
	b := newBudget(limit)
	b.trains = true
	if b.asked { // else they are no longer free
		for _, set := range []*Set{s.Train, s.Validation, s.Test} {
			if set != nil && set.seg != nil && !set.seg.InFile() && !set.shared {
				b.held += int64(set.size())
			}
		}
	}
	if need <= b.limit-b.held {
		return nil
	}
	return &MemoryError{Of: of, What: what, Need: need, Held: b.held, Limit: b.limit, Asked: b.asked,
		Cure: "choose a smaller model or fewer --workers, or raise it with --max-memory"}
}

// give counts n bytes less.
func (b *budget) give(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
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
	return fmt.Sprintf("%s: %s: needs %s%s, and the limit is %s: %s", e.Of, e.What, human.Bytes(e.Need), held, limit, cure)
}

// read is all that r has, counted as it comes. hint is its probable length.
func (b *budget) read(path string, r io.Reader, hint int64) ([]byte, error) {
	size := max(hint, 0) + bytes.MinRead // room for the read that finds the end
	if b.take(path, size, "") != nil {
		size = bytes.MinRead // the hint may be wrong
		if err := b.take(path, size, "reading the file"); err != nil {
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
		if err := b.take(path, more, fmt.Sprintf("reading on after %s", human.Bytes(int64(len(text))))); err != nil {
			return nil, err
		}
		text = append(make([]byte, 0, more), text...)
		b.give(size)
		if size = more; size >= 16<<20 {
			runtime.GC() // now, and not when as much again is garbage
		}
	}
}
