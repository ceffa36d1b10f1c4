package shm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The head of a segment, in bytes: magic (8), version (4), length of the table
// (4), checksum of the table (8); then the table as JSON, then the arrays, each on
// a boundary of 128 bytes (two cache lines: the adjacent-line prefetcher of x86
// fetches pairs).
const (
	magic      = "hogwild\n"
	version    = 1
	headBytes  = 24
	align      = 128
	maxTable   = 1 << 20
	maxElement = 1 << 40 // of one array: a table full of such arrays cannot overflow an int
)

// Kind is the type of an array's elements.
type Kind string

// The kinds that a View can have.
const (
	U8  Kind = "u8"
	U32 Kind = "u32"
	U64 Kind = "u64"
	I64 Kind = "i64"
	F32 Kind = "f32"
	F64 Kind = "f64"
)

// Element is a type that a View can have. Each is plain bits: any content is valid.
type Element interface {
	uint8 | uint32 | uint64 | int64 | float32 | float64
}

func kindOf[T Element]() Kind {
	var v T
	switch any(v).(type) {
	case uint8:
		return U8
	case uint32:
		return U32
	case uint64:
		return U64
	case int64:
		return I64
	case float32:
		return F32
	}
	return F64
}

func (k Kind) size() int {
	switch k {
	case U8:
		return 1
	case U32, F32:
		return 4
	case U64, I64, F64:
		return 8
	}
	return 0
}

// entry is one array of a segment.
type entry struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"` // bytes from the start of the segment
}

func (e entry) elements() int { return count(e.Shape) }

// count returns the number of elements of an array of that shape, 1 without any length;
// -1 when a length is negative or the number above maxElement.
func count(shape []int) int {
	n := 1
	for _, s := range shape {
		if s < 0 || (s > 0 && n > maxElement/s) {
			return -1
		}
		n *= s
	}
	return n
}

// table is what the head of a segment says.
type table struct {
	entries  map[string]entry
	checksum uint64
}

// Layout is a list of named arrays that make up a segment.
type Layout struct {
	entries []entry
	there   string // the array that lies in the segment already, at byte at; "": none
	at      int
	err     error
}

// Add appends an array of zeros. A mistake in it is reported by Create.
func (l *Layout) Add(name string, kind Kind, shape ...int) {
	if count(shape) < 0 {
		l.err = fmt.Errorf("shm: array %q of shape %v: negative or too large: the most is %d elements", name,
			shape, maxElement)
		return
	}
	if kind.size() == 0 {
		l.err = fmt.Errorf("shm: array %q of unknown kind %q", name, kind)
		return
	}
	for _, e := range l.entries {
		if e.Name == name {
			l.err = fmt.Errorf("shm: array %q is defined twice", name)
			return
		}
	}
	l.entries = append(l.entries, entry{Name: name, Kind: kind, Shape: shape})
}

// Size returns how many bytes the arrays take, with what lies between them; math.MaxInt64 if there
// is no memory of that size.
func (l *Layout) Size() int64 {
	total := int64(0)
	for _, e := range l.entries {
		if total += int64(roundUp(e.elements()*e.Kind.size(), align)); total < 0 {
			return math.MaxInt64
		}
	}
	return total
}

// Create makes a segment that holds the arrays, all zero, and writes the table
// into its head.
func (l *Layout) Create(name string) (*Segment, error) {
	text, end, err := l.place(name)
	if err != nil {
		return nil, err
	}
	s, err := Create(name, end)
	if err != nil {
		return nil, err
	}
	s.writeHead(text)
	return s, nil
}

// place gives each array its offset, and returns the table and the size of the segment.
func (l *Layout) place(name string) (table []byte, end int, err error) {
	if l.err != nil {
		return nil, 0, l.err
	}
	// The offsets are part of the table, whose length they depend on: leave room.
	text, _ := json.Marshal(l.entries)
	room := roundUp(headBytes+len(text)+20*len(l.entries), align)
	end = room
	for i, e := range l.entries {
		if e.Name == l.there {
			room, l.entries[i].Offset = min(room, l.at), l.at
			end = roundUp(l.at+e.elements()*e.Kind.size(), align)
		}
	}
	for i, e := range l.entries {
		if e.Name != l.there {
			l.entries[i].Offset = end
			end = roundUp(end+e.elements()*e.Kind.size(), align)
		}
	}
	if text, err = json.Marshal(l.entries); err != nil {
		return nil, 0, fmt.Errorf("shm: layout of %q: %w", name, err)
	}
	if headBytes+len(text) > room || len(text) > maxTable {
		return nil, 0, fmt.Errorf("shm: layout of %q takes %d bytes, more than the %d there is room for", name,
			len(text), room)
	}
	return text, max(end, align), nil
}

func (s *Segment) writeHead(text []byte) {
	copy(s.mem, magic)
	binary.LittleEndian.PutUint32(s.mem[8:], version)
	binary.LittleEndian.PutUint32(s.mem[12:], uint32(len(text)))
	binary.LittleEndian.PutUint64(s.mem[16:], checksum(text))
	copy(s.mem[headBytes:], text)
}

// Checksum reads and checks the head of the segment, and returns the checksum of
// its table: equal checksums mean equal names, kinds, shapes and offsets.
func (s *Segment) Checksum() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.readTable()
	if err != nil {
		return 0, err
	}
	return t.checksum, nil
}

// readTable needs the lock.
func (s *Segment) readTable() (*table, error) {
	if s.mem == nil {
		return nil, ErrClosed
	}
	if s.table != nil {
		return s.table, nil
	}
	name := s.file.Name()
	if len(s.mem) < headBytes || string(s.mem[:8]) != magic {
		return nil, fmt.Errorf("shm: %s has no hogwild layout (%d bytes)", name, len(s.mem))
	}
	if v := binary.LittleEndian.Uint32(s.mem[8:]); v != version {
		return nil, fmt.Errorf("shm: %s has layout version %d, this program reads %d", name, v, version)
	}
	n := int(binary.LittleEndian.Uint32(s.mem[12:]))
	if n > maxTable || headBytes+n > len(s.mem) {
		return nil, fmt.Errorf("shm: %s: a table of %d bytes in a segment of %d", name, n, len(s.mem))
	}
	text := s.mem[headBytes : headBytes+n]
	sum := binary.LittleEndian.Uint64(s.mem[16:])
	if got := checksum(text); got != sum {
		return nil, fmt.Errorf("shm: %s: the table's checksum is %016x, its head says %016x", name, got, sum)
	}
	var entries []entry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("shm: %s: %w", name, err)
	}
	t := &table{entries: map[string]entry{}, checksum: sum}
	for _, e := range entries {
		if err := e.check(headBytes+n, len(s.mem)); err != nil {
			return nil, fmt.Errorf("shm: %s: %w", name, err)
		}
		if _, twice := t.entries[e.Name]; twice {
			return nil, fmt.Errorf("shm: %s: array %q is defined twice", name, e.Name)
		}
		t.entries[e.Name] = e
	}
	s.table = t
	return t, nil
}

// check refuses an array that does not lie inside a segment of size bytes, behind
// its head.
func (e entry) check(head, size int) error {
	bytes := e.Kind.size()
	if bytes == 0 || e.Offset < head || e.Offset%align != 0 || e.Offset > size {
		return fmt.Errorf("array %q: kind %q at offset %d of %d bytes", e.Name, e.Kind, e.Offset, size)
	}
	if n := e.elements(); n < 0 || n > (size-e.Offset)/bytes {
		return fmt.Errorf("array %q of %v %s at offset %d runs past the end (%d bytes)", e.Name, e.Shape, e.Kind,
			e.Offset, size)
	}
	return nil
}

// View returns the named array as a slice of the mapping: it must not be used after
// Close, nor be written when the segment was mapped for reading.
func View[T Element](s *Segment, name string) ([]T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.readTable()
	if err != nil {
		return nil, err
	}
	e, ok := t.entries[name]
	if !ok {
		return nil, fmt.Errorf("shm: %s has no array %q", s.file.Name(), name)
	}
	if k := kindOf[T](); k != e.Kind {
		return nil, fmt.Errorf("shm: array %q of %s is %s, not %s", name, s.file.Name(), e.Kind, k)
	}
	n := e.elements()
	if n == 0 {
		return []T{}, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&s.mem[e.Offset])), n), nil
}

// Offset returns where the named array begins, in bytes from the start of the segment's file.
func (s *Segment) Offset(name string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.readTable()
	if err != nil {
		return 0, err
	}
	e, ok := t.entries[name]
	if !ok {
		return 0, fmt.Errorf("shm: %s has no array %q", s.file.Name(), name)
	}
	return s.offset + int64(e.Offset), nil
}

// advise tells the kernel what is to happen to the pages of an array of a mapping: those at
// its ends, which others may share, are among them.
func advise[T Element](v []T, advice func(pages []byte) error) error {
	if len(v) == 0 {
		return nil
	}
	page := uintptr(unix.Getpagesize())
	start := unsafe.Pointer(unsafe.SliceData(v))
	before := uintptr(start) % page
	return advice(unsafe.Slice((*byte)(unsafe.Add(start, -int(before))), before+uintptr(len(v))*unsafe.Sizeof(v[0])))
}

// Overlay is another mapping of an array of a segment, for reading and writing, in which some pages are this process's
// own. What it stores to all others is in the segment at once, and the other way round.
type Overlay[T Element] struct {
	View []T      // the array
	Own  [][2]int // elements [from, to) of the pages that are not the segment's, ascending, none next to another

	mem []byte
}

// NewOverlay makes one. Own are the pages on which elements of the ranges [from, to), ascending, lie: so neighbours may
// be among them. They begin as copies of what the segment has. An error says what the kernel refused.
func NewOverlay[T Element](s *Segment, name string, ranges [][2]int) (*Overlay[T], error) {
	array, err := View[T](s, name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &Overlay[T]{}
	if o.mem, err = shared(s.file, s.offset, len(s.mem), unix.PROT_READ|unix.PROT_WRITE, 0); err != nil {
		return nil, fmt.Errorf("shm: mapping %s once more: %w", s.file.Name(), err)
	}
	size, page := kindOf[T]().size(), unix.Getpagesize()
	offset := s.table.entries[name].Offset
	o.View = Numbers[T](o.mem[offset:])[:len(array)]
	for end := 0; len(ranges) > 0; ranges = ranges[1:] {
		from := max((offset+ranges[0][0]*size)/page*page, end)
		to := max(roundUp(offset+ranges[0][1]*size, page), from)
		if ranges[0][0] >= ranges[0][1] || from == to {
			continue
		}
		if _, err = unix.MmapPtr(-1, 0, unsafe.Pointer(&o.mem[from]), uintptr(to-from), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
			o.Close()
			return nil, fmt.Errorf("shm: %d private bytes in a mapping of %s: %w", to-from, s.file.Name(), err)
		}
		copy(o.mem[from:min(to, len(o.mem))], s.mem[from:])
		first, last := max(0, from-offset)/size, min(len(array), (to-offset)/size)
		if n := len(o.Own); n > 0 && from == end {
			o.Own[n-1][1] = last
		} else {
			o.Own = append(o.Own, [2]int{first, last})
		}
		end = to
	}
	return o, nil
}

// Close unmaps it: View is invalid from then on.
func (o *Overlay[T]) Close() error { return unix.Munmap(o.mem) }

// Numbers returns memory as numbers, as many as fit. It must be aligned for them: a mapping is.
func Numbers[T Element](mem []byte) []T {
	var v T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/int(unsafe.Sizeof(v)))
}

// Bytes returns the same numbers as the bytes of a file: the processors that this runs on, and the files, are
// little-endian.
func Bytes(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}

// Bits returns the same numbers as the words that hold them: what a compare-and-swap needs.
func Bits(f []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(f))), len(f))
}

// futex makes the system call futex(2). It stands here because it takes addresses.
func futex(word *uint32, operation, value uintptr, timeout *unix.Timespec) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), operation,
		value, uintptr(unsafe.Pointer(timeout)), 0, 0)
	return errno
}

func checksum(b []byte) uint64 { return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
