package text

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Vocabulary is the words of a text by falling count; of equal ones the first in the text comes first. A word's
// number is its place.
type Vocabulary struct {
	Words  []string
	Counts []int64

	once sync.Once
	ids  map[string]int
}

// ID is the number of a word.
func (v *Vocabulary) ID(word string) (id int, ok bool) {
	id, ok = v.index()[word]
	return id, ok
}

// index is the numbers of all words.
func (v *Vocabulary) index() map[string]int {
	v.once.Do(func() {
		v.ids = make(map[string]int, len(v.Words))
		for i, w := range v.Words {
			v.ids[w] = i
		}
	})
	return v.ids
}

// Size is how many bytes the words take, with a newline behind each.
func (v *Vocabulary) Size() (n int) {
	for _, w := range v.Words {
		n += len(w) + 1
	}
	return n
}

// Fill writes the words to Size bytes, and their counts.
func (v *Vocabulary) Fill(words []uint8, counts []int64) {
	n := 0
	for _, w := range v.Words {
		n += copy(words[n:], w)
		words[n] = '\n'
		n++
	}
	copy(counts, v.Counts)
}

// From is the vocabulary that Fill has written.
func From(words []uint8, counts []int64) *Vocabulary {
	list := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
	return &Vocabulary{Words: list, Counts: slices.Clone(counts)}
}

// Write writes a line "word count" for each word, as word2vec.c's -save-vocab does.
func (v *Vocabulary) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	for i, word := range v.Words {
		fmt.Fprintln(w, word, v.Counts[i])
	}
	return w.Flush()
}

// ReadVocabulary reads what Write has written.
func ReadVocabulary(path string) (*Vocabulary, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	v, lines := &Vocabulary{}, bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		word, text, _ := strings.Cut(lines.Text(), " ")
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil || word == "" {
			return nil, fmt.Errorf("%s:%d: want a word and its count", path, len(v.Words)+1)
		}
		v.Words, v.Counts = append(v.Words, word), append(v.Counts, count)
	}
	return v, lines.Err()
}
