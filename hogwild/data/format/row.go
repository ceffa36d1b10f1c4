package format

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// Kind is how the inputs of rows are stored.
type Kind string

// The kinds. Files have rows of the first four.
const (
	Bytes   Kind = "bytes"   // unsigned bytes, which a set scales when a batch is formed
	Floats  Kind = "floats"  // float32
	Sparse  Kind = "sparse"  // the non-zero values only
	Pairs   Kind = "pairs"   // two ids: the row and the column of a matrix entry, or the ends of an edge
	Tokens  Kind = "tokens"  // a text: the number of the word, a row each
	Indices Kind = "indices" // numbers of examples that only the user's program has
	Facts   Kind = "facts"   // the triples of a knowledge graph: head, relation and tail
)

// Sparse reports whether rows list their non-zero values only.
func (k Kind) Sparse() bool { return k == Sparse }

// AnyScale reports whether inputs are numbers of any size, which auto standardises.
func (k Kind) AnyScale() bool { return k == Floats }

// Stored reports whether rows are stored as models take them, all features in order as float32.
func (k Kind) Stored() bool { return k == Floats }

// Entries reports whether rows are the entries of a matrix or the edges of a graph.
func (k Kind) Entries() bool { return k == Pairs }

// Words reports whether rows are the words of a text, one behind the other.
func (k Kind) Words() bool { return k == Tokens }

// Facts reports whether rows are the triples of a knowledge graph.
func (k Kind) Facts() bool { return k == Facts }

// OfProgram reports whether rows are numbers of examples that only the user's program has.
func (k Kind) OfProgram() bool { return k == Indices }

// The values of Options.Missing.
const (
	Fill   = "fill"  // missing values become the mean, or the most common text, of their column in the training rows
	Drop   = "drop"  // rows that lack a value are left out
	Refuse = "error" // they are an error
)

// Options say how a file is read. The training data's are as in package data.
type Options struct {
	Format, Target, Ignore, Weight, Missing string

	Triples bool   // the file is of triples, whatever it looks like
	Graph   bool   // they are the edges of a graph
	Lists   bool   // or, if it looks so or Format says so, a user and the items in each line
	Columns string // of triples and texts: which column is what, as in package data; "" = by the file
	Lenient bool   // the file is only described: what is wrong with a table is told in the notes
	Like    *Known // what the training data are; nil: these are the training data
	Inputs  bool   // rows to be predicted: their labels are not read, and may be missing
	Was     string // with Inputs: the target column of the training data
}

// Known is what is known of a file that has been read, and what other data are read by.
type Known struct {
	Format   string
	Kind     Kind
	Features int
	Columns  []string          // names of the features
	Target   string            // the column of labels; of triples Options.Columns
	Named    bool              // the columns have names in the file, and not only numbers
	Dates    map[string]string // columns of dates, and the order of these: see dateOrders
	Marks    map[string]string // columns of numbers with decimal commas, or marks between thousands: see european
	// of each feature: what stands for a missing value; nil: rows that lack one are left out
	Fill      []float32
	ZeroBased bool // LIBSVM: features are counted from 0
}

// File is the rows of a file.
type File struct {
	Known
	Next func(*Row) error // reads the next row; behind the last io.EOF

	Rows, Values int      // at most, of a file that is there
	Heads        []string // of triples: the names of their columns, "" of a column without; two where all values are 1
	Bytes        []uint8  // the inputs of all rows, if they are bytes, and lie in the file one row behind the other
	Shape        []int    // of an image
	Classes      []string // the labels, if the format says which there are
	// of each feature that is 1 where a text stands: which of the columns of texts, from 1; 0 of others
	OneHot []int32
	Fills  bool   // missing values, NaN, are to be filled
	Texts  bool   // labels are texts
	Labels string // what messages call the labels: labels, or target "price" (the last column; ...)

	// Behind the last row these are complete, as are the features of LIBSVM's training data.
	Read    int      // rows of the file, those that were left out too; 0: all that it gave
	Notes   []string // what was done that the user should know
	Dropped int      // values of features that the training data does not have
}

func (f *File) notef(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Row is one row of a file. Its slices are valid until the next one is read.
type Row struct {
	Line int       // where it stands in a text, from 1; 0 in an array
	Val  []float32 // the inputs, or the values of Idx
	// sparse: the features that Val are of, ascending. Of LIBSVM's training data they count as the file does
	Idx   []uint32
	Bytes []uint8   // inputs that are bytes, instead of Val
	IDs   [2]uint32 // of a triple
	Names [2][]byte // ids that are no plain numbers, as texts; else nil
	Cells [2][]byte // with Options.Inputs: the ids as the file spells them; nil in an array
	Label float64   // or the value of a triple; with Options.Inputs NaN where there is none
	Text  string    // the label, where labels are texts
	// by what the loss of the row is multiplied, where it is Weighted
	Weight   float64
	Weighted bool
	Gap      string // with Options.Inputs: which value is missing; "" if none is
}

// MaxRows is the most rows, and features, that a set has: their numbers are int32 in orders and on GPUs.
const MaxRows = math.MaxInt32

// Countable refuses a set with more of them, before there is memory for it.
func Countable(name string, rows, features int) error {
	switch {
	case rows > MaxRows:
		return fmt.Errorf("data: %s: %s rows: a set has at most %s, as their numbers have 31 bits: split it", name,
			count(rows), count(MaxRows))
	case features > MaxRows:
		return fmt.Errorf("data: %s: %s features (of a matrix: rows and columns): a set has at most %s, as their "+
			"numbers have 31 bits: choose fewer",
			name, count(features), count(MaxRows))
	}
	return nil
}

func count(n int) string { return human.Count(int64(n)) }

// finite reports whether v is a number that fits a float32.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(float64(float32(v)), 0) }

// Some returns a list for an error message, its tail cut off.
func Some(names []string) string {
	shown := make([]string, min(len(names), 12))
	for i := range shown {
		shown[i] = human.Name(names[i])
	}
	list := strings.Join(shown, ", ")
	if len(list) > 600 {
		list = human.Name(names[0])
		shown = shown[:1]
	}
	if len(shown) < len(names) {
		list += fmt.Sprintf(" and %s more", count(len(names)-len(shown)))
	}
	return list
}

// CSVLine returns how cells stand between commas.
func CSVLine(cells ...string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(cells) // to memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// Because returns the last note, behind a semicolon.
func Because(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "; " + notes[len(notes)-1]
}

// most returns where the largest number is.
func most(n []int) int { return slices.Index(n, slices.Max(n)) }
