// Package text reads text as words: which words there are, how often, and which number each has. It knows nothing of
// sets.
//
//	corpus.go      a text as numbers of words
//	count.go       which words occur, and how often
//	line.go        a line of a text with labels, as fastText reads it
//	text.go        Options
//	vocabulary.go  the words and their numbers
//	token.go       where a word ends
package text

// Kinds of text.
const (
	Words  = "words"  // a corpus: each word is an example, for word2vec
	Labels = "labels" // a label and words in each line, for a classifier
)

// LabelPrefix is what begins a label for fastText.
const LabelPrefix = "__label__"

// Options say how text is read. They are kept with the weights, so that other text is read alike.
type Options struct {
	Kind     string `json:"kind"`      // Words or Labels
	MinCount int    `json:"min_count"` // words that occur less often are left out

	// which there are, in the process that has read them; who reads text as it was read before sets it
	Vocabulary *Vocabulary `json:"-"`

	// Of Words: what a window is. Names and defaults are word2vec.c's.
	Window        int     `json:"window,omitempty"`         // words to each side, at most
	Negatives     int     `json:"negatives,omitempty"`      // drawn for each word that is predicted
	Sample        float64 `json:"sample,omitempty"`         // share above which a word is left out now and then; 0: none
	NoiseExponent float64 `json:"noise_exponent,omitempty"` // negatives are drawn by count to this power
	OneGroup      bool    `json:"one_group,omitempty"`      // all inputs of a window have the same negatives

	// Of Labels:
	NGrams  int      `json:"ngrams,omitempty"`  // words in a row that are a feature together, at most
	Buckets int      `json:"buckets,omitempty"` // features that these are hashed to; 0: none
	Label   string   `json:"label,omitempty"`   // what begins a label: __label__
	Columns []string `json:"columns,omitempty"` // of a table: its columns of text; its target has the labels
}
