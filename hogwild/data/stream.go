package data

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
)

// Inputs say what is read to be predicted. Labels are ignored: a file may have them or not.
// The last three describe the training data; saved.Saved fills them in.
type Inputs struct {
	Path   string  // as Options.Path, or - for standard input
	Memory *Memory // instead of a file; labels may be missing
	// MaxMemory is how many bytes of the file may be held at once; 0 = DefaultMemory.
	MaxMemory int64
	Format    string // as Options.Format
	Target    string // the column that holds labels, by name or 1-based number; "" = as in the training data, if it is there

	Like   Meta
	Was    string // its target column
	Places Places // of its ids, if it has pairs
}

// Piece is some rows of a file, in its order, to be predicted at once.
type Piece struct {
	Batch Batch       // the rows without a gap, scaled as the training data
	Gaps  []bool      // of each row of the file: it misses a value, and is not in Batch
	IDs   [][2]uint32 // pairs: of each row the two ids in the file
}

// pieceRows is as many rows as a model takes at once in an evaluation.
const pieceRows = 256

// Stream reads the rows of a file in order and calls do with a piece at a time, valid during
// the call. Text is read as it comes: do has all rows that have arrived before more
// input is awaited. The notes say which rows have gaps, and why.
func Stream(in Inputs, do func(*Piece) error) (notes []string, err error) {
	s := &stream{Inputs: in, do: do, room: newBudget(in.MaxMemory)}
	if err = s.read(); err == nil {
		err = s.flush()
	}
	if err == nil && s.rows == 0 {
		err = fmt.Errorf("data: %s: no rows to predict", s.name())
	}
	return s.notes(), err
}

// stream is a file on its way to predictions.
type stream struct {
	Inputs
	do    func(*Piece) error
	room  *budget
	piece Piece
	x     []float32 // dense rows of the piece, one behind the other
	idx   []uint32  // sparse ones
	val   []float32
	ends  []int // where each sparse row ends in them

	failed error // of do, while the file was read

	rows, gaps, dropped int
	first               string  // the first gap
	inputs              *inputs // of a table
}

func (s *stream) name() string {
	switch {
	case s.Memory != nil:
		return cmp.Or(s.Memory.Name, "memory")
	case s.Path == stdinName:
		return stdinTitle
	}
	return s.Path
}

// read finds out what the file is, and reads it.
func (s *stream) read() error {
	if s.Memory != nil {
		return s.Memory.stream(s)
	}
	if isDigits(s.Path) || isSynth(s.Path) || isCache(s.Path) {
		if s.Target != "" || s.Format != "" && s.Format != "auto" {
			return fmt.Errorf("data: %s is generated: format and target have no effect with it; leave them out", s.Path)
		}
		set, err := LoadLike(s.Path, s.Format, s.Target, s.Like)
		if err != nil {
			return err
		}
		return s.set(set)
	}
	src, file := &source{path: s.name(), room: s.room}, os.Stdin
	if s.Path != stdinName {
		train, test, err := locate(s.Path)
		if err != nil {
			return err
		}
		if src.path = train; train != s.Path && test != "" {
			src.path = test
		}
		if file, err = openFile(src.path); err != nil {
			return err
		}
		defer file.Close()
	}
	r := bufio.NewReaderSize(flushing{file, s}, 1<<16)
	if head, _ := r.Peek(2); string(head) == "\x1f\x8b" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return src.damaged(err)
		}
		r = bufio.NewReaderSize(unpacking{z, s, src}, 1<<16)
	}
	return s.decode(src, r)
}

// unpacking is a packed file.
type unpacking struct {
	io.Reader
	s   *stream
	src *source
}

// Read says of an error, unless it is one of do, that the file is damaged.
func (u unpacking) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil && err != io.EOF && u.s.failed == nil {
		err = u.src.damaged(err)
	}
	return n, err
}

// flushing is a file of which no more is read before what came is predicted.
type flushing struct {
	io.Reader
	s *stream
}

// Read flushes the stream first.
func (f flushing) Read(b []byte) (int, error) {
	if f.s.failed = f.s.flush(); f.s.failed != nil {
		return 0, f.s.failed
	}
	return f.Reader.Read(b)
}

// decode reads the rows in the format that the file has.
func (s *stream) decode(src *source, r *bufio.Reader) error {
	head, err := beginning(r)
	if err != nil {
		return src.errorf("%v", err)
	}
	src.text = head
	if err := src.checkText(); err != nil {
		return err
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = r.Discard(3)
	}
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 { // an old Macintosh's, as checkText says
		all, err := s.room.read(src.path, r, 0)
		if err != nil {
			return err
		}
		r = bufio.NewReader(bytes.NewReader(bytes.ReplaceAll(all, []byte{'\r'}, []byte{'\n'})))
	}
	format, err := src.formatLike(s.Format, &s.Like)
	if err != nil {
		return err
	}
	if format == "csv" && s.Like.Format == "libsvm" && len(strings.Fields(string(head))) == 1 && !bytes.ContainsAny(head, ",;") {
		format = "libsvm" // a row of zeros, or of one input
	}
	switch {
	case s.Target != "" && format != "csv" && format != "npy":
		return src.errorf("read as %s, which has no target column; leave target out", format)
	case s.Like.Kind == Pairs && (format == "idx" || format == "libsvm"):
		return src.errorf("looks like %s: want two ids a line (row, column), or an .npy array of n x 2", format)
	case format == "ratings" && s.Like.Kind != Pairs:
		return src.errorf("read as triples, but the training data has rows with labels")
	case format == "npy" || format == "idx":
		if src.text, err = s.room.read(src.path, r, 0); err != nil {
			return err
		}
		if s.Like.Kind == Pairs {
			return s.pairArray(src)
		}
		return s.array(src, format)
	case s.Like.Kind == Pairs:
		return s.pairs(src, r)
	case format == "libsvm":
		return s.libsvm(src, r)
	}
	return s.csv(src, r)
}

// beginning is what r holds once it has a line that is neither blank nor a comment.
func beginning(r *bufio.Reader) ([]byte, error) {
	var err error
	for {
		head, _ := r.Peek(r.Buffered())
		for line := range bytes.Lines(head) {
			if text := bytes.TrimSpace(line); line[len(line)-1] == '\n' && len(text) > 0 && text[0] != '#' {
				return head, nil
			}
		}
		switch {
		case err == io.EOF || len(head) == r.Size():
			return head, nil
		case err != nil:
			return nil, err
		}
		_, err = r.Peek(len(head) + 1)
	}
}

// dense appends the inputs of a row, not scaled yet.
func (s *stream) dense(x []float32) error {
	for j, v := range x {
		s.x = append(s.x, s.Like.scaled(j, v))
	}
	return s.row(false)
}

// sparse appends the inputs of a row that are not zero.
func (s *stream) sparse(idx []uint32, val []float32) error {
	d := uint32(s.Like.Features)
	if s.Like.Kind != Sparse {
		x := make([]float32, d)
		for k, j := range idx {
			if j < d {
				x[j] = val[k]
			} else {
				s.dropped++
			}
		}
		return s.dense(x)
	}
	if s.idx == nil { // a row without indices would be a dense one
		s.idx = []uint32{}
	}
	for k, j := range idx {
		if j < d {
			s.idx, s.val = append(s.idx, j), append(s.val, s.Like.scaled(int(j), val[k]))
		} else {
			s.dropped++
		}
	}
	s.ends = append(s.ends, len(s.idx))
	return s.row(false)
}

// gap appends a row of which something is missing.
func (s *stream) gap(where string) error {
	if s.gaps++; s.gaps == 1 {
		s.first = where
	}
	return s.row(true)
}

func (s *stream) row(gap bool) error {
	s.rows++
	s.piece.Gaps = append(s.piece.Gaps, gap)
	if len(s.piece.Gaps) < pieceRows {
		return nil
	}
	return s.flush()
}

// flush hands over the rows that are there.
func (s *stream) flush() error {
	p := &s.piece
	if len(p.Gaps) == 0 {
		return nil
	}
	b := &p.Batch
	b.Features = s.Like.Features
	for from := 0; from < len(s.x); from += b.Features {
		b.Rows = append(b.Rows, Row{Val: s.x[from : from+b.Features]})
	}
	from := 0
	for _, to := range s.ends {
		b.Rows = append(b.Rows, Row{Idx: s.idx[from:to], Val: s.val[from:to]})
		from = to
	}
	b.Y = make([]float32, len(b.Rows))
	err := s.do(p)
	b.Rows, p.Gaps, p.IDs = b.Rows[:0], p.Gaps[:0], p.IDs[:0]
	s.x, s.idx, s.val, s.ends = s.x[:0], s.idx[:0], s.val[:0], s.ends[:0]
	return err
}

// notes say what has no prediction, and what was ignored.
func (s *stream) notes() (notes []string) {
	if s.gaps > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s rows have no prediction, the first at %s", count(s.gaps), count(s.rows), s.first))
	}
	if s.dropped > 0 {
		notes = append(notes, fmt.Sprintf("ignored %s values of features beyond %s, the last in the training data", count(s.dropped), count(s.Like.Features)))
	}
	if s.inputs != nil {
		notes = append(notes, s.inputs.notes(s.rows)...)
	}
	return notes
}
