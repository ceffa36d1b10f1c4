package bench

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// Entry is a line "key: value" of a YAML file, with their places.
type Entry struct {
	Key   *token.Token
	Value ast.Node
}

// Documents parses the text of a file: a list of entries of each of its documents. Errors match
// config.ErrUsage and begin with file, line and column.
func Documents(path string, text []byte) (documents [][]Entry, err error) {
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) { // parts of it would reach the terminal
		return nil, usage("%s: not a text file", path)
	}
	if err := rundir.CheckYAML(text); err != nil {
		return nil, usage("%s:%v", path, err)
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return nil, usage("%s: %s", Place(path, y.GetToken()), y.GetMessage())
		}
		return nil, usage("%s: %v", path, err)
	}
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		entries, ok := Entries(d.Body)
		if !ok {
			return nil, usage("%s: want lines of `flag: value`, e.g. `workers: 4`", Place(path, d.Body.GetToken()))
		}
		if len(entries) > 0 { // {} is a mapping without any
			documents = append(documents, entries)
		}
	}
	return documents, nil
}

// Entries are those of a mapping; false: the node is none.
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

// Place is where a token stands: file, line and column.
func Place(path string, t *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

// ending is why a plan was not carried out to its end, in words of its own.
type ending struct {
	kind error
	text string
}

// Error says what happened and what to do.
func (e *ending) Error() string { return e.text }

// usage is a mistake of the user.
func usage(format string, a ...any) error {
	return &ending{config.ErrUsage, fmt.Sprintf(format, a...)}
}

// Unwrap is config.ErrUsage or an interruption: see config.Interruption.
func (e *ending) Unwrap() error { return e.kind }
