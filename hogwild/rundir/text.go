package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// Limits of the YAML files that people write. The parser takes time and memory that grow with the
// square of the depth and of the number of keys.
const (
	MostYAML = 256 << 10 // bytes
	mostKeys = 4096
	mostDeep = 256
)

// How many bytes other files of a run folder may have.
const (
	mostJSON    = 256 << 20
	mostMetrics = 4 << 30 // weeks of seconds
)

// CheckYAML refuses a text that would keep the YAML parser busy for long. Errors begin with the line.
func CheckYAML(text []byte) error {
	if len(text) > MostYAML {
		return fmt.Errorf("1: more than %d KiB of settings", MostYAML>>10)
	}
	if n := bytes.Count(text, []byte(":")); n > mostKeys {
		return fmt.Errorf("1: %d keys, %d can be read", n, mostKeys)
	}
	if line := deepLine(text); line > 0 {
		return fmt.Errorf("%d: lists or brackets are nested more than %d deep", line, mostDeep)
	}
	return nil
}

// UnmarshalYAML reads a text into a value. The error is in one line.
func UnmarshalYAML(text []byte, into any) error {
	if err := CheckYAML(text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		what, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return errors.New(what)
	}
	return nil
}

// deepLine is the first line in which lists or mappings are nested too deep, 0 if there is none.
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
