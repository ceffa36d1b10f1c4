package data

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// source is one file in memory, unpacked.
type source struct {
	path string
	text []byte
	sum  string // sha256 of the file as it lies on the disk, hex
	room *budget

	memory *Memory // instead of a file
	cached bool    // a cache, of which nothing is read here
}

// formats are the values of Options.Format.
var formats = []string{"auto", "idx", "libsvm", "csv", "npy", "ratings"}

// read reads a file, or standard input for "-", and unpacks it if it starts as gzip does, whatever its name.
// The digits have no file, and so no text.
func read(path string, room *budget) (*source, error) {
	if isDigits(path) {
		return &source{path: path, room: room}, nil
	}
	if isCache(path) {
		return &source{path: path, room: room, cached: true}, nil
	}
	if room.space() != nil {
		return room.files.read(path, room)
	}
	text, path, err := readRaw(path, room)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	s := &source{path: path, text: text, sum: hex.EncodeToString(sum[:]), room: room}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		if err := s.gunzip(); err != nil {
			return nil, err
		}
	}
	return s, s.checkText()
}

// mostPacked is how many bytes gzip can make one of.
const mostPacked = 1032

// gunzip unpacks the text.
func (s *source) gunzip() error {
	r, err := gzip.NewReader(bytes.NewReader(s.text))
	if err == nil {
		// The last four bytes are the unpacked size, modulo 2^32: a hint, not to be trusted.
		hint := int64(binary.LittleEndian.Uint32(s.text[len(s.text)-4:]))
		packed := int64(len(s.text))
		if s.text, err = s.room.read(s.path+" (gzip)", r, min(hint, mostPacked*packed)); err == nil {
			s.room.give(packed)
		}
	}
	if full := (*MemoryError)(nil); err == nil || errors.As(err, &full) {
		return err
	}
	return s.damaged(err)
}

// damaged is an error of gzip.
func (s *source) damaged(err error) error {
	return s.errorf("unpacking gzip: %v; the file is damaged or incomplete", err)
}

// done gives back the text of a file whose rows have been decoded.
func (s *source) done() {
	s.room.give(int64(len(s.text)))
	s.text = nil
}

// errorf is an error about the file as a whole.
func (s *source) errorf(format string, args ...any) error {
	return fmt.Errorf("data: %s: %s", s.path, fmt.Sprintf(format, args...))
}

// format is the asked format, or for "auto" what the content looks like.
func (s *source) format(asked string) (string, error) {
	if s.memory != nil {
		return "memory", nil
	}
	if s.cached {
		return "", s.errorf("a data cache, where a file of rows is wanted")
	}
	if s.text == nil {
		return "digits", nil
	}
	if asked != "" && asked != "auto" {
		if !slices.Contains(formats, asked) {
			return "", fmt.Errorf("data: format %q: want %s", asked, strings.Join(formats, ", "))
		}
		return asked, nil
	}
	head := s.text[:min(len(s.text), 1<<16)]
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return "npy", nil
	case bytes.HasPrefix(head, []byte{0, 0}):
		return "idx", nil
	case otherFormat(head) != "":
		return "", s.errorf("%s", otherFormat(head))
	case bytes.IndexByte(head, 0) >= 0:
		return "", s.errorf("a binary file that is neither IDX nor .npy")
	case looksLikeLIBSVM(head):
		return "libsvm", nil
	}
	return "csv", nil
}

// formatLike is format of data that are to be read as others were. LIBSVM has no columns with names, and any number of features.
func (s *source) formatLike(asked string, like *Meta) (string, error) {
	is, err := s.format(asked)
	if is == "libsvm" && like != nil && like.Format == "csv" && like.Columns != nil {
		err = s.errorf("read as libsvm, but the training data is a CSV file, whose columns are found by name: give a CSV file with these columns")
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
		_, badValue := strconv.ParseFloat(value, 64)
		_, badIndex := strconv.ParseUint(index, 10, 64)
		return found && badValue == nil && (badIndex == nil || index == "qid")
	}
	return false
}

// existing is the first regular file that is there, as named or with .gz; "" if none is. (A named pipe would wait for a writer.)
func existing(paths ...string) string {
	for _, p := range paths {
		for _, name := range []string{p, p + ".gz"} {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				return name
			}
		}
	}
	return ""
}
