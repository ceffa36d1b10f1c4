// Package format reads files of all formats row by row: to be trained on, to be evaluated, to be predicted. Read holds
// all of a file in memory, Stream reads it as it comes.
//
// Top down:
//
//	open.go       a file of any format
//	triples.go    entries of a matrix, edges of a graph
//	lists.go      what users liked: a user and the items
//	npy.go        NumPy's arrays
//	libsvm.go     label index:value ...
//	idx.go        images of bytes
//	sniff.go      which format a file has
//	columns.go    which columns of triples are what
//	texts.go      the rows of a table of texts
//	csv.go        the rows of a table
//	readings.go   how numbers are written in the columns of a table
//	layout.go     how lines are cut into cells
//	reference.go  the features of the training data in another table
//	profile.go    what the columns of a table are
//	inputs.go     from the cells of a row to its inputs
//	blocks.go     a table in parts, for all processors
//	features.go   the features of a table
//	parts.go      what columns of triples are called
//	cells.go      the cells of a table
//	column.go     what is in a column
//	marks.go      commas and points in numbers
//	number.go     numbers as text
//	splitter.go   a text in parts, for all processors
//	source.go     the bytes of a file
//	inflate.go    a file of gzip at once
//	text.go       which bytes are no text
//	row.go        what a file is, and a row of it
//	date.go       columns of dates
//	budget.go     how much memory there is
//	scratch.go    files in the place of memory
package format

import "cmp"

// Open finds out what the file is, and gives its rows. A table that is trained on is read twice: what its columns are
// is known at its end. Of rows like others it is known before.
func Open(s *Source, o Options) (*File, error) {
	if o.Format == "lists" && !o.Lists {
		return nil, s.Errorf("lists have no values: use model bpr:64 or warp:64, which learn from what users liked")
	}
	asked := o.Format == "lists" || o.Like != nil && o.Like.Format == "lists"
	if o.Lists && !o.Inputs && len(s.Text) > 0 && (asked || o.Format != "ratings" && s.LooksLikeLists()) {
		return openLists(s, asked)
	}
	if o.Triples && !o.Inputs {
		o.Format = "auto"
	}
	is, err := s.sniffLike(o)
	switch {
	case err != nil:
		return nil, err
	case o.Inputs && o.Target != "" && is != "csv" && is != "npy":
		return nil, s.Errorf("read as %s, which has no target column; leave target out", is)
	case o.Triples:
		return openTriples(s, is, o)
	}
	o.Missing = cmp.Or(o.Missing, Fill)
	switch is {
	case "ratings":
		return nil, s.Errorf("read as triples, but the training data has rows with labels")
	case "text":
		return nil, s.Errorf("text has words, and what is wanted are rows of numbers: choose the model word2vec:100, " +
			"or text:100 for lines with labels")
	case "idx":
		return openIDX(s, o)
	case "npy":
		return openNPY(s, o)
	case "libsvm":
		return openLIBSVM(s, o)
	}
	return openCSV(s, o)
}
