package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"hogwild/internal/atomicfile"
)

// Limits of the YAML files that people write. The parser takes time and memory that grow with the
// square of the depth and of the number of keys.
const (
	mostYAML = 256 << 10 // bytes
	mostKeys = 4096
	mostDeep = 256
)

// ReadYAML returns the text of a YAML file, if it is not too long.
func ReadYAML(path string) ([]byte, error) { return atomicfile.Read(path, mostYAML) }

// Entry is a line "key: value" of a YAML file, with their places.
type Entry struct {
	Key   *token.Token
	Value ast.Node
}

// Documents parses the text of a file: a list of entries of each of its documents. Errors match
// ErrUsage and begin with file, line and column.
func Documents(path string, text []byte) (documents [][]Entry, err error) {
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) { // parts of it would reach the terminal
		return nil, Usage("%s: not a text file", path)
	}
	if err := checkYAML(text); err != nil {
		return nil, Usage("%s:%w", path, err)
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return nil, Usage("%s: %s", Place(path, y.GetToken()), y.GetMessage())
		}
		return nil, Usage("%s: %w", path, err)
	}
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		entries, ok := Entries(d.Body)
		if !ok {
			return nil, Usage("%s: want lines of `flag: value`, e.g. `workers: 4`", Place(path, d.Body.GetToken()))
		}
		if len(entries) > 0 { // {} is a mapping without any
			documents = append(documents, entries)
		}
	}
	return documents, nil
}

// Entries returns the lines of a mapping; false: the node is none.
func Entries(node ast.Node) (entries []Entry, ok bool) {
	switch node := node.(type) {
	case *ast.MappingNode:
		for _, v := range node.Values {
			entries = append(entries, Entry{v.Key.GetToken(), v.Value})
		}
		return entries, true
	case *ast.MappingValueNode:
		return []Entry{{node.Key.GetToken(), node.Value}}, true
	}
	return nil, false
}

// Place says where a token stands: file, line and column.
func Place(path string, t *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

// UnmarshalYAML reads a text into a value. The error is in one line.
func UnmarshalYAML(text []byte, into any) error {
	if err := checkYAML(text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		what, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return errors.New(what)
	}
	return nil
}

// checkYAML refuses a text that would keep the YAML parser busy for long. Errors begin with the line.
func checkYAML(text []byte) error {
	if len(text) > mostYAML {
		return fmt.Errorf("1: more than %d KiB of settings", mostYAML>>10)
	}
	if n := bytes.Count(text, []byte(":")); n > mostKeys {
		return fmt.Errorf("1: %d keys, %d can be read", n, mostKeys)
	}
	if line := deepLine(text); line > 0 {
		return fmt.Errorf("%d: lists or brackets are nested more than %d deep", line, mostDeep)
	}
	return nil
}

// deepLine returns the first line in which lists or mappings are nested too deep, 0 if there is none.
// Brackets count wherever they stand, also in quotes and comments.
func deepLine(text []byte) int {
	n, open := 0, 0
	for line := range bytes.Lines(text) {
		n++
		lists := 0
		for rest := bytes.TrimLeft(line, " \t"); len(rest) > 1 && (rest[0] == '-' || rest[0] == '?') &&
			(rest[1] == ' ' || rest[1] == '\t'); lists++ {
			rest = bytes.TrimLeft(rest[1:], " \t")
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			}
			if open > mostDeep || lists > mostDeep {
				return n
			}
		}
	}
	return 0
}
