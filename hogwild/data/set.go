// Package data turns files into sets of examples in shared memory, and sets into
// batches. Load decodes a file once, splits off a test set, fits the scaling, and
// seals the result in a segment that every worker maps; a Reader forms batches of
// it, an Order says which rows come when. It knows nothing of models.
//
// From file to batch: package format (the rows of a file), table.go, labels.go, split.go, scale.go, set.go, order.go
// and reader.go; open.go puts them together.
//
// Top down:
//
//	convert.go     a data cache
//	open.go        the sets of a run, of files, caches and synthetic data; what a file holds
//	describe.go    what a text holds
//	triples.go     sets of a matrix or a graph
//	words.go       sets of the words of a corpus
//	labelled.go    sets of lines of text with labels
//	stream.go      rows to be predicted
//	write.go       a set as a file
//	indices.go     sets of a program that has its own data
//	changed.go     a cache that cannot be read
//	like.go        other data, read as the training data were
//	testfile.go    whether a file is a test set, and which rows of it
//	corpus.go      a set of words
//	linerows.go    a set of lines with labels
//	lines.go       these lines
//	entries.go     triples on the heap, and the numbers of their ids
//	places.go      sets of ids, and where those of the training data are
//	source.go      where rows come from
//	synth.go       synthetic data
//	synthpairs.go  matrices and graphs
//	pairs.go       a set of pairs
//	grid.go        the blocks of a matrix
//	synthrows.go   rows
//	draws.go       their random numbers
//	split.go       the files of a data set, and the rows held out
//	folder.go      a folder of files
//	verify.go      a cache is opened, and whether it is sound
//	cache.go       the sets in it
//	fits.go        whether they are for a model
//	validation.go  the sets of a run, and the rows set apart
//	options.go     what is to be loaded
//	memory.go      a data set in the program's memory
//	labels.go      classes or numbers
//	digits.go      images of digits
//	pen.go         how they are drawn
//	glyph.go       what they look like
//	table.go       rows on the heap
//	scale.go       the scaling of features
//	space.go       a set is filled and sealed, in memory or in a file
//	reader.go      batches
//	windows.go     what each word of a text is trained on
//	stretch.go     rows that are read ahead
//	order.go       which rows come when
//	set.go         a set in shared memory
//	meta.go        what a set is
//	standard.go    values as networks learn them
package data

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// Row is the inputs of one example. Rows are views: they may not be written, and
// hold until the next call of the Reader that made them.
type Row = vec.Row

// Batch is b examples. Y holds one number an example: the class (0, 1, ...) or
// the value to be predicted.
type Batch struct {
	Rows     []Row
	Y        []float32
	M        []float32 // mean'x of each row; nil when the set has no Mean
	ID       []int32   // which rows of the set these are; nil when they are of no set
	Epoch    int       // of the run, from 0: with ID it tells the examples of a run apart
	Windows  []Window  // tokens: what each row is trained on; else nil
	Features int       // d, the width of a dense row
}

// Window is what one word of a text is trained on: the words around it, its Inputs, are to predict it. Targets has the
// word and then negatives: one such group for each of the inputs, or a single one for all.
type Window struct{ Inputs, Targets []uint32 }

// Set is a data set in one shared segment. Exactly one of X8, X, (Ptr, Idx, Val) and
// Idx alone is set, by Kind.
type Set struct {
	Meta
	X8  []uint8   // bytes:  n x d
	X   []float32 // floats: n x d, already scaled
	Ptr []int64   // sparse: n+1 offsets into Idx and Val
	Idx []uint32
	Val []float32 // already scaled
	Y   []float32 // n
	// pairs: Idx is n x 2. Those of a matrix of r x c have the row in 0..r-1 and
	// r + the column; Shape is [r, c]. Those of a graph have two nodes.
	// indices: Idx is n.
	// tokens: Idx is n: the number of each word, with SentenceStart in the first one of each sentence.

	// Mean[j] is the mean of feature j over the training rows, and M[i] = Mean'x of row
	// i; both nil for pairs.
	Mean []float32
	M    []float32
	// Freq[j] is the share of rows in which feature j is not zero, never below 1/n.
	Freq []float32

	standard Standard // in which Readers and Labels have Y
	seg      *shm.Segment
	was      os.FileInfo // of the cache of which it is a part; nil in memory

	shared bool // the memory is another set's, which counts it
}

// attached is the set in a segment, which it owns, also when it fails.
func attached(seg *shm.Segment) (*Set, error) {
	s := &Set{seg: seg}
	if err := s.attach(); err != nil {
		seg.Close()
		return nil, err
	}
	return s, nil
}

// As is the set with its values as a network learns them, from its Readers and Labels.
func (s *Set) As(t Standard) *Set {
	own := *s
	own.standard = t
	return &own
}

// Labels are those of rows; nil: of all.
func (s *Set) Labels(rows []int32) (y []float32) {
	if rows == nil {
		y = slices.Clone(s.Y)
	}
	for _, i := range rows {
		y = append(y, s.Y[i])
	}
	s.standard.to(y)
	return y
}

// File is the memfd, or the cache, to be handed to a worker, which calls Map; it stays the set's.
func (s *Set) File() *os.File { return s.seg.File() }

// arrays are the names of what holds the inputs of a Kind, in a segment.
var arrays = map[string][]string{Bytes: {"x8"}, Floats: {"x"}, Sparse: {"ptr", "idx", "val"}, Pairs: {"idx"},
	Tokens: {"idx"}}

// Offsets returns where in File the inputs and labels lie, in bytes: x8 (uint8), x (float32), ptr (int64),
// idx (uint32), val (float32) and y (float32).
func (s *Set) Offsets() (map[string]int64, error) {
	at := map[string]int64{}
	names := arrays[s.Kind]
	if s.Kind != Tokens {
		names = append([]string{"y"}, names...)
	}
	for _, name := range names {
		offset, err := s.seg.Offset(name)
		if err != nil {
			return nil, err
		}
		at[name] = offset
	}
	return at, nil
}

// Close unmaps the set: its slices and all batches of it are invalid from then on.
// A second Close returns shm.ErrClosed.
func (s *Set) Close() error {
	*s = Set{Meta: s.Meta, seg: s.seg}
	return s.seg.Close()
}

// metaRoom is kept free behind the Meta in the segment, for Nonzeros and Targets,
// which are known only when the rows are in place.
const metaRoom = 160

// create makes a segment for m.Rows examples, its arrays still zero. stored is the
// number of values of a sparse set.
func create(m Meta, stored int, room *format.Budget) (*Set, error) {
	if err := format.Countable(m.Name, m.Rows, m.Features); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("data: description of %s: %w", m.Name, err)
	}
	var l shm.Layout
	l.Add("meta", shm.U8, len(text)+metaRoom)
	switch m.Kind {
	case Bytes:
		l.Add("x8", shm.U8, m.Rows, m.Features)
	case Floats:
		l.Add("x", shm.F32, m.Rows, m.Features)
	case Pairs:
		l.Add("idx", shm.U32, m.Rows, 2)
	case Indices, Tokens:
		l.Add("idx", shm.U32, m.Rows)
	default:
		l.Add("ptr", shm.I64, m.Rows+1)
		l.Add("idx", shm.U32, stored)
		l.Add("val", shm.F32, stored)
	}
	if m.Kind != Tokens {
		l.Add("y", shm.F32, m.Rows)
	}
	l.Add("freq", shm.F32, m.Features)
	if m.hasInputs() {
		l.Add("mean", shm.F32, m.Features)
		l.Add("m", shm.F32, m.Rows)
	}
	if m.Text != nil {
		l.Add("words", shm.U8, m.Text.Vocabulary.Size())
		l.Add("counts", shm.I64, len(m.Text.Vocabulary.Words))
	}
	size := l.Size() + 12*int64(m.Features) // see count
	if err := room.Take(m.Name, size,
		fmt.Sprintf("a set of %s rows, %s features", count(m.Rows), count(m.Features))); err != nil {
		return nil, err
	}
	seg, err := room.Space().Segment(&l)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", m.Name, err)
	}
	s := &Set{Meta: m, seg: seg}
	if err := s.view(); err != nil {
		seg.Close()
		return nil, err
	}
	if m.Text != nil {
		words, counts, _ := lexicon(s)
		m.Text.Vocabulary.Fill(words, counts)
	}
	return s, nil
}

// hasInputs reports whether each row has inputs, and so their means.
func (m *Meta) hasInputs() bool { return m.Kind != Pairs && m.Kind != Indices && m.Kind != Tokens }

// attach reads the Meta out of the segment, and then the arrays that it promises.
func (s *Set) attach() error {
	text, err := shm.View[uint8](s.seg, "meta")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.Meta); err != nil {
		return fmt.Errorf("data: description in %s: %w", s.File().Name(), err)
	}
	if err := s.view(); err != nil {
		return err
	}
	return s.check()
}

// view points the slices into the segment.
func (s *Set) view() (err error) {
	if s.Kind != Tokens {
		s.Y = viewOf[float32](s, "y", &err)
	}
	s.Freq = viewOf[float32](s, "freq", &err)
	if s.Text != nil && err == nil {
		_, _, err = lexicon(s)
	}
	switch s.Kind {
	case Bytes:
		s.X8 = viewOf[uint8](s, "x8", &err)
	case Floats:
		s.X = viewOf[float32](s, "x", &err)
	case Sparse:
		s.Ptr = viewOf[int64](s, "ptr", &err)
		s.Idx = viewOf[uint32](s, "idx", &err)
		s.Val = viewOf[float32](s, "val", &err)
	case Pairs, Indices, Tokens:
		s.Idx = viewOf[uint32](s, "idx", &err)
		return err
	default:
		return fmt.Errorf("data: inputs are stored as %q, which this program does not know", s.Kind)
	}
	s.Mean = viewOf[float32](s, "mean", &err)
	s.M = viewOf[float32](s, "m", &err)
	return err
}

// viewOf is one array; of several errors the first is kept.
func viewOf[T shm.Element](s *Set, name string, err *error) []T {
	v, e := shm.View[T](s.seg, name)
	if *err == nil {
		*err = e
	}
	return v
}

// size is the bytes of all rows.
func (s *Set) size() int {
	return len(s.X8) + 4*(len(s.X)+len(s.Idx)+len(s.Val)+len(s.Y)+len(s.M)) + 8*len(s.Ptr)
}

// check holds the arrays against the Meta. Feature indices are not checked one by
// one: the segment is sealed, and its writer has checked them; those of a file are checked when it
// is opened for the first time (see verify), and so are its offsets.
func (s *Set) check() error {
	n, d := s.Rows, s.Features
	if err := format.Countable(s.Name, n, d); err != nil {
		return err
	}
	fits := func(v []float32) bool { return len(v) <= 1 || len(v) == d }
	ok := n > 0 && d > 0 && (len(s.Y) == n || s.Kind == Tokens) && len(s.Freq) == d && fits(s.Mul) && fits(s.Add)
	switch s.Kind {
	case Bytes:
		ok = ok && len(s.X8)%d == 0 && len(s.X8)/d == n
	case Floats:
		ok = ok && len(s.X)%d == 0 && len(s.X)/d == n
	case Sparse:
		ok = ok && len(s.Ptr) == n+1 && len(s.Idx) == len(s.Val) &&
			s.Ptr[0] == 0 && s.Ptr[n] == int64(len(s.Idx))
		for i := 0; ok && i < n && !s.seg.InFile(); i++ {
			ok = s.Ptr[i] <= s.Ptr[i+1]
		}
	case Pairs:
		ok = ok && len(s.Idx) == 2*n
	case Indices, Tokens:
		ok = ok && len(s.Idx) == n
	}
	if s.hasInputs() {
		ok = ok && len(s.Mean) == d && len(s.M) == n
	}
	if !ok {
		return fmt.Errorf("data: the arrays in %s are not those of %d rows x %d features (%s)",
			s.File().Name(), n, d, s.Kind)
	}
	return nil
}

// lexicon is the vocabulary of a text as the segment has it: each word and a newline, and how often it occurs.
func lexicon(s *Set) (words []uint8, counts []int64, err error) {
	words, counts = viewOf[uint8](s, "words", &err), viewOf[int64](s, "counts", &err)
	return words, counts, err
}

// Vocabulary is that of a text; nil of another set.
func (s *Set) Vocabulary() *text.Vocabulary {
	if s.Text == nil {
		return nil
	}
	words, counts, _ := lexicon(s) // attach has found them
	return text.From(words, counts)
}
