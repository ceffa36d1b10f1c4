package data

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data/format"
	"hogwild/shm"
)

// A cache is the sets of a run in one file, as they lie in memory: Convert writes it, and a run
// maps it instead of reading and decoding the source. In bytes:
//
//	0       "hogwild data 1\n\0", the length of the description (uint32), its CRC-32C (uint32)
//	24      the description, as JSON: see cacheHead
//	65536   the first part, the next one at the next multiple of 65,536, and so on
//
// Each part is a segment (see shm.Layout) with the arrays of a Set. Numbers are little-endian.
const cacheMagic = format.CacheMark + "1\n\x00"

const cacheHeadBytes = len(cacheMagic) + 8

// The names of parts. A cache has a training set and a test set.
const (
	trainPart      = "train"
	testPart       = "test"
	validationPart = "validation"
)

// cacheHead describes a cache.
type cacheHead struct {
	Made  recipe      `json:"made"`
	Parts []cachePart `json:"parts"`
}

// recipe is what a cache was made of, and how: those settings of Options, and Path.
type recipe struct {
	Path       string  `json:"path"`
	Test       string  `json:"test,omitempty"`
	Validation string  `json:"validation,omitempty"`
	Format     string  `json:"format,omitempty"`
	Target     string  `json:"target,omitempty"`
	Scale      string  `json:"scale,omitempty"`
	Ignore     string  `json:"ignore,omitempty"`
	Weight     string  `json:"weight,omitempty"`
	Columns    string  `json:"columns,omitempty"`
	Missing    string  `json:"missing,omitempty"`
	Limit      int     `json:"limit,omitempty"`
	Positive   float32 `json:"positive,omitempty"`
	Task       string  `json:"task,omitempty"`
	Seed       uint64  `json:"seed"`
}

// cachePart is where a set lies in the file.
type cachePart struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	CRC32C uint32 `json:"crc32c"` // of all its bytes
}

// crc32c is the polynomial for which processors have an instruction.
var crc32c = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Map maps a set that another process has loaded, or the training set of a cache that another
// process has opened, and owns f from then on. A segment that is not sealed, or whose arrays
// disagree with its Meta, is an error.
func Map(f *os.File) (*Set, error) {
	if hasCacheHead(f) {
		defer f.Close()
		c, err := readCache(f)
		if err != nil {
			return nil, err
		}
		return c.part(trainPart)
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_WRITE == 0 {
		f.Close()
		return nil, fmt.Errorf("data: %s is not a sealed segment: it was not made by Load", f.Name())
	}
	seg, err := shm.Map(f, false)
	if err != nil {
		return nil, err
	}
	return attached(seg)
}

// isCache reports whether a path names a cache. What cannot be opened is none.
func isCache(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe is read once
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return hasCacheHead(f)
}

func hasCacheHead(f *os.File) bool {
	var b [len(format.CacheMark)]byte
	_, err := f.ReadAt(b[:], 0)
	return err == nil && string(b[:]) == format.CacheMark
}

// cache is a cache that is open.
type cache struct {
	cacheHead
	file *os.File
	sum  uint32 // of the description
}

// readCache reads the head of a cache. f stays the caller's.
func readCache(f *os.File) (*cache, error) {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("data: %s: %s; convert the data again", f.Name(), fmt.Sprintf(format, a...))
	}
	head := make([]byte, shm.PartAlign)
	if n, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("data: %w", err)
	} else if n < len(head) {
		return nil, fail("the file ends after %d bytes: it is incomplete", n)
	}
	if string(head[:len(cacheMagic)]) != cacheMagic {
		return nil, fail("a data cache of another version of hogwild")
	}
	n := int(binary.LittleEndian.Uint32(head[len(cacheMagic):]))
	if n > len(head)-cacheHeadBytes {
		return nil, fail("a description of %d bytes: the file is damaged", n)
	}
	text := head[cacheHeadBytes : cacheHeadBytes+n]
	c := &cache{file: f, sum: crc32.Checksum(text, crc32c())}
	if c.sum != binary.LittleEndian.Uint32(head[len(cacheMagic)+4:]) {
		return nil, fail("the description does not have its checksum: the file is damaged")
	}
	if err := json.Unmarshal(text, &c.cacheHead); err != nil {
		return nil, fail("description: %v", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	for _, p := range c.Parts {
		if p.Offset < 0 || p.Size <= 0 || p.Size > info.Size() || p.Offset > info.Size()-p.Size {
			return nil, fail("the %s rows are the bytes from %d to %d, and the file has %d: it is incomplete", p.Name,
				p.Offset, p.Offset+p.Size, info.Size())
		}
	}
	if c.find(trainPart) == nil || c.find(testPart) == nil {
		return nil, fail("it lacks training or test rows")
	}
	return c, nil
}

// find returns the part of a name, nil if there is none.
func (c *cache) find(name string) *cachePart {
	for i := range c.Parts {
		if c.Parts[i].Name == name {
			return &c.Parts[i]
		}
	}
	return nil
}

// part maps the set of a part.
func (c *cache) part(name string) (*Set, error) {
	p := c.find(name)
	if p == nil { // the settings may promise validation rows that are not there
		return nil, fmt.Errorf("data: %s: it lacks %s rows: the file is damaged; convert the data again",
			c.file.Name(), name)
	}
	seg, err := shm.MapPart(c.file, p.Offset, p.Size)
	if err != nil {
		return nil, fmt.Errorf("data: %w; convert the data again", err)
	}
	s, err := attached(seg)
	if err != nil {
		return nil, fmt.Errorf("data: %s: the %s rows: %w; convert the data again", c.file.Name(), name, err)
	}
	if s.cacheInfo, err = c.file.Stat(); err == nil && s.streams() {
		err = s.scatter()
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("data: %w", err)
	}
	s.Mean, s.Freq = slices.Clone(s.Mean), slices.Clone(s.Freq) // everybody reads them, at any time
	if name == testPart && p.Offset == c.find(trainPart).Offset {
		s.Notes, s.W, s.shared = nil, nil, true // as of a graph that is in memory
	}
	return s, nil
}

// refuse returns an error for a setting that contradicts the way in which the cache was made.
func (c *cache) refuse(o *Options) error {
	limit := func(n int) string { return strconv.Itoa(n) }
	for _, s := range []struct{ name, asked, neutral, made string }{
		{"format", o.Format, "auto", c.Made.Format},
		{"target", o.Target, "", c.Made.Target},
		{"scale", o.Scale, "auto", c.Made.Scale},
		{"ignore", o.Ignore, "", c.Made.Ignore},
		{"weight", o.Weight, "", c.Made.Weight},
		{"columns", o.Columns, "", c.Made.Columns},
		{"missing", o.Missing, format.Fill, c.Made.Missing},
		{"positive", fmt.Sprint(o.Positive), "0", fmt.Sprint(c.Made.Positive)},
		{"limit", limit(o.Limit), "0", limit(c.Made.Limit)},
	} {
		if s.asked == "" || s.asked == s.neutral || s.asked == s.made {
			continue
		}
		how := fmt.Sprintf("with --%s %s", s.name, s.made)
		if s.made == "" || s.made == s.neutral {
			how = "without --" + s.name
		}
		return fmt.Errorf("data: %s %s: %s was converted %s, and holds the result: leave --%s out, or convert %s again",
			s.name, s.asked, o.Path, how, s.name, c.Made.Path)
	}
	_, share, err := ValidationShare(o.Validation)
	if err == nil && share && o.Validation != c.Made.Validation {
		err = fmt.Errorf("data: validation %s: %s has no such rows apart: convert %s again with --validation %s, or "+
			"name a file",
			o.Validation, o.Path, c.Made.Path, o.Validation)
	}
	return err
}
