package format

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"hogwild/internal/human"
	"hogwild/shm"
)

// Source is a file, or standard input, unpacked: all of it, or as it comes.
type Source struct {
	Path   string        // what messages call it
	Text   []byte        // all of it; of a file that is read as it comes, its beginning
	Sum    func() string // sha256 of the file as it lies on the disk, hex; nil if it is read as it comes
	Budget *Budget

	summed  chan struct{} // closed when the sum is taken
	freed   int           // how much of Text is given back
	file    *os.File
	shared  *shm.Segment  // where Text lies, the first image at byte SharedAt, if a set can be made of it; else nil
	rest    *bufio.Reader // what comes, from the beginning on; nil: Text is all
	stopped error         // why no more comes
}

// stdin is what came from standard input. It can be read once, and a run may ask for its data twice (--tune).
var stdin struct {
	once sync.Once
	all  *Source
	err  error
}

// Read reads a file, or standard input for "-", and unpacks it.
func Read(path string, budget *Budget) (*Source, error) {
	if path != StdinName {
		return read(path, budget)
	}
	stdin.once.Do(func() {
		if stdin.err = notTerminal(path); stdin.err == nil {
			stdin.all, stdin.err = read(path, budget)
		}
	})
	if stdin.err != nil {
		return nil, stdin.err
	}
	s := *stdin.all
	s.Budget = budget
	return &s, nil
}

func read(path string, budget *Budget) (*Source, error) {
	s, sum, scratch := &Source{Path: path, Budget: budget}, sha256.New(), budget.Space()
	r, packed, err := s.open(scratch.stopped, sum)
	defer s.Close()
	if err != nil {
		return nil, err
	}
	var raw []byte // the file, if the sum is not taken while it is unpacked
	if scratch == nil {
		raw = s.atOnce(r, packed)
	}
	if called := s.Path; raw != nil {
		packed = false
		sum.Reset()
	} else if scratch != nil {
		s.Text, err = scratch.text(s.file, r, packed)
	} else {
		if packed {
			called += " (gzip)"
		}
		s.Text, err = budget.read(called, r, s.hint(packed))
	}
	if err == nil && packed {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return nil, s.failed(err)
	}
	if raw == nil && !packed {
		raw = s.Text
	}
	s.summed = make(chan struct{})
	go func() { // while rows are read
		sum.Write(raw)
		close(s.summed)
	}()
	s.Sum = func() string {
		<-s.summed
		return hex.EncodeToString(sum.Sum(nil))
	}
	if scratch != nil || s.shared != nil {
		<-s.summed // the text may be unmapped
	}
	err = s.checkText()
	budget.lend(s.shared)
	return s, err
}

// atOnce reads a file, of images or packed, at once, if that is possible and there is memory for both, and returns it
// as it is. r is its content.
func (s *Source) atOnce(r *bufio.Reader, packed bool) (raw []byte) {
	info, err := s.file.Stat()
	if err != nil || !info.Mode().IsRegular() || s.file == os.Stdin {
		return nil
	}
	size, room := info.Size(), s.hint(packed)+spareOut
	if s.Text = s.share(r, room-spareOut); s.Text == nil && !packed {
		return nil
	}
	if s.Budget.Take(s.Path, size+spareIn+room, "") == nil {
		s.Budget.Give(size + spareIn) // a moment early
		if s.Text == nil {
			s.Text = make([]byte, room)
		}
		if raw = s.Text; packed {
			raw = make([]byte, size+spareIn)
		}
		n, ok := int(size), true
		if _, err = s.file.ReadAt(raw[:size], 0); err == nil && packed {
			n, ok = unzip(raw, s.Text)
		}
		if err == nil && ok {
			s.Text = s.Text[:n]
			return raw[:size]
		}
		s.Budget.Give(room)
	}
	if s.Text = nil; s.shared != nil {
		_ = s.shared.Close()
		s.shared = nil
	}
	return nil
}

// share makes a segment for a file of images, size bytes long, with room behind them for what else a set has: the bytes
// are where the workers find them, and are not copied. It returns the memory of the file, nil of another one.
func (s *Source) share(r *bufio.Reader, size int64) []byte {
	begin, _ := r.Peek(8)
	if s.Budget == nil || !s.Budget.Trains || len(begin) < 8 || string(begin[:3]) != "\x00\x00\x08" || begin[3] < 2 {
		return nil
	}
	head, n := 4+4*int64(begin[3]), int64(binary.BigEndian.Uint32(begin[4:]))
	if n == 0 || size <= head || (size-head)%n != 0 {
		return nil
	}
	rows, features := size-head, (size-head)/n
	rows += 8*n + 64*features + 1<<16 // labels, means, what is said of the set
	var err error
	if s.shared, err = shm.Create("data", int(SharedAt+rows)); err != nil {
		return nil
	}
	return s.shared.Bytes()[SharedAt-head:][:size+spareOut]
}

// Checksum waits for the Sum; "" of what has none.
func (s *Source) Checksum() string {
	if s.Sum == nil {
		return ""
	}
	return s.Sum()
}

// Stream opens a file to be read as it comes. Before more of it is awaited it calls ask, whose error ends the file.
func Stream(path string, budget *Budget, ask func() error) (s *Source, err error) {
	s = &Source{Path: path, Budget: budget}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.rest, _, err = s.open(ask, io.Discard); err != nil {
		return s, err
	}
	head, err := beginning(s.rest)
	if err != nil {
		return s, s.failed(err)
	}
	s.Text = head
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 { // an old Macintosh's
		if err := s.complete(); err != nil {
			return s, err
		}
	}
	err = s.checkText()
	if s.rest != nil && bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = s.rest.Discard(3)
	}
	return s, err
}

// complete reads all that comes.
func (s *Source) complete() (err error) {
	if s.rest == nil {
		return nil
	}
	if s.Text, err = s.Budget.read(s.Path, s.rest, 0); err != nil {
		return s.failed(err)
	}
	s.rest = nil
	return nil
}

// open opens the file, and unpacks it if it starts as gzip does, whatever its name. What it unpacks it writes to sum.
func (s *Source) open(ask func() error, sum io.Writer) (r *bufio.Reader, packed bool, err error) {
	if s.file = os.Stdin; s.Path == StdinName {
		s.Path = stdinTitle
	} else if s.file, err = openFile(s.Path); err != nil {
		return nil, false, err
	}
	r = bufio.NewReaderSize(asking{s, ask}, 1<<16)
	if head, _ := r.Peek(2); string(head) != "\x1f\x8b" {
		return r, false, nil
	}
	r = bufio.NewReaderSize(io.TeeReader(r, sum), 1<<16)
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, true, s.damaged(err)
	}
	return bufio.NewReaderSize(unpacking{z, s}, 1<<16), true, nil
}

// asking is a file that is read on only if ask agrees.
type asking struct {
	s   *Source
	ask func() error
}

// Read asks first.
func (a asking) Read(b []byte) (int, error) {
	if a.s.stopped = a.ask(); a.s.stopped != nil {
		return 0, a.s.stopped
	}
	return a.s.file.Read(b)
}

// unpacking is a packed file.
type unpacking struct {
	*gzip.Reader
	s *Source
}

// Read says of an error that the file is damaged, unless the file was stopped.
func (u unpacking) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil && err != io.EOF {
		if u.s.stopped == nil {
			u.s.stopped = u.s.damaged(err)
		}
		err = u.s.stopped
	}
	return n, err
}

// damaged returns an error of gzip.
func (s *Source) damaged(err error) error {
	return s.Errorf("unpacking gzip: %v; the file is damaged or incomplete", err)
}

// failed names the file in an error of reading it that does not.
func (s *Source) failed(err error) error {
	if full := (*MemoryError)(nil); s.stopped != nil || errors.As(err, &full) {
		return err
	}
	return fmt.Errorf("data: %s: %w", s.Path, err)
}

// mostPacked is how many bytes gzip can make one of.
const mostPacked = 1032

// hint returns how long the content may be: of a packed file what it says in its last four bytes, modulo 2^32.
func (s *Source) hint(packed bool) int64 {
	info, err := s.file.Stat()
	if err != nil {
		return 0
	}
	var tail [4]byte
	if !packed {
		return info.Size()
	} else if _, err := s.file.ReadAt(tail[:], info.Size()-4); err != nil {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(tail[:])), mostPacked*info.Size())
}

// Close closes the file.
func (s *Source) Close() {
	if s.file != os.Stdin {
		s.file.Close()
	}
}

// letGo gives back the memory of the text before a byte, some of it at a time. Text that is read again stays, as does
// text whose sum is not taken.
func (s *Source) letGo(to int) {
	if to-s.freed < 4<<20 || s.Path == stdinTitle {
		return
	}
	select {
	case <-s.summed:
		to -= to % os.Getpagesize()
		_ = unix.Madvise(s.Text[s.freed:to], unix.MADV_DONTNEED) // without it there is only less memory
		s.freed = to
	default:
	}
}

// Done gives back the text of a file whose rows have been decoded.
func (s *Source) Done() {
	s.Budget.Give(int64(len(s.Text)))
	s.Text = nil
}

// Errorf returns an error about the file as a whole.
func (s *Source) Errorf(format string, args ...any) error {
	return fmt.Errorf("data: %s: %s", s.Path, fmt.Sprintf(format, args...))
}

// notUTF8 says of a text that it is in another encoding.
const notUTF8 = "%s is not UTF-8 text: convert it to UTF-8 first: iconv -f WINDOWS-1252 -t UTF-8 OLD >NEW (or from " +
	"the encoding that it has)"

// checkUTF8 refuses what is in a line if it is in another encoding.
func (s *Source) checkUTF8(line int, text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	return fmt.Errorf("data: %s:%d: "+notUTF8, s.Path, line, human.Quote(string(text)))
}

// CheckLines refuses text in another encoding; line lines come before it. The error has the first word that
// is.
func (s *Source) CheckLines(text []byte, line int) error {
	if utf8.Valid(text) {
		return nil
	}
	for of := range bytes.Lines(text) {
		line++
		for word := range bytes.FieldsSeq(of) {
			if err := s.checkUTF8(line, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkText refuses what no reader can read. It takes the byte order mark off a text, and
// gives texts of old Macintoshes, whose lines end in \r alone, the line ends of others.
func (s *Source) checkText() error {
	b := s.Text
	if bytes.HasPrefix(b, []byte{0, 0}) || bytes.HasPrefix(b, []byte("\x93NUMPY")) {
		return nil
	}
	if name := utf16Name(b[:min(len(b), 4096)]); name != "" {
		return s.Errorf("%s text: convert it to UTF-8 first: iconv -f %s -t UTF-8 OLD >NEW", name, name)
	}
	s.Text = bytes.TrimPrefix(b, []byte("\ufeff"))
	switch {
	case len(b) == 0:
		return s.Errorf("the file is empty")
	case len(s.Text) == 0:
		return s.Errorf("the file has nothing but a byte order mark")
	case len(bytes.TrimSpace(s.Text)) == 0:
		return s.Errorf("the file has only blank lines")
	}
	if bytes.IndexByte(s.Text, '\n') < 0 && bytes.IndexByte(s.Text, '\r') >= 0 {
		s.Text = bytes.ReplaceAll(s.Text, []byte{'\r'}, []byte{'\n'})
	}
	return nil
}
