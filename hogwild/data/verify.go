package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hogwild/internal/human"
	"hogwild/internal/vec"
)

// The loops of training look at no index twice: what they read must be checked before. Of a file
// that is read and decoded each reader does it. A cache is mapped, and to look at every byte of it
// would take as long as to read it: so that is done once, when a file is first opened (by this
// user, on this machine), and remembered by what the file system knows of the file. A file
// that was written to since, by whatever means, has another time of change.

// trust verifies the cache, unless that was done and the file is what it was then.
func (c *cache) trust() error {
	mark := c.mark()
	if _, err := os.Stat(mark); mark != "" && err == nil {
		return nil
	}
	return c.verify(nil)
}

// mark returns the name of an empty file that says that the cache was verified; "" if there is no place
// for it.
func (c *cache) mark() string {
	dir, err := os.UserCacheDir()
	var s unix.Stat_t
	if err != nil || unix.Fstat(int(c.file.Fd()), &s) != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "1 %d %d %d %v %v %08x", s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim, c.sum))
	return filepath.Join(dir, "hogwild", "checked", hex.EncodeToString(sum[:16]))
}

// remember notes that the cache was verified. Without such a note it is verified again.
func (c *cache) remember() {
	mark := c.mark()
	if mark == "" || os.MkdirAll(filepath.Dir(mark), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(mark, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// verify looks at every byte of the cache, and remembers if they are good.
func (c *cache) verify(tell func(what string, done, total int)) error {
	total, done := 0, 0
	for _, p := range c.Parts {
		total += int(p.Size)
	}
	for _, p := range c.Parts {
		s, err := c.part(p.Name)
		if err != nil {
			return err
		}
		sum := checksum(s.seg.Bytes(), func(n int) {
			if done += n; tell != nil {
				tell("bytes checked", done, total)
			}
		})
		bad := s.invalidReason()
		if sum != p.CRC32C {
			bad = fmt.Sprintf("its bytes have the checksum %08x, not %08x", sum, p.CRC32C)
		}
		s.Close()
		if bad != "" {
			return fmt.Errorf("data: %s is damaged: in the %s rows %s; convert the data again, or copy the file again",
				c.file.Name(), p.Name, bad)
		}
	}
	c.remember()
	return nil
}

// checksum returns the CRC-32C of b. It calls did with the bytes that it has looked at since the last call.
func checksum(b []byte, did func(n int)) (sum uint32) {
	const piece = 64 << 20
	for len(b) > 0 {
		n := min(piece, len(b))
		sum = crc32.Update(sum, crc32c(), b[:n])
		did(n)
		b = b[n:]
	}
	return sum
}

// invalidReason says what is wrong with a set that somebody else may have made: whatever could make a loop
// read or write outside of an array, and numbers that are none. "": nothing.
func (s *Set) invalidReason() string {
	n, d := s.Rows, s.Features
	if s.Nonzeros < 0 {
		return "the number of values is negative"
	}
	allFinite := func(v []float32) bool { return every(len(v), func(i int) bool { return v[i]-v[i] == 0 }) }
	for _, v := range [][]float32{s.X, s.Val, s.Y, s.W, s.Freq, s.Mean, s.Mul, s.Add} {
		if !allFinite(v) {
			return "a number is not finite"
		}
	}
	k, start := float32(len(s.Classes)), uint32(0)
	if s.Words() {
		start = SentenceStart
	}
	switch {
	case !every(len(s.W), func(i int) bool { return s.W[i] >= 0 }):
		return "a weight is negative"
	case !every(d, func(j int) bool { return s.Freq[j] >= 0 && s.Freq[j] <= 1 }):
		return "a frequency is not between 0 and 1"
	case k > 0 && !every(n, func(i int) bool { y := s.Y[i]; return y >= 0 && y < k && y == float32(int32(y)) }):
		return "a label is no class"
	case !s.Entries() && !s.Facts() && !s.shapeFits():
		return "the shape or the names of the columns are not those of the features"
	case !every(len(s.Idx), func(i int) bool { return int(s.Idx[i]&^start) < d }):
		return "an index is beyond the features, or a word beyond the vocabulary"
	case !wordsFit(s):
		return "the words are not as many as their numbers"
	}
	return layouts[s.Kind].damage(s)
}

// InRange reports whether all indices of a sparse set lie below Features: it looks at each, but not in
// a cache, which was verified when it was opened.
func (s *Set) InRange() bool {
	return s.cacheInfo != nil || len(s.Idx) == 0 || int(vec.Largest(s.Idx)) < s.Features
}

// wordsFit reports whether the words of a text, and what sequences of them are hashed to, are its features.
func wordsFit(s *Set) bool {
	if s.Text == nil {
		return !s.Words()
	}
	words, counts, err := lexicon(s)
	n, o := len(counts), s.Text
	return err == nil && n > 0 && o.Buckets >= 0 && n+o.Buckets == s.Features && (s.Words() || s.Sparse()) &&
		bytes.Count(words, []byte("\n")) == n && bytes.HasSuffix(words, []byte("\n")) &&
		every(n, func(i int) bool { return counts[i] > 0 })
}

// shapeFits reports whether the shape and the columns of a set are as many as the features.
func (m *Meta) shapeFits() bool {
	left := m.Features
	for _, n := range m.Shape {
		if n <= 0 || left%n != 0 {
			return false
		}
		left /= n
	}
	return (len(m.Shape) == 0 || left == 1) && (len(m.Columns) == 0 || len(m.Columns) == m.Features)
}

// openCache opens a cache, and checks it.
func openCache(path string, check func(c *cache) error) (c *cache, done func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("data: %w", err)
	}
	if c, err = readCache(f); err == nil {
		err = check(c)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return c, func() { f.Close() }, nil
}

// cachedLike returns the test rows of a cache, if they are like other data: scaled in the same way, or
// not yet.
func cachedLike(path string, like *Meta) (*Set, error) {
	c, done, err := openCache(path, (*cache).trust)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := c.part(testPart)
	if err != nil {
		return nil, err
	}
	if err = s.compatible(like, path); err != nil {
		s.Close()
		return nil, err
	}
	if s.Text != nil {
		SetWindows(s, like.Text, like.Seed)
	}
	s.Name = path
	return s, nil
}

// CheckCache looks at every byte of a cache.
func CheckCache(path string, tell func(what string, done, total int)) error {
	if !isCache(path) {
		return fmt.Errorf("data: %s is not a data cache: only those have a checksum to be checked; hogwild data "+
			"convert makes one", path)
	}
	_, done, err := openCache(path, func(c *cache) error { return c.verify(tell) })
	if err == nil {
		done()
	}
	return err
}

// describeCache returns the Meta of the training rows, with a note about where they come from.
func describeCache(path string) (Meta, error) {
	c, done, err := openCache(path, func(*cache) error { return nil })
	if err != nil {
		return Meta{}, err
	}
	defer done()
	s, err := c.part(trainPart)
	if err != nil {
		return Meta{}, err
	}
	defer s.Close()
	s.Name = path
	s.notef("a data cache of %s, split and shuffled by seed %d", human.Name(c.Made.Path), c.Made.Seed)
	for _, name := range []string{validationPart, testPart} {
		if c.find(name) == nil {
			continue
		}
		t, err := c.part(name)
		if err != nil {
			return Meta{}, err
		}
		s.notef("%s rows: %s", name, count(t.Rows))
		t.Close()
	}
	return s.Meta, nil
}
