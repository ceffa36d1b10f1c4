package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"slices"
)

// pieceBytes is how long a piece of a text is: tests need less.
var pieceBytes = 1 << 20

// Piece is a part of a text that ends where a line does. Only a line that is longer is cut, between two words. Where
// pieces begin does not depend on the machine.
type Piece struct {
	Slot int      // those that are worked on at the same time have different ones, from 0
	At   int64    // where it begins in the text
	Text []byte   // valid until it is taken
	IDs  []uint32 // what work has found

	done chan struct{}
}

// Slots returns how many pieces of a text are in memory at a time. What works on them may hold a vocabulary each, and
// the file or its unpacking keeps few of them busy.
func Slots() int { return min(runtime.GOMAXPROCS(0), 8) + 1 }

// Pieces reads a text as it comes, and has all processors work on its pieces. Then it calls take with each, in the
// order of the text, one after the other. Text that is not UTF-8 is an error. The Source that it returns has no Text.
func Pieces(path string, budget *Budget, work func(*Piece), take func(*Piece) error) (s *Source, err error) {
	s = &Source{Path: path, Budget: budget}
	in, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ring, c := make([]*Piece, Slots()), cutter{Source: s, in: in}
	oldest, lines := 0, 0
	taken := func(p *Piece) error {
		if err := s.CheckLines(p.Text, lines); err != nil {
			return err
		}
		lines += bytes.Count(p.Text, []byte("\n"))
		return take(p)
	}
	defer func() {
		for ; oldest < c.n; oldest++ {
			p := ring[oldest%len(ring)]
			if <-p.done; err == nil {
				err = taken(p)
			}
		}
	}()
	for !c.ended {
		p := ring[c.n%len(ring)]
		if p == nil {
			p = &Piece{Slot: c.n, done: make(chan struct{}, 1)}
			ring[p.Slot] = p
		} else {
			oldest++
			<-p.done
			err = taken(p)
		}
		if err == nil {
			err = c.next(p)
		}
		if err != nil {
			return nil, err
		}
		go func() {
			work(p)
			p.done <- struct{}{}
		}()
	}
	return s, nil
}

// begin returns the text of a file, or of standard input, which may have been read before.
func (s *Source) begin() (io.Reader, error) {
	if s.Path == StdinName && stdin.all != nil {
		s.Path, s.file, s.Sum = stdinTitle, os.Stdin, stdin.all.Sum
		return bytes.NewReader(stdin.all.Text), nil
	}
	if err := notTerminal(s.Path); err != nil {
		return nil, err
	}
	sum := sha256.New()
	r, packed, err := s.open(s.Budget.Space().stopped, sum)
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Sum = func() string { return hex.EncodeToString(sum.Sum(nil)) }
	if !packed {
		return io.TeeReader(r, sum), nil
	}
	return r, nil
}

// cutter cuts a text into pieces.
type cutter struct {
	*Source
	in    io.Reader
	n     int    // pieces so far
	at    int64  // where the next one begins
	rest  []byte // what has been read of it
	ended bool
}

// next reads a piece.
func (c *cutter) next(p *Piece) error {
	p.Text = slices.Grow(p.Text[:0], pieceBytes)[:pieceBytes]
	had := copy(p.Text, c.rest)
	n, err := io.ReadFull(c.in, p.Text[had:])
	n += had
	p.Text = p.Text[:n]
	if c.ended = err == io.EOF || err == io.ErrUnexpectedEOF; !c.ended && err != nil {
		return c.failed(err)
	}
	if c.n == 0 {
		if err := c.CheckWords(p.Text); err != nil {
			return err
		}
		if head, is := bytes.CutPrefix(p.Text, []byte("\ufeff")); is {
			p.Text, c.at = head, 3
		}
	}
	end := len(p.Text)
	if !c.ended {
		if end = 1 + bytes.LastIndexByte(p.Text, '\n'); end == 0 {
			end = 1 + bytes.LastIndexAny(p.Text, " \t\r\v\f")
		}
		if end == 0 {
			return c.Errorf("%d bytes from byte %d on without a blank: is it text?", len(p.Text), c.at)
		}
	}
	c.rest = p.Text[end:]
	p.At, p.Text = c.at, p.Text[:end]
	c.at += int64(end)
	c.n++
	return nil
}

// CheckWords refuses the beginning of what is no text.
func (s *Source) CheckWords(head []byte) error {
	if len(head) == 0 {
		return s.Errorf("the file is empty")
	}
	if what := notText(head[:min(len(head), 1<<16)]); what != "" {
		return s.Errorf("%s", what)
	}
	return nil
}
