package text

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hogwild/hogwild/data/format"
	"hogwild/internal/atomicfile"
)

// Vocabulary is the words of a text by falling count; of equal ones the first in the text comes first. A word's
// number is its place.
type Vocabulary struct {
	Words  []string
	Counts []int64

	once  sync.Once
	ids   map[string]int
	filed sync.Once
	lines []byte
	sum   string
}

// ID returns the number of a word.
func (v *Vocabulary) ID(word string) (id int, ok bool) {
	id, ok = v.index()[word]
	return id, ok
}

// index returns the numbers of all words.
func (v *Vocabulary) index() map[string]int {
	v.once.Do(func() {
		v.ids = make(map[string]int, len(v.Words))
		for i, w := range v.Words {
			v.ids[w] = i
		}
	})
	return v.ids
}

// Size returns how many bytes the words take, with a newline behind each.
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

// From returns the vocabulary that Fill has written.
func From(words []uint8, counts []int64) *Vocabulary {
	list := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
	return &Vocabulary{Words: list, Counts: slices.Clone(counts)}
}

// File returns words.txt, and its sha256: a line "word count" for each word, as word2vec.c's -save-vocab writes it.
func (v *Vocabulary) File() (lines []byte, sum string) {
	v.filed.Do(func() {
		v.lines = make([]byte, 0, v.Size()+8*len(v.Words))
		for i, word := range v.Words {
			v.lines = append(strconv.AppendInt(append(append(v.lines, word...), ' '), v.Counts[i], 10), '\n')
		}
		v.sum = sumOf(v.lines)
	})
	return v.lines, v.sum
}

func sumOf(lines []byte) string {
	sum := sha256.Sum256(lines)
	return hex.EncodeToString(sum[:])
}

// ReadVocabulary reads words.txt, whose sha256 is to be sum; "": it is not known.
func ReadVocabulary(path string, sum string) (*Vocabulary, error) {
	lines, err := atomicfile.Read(path, format.DefaultMemory())
	if err != nil {
		return nil, err
	}
	v, err := ParseVocabulary(lines, sum)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// errOther is for words that may well be some, of other weights.
var errOther = errors.New("not the words of these weights: bring back the file that was saved with them")

// ParseVocabulary reads what File has made. Without a sum it still refuses lines that no File has in this order.
func ParseVocabulary(lines []byte, sum string) (*Vocabulary, error) {
	if sum != "" && sumOf(lines) != sum {
		return nil, errOther
	}
	v, last := &Vocabulary{}, int64(math.MaxInt64)
	for line := range strings.Lines(string(lines)) {
		word, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil || word == "" || count < 1 || count > last {
			return nil, fmt.Errorf("line %d: want a word and its count, the most frequent first: bring back the "+
				"file of the run", len(v.Words)+1)
		}
		v.Words, v.Counts, last = append(v.Words, word), append(v.Counts, count), count
	}
	if len(v.index()) != len(v.Words) {
		return nil, errors.New("a word is there twice: bring back the file of the run")
	}
	return v, nil
}
