package data

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
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

	memory *Memory // instead of a file
}

// formats are the values of Options.Format.
var formats = []string{"auto", "idx", "libsvm", "csv", "npy", "ratings"}

// read reads a file, or standard input for "-", and unpacks it if it starts as gzip does, whatever its name.
// The digits have no file, and so no text.
func read(path string) (*source, error) {
	if isDigits(path) {
		return &source{path: path}, nil
	}
	text, path, err := readRaw(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	s := &source{path: path, text: text, sum: hex.EncodeToString(sum[:])}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		if s.text, err = gunzip(text); err != nil {
			return nil, s.errorf("unpacking gzip: %v; the file is damaged or incomplete", err)
		}
	}
	return s, s.checkText()
}

func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	// The last four bytes are the unpacked size, modulo 2^32: a hint, not to be trusted.
	hint := int(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
	var b bytes.Buffer
	b.Grow(min(hint, 16*len(packed)) + bytes.MinRead)
	_, err = io.Copy(&b, r)
	return b.Bytes(), err
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

// looksLikeLIBSVM tells "label index:value ..." from CSV by the first line that
// has a second field.
func looksLikeLIBSVM(head []byte) bool {
	for line := range bytes.Lines(head) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || fields[0][0] == '#' {
			continue
		}
		index, value, found := strings.Cut(fields[1], ":")
		_, badValue := strconv.ParseFloat(value, 64)
		_, badIndex := strconv.ParseUint(index, 10, 64)
		return found && badValue == nil && (badIndex == nil || index == "qid")
	}
	return false
}

// existing is the first of the files that is there, as named or with .gz; "" if none is.
func existing(paths ...string) string {
	for _, p := range paths {
		for _, name := range []string{p, p + ".gz"} {
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				return name
			}
		}
	}
	return ""
}
