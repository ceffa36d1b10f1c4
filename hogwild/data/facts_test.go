package data

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// folderOf returns a folder of files with these texts.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// factsOf returns the facts of a set by their names, in some order.
func factsOf(s *Set) (all []string) {
	for i := range s.Rows {
		f := s.Idx[3*i:]
		all = append(all, s.Columns[f[0]]+" "+s.Columns[f[1]]+" "+s.Columns[f[2]])
	}
	slices.Sort(all)
	return all
}

var someFacts = []string{"Ada likes Ben", "Ada likes Cy", "Ben knows Ada", "Ben likes Ada", "Cy likes Cy"}

// TestFacts reads the same facts from a folder of names and from OpenKE's files.
func TestFacts(t *testing.T) {
	names := folderOf(t, map[string]string{
		"train.txt": "Ada\tlikes\tBen\r\nAda\tlikes\tCy\n\nBen\tknows\tAda\nBen\tlikes\tAda\nCy\tlikes\tCy",
		"test.txt":  "Cy\tknows\tBen\nDee\tknows\tBen\nCy\thates\tBen\n",
		"valid.txt": "Cy\tknows\tAda\n"})
	openKE := folderOf(t, map[string]string{
		"entity2id.txt": "4\nAda\t2\nBen\t0\nCy\t1\nDee\t3\n", "relation2id.txt": "3\nlikes 1\nknows 0\nhates 2\n",
		"train2id.txt": "5\n2 0 1\n2 1 1\n0 2 0\n0\t2\t1\n1 1 1\n", "test2id.txt": "3\n1 0 0\n3 0 0\n1 0 2\n",
		"valid2id.txt": "1\n1 2 0\n"})
	for _, folder := range []string{names, openKE} {
		s, err := LoadSets(Options{Path: folder, Task: "facts", Seed: 1,
			Validation: ValidationOf(factsTask, "", folder)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := factsOf(s.Train); !slices.Equal(got, someFacts) {
			t.Errorf("%s: training facts %q", folder, got)
		}
		if got := s.Train.Shape; !slices.Equal(got, []int{4, 2}) || s.Train.Features != 6 {
			t.Errorf("shape %v of %d features", got, s.Train.Features)
		}
		if got := s.Train.Columns; !slices.Equal(got, []string{"Ada", "Ben", "Cy", "Dee", "likes", "knows"}) {
			t.Errorf("names by falling count: %q", got)
		}
		if got := factsOf(s.Test); !slices.Equal(got, []string{"Cy knows Ben", "Dee knows Ben"}) {
			t.Errorf("test facts %q", got)
		}
		if len(s.Test.Notes) != 1 || !strings.Contains(s.Test.Notes[0],
			"left out 1 of 3 facts, of entities or relations that the training data does not have, such as \"hates\"") {
			t.Errorf("notes %q", s.Test.Notes)
		}
		if got := factsOf(s.Validation); !slices.Equal(got, []string{"Cy knows Ada"}) {
			t.Errorf("validation facts %q", got)
		}
		if want := "nothing is learnt of 1 of 4 entities"; !strings.Contains(strings.Join(s.Train.Notes, "\n"), want) {
			t.Errorf("notes %q, want %s", s.Train.Notes, want)
		}
		row := s.Train.NewReader().Batch([]int32{2}).Rows[0]
		if f := s.Train.Idx[6:9]; !slices.Equal(row.Idx, f) || len(row.Val) != 3 {
			t.Errorf("a row is %v, want %v", row, f)
		}
	}
}

// TestFactsOfCache: a cache of a folder asks for the same answers, and leaves out the same ones, as the folder; so does
// one that was made with a share of the facts apart.
func TestFactsOfCache(t *testing.T) {
	var all [3]strings.Builder
	for i := range 90 {
		fmt.Fprintf(&all[i/15%3], "e%d\tr%d\te%d\n", i%11, i%2, i*i%7)
	}
	folder := folderOf(t, map[string]string{"train.txt": all[0].String() + "e7\tr0\te7\n", "valid.txt": all[1].String(),
		"test.txt": all[2].String()})
	questions := func(path, validation string) []Question {
		s, err := LoadSets(Options{Path: path, Task: factsTask, Seed: 1,
			Validation: ValidationOf(factsTask, validation, path)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Validation == nil {
			t.Fatalf("%s has no validation facts", path)
		}
		return Questions(s.Test, AnswersIn(s.Train, s.Validation))
	}
	for _, validation := range []string{"", "0.2"} {
		cache := converted(t, Options{Path: folder, Task: factsTask, Seed: 1,
			Validation: ValidationOf(factsTask, validation, folder)})
		if got, want := questions(cache, ""), questions(folder, validation); !reflect.DeepEqual(got, want) {
			t.Errorf("validation %q: questions %v, want %v", validation, got, want)
		}
		if got := ValidationOf(factsTask, "none", cache); got != "none" {
			t.Errorf("validation none of a cache is %q", got)
		}
		if got := ValidationOf(likesTask, "", cache); got != "" {
			t.Errorf("the validation set of what is no graph is %q", got)
		}
	}
	none := converted(t, Options{Path: filepath.Join(folder, "train.txt"), Task: factsTask, Seed: 1})
	if got := ValidationOf(factsTask, "", none); got != "" {
		t.Errorf("a cache without validation facts has %q", got)
	}
}

// TestFactsOfOneFile: a part is held out, and what is between blanks, or numbers alone, is read.
func TestFactsOfOneFile(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		text.WriteString(string(rune('a'+i%7)) + " r " + string(rune('a'+i%5)) + "\n")
	}
	s, err := LoadSets(Options{Path: filepath.Join(folderOf(t, map[string]string{"g.txt": text.String()}), "g.txt"),
		Task: "facts", Seed: 1, Validation: "0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Train.Rows + s.Test.Rows + s.Validation.Rows; n != 60 || s.Test.Rows < 3 || s.Validation.Rows < 1 {
		t.Errorf("%d, %d and %d facts", s.Train.Rows, s.Test.Rows, s.Validation.Rows)
	}
	ids, err := LoadSets(Options{Path: folderOf(t, map[string]string{"train2id.txt": "2\n0 1 5\n1 0 5\n",
		"test2id.txt": "1\n1 1 5\n"}), Task: "facts"})
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	if got := factsOf(ids.Train); !slices.Equal(got, []string{"0 5 1", "1 5 0"}) {
		t.Errorf("facts of ids: %q", got)
	}
}

// TestFactsAreReadOnce: files of test and validation facts may be pipes, which give what they have once. Facts of a
// relation that is not known are left out.
func TestFactsAreReadOnce(t *testing.T) {
	folder := folderOf(t, map[string]string{"train.txt": strings.ReplaceAll(strings.Join(someFacts, "\n"), " ", "\t")})
	for name, text := range map[string]string{"valid": "Dee\thates\tBen\nEve\tlikes\tBen\n",
		"test": "Dee\tlikes\tBen\n"} {
		pipe := filepath.Join(folder, name)
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() { _ = os.WriteFile(pipe, []byte(text), 0) }()
	}
	s, err := LoadSets(Options{Path: filepath.Join(folder, "train.txt"), Task: factsTask, Seed: 1,
		Validation: filepath.Join(folder, "valid"), Test: filepath.Join(folder, "test")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := factsOf(s.Validation); !slices.Equal(got, []string{"Eve likes Ben"}) ||
		len(s.Validation.Notes) != 1 || !strings.Contains(s.Validation.Notes[0], `left out 1 of 2 facts, of entities or `+
		`relations that the training data does not have, such as "hates"`) {
		t.Errorf("validation facts %q, notes %q", got, s.Validation.Notes)
	}
	if got := factsOf(s.Test); !slices.Equal(got, []string{"Dee likes Ben"}) {
		t.Errorf("test facts %q", got)
	}
}

// TestFactsRefused: what is no file of facts is refused in one line, which says where and what was expected.
func TestFactsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a\tr\tb\na\tr\nb\tr\ta\na\tb\n": "train.txt:2: 2 columns, want three: a line is head, relation and " +
			"tail, between tabs (and 1 more such lines)",
		"a\tr\t\n":                  "train.txt:1: an empty name: a line is head",
		"3\n0 1 0\n":                "1 facts, and the first line promises 3: the file is incomplete, or damaged",
		"1\n0 1\n":                  "train.txt:2: 2 columns, want three: a line is head, tail and relation, as OpenKE",
		"\n":                        "the file has only blank lines",
		"a\tr\tb\n":                 "has one fact",
		"user,item,rating\n1,2,3\n": "train.txt:1: 1 column, want three",
		"E 1,likes,E 2\n":           "train.txt:1: commas between three columns: a line is head, relation and tail",
	} {
		path := filepath.Join(folderOf(t, map[string]string{"train.txt": text}), "train.txt")
		_, err := LoadSets(Options{Path: path, Task: "facts"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	folder := folderOf(t, map[string]string{"train.txt": "a\tr\tb\nb\tr\ta\n", "test.txt": "x\tq\tb\n"})
	if _, err := LoadSets(Options{Path: folder, Task: "facts"}); err == nil ||
		!strings.Contains(err.Error(), "left out 1 of 1 facts") {
		t.Error(err)
	}
	folder = folderOf(t, map[string]string{"train2id.txt": "2\n0 1 0\n1 0 7\n", "relation2id.txt": "1\nlikes\t0\n"})
	if _, err := LoadSets(Options{Path: folder, Task: "facts"}); err == nil ||
		!strings.Contains(err.Error(), "train2id.txt:3: \"7\" is no id of relation2id.txt") {
		t.Error(err)
	}
}
