package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// file reads a YAML file whose keys are the names of flags, and sets the flags
// that have no value yet. Unknown keys, keys written twice and values of the wrong
// kind are errors that name file, line and column.
func (s *settings) file(path string) error {
	text, err := config.ReadYAML(path)
	if err != nil {
		return usagef("--config %s: %v", path, cause(err))
	}
	documents, err := config.Documents(path, text)
	if err != nil || len(documents) == 0 {
		return err
	}
	if len(documents) > 1 {
		return usagef("%s: a second YAML document starts here: a settings file has only one",
			config.Place(path, documents[1][0].Key))
	}
	entries := documents[0]
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

// entry sets the flag that one line names.
func (s *settings) entry(path string, e config.Entry) error {
	switch e.Key.Value {
	case "device_ids":
		return s.deviceIDs(path, e)
	case "config":
		return usagef("%s: config: a settings file cannot include another; write the settings here",
			config.Place(path, e.Key))
	}
	if was, ok := gone[e.Key.Value]; ok && e.Value.GetToken().Value == was.idle { // in the config.yaml of an old run
		return nil
	}
	_, _, err := s.put(path, e)
	return err
}

// takenOut says which settings of a run that is resumed are gone, and had an effect.
func takenOut(run string) (notes []string) {
	path := filepath.Join(run, rundir.ConfigFile)
	text, _ := config.ReadYAML(path) // the snapshot has what is needed
	documents, _ := config.Documents(path, text)
	for _, e := range slices.Concat(documents...) {
		if was, ok := gone[e.Key.Value]; ok && e.Value.GetToken().Value != was.idle {
			notes = append(notes, fmt.Sprintf("%s: %s is ignored: %s", config.Place(path, e.Key), e.Key.Value, was.now))
		}
	}
	return notes
}

// put sets the flag that a key means to its value, unless it has one, and returns both.
func (s *settings) put(path string, e config.Entry) (flag, text string, err error) {
	key, value := e.Key, e.Value
	flag = key.Value
	text = value.GetToken().Value
	switch value.Type() {
	case ast.StringType, ast.IntegerType, ast.FloatType, ast.BoolType:
	case ast.LiteralType: // a text of several lines
		text = value.(*ast.LiteralNode).Value.Value
	default:
		return "", "", usagef("%s: %s: want a single value", config.Place(path, key), flag)
	}
	if in := config.Lookup(flag); in != nil && in.Flag != "" { // as Config has it, and config.yaml in a run folder
		flag, text = in.Flag, opposite(text)
	}
	if s.set.Lookup(flag) == nil {
		return "", "", usagef("%s: unknown key %q%s (the keys are the flags of `hogwild train`)",
			config.Place(path, key), flag, s.suggest("", flag))
	}
	if err := s.take(flag, text, origin{inFile, config.Place(path, key)}); err != nil {
		return "", "", usagef("%s: %s: %v", config.Place(path, value.GetToken()), key.Value, err)
	}
	return flag, text, nil
}

// deviceIDs sets --gpu from a list of indices: device_ids: [2, 3] is gpu: 2,3.
func (s *settings) deviceIDs(path string, e config.Entry) error {
	list, ok := e.Value.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return usagef("%s: device_ids: want a list of GPUs, e.g. [2, 3]", config.Place(path, e.Value.GetToken()))
	}
	var ids []string
	for _, v := range list.Values {
		t := v.GetToken()
		if n, err := strconv.ParseUint(t.Value, 10, 8); err != nil || v.Type() != ast.IntegerType {
			return usagef("%s: device_ids: %q: want the index of a GPU, counted from 0", config.Place(path, t), t.Value)
		} else if id := fmt.Sprint(n); slices.Contains(ids, id) {
			return usagef("%s: device_ids: GPU %s is listed twice", config.Place(path, t), id)
		} else {
			ids = append(ids, id)
		}
	}
	return s.take("gpu", strings.Join(ids, ","), origin{inFile, config.Place(path, e.Key)})
}

// twoChoices refuses a file that says which GPUs in both ways.
func twoChoices(path string, entries []config.Entry) error {
	var first string
	for _, e := range entries {
		key := e.Key
		if key.Value != "gpu" && key.Value != "device_ids" {
			continue
		}
		if first != "" {
			return usagef("%s: %s: %s also selects GPUs; leave one of them out", config.Place(path, key),
				key.Value, first)
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
