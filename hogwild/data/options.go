package data

import (
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
)

// Options say what Load reads, and how.
type Options struct {
	Path string // digits, digits:N, synth:NAME, a file, or a folder of IDX or .npy files
	Test string // the same; "" = the set's own test split, else a sixth is held out; None: the training rows
	// Validation is a share of the training rows, such as "0.1", or a path; "" = no validation set.
	Validation string
	HoldOut    bool   // without Validation: a tenth of the training rows, where there are enough of them
	Format     string // auto, idx, libsvm, csv, npy, ratings, text; "" = auto
	Target     string // CSV and .npy: the column to predict, by name or 1-based number; "" = by the file
	Scale      string // auto, none, unit, standard or "MEAN,STD"; "" = auto
	Ignore     string // CSV: columns to leave out, by name or 1-based number, between commas
	Weight     string // CSV: the column of the training rows' weights, by name or 1-based number; "" = all are 1
	// triples: user=NAME,item=NAME,value=NAME or source= (head=), target= (tail=), weight=; a table of texts with
	// labels: label=NAME,text=NAME, text= perhaps of several; "" = by the file
	Columns string
	Missing string // CSV, of missing values: format.Fill (or ""), format.Drop or format.Refuse
	Limit   int    // the first rows of the training set; 0 = all
	// likes: entries of a lower value are left out; 0 = none are
	Positive float32
	// "classes", "values" (regression), "triples" (a matrix), "likes" (what users liked), "edges" (a graph),
	// "words" (a corpus), "labels" (lines of text with labels), "" = decided by the file
	Task  string
	Grid  int    // of a matrix: its training entries lie in Grid by Grid blocks, block by block; 0: in no order
	Apart int    // as Grid, where the matrix is large enough and memory has room
	Seed  uint64 // of the digits, of the rows held out, of the shuffling

	MaxMemory int64 // bytes that reading and the sets may take; 0 = DefaultMemory

	Text *text.Options // how a text is read, for Task "words" and "labels"

	Memory, TestMemory *Memory // the training and the test set, instead of files

	Unjudged bool // the test set is not used to judge a model: it may be the training set

	budget  *format.Budget
	train   *Set          // of other sets that are read: what is known of their users
	files   *format.Space // of a conversion
	own     bool          // the cache is for this program alone, and for a while: see LoadKept
	lenient bool          // a file is only described: what is wrong is told in the notes
}

const synthPrefix = "synth:"

// isSynth says whether a path names synthetic data. A file of that name is ./synth:x.
func isSynth(path string) bool { return strings.HasPrefix(path, synthPrefix) }
