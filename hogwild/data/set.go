// Package data turns files into sets of examples in shared memory, and sets into
// batches. Load decodes a file once, splits off a test set, fits the scaling, and
// seals the result in a segment that every worker maps.
//
// From file to batch: package format (the rows of a file), table.go, labels.go, split.go, scale.go, set.go, order.go
// and reader.go; open.go puts them together.
//
// Top down:
//
//	kept.go        the sets of runs that follow each other, read once
//	convert.go     a data cache
//	open.go        the sets of a run, of files, caches and synthetic data; what a file holds
//	describe.go    what a text holds
//	triples.go     sets of a matrix or a graph
//	words.go       sets of the words of a corpus
//	graphs.go      sets of a knowledge graph
//	labelled.go    sets of lines of text with labels
//	stream.go      rows to be predicted
//	write.go       a set as a file
//	indices.go     rows that are numbers of examples of a program
//	mapped.go      a cache that cannot be read
//	evalset.go     other data, read as the training data were
//	room.go        a set that another process fills
//	testfile.go    whether a file is a test set, and which rows of it
//	names.go       what files call users and items, entities and relations
//	questions.go   what a set asks of a model that ranks
//	corpus.go      a set of words
//	linerows.go    a set of lines with labels
//	lines.go       these lines
//	factfile.go    facts, and the numbers of their names
//	entries.go     triples on the heap, and the numbers of their ids
//	places.go      sets of ids, and where those of the training data are
//	source.go      where rows come from
//	synth.go       synthetic data
//	synthpairs.go  matrices and graphs
//	pairs.go       rows that are pairs, and a set of them
//	likes.go       what users liked, and draws of what they did not
//	grid.go        the blocks of a matrix
//	facts.go       rows that are facts
//	synthrows.go   rows
//	random.go      their random numbers
//	split.go       the files of a data set, and the rows held out
//	folder.go      a folder of files
//	verify.go      a cache is opened, and whether it is sound
//	cache.go       the sets in it
//	compat.go      whether they are for a model
//	validation.go  the sets of a run, and the rows set apart
//	options.go     what is to be loaded
//	memory.go      a data set in the program's memory
//	labels.go      classes or numbers
//	digits.go      images of digits
//	strokes.go     how they are drawn
//	digitshapes.go what they look like
//	bytes.go       rows of bytes
//	floats.go      rows of numbers
//	sparse.go      rows of their non-zero values
//	tokens.go      rows that are words
//	valued.go      what layouts have in common
//	table.go       rows on the heap
//	scale.go       the scaling of features
//	dense.go       the passes over dense rows of a set that another process fills
//	fill.go        a set is filled and sealed, in memory or in a file
//	reader.go      batches
//	windows.go     what each word of a text is trained on
//	readahead.go   rows that are read ahead
//	order.go       which rows come when
//	weight.go      how much rows count
//	set.go         a set in shared memory, and what a kind of rows is
//	array.go       one of its arrays
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
	W        []float32 // by what the loss of each row is multiplied; nil: by 1
	M        []float32 // mean'x of each row; nil when the set has no Mean
	ID       []int32   // which rows of the set these are; nil when they are of no set
	Epoch    int       // of the run, from 0: with ID it tells the examples of a run apart
	Windows  []Window  // tokens: what each row is trained on; else nil
	Of       *Set      // Meta.Implicit: the set that ID are rows of; else nil
	Features int       // d, the width of a dense row
}

// Window is what one word of a text is trained on: the words around it, its Inputs, are to predict it. Targets has the
// word and then negatives: one such group for each of the inputs, or a single one for all.
type Window struct{ Inputs, Targets []uint32 }

// Set is a data set in one shared segment. Exactly one of X8, X, (Ptr, Idx, Val) and
// Idx alone is not nil, by Kind.
type Set struct {
	Meta
	X8  []uint8   // bytes:  n x d
	X   []float32 // floats: n x d, already scaled
	Ptr []int64   // sparse: n+1 offsets into Idx and Val
	Idx []uint32
	Val []float32 // already scaled
	// Meta.Implicit: the columns of the items that user u is known to like, by this set and by the training set, are
	// Seen[SeenPtr[u]:SeenPtr[u+1]], ascending: see Liked
	SeenPtr []int64
	Seen    []uint32
	Y       []float32 // n
	W       []float32 // n, the weights of the rows; nil: all are 1
	// pairs: Idx is n x 2. In a matrix of r x c a pair has the row in 0..r-1 and
	// r + the column; Shape is [r, c]. In a graph it has two nodes.
	// facts: Idx is n x 3: the head, behind all entities the relation, the tail. Shape is [entities, relations].
	// indices: Idx is n.
	// tokens: Idx is n: the number of each word, with SentenceStart in the first one of each sentence.

	// Mean[j] is the mean of feature j over the training rows, and M[i] = Mean'x of row
	// i; both nil for pairs.
	Mean []float32
	M    []float32
	// Freq[j] is the share of rows in which feature j is not zero, never below 1/n.
	Freq []float32

	class     []float32 // the weights of the classes, times W; nil: all are 1
	standard  Standard  // in which Readers and Labels have Y
	seg       *shm.Segment
	cacheInfo os.FileInfo // of the cache that it is a part of; nil in memory

	shared bool // the memory is another set's, which counts it
}

// layout is what the sets of a Kind have of their own.
type layout interface {
	// inputs are the arrays of the rows, in the order of the segment; stored is the number of values of a sparse set.
	inputs(s *Set, stored int) []array
	hasInputs() bool // rows have inputs, and so means

	former(s *Set) former
	values(s *Set) float64 // see ValuesPerRow
	count(s *Set)          // sets Freq, Nonzeros and Mean of a set whose rows are in place
	damage(s *Set) string  // what is wrong with inputs that somebody else may have made; "": nothing
}

// former appends rows of a set to a batch, for one goroutine. ahead are the next ones to be asked for, see Ahead.
type former func(b *Batch, rows, ahead []int32)

// layouts are the layouts that there are: the file of each registers it.
var layouts = map[Kind]layout{}

// attached returns the set in a segment, which it owns, also when it fails.
func attached(seg *shm.Segment) (*Set, error) {
	s := &Set{seg: seg}
	if err := s.attach(); err != nil {
		seg.Close()
		return nil, err
	}
	return s, nil
}

// As returns the set with its values as a network learns them, from its Readers and Labels.
func (s *Set) As(t Standard) *Set {
	own := *s
	own.standard = t
	return &own
}

// Labels returns the labels of rows; nil: of all.
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

// File returns the memfd, or the cache, to be handed to a worker, which calls Map; it stays the set's.
func (s *Set) File() *os.File { return s.seg.File() }

// arrays returns the set's arrays, in the order of the segment.
func (s *Set) arrays(stored int) []array {
	l, n, d := layouts[s.Kind], s.Rows, s.Features
	all := l.inputs(s, stored)
	if !s.Words() {
		all = append(all, ofRows("y", shm.F32, &s.Y, n))
	}
	if s.W != nil {
		all = append(all, ofRows("weight", shm.F32, &s.W, n))
	}
	all = append(all, ofFeatures("freq", &s.Freq, d))
	if l.hasInputs() {
		all = append(all, ofFeatures("mean", &s.Mean, d), ofRows("m", shm.F32, &s.M, n))
	}
	return all
}

// Offsets returns where in File the inputs and labels lie, in bytes, those that the set has.
func (s *Set) Offsets() map[string]int64 {
	at := map[string]int64{}
	for _, name := range []string{"x8", "x", "ptr", "idx", "val", "y", "weight"} {
		if offset, err := s.seg.Offset(name); err == nil {
			at[name] = offset
		}
	}
	return at
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
func create(m Meta, stored int, budget *format.Budget) (*Set, error) {
	return createAround(m, stored, false, budget, nil)
}

// createAround is create of a set whose rows may have weights. If there is not nil, it makes the set of a segment where
// rows of bytes are already.
func createAround(m Meta, stored int, weighted bool, budget *format.Budget, there *shm.Segment) (*Set, error) {
	if err := format.Countable(m.Name, m.Rows, m.Features); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("data: description of %s: %w", m.Name, err)
	}
	s := &Set{Meta: m}
	if weighted {
		s.W = []float32{}
	}
	var l shm.Layout
	l.Add("meta", shm.U8, len(text)+metaRoom)
	for _, a := range s.arrays(stored) {
		a.define(&l)
	}
	if m.Text != nil {
		l.Add("words", shm.U8, m.Text.Vocabulary.Size())
		l.Add("counts", shm.I64, len(m.Text.Vocabulary.Words))
	}
	size := l.Size() + 12*int64(m.Features) // see count
	if there != nil {
		if err := l.CreateAround(there, "x8", format.SharedAt); err != nil {
			return nil, err
		}
		size -= int64(m.Rows) * int64(m.Features)
	}
	if err := budget.Take(m.Name, size,
		fmt.Sprintf("a set of %s rows, %s features", count(m.Rows), count(m.Features))); err != nil {
		return nil, err
	}
	if s.seg = there; there != nil {
		budget.Claim(there)
	} else if s.seg, err = budget.Space().Segment(&l); err != nil {
		return nil, fmt.Errorf("data: %s: %w", m.Name, err)
	}
	if err := s.view(); err != nil {
		s.seg.Close()
		return nil, err
	}
	if m.Text != nil {
		words, counts, _ := lexicon(s)
		m.Text.Vocabulary.Fill(words, counts)
	}
	return s, nil
}

// attach reads the Meta out of the segment, and then the arrays that it promises.
func (s *Set) attach() error {
	text, err := shm.View[uint8](s.seg, "meta")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.Meta); err != nil {
		return fmt.Errorf("data: description in %s: %w", s.File().Name(), err)
	}
	if _, err := s.seg.Offset("weight"); err == nil {
		s.W = []float32{}
	}
	if err := s.view(); err != nil {
		return err
	}
	return s.check()
}

// view points the slices into the segment.
func (s *Set) view() error {
	if layouts[s.Kind] == nil {
		return fmt.Errorf("data: inputs are stored as %q, which this program does not know", s.Kind)
	}
	for _, a := range s.arrays(0) {
		if err := a.view(s.seg); err != nil {
			return err
		}
	}
	if s.Text == nil {
		return nil
	}
	_, _, err := lexicon(s)
	return err
}

// size returns the bytes of all rows.
func (s *Set) size() (bytes int) {
	for _, a := range s.arrays(0) {
		bytes += a.size()
	}
	return bytes
}

// check holds the arrays against the Meta. Feature indices are not checked one by
// one: the segment is sealed, and its writer has checked them; a file's are checked when it
// is opened for the first time (see verify), and so are its offsets.
func (s *Set) check() error {
	n, d := s.Rows, s.Features
	if err := format.Countable(s.Name, n, d); err != nil {
		return err
	}
	ok := n > 0 && d > 0 && s.fits(len(s.Mul)) && s.fits(len(s.Add))
	for _, a := range s.arrays(len(s.Val)) {
		ok = ok && a.fits()
	}
	if ok && s.Ptr != nil {
		ok = s.Ptr[0] == 0 && s.Ptr[n] == int64(len(s.Idx))
		for i := 0; ok && i < n && !s.seg.InFile(); i++ {
			ok = s.Ptr[i] <= s.Ptr[i+1]
		}
	}
	if !ok {
		return fmt.Errorf("data: the arrays in %s are not those of %d rows x %d features (%s)",
			s.File().Name(), n, d, s.Kind)
	}
	return nil
}

// lexicon returns the vocabulary of a text as the segment has it: each word and a newline, and how often it occurs.
func lexicon(s *Set) (words []uint8, counts []int64, err error) {
	if words, err = shm.View[uint8](s.seg, "words"); err == nil {
		counts, err = shm.View[int64](s.seg, "counts")
	}
	return words, counts, err
}

// Vocabulary returns the vocabulary of a text; nil of another set.
func (s *Set) Vocabulary() *text.Vocabulary {
	if s.Text == nil {
		return nil
	}
	words, counts, _ := lexicon(s) // attach has found them
	return text.From(words, counts)
}
