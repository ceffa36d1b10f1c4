package format

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// formats are the values of Options.Format.
var formats = []string{"auto", "idx", "libsvm", "csv", "npy", "ratings", "lists", "text"}

// sniff returns the asked format, or for "auto" what the content looks like.
func (s *Source) sniff(o Options) (string, error) {
	if asked := o.Format; asked != "" && asked != "auto" {
		if !slices.Contains(formats, asked) {
			return "", fmt.Errorf("data: format %q: want %s", asked, strings.Join(formats, ", "))
		}
		return asked, nil
	}
	head := s.Text[:min(len(s.Text), 1<<16)]
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return "npy", nil
	case bytes.HasPrefix(head, []byte{0, 0}):
		return "idx", nil
	case otherFormat(head) != "":
		return "", s.Errorf("%s", otherFormat(head))
	case otherText(head) != "":
		return "", s.Errorf("%s", otherText(head))
	case bytes.IndexByte(head, 0) >= 0:
		return "", s.Errorf("a binary file that is neither IDX nor .npy: hogwild.train(X, y) in Python takes arrays")
	case looksLikeLIBSVM(head):
		return "libsvm", nil
	}
	return "csv", nil
}

// sniffLike returns the format of data that are to be read as others were. LIBSVM has no columns with names, and any
// number of features.
func (s *Source) sniffLike(o Options) (string, error) {
	is, err := s.sniff(o)
	like := o.Like
	switch {
	case like == nil || err != nil:
	case is == "libsvm" && like.Format == "csv" && like.Columns != nil:
		err = s.Errorf("read as libsvm, but the training data is a CSV file, whose columns are found by name: give a " +
			"CSV file with these columns")
	case is == "csv" && like.Format == "libsvm" && o.Inputs && len(strings.Fields(string(s.Text))) == 1 &&
		!bytes.ContainsAny(s.Text, ",;"):
		is = "libsvm" // a row of zeros, or of one input
	}
	return is, err
}

// looksLikeLIBSVM tells "label index:value ..." from CSV by the first line that
// has a second field.
func looksLikeLIBSVM(head []byte) bool {
	for line := range bytes.Lines(head) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || fields[0][0] == '#' {
			continue
		}
		if strings.ContainsAny(fields[0], "/;|\"") || strings.Count(fields[0], "-") > 1 {
			return false // a date before a time, 2026-03-31 14:05, in a table
		}
		index, value, found := strings.Cut(fields[1], ":")
		_, badValue := parseFloat(value)
		_, badIndex := strconv.ParseUint(index, 10, 64)
		return found && badValue == nil && (badIndex == nil || index == "qid")
	}
	return false
}

// ratingsHead is how ratings and edges look without being named so: by the names above them, by KONECT's first line, by
// double colons, or, as u.data, by a time in seconds behind them.
var ratingsHead = regexp.MustCompile(
	`^(?i:"?user_?(id)?"?[,;\t]\s*"?(movie|item|artist|book|product)_?(id)?"?[,;\t]\s*"?(rating|score|weight)"?)|` +
		`^%\s*(sym|asym|bip)\s|^\d+::\d+::[\d.]+(::|\r?\n)|^\d+\t\d+\t[\d.]+\t\d{9,}\r?\n`)

// LooksLikeRatings reports whether the file begins as files of ratings do, or its first line names a user and an item,
// in any order, perhaps a value, and nothing else that counts. A file of images is one long line.
func (s *Source) LooksLikeRatings() bool {
	head := s.Text[:min(len(s.Text), 1<<16)]
	if ratingsHead.Match(head[:min(len(head), 4096)]) || s.isMatrixMarket() {
		return true
	}
	if LineEnd(head, 0) > 4096 {
		return false
	}
	names := newTable(&Source{Text: head}, Options{Triples: true}).seeHead(true)
	found, free := known(names)
	return min(found[0], found[1]) >= 0 && found[2] != twice && len(free) == 0 &&
		strings.Contains(persons, " "+plainName(names[found[0]])+" ")
}

// Existing returns the first regular file that is there, as named or with .gz; "" if none is. (A named pipe would wait
// for a writer.)
func Existing(paths ...string) string {
	for _, p := range paths {
		for _, name := range []string{p, p + ".gz"} {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				return name
			}
		}
	}
	return ""
}
