package data

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/text"
	"hogwild/internal/check"
)

// byLabels returns how the tests read labelled text.
func byLabels(ngrams int) *text.Options {
	return &text.Options{Kind: text.Labels, MinCount: 1, NGrams: ngrams, Buckets: (ngrams - 1) * 100,
		Label: text.LabelPrefix}
}

// spelledRows returns the rows of a set: the label and the inputs, words by name and sequences by bucket.
func spelledRows(s *Set) (rows []string) {
	v, r := s.Vocabulary(), s.NewReader()
	for i := range s.Rows {
		b := r.Batch([]int32{int32(i)})
		row := []string{}
		for k, j := range b.Rows[0].Idx {
			if int(j) < len(v.Words) {
				row = append(row, v.Words[j])
			} else {
				row = append(row, fmt.Sprint("#", int(j)-len(v.Words)))
			}
			if b.Rows[0].Val[k] != 1/float32(len(b.Rows[0].Idx)) {
				row = append(row, fmt.Sprint("has the value ", b.Rows[0].Val[k]))
			}
		}
		slices.Sort(row)
		rows = append(rows, s.Classes[int(b.Y[0])]+": "+strings.Join(row, " "))
	}
	return rows
}

const reviews = "__label__bad a bad film\n__label__good __label__long a film\nno label\n\n__label__bad film film\n"

func TestLabelledText(t *testing.T) {
	path := corpusFile(t, "train.txt", reviews)
	test := corpusFile(t, "other.txt", "__label__odd film\nthe film __label__long __label__odd\nword __label__bad\n")
	want := []string{"bad: </s> a bad film", "good: </s> a film", "long: </s> a film", "bad: </s> film film"}
	train, other, err := Load(Options{Path: path, Test: test, Task: text.Labels, Text: byLabels(1), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	defer other.Close()
	got := spelledRows(train)
	if i := slices.Index(got, want[1]); i < 0 || i+1 == len(got) || got[i+1] != want[2] {
		t.Errorf("%q: the labels of a line are apart", got)
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(train.Classes, []string{"bad", "good", "long"}) || train.Vocabulary().Words[0] != "</s>" ||
		train.Vocabulary().Counts[0] != 5 {
		t.Errorf("classes %q, words %q", train.Classes, train.Vocabulary().Words)
	}
	if got := spelledRows(other); !slices.Equal(got, []string{"long: </s> film", "bad: </s>"}) {
		t.Errorf("the test set has %q", got)
	}
	check.Error(t, errors.New(strings.Join(other.Notes, "; ")), "1 of 3 lines", "odd")
	check.Error(t, errors.New(strings.Join(train.Notes, "; ")), "1 lines without a label")
	checkSparse(t, train)
}

// checkSparse checks what verification of a cache would.
func checkSparse(t *testing.T, s *Set) {
	t.Helper()
	if why := s.invalidReason(); why != "" {
		t.Error(why)
	}
}

// A table gives the rows that its lines give.
func TestLabelledTable(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"named.csv": "kind,title,body\nbad,a bad,\"film,\nok\"\ngood,a,film\nbad,film,film\n,none,x\n",
		"bare.csv":  "bad;a bad;\"film,\nok\"\ngood;a;film\nbad;film;film\n",
		"lines.txt": "__label__bad a bad film, ok\n__label__good a film\n__label__bad film film\n",
		"new.csv":   "body,title\nfilm,a\n", "newbare.csv": "a;film\n"})
	load := func(name, target string) *Set {
		path := filepath.Join(dir, name)
		s, other, err := Load(Options{Path: path, Test: path, Unjudged: true, Task: text.Labels, Target: target,
			Text: byLabels(2), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(); other.Close() })
		if a, b := spelledRows(s), spelledRows(other); len(a) != len(b) {
			t.Errorf("%s: %q as the test set", name, b)
		}
		return s
	}
	lines, named, bare := load("lines.txt", ""), load("named.csv", "kind"), load("bare.csv", "1")
	want := spelledRows(lines)
	slices.Sort(want)
	for _, s := range []*Set{named, bare} {
		got := spelledRows(s)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s.Name, got, want)
		}
	}
	for name, like := range map[string]*Set{"new.csv": named, "newbare.csv": bare} {
		var words []string
		_, err := Stream(Inputs{Path: filepath.Join(dir, name), Like: like.Meta}, func(p *Piece) error {
			for _, row := range p.Batch.Rows {
				for _, j := range row.Idx {
					if v := like.Vocabulary(); int(j) < len(v.Words) {
						words = append(words, v.Words[j])
					}
				}
			}
			return nil
		})
		slices.Sort(words)
		if err != nil || !slices.Equal(words, []string{"</s>", "a", "film"}) {
			t.Errorf("%s: %q, %v", name, words, err)
		}
	}
}

// TestColumnsOfTexts: --columns names the label and the texts, in the training data and in other files.
func TestColumnsOfTexts(t *testing.T) {
	o := Options{Path: corpusFile(t, "a.csv", "id,kind,title,body\n1,bad,a bad,film\n2,good,a,film\n3,bad,film,film\n"),
		Test: None, Unjudged: true, Task: text.Labels, Text: byLabels(1), Seed: 1}
	for columns, want := range map[string][]string{
		"label=kind,text=title":           {"bad: </s> a bad", "bad: </s> film", "good: </s> a"},
		"text=body,label=kind,text=title": {"bad: </s> a bad film", "bad: </s> film film", "good: </s> a film"},
		"label=2,text=4":                  {"bad: </s> film", "bad: </s> film", "good: </s> film"},
	} {
		o.Columns = columns
		s, _, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got := spelledRows(s)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", columns, got, want)
		}
		n := 0
		other := corpusFile(t, "b.csv", "words,kind\na film,bad\n")
		_, err = Stream(Inputs{Path: other, Columns: "text=words", Like: s.Meta}, func(p *Piece) error {
			n += len(p.Batch.Rows)
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("%s: %d rows to predict, %v", columns, n, err)
		}
	}
	for columns, want := range map[string]string{
		"label=kind,words=title": "\"words\": want label= and text=",
		"label=kind,text=titel":  "no column \"titel\"; the columns are id, kind, title, body",
		"label=what,text=title":  "no column \"what\" to predict",
	} {
		o.Columns = columns
		if _, _, err := Load(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", columns, err, want)
		}
	}
	o.Columns, o.Target = "label=kind,text=title", "body"
	if _, _, err := Load(o); err == nil || !strings.Contains(err.Error(), "name it once") {
		t.Errorf("two labels: error %v", err)
	}
}

// Lines to be predicted have the inputs that lines of the test set have.
func TestStreamOfLines(t *testing.T) {
	path := corpusFile(t, "a.txt", reviews)
	s, other, err := Load(Options{Path: path, Test: path, Unjudged: true, Task: text.Labels, Text: byLabels(3),
		Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer other.Close()
	var got []Row
	_, err = Stream(Inputs{Path: corpusFile(t, "b.txt", "a bad film\n\nfilm film __label__x"), Like: s.Meta},
		func(p *Piece) error {
			for _, r := range p.Batch.Rows {
				got = append(got, Row{Idx: slices.Clone(r.Idx), Val: slices.Clone(r.Val)})
			}
			return nil
		})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	r := other.NewReader()
	for i, at := range map[int]int32{0: 0, 2: 3} {
		want := r.Batch([]int32{at}).Rows[0]
		if !slices.Equal(got[i].Idx, want.Idx) || !slices.Equal(got[i].Val, want.Val) {
			t.Errorf("row %d has %v, want %v", i, got[i].Idx, want.Idx)
		}
	}
	meta, own := s.Meta, *s.Text
	meta.Text, own.Vocabulary = &own, nil
	_, err = Stream(Inputs{Path: path, Like: meta}, func(*Piece) error { return nil })
	check.Error(t, err, "words.txt")
}

func TestWrongLabels(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"none": "no label\nat all\n", "same": "__label__a x\n__label__a y\n",
		"one": "__label__a x\n", "rare": "__label__a x\n__label__b y\n", "binary": "\x00\x01\x02\x00__label__a",
		"other": "__label__q x\n", "texts.csv": tableOf2(200), "cells.csv": "a\nb\n", "good": reviews,
		"long": "__label__a " + strings.Repeat("x ", 9<<20) + "\n__label__b y\n"})
	for name, x := range map[string]struct {
		o     Options
		words []string
	}{"none": {Options{}, []string{"no line has a label", "__label__NAME", "--target"}},
		"same":      {Options{Test: filepath.Join(dir, "good")}, []string{"every label is \"a\""}},
		"one":       {Options{}, []string{"one row"}},
		"rare":      {Options{Text: &text.Options{MinCount: 99, Label: "__label__"}}, []string{"--min-count"}},
		"good":      {Options{Test: filepath.Join(dir, "other")}, []string{"none of its labels", "bad, good"}},
		"binary":    {Options{}, []string{"binary"}},
		"texts.csv": {Options{}, []string{"almost one for each", "--target"}},
		"cells.csv": {Options{}, []string{"one column"}}, "long": {Options{}, []string{"line 1 has more than"}}} {
		x.o.Path, x.o.Task, x.o.Seed = filepath.Join(dir, name), text.Labels, 1
		if x.o.Text == nil {
			x.o.Text = byLabels(1)
		}
		_, err := LoadSets(x.o)
		check.Error(t, err, append(x.words, dir)...)
	}
}

// tableOf2 returns a table of a number and a text without two that are alike.
func tableOf2(rows int) string {
	b := &strings.Builder{}
	for i := range rows {
		fmt.Fprintf(b, "%d,text %d\n", i%2, i)
	}
	return b.String()
}

// A cache of a text is the text.
func TestCacheOfText(t *testing.T) {
	rng, b := rand.New(rand.NewPCG(3, 3)), &strings.Builder{}
	for range 500 {
		fmt.Fprintf(b, "__label__%c", 'a'+rune(rng.IntN(3)))
		for range rng.IntN(12) {
			fmt.Fprintf(b, " w%d", rng.IntN(90))
		}
		b.WriteByte('\n')
	}
	before := windowBytes
	windowBytes = 1 << 10
	defer func() { windowBytes = before }()
	path, out := corpusFile(t, "a.txt", b.String()), filepath.Join(t.TempDir(), "a.hog")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, o := range []Options{{Task: text.Labels, Text: byLabels(2)}, {Task: text.Words, Text: words(2)}} {
		o.Path, o.Seed, o.Validation = path, 5, "0.1"
		want, err := LoadSets(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Convert(context.Background(), o, out, func(*Meta) error { return nil }, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckCache(out, nil); err != nil {
			t.Error(err)
		}
		cached := o
		cached.Path = out
		got, err := LoadSets(cached)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range []*Set{want.Train, want.Test, want.Validation} {
			c := []*Set{got.Train, got.Test, got.Validation}[i]
			if !slices.Equal(c.Idx, s.Idx) || !slices.Equal(c.Y, s.Y) ||
				!slices.Equal(c.Vocabulary().Words, s.Vocabulary().Words) ||
				!slices.Equal(c.Vocabulary().Counts, s.Vocabulary().Counts) || !slices.Equal(c.Freq, s.Freq) {
				t.Errorf("%s: the part %d differs", o.Task, i)
			}
		}
		order := Order{Seed: 1, N: got.Train.Rows, Stretch: 2} // as of a large set
		got.Train.Fetch(order, 0, 0, got.Train.Rows/2)
		like, err := LoadLike(out, "", "", want.Train.Meta)
		if err != nil || !slices.Equal(like.Idx, want.Test.Idx) {
			t.Errorf("%s: the test part as the cache has it: %v", o.Task, err)
		}
		again, err := LoadLike(path, "", "", got.Train.Meta)
		if err != nil {
			t.Errorf("%s: the text, read as the cache was: %v", o.Task, err)
		} else {
			again.Close()
		}
		like.Close()
		want.Close()
		got.Close()
	}
}

func FuzzLabels(f *testing.F) {
	f.Add([]byte(reviews), false)
	f.Add([]byte("__label__a x </s> __label__b y\x00z\n__label__b\v__label__a"), false)
	f.Add([]byte("label,text\na,\"x\ny\"\nb,z\n"), true)
	f.Add([]byte("a;x\nb;z\na;x\n"), true)
	f.Fuzz(func(t *testing.T, all []byte, table bool) {
		path := filepath.Join(t.TempDir(), "a.txt")
		if table {
			path = filepath.Join(filepath.Dir(path), "a.csv")
		}
		tree(t, filepath.Dir(path), map[string]string{filepath.Base(path): string(all)})
		s := loadAny(t, Options{Path: path, Task: text.Labels, Text: byLabels(2)})
		if s == nil {
			return
		}
		checkSparse(t, s)
		rows := 0
		_, err := Stream(Inputs{Path: path, Like: s.Meta, MaxMemory: fuzzMemory}, func(p *Piece) error {
			rows += len(p.Gaps)
			for _, r := range p.Batch.Rows {
				if len(r.Idx) == 0 || int(r.Idx[len(r.Idx)-1]) >= s.Features {
					t.Errorf("inputs %v of %d", r.Idx, s.Features)
				}
			}
			return nil
		})
		if err == nil && rows == 0 {
			t.Error("no rows")
		}
	})
}

// TestTextIsUTF8: text in another encoding is refused with its line, wherever it is, as a corpus and as lines with
// labels; of rows to be predicted too. Whole characters of all lengths are read.
func TestTextIsUTF8(t *testing.T) {
	line := "__label__a café 日本 😀 the cat\n__label__b the dog\n"
	for _, before := range []int{0, 7, 40_000} { // the last is in the second piece of the text
		for _, wrong := range []string{"m\xfcll", "\xe2\x82", "\xed\xa0\x80", "\xc0\xaf"} {
			text_ := strings.Repeat(line, before/2) + "__label__" + wrong + " x\n" + strings.Repeat(line, 30)
			path := corpusFile(t, "a.txt", text_)
			at := fmt.Sprintf("a.txt:%d: ", 1+before/2*2)
			for _, o := range []Options{{Task: text.Labels, Text: byLabels(1)}, {Task: text.Words, Text: words(1)}} {
				o.Path, o.Seed = path, 1
				_, err := LoadSets(o)
				check.Error(t, err, at, "is not UTF-8 text", "iconv -f WINDOWS-1252")
			}
			good, err := LoadSets(Options{Path: corpusFile(t, "b.txt", strings.Repeat(line, 30)), Task: text.Labels,
				Text: byLabels(1), Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = Stream(Inputs{Path: path, Like: good.Train.Meta}, func(*Piece) error { return nil })
			check.Error(t, err, at, "is not UTF-8 text")
		}
	}
}

// TestManyWordsTakeMemory: different words count as what they take, not as their letters, and before they are all
// there.
func TestManyWordsTakeMemory(t *testing.T) {
	var b strings.Builder
	for i := range 400_000 {
		if i%10 == 0 {
			fmt.Fprintf(&b, "\n__label__%d", i/10%2)
		}
		fmt.Fprintf(&b, " w%06d", i)
	}
	path := corpusFile(t, "a.txt", b.String())
	const room = 40 << 20 // and the words take 140 MB
	for _, o := range []Options{{Task: text.Labels, Text: byLabels(1)}, {Task: text.Words, Text: words(1)}} {
		o.Path, o.Seed, o.MaxMemory = path, 1, room
		var err error
		check.Bounded(t, 3*room, func() { _, err = LoadSets(o) })
		check.Error(t, err, "its words", "--max-memory")
	}
}
