package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hogwild/internal/human"
)

// TestCommittedResults: they can be read, and have a line a case, which keeps the files
// small and their changes legible.
func TestCommittedResults(t *testing.T) {
	files, err := filepath.Glob("results/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := human.WriteJSON(&want, json.RawMessage(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !bytes.Equal(text, want.Bytes()) {
			t.Errorf("%s has %d lines where WriteJSON writes %d", file, bytes.Count(text, []byte("\n")),
				bytes.Count(want.Bytes(), []byte("\n")))
		}
		var head struct {
			Kind  string
			Cases []json.RawMessage
		}
		if err := json.Unmarshal(text, &head); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range head.Cases {
			if !slices.ContainsFunc(bytes.Split(text, []byte("\n")),
				func(line []byte) bool { return bytes.Contains(line, c) }) {
				t.Errorf("%s: a case is not on one line: %.80s", file, c)
			}
		}
		if head.Kind == "" { // compare.py wrote it, or it is of one run
			continue
		}
		if e, err := ReadExperiment(file); err != nil || len(e.Cases) != len(head.Cases) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
