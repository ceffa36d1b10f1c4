package data

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A cache is mapped, and nothing holds its file as it is. If it becomes shorter, or its disk fails, the next
// look at a page that is gone ends a process by SIGBUS.

// ErrUnreadable is in the errors of a cache that changed, or could not be read, while it was in use.
var ErrUnreadable = errors.New("the data can no longer be read")

// CheckUnchanged returns an error if the cache that has the set is not what it was when the set was
// mapped. Sets in memory do not change.
func (s *Set) CheckUnchanged() error {
	if s.cacheInfo == nil {
		return nil
	}
	now, err := s.File().Stat()
	if err == nil && now.Size() == s.cacheInfo.Size() && now.ModTime().Equal(s.cacheInfo.ModTime()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return fmt.Errorf(
		"%w: %s changed during the run: it had %s bytes, of %s, and has %s, of %s; convert the data again",
		ErrUnreadable, s.cacheInfo.Name(), count(int(s.cacheInfo.Size())), s.cacheInfo.ModTime().Format(time.DateTime),
		count(int(now.Size())), now.ModTime().Format(time.DateTime))
}

// ReadError returns the error for a process that ended by SIGBUS while it read the set: nil if that cannot
// be the reason.
func (s *Set) ReadError() error {
	if s.cacheInfo == nil {
		return nil
	}
	if err := s.CheckUnchanged(); err != nil {
		return err
	}
	return fmt.Errorf("%w: the disk failed while %s was read", ErrUnreadable, s.cacheInfo.Name())
}

// Guard calls f, which reads the set. A page of a cache that cannot be read is an error. Goroutines that
// f starts need guards of their own.
func (s *Set) Guard(f func()) error { return Guard(f, s.ReadError) }

// Guard calls f. If a page of a mapped file cannot be read, the error is the one that why finds.
func Guard(f func(), why func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		fault, ok := p.(interface{ Addr() uintptr })
		if ok && fault.Addr() > nilAddress {
			err = why()
		}
		if p != nil && err == nil { // our own mistake
			panic(p)
		}
	}()
	f()
	return nil
}

// nilAddress is above the addresses that a nil pointer leads to.
const nilAddress = 1 << 16
