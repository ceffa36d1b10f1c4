package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// file reads a YAML file whose keys are the names of flags, and sets the flags
// that have no value yet. Unknown keys, keys written twice and values of the wrong
// kind are errors that name file, line and column.
func (s *settings) file(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usagef("reading the settings: %v", err)
	}
	entries, err := mapping(path, text)
	if err != nil {
		return err
	}
	if err := twoChoices(path, entries); err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.entry(path, e); err != nil {
			return err
		}
	}
	return nil
}

// mapping parses the text of a file: one list of "key: value".
func mapping(path string, text []byte) ([]*ast.MappingValueNode, error) {
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) { // parts of it would reach the terminal
		return nil, usagef("%s: it is not a text file", path)
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return nil, usagef("%s: %s", place(path, y.GetToken()), y.GetMessage())
		}
		return nil, usagef("%s: %v", path, err)
	}
	if len(f.Docs) > 1 {
		return nil, usagef("%s: a second document starts: a file has one", place(path, f.Docs[1].Start))
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, nil
	}
	return pairs(path, f.Docs[0].Body, "want lines of `flag: value`, as in `workers: 4`")
}

// pairs are the entries of a mapping; want is what to say of anything else.
func pairs(path string, node ast.Node, want string) ([]*ast.MappingValueNode, error) {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}, nil
	default:
		return nil, usagef("%s: %s", place(path, node.GetToken()), want)
	}
}

// entry sets the flag that one line names.
func (s *settings) entry(path string, e *ast.MappingValueNode) error {
	key := e.Key.GetToken()
	if key.Value == "device_ids" {
		return s.deviceIDs(path, e)
	}
	_, _, err := s.put(path, key, e.Value)
	return err
}

// put sets the flag that a key means to its value, unless it has one, and returns both.
func (s *settings) put(path string, key *token.Token, value ast.Node) (flag, text string, err error) {
	flag = key.Value
	switch value.Type() {
	case ast.StringType, ast.IntegerType, ast.FloatType, ast.BoolType:
	default:
		return "", "", usagef("%s: %s: want one plain value", place(path, key), flag)
	}
	text = value.GetToken().Value
	if flag == "bias" { // as Config has it, and config.yaml in a run folder
		flag, text = "no-bias", opposite(text)
	}
	if now := renamed[flag]; now != "" {
		return "", "", usagef("%s: %s is now %s", place(path, key), flag, now)
	}
	if s.set.Lookup(flag) == nil {
		return "", "", usagef("%s: unknown key %q%s (the keys are the flags of `hogwild train`)",
			place(path, key), flag, suggest("", flag, s.names()))
	}
	if s.given[flag] {
		return flag, text, nil
	}
	if err := s.assign(flag, text); err != nil {
		return "", "", usagef("%s: %s: %v", place(path, value.GetToken()), key.Value, err)
	}
	return flag, text, nil
}

// deviceIDs sets --gpu from a list of indices: device_ids: [2, 3] is gpu: 2,3.
func (s *settings) deviceIDs(path string, e *ast.MappingValueNode) error {
	list, ok := e.Value.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return usagef("%s: device_ids: want a list of GPUs, as [2, 3]", place(path, e.Value.GetToken()))
	}
	var ids []string
	for _, v := range list.Values {
		t := v.GetToken()
		if n, err := strconv.ParseUint(t.Value, 10, 8); err != nil || v.Type() != ast.IntegerType {
			return usagef("%s: device_ids: %q: want the index of a GPU, counted from 0", place(path, t), t.Value)
		} else if id := fmt.Sprint(n); slices.Contains(ids, id) {
			return usagef("%s: device_ids: GPU %s is there twice", place(path, t), id)
		} else {
			ids = append(ids, id)
		}
	}
	if s.given["gpu"] {
		return nil
	}
	return s.assign("gpu", strings.Join(ids, ","))
}

// twoChoices refuses a file that says which GPUs in both ways.
func twoChoices(path string, entries []*ast.MappingValueNode) error {
	var first string
	for _, e := range entries {
		key := e.Key.GetToken()
		if key.Value != "gpu" && key.Value != "device_ids" {
			continue
		}
		if first != "" {
			return usagef("%s: %s: %s has said already which GPUs; leave one of them out", place(path, key), key.Value, first)
		}
		first = key.Value
	}
	return nil
}

func opposite(text string) string {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return text
	}
	return strconv.FormatBool(!b)
}

func place(path string, t *token.Token) string {
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}
