package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Kind is a kind of files that this program writes, told by their first bytes.
type Kind struct {
	name string
	is   func(head []byte) bool
}

// The kinds. A file replaces one of its own kind; data that were made replace nothing.
var (
	Made    = Kind{"", func([]byte) bool { return false }}
	Cache   = Kind{"a data cache", begins("hogwild data ")}
	Weights = Kind{"a file of weights by hogwild",
		func(head []byte) bool { return bytes.Contains(head, []byte(`"hogwild":"`)) }}
	Page = Kind{"a report by hogwild", isPage}
	PNG  = Kind{"a PNG image", begins("\x89PNG")}
	SVG  = Kind{"a figure by hogwild", begins(`<svg xmlns="http://www.w3.org/2000/svg" class="figure-svg"`)}
	ONNX = Kind{"an ONNX graph by hogwild",
		func(head []byte) bool { return len(head) > 11 && string(head[2:11]) == "\x12\x07hogwild" }}
	Predictions = Kind{"a file of predictions", isPredictions}
	FastText    = Kind{"a model of fastText", begins("\xba\x16\x4f\x2f")}
	Vectors     = Kind{"a file of vectors", isVectors}
	Unfinished  = Kind{"an unfinished data cache", begins("hogwild data ", strings.Repeat("\x00", 64))}
	Profile     = Kind{"a profile", begins("\x1f\x8b")}
	Trace       = Kind{"an execution trace", begins("go 1.")}
)

// ErrOther is the error of Check about a file of another kind.
var ErrOther = errors.New("is there already")

// headBytes are enough to tell a kind.
const headBytes = 1 << 16

func begins(marks ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range marks {
			if strings.HasPrefix(string(head), m) {
				return true
			}
		}
		return false
	}
}

// isVectors recognizes the first line of word2vec's files: two numbers.
func isVectors(head []byte) bool {
	line, _, ended := bytes.Cut(head, []byte("\n"))
	return ended && len(line) < 40 && len(bytes.Fields(line)) == 2 && len(bytes.Trim(line, "0123456789 ")) == 0
}

// isPredictions recognizes the first line, the names of the columns: of pairs two stand in front.
func isPredictions(head []byte) bool {
	line, _, ended := strings.Cut(string(head), "\n")
	return ended && (line == "prediction" || strings.HasPrefix(line, "prediction,p_") ||
		strings.HasSuffix(line, ",prediction") && strings.Count(line, ",") == 2)
}

// isPage recognizes the page template of package page.
func isPage(head []byte) bool {
	return begins("<!doctype html>")(head) &&
		bytes.Contains(head, []byte(`content="default-src 'none'; style-src 'unsafe-inline'"`))
}

// Check refuses to replace a file of another kind, unless force says that it may be lost. An empty file is of every
// kind; what is no plain file is not replaced: see Replace.
func Check(path string, kind Kind, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil: // who cannot create it says why
		return nil
	case info.IsDir():
		return &os.PathError{Op: "replace", Path: path, Err: errors.New("it is a folder; name a file in it")}
	case force || !info.Mode().IsRegular() || info.Size() == 0:
		return nil
	}
	is, err := Is(path, kind)
	if err == nil && !is {
		but := ""
		if kind.name != "" {
			but = ", and is not " + kind.name
		}
		err = fmt.Errorf("%s %w%s: name another file", path, ErrOther, but)
	}
	return err
}

// Is reports whether a plain file is of a kind.
func Is(path string, kind Kind) (bool, error) {
	f, err := Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	return kind.is(head), err
}
