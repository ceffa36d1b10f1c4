package data

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/text"
	"hogwild/internal/check"
)

// words returns how the tests read a corpus.
func words(least int) *text.Options {
	return &text.Options{Kind: text.Words, MinCount: least, Window: 5, Negatives: 5, Sample: 1e-3, NoiseExponent: .75}
}

// corpusFile writes a text.
func corpusFile(t testing.TB, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipfText returns some sentences of words w0, w1, ...; the i-th has the frequency 1/(i+1).
func zipfText(lines, vocabulary int, seed uint64) string {
	rng, b := rand.New(rand.NewPCG(seed, 1)), &strings.Builder{}
	z := rand.NewZipf(rng, 1.1, 1, uint64(vocabulary-1))
	for range lines {
		for range 1 + rng.IntN(20) {
			fmt.Fprintf(b, "w%d ", z.Uint64())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainSentences returns the sentences of a text, read by the definition.
func plainSentences(all string) (sentences [][]string) {
	for line := range strings.SplitSeq(all, "\n") {
		for piece := range slices.Chunk(strings.Fields(line), 10_000) {
			sentences = append(sentences, piece)
		}
	}
	return sentences
}

// spelled returns the sentences of a set.
func spelled(s *Set) (sentences [][]string) {
	v := s.Vocabulary()
	for _, x := range s.Idx {
		if x&SentenceStart != 0 {
			sentences = append(sentences, nil)
		}
		last := &sentences[len(sentences)-1]
		*last = append(*last, v.Words[x&^SentenceStart])
	}
	return sentences
}

func TestWordsOfAText(t *testing.T) {
	all := zipfText(3000, 800, 1) + strings.Repeat("long line ", 12_000) + "\n\n  \nx\u00a0y\x1cz\u3000w1"
	path, test := corpusFile(t, "a.txt", all), corpusFile(t, "b.txt", "w1 unknown w2\nunknown\nw3")
	counts := map[string]int64{}
	for _, s := range plainSentences(strings.ReplaceAll(all, "\x1c", " ")) {
		for _, w := range s {
			counts[w]++
		}
	}
	for _, least := range []int{1, 5} {
		train, other, err := Load(Options{Path: path, Test: test, Task: text.Words, Text: words(least), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer train.Close()
		defer other.Close()
		var want [][]string
		for _, s := range plainSentences(strings.ReplaceAll(all, "\x1c", " ")) {
			if s = slices.DeleteFunc(s, func(w string) bool { return counts[w] < int64(least) }); len(s) > 0 {
				want = append(want, s)
			}
		}
		if got := spelled(train); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("min count %d: %d sentences, want %d", least, len(got), len(want))
		}
		v := train.Vocabulary()
		for i, w := range v.Words {
			if v.Counts[i] != counts[w] || i > 0 && v.Counts[i] > v.Counts[i-1] {
				t.Errorf("%s occurs %d times, counted %d", w, counts[w], v.Counts[i])
			}
		}
		if got := spelled(other); !slices.EqualFunc(got, [][]string{{"w1", "w2"}, {"w3"}}, slices.Equal) {
			t.Errorf("the test set has %q", got)
		}
	}
}

// What is read does not depend on pieces, on packing, or on the number of processors.
func TestWordsReadAlike(t *testing.T) {
	all := zipfText(4000, 3000, 2) + strings.Repeat("a b ", 700_000) // longer than a piece
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(all))
	_ = z.Close()
	tree(t, dir, map[string]string{"a.txt": all, "a.gz": b.String()})
	read := func(path string) *Set {
		s, err := LoadSets(Options{Path: path, Task: text.Words, Text: words(2), Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s.Train
	}
	want := read(plain)
	for _, path := range []string{packed, plain} {
		before := runtime.GOMAXPROCS(5)
		got := read(path)
		runtime.GOMAXPROCS(before)
		if !slices.Equal(got.Idx, want.Idx) || !slices.Equal(got.Vocabulary().Words, want.Vocabulary().Words) {
			t.Errorf("%s: other words", path)
		}
	}
	if want.Checksum != read(plain).Checksum {
		t.Error("another checksum")
	}
}

func TestHeldOutLines(t *testing.T) {
	all := zipfText(20_000, 500, 4)
	path := corpusFile(t, "a.txt", all)
	s, err := LoadSets(Options{Path: path, Task: text.Words, Text: words(1), Seed: 7, Validation: "0.2"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := map[string]int{}
	for i, set := range []*Set{s.Train, s.Test, s.Validation} {
		sentences := spelled(set)
		n, want := float64(len(sentences)), []float64{.792, .01, .198}[i]*20_000
		if n < want*.8 || n > want*1.2 {
			t.Errorf("%g sentences of the part %d, want about %g", n, i, want)
		}
		for _, x := range sentences {
			got[strings.Join(x, " ")]++
		}
	}
	for _, x := range plainSentences(all) { // but for words that the training lines lack
		got[strings.Join(x, " ")]--
	}
	lost := 0
	for _, n := range got {
		lost += max(n, -n)
	}
	if lost > 20 {
		t.Errorf("%d sentences are not in one of the sets", lost)
	}
	path = corpusFile(t, "b.txt", "a b c\nb c d\n")
	few, err := LoadSets(Options{Path: path, Task: text.Words, Text: words(1), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer few.Close()
	if few.Test.Rows != few.Train.Rows || !strings.Contains(strings.Join(few.Train.Notes, "\n"), "too few lines") {
		t.Errorf("%d and %d rows, %q", few.Train.Rows, few.Test.Rows, few.Train.Notes)
	}
}

func TestWrongWords(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"rare.txt": "a b c\nd e f\n", "binary": "\x7fELF\x01\x00\x00\x00\x01\x02",
		"empty": "",
		"blank": "\n \n", "endless": strings.Repeat("x", 3<<20), "a.csv": "1,2,3\n", "wide": "\xff\xfea\x00",
		"zip": "PK\x03\x04abc", "array.npy": "\x93NUMPY\x01\x00", "good.txt": "a a a a a b b\n"})
	for name, words_ := range map[string][]string{"rare.txt": {"no word occurs 5 times", "--min-count"},
		"binary": {"binary file"}, "empty": {"the file is empty"}, "blank": {"no words"},
		"endless": {"1048576 bytes", "without a blank"}, "a.csv": {"a table", "--format text"},
		"wide": {"UTF-16LE", "iconv"}, "zip": {"zip archive"}, "array.npy": {"a table"}, "none": {"no such file"}} {
		_, err := LoadSets(Options{Path: filepath.Join(dir, name), Task: text.Words, Text: words(5), Seed: 1})
		check.Error(t, err, words_...)
		if err != nil && !strings.Contains(err.Error(), dir) {
			t.Errorf("%s is not named in %q", name, err)
		}
	}
	good := filepath.Join(dir, "good.txt")
	for _, x := range []struct {
		o     Options
		words []string
	}{{Options{Target: "label"}, []string{"no labels"}}, {Options{Format: "csv"}, []string{"format csv"}},
		{Options{Test: filepath.Join(dir, "rare.txt"), Limit: -1}, []string{"limit"}},
		{Options{Test: filepath.Join(dir, "wide")}, []string{"UTF-16"}},
		{Options{Test: corpusFile(t, "x.txt", "q r s")}, []string{"none of its 3 words"}},
		{Options{MaxMemory: 100}, []string{"--max-memory"}},
	} {
		x.o.Path, x.o.Task, x.o.Text, x.o.Seed = good, text.Words, words(1), 1
		_, err := LoadSets(x.o)
		check.Error(t, err, x.words...)
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte("a b\nc\u00a0a\r\n"), uint8(1))
	f.Add([]byte("\ufeffa \x00b"), uint8(2))
	f.Add([]byte("\x1f\x8b\x08"), uint8(0))
	f.Fuzz(func(t *testing.T, all []byte, least uint8) {
		dir := t.TempDir()
		tree(t, dir, map[string]string{"a": string(all)})
		s := loadAny(t, Options{Path: filepath.Join(dir, "a"), Task: text.Words, Text: words(int(least))})
		if s == nil {
			return
		}
		total := int64(0)
		for _, n := range s.Vocabulary().Counts {
			total += n
		}
		if total != int64(s.Rows) {
			t.Errorf("%d words of %d", s.Rows, total)
		}
	})
}
