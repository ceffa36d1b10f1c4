package config

import (
	"cmp"

	"hogwild/hogwild/data/text"
	"hogwild/hogwild/model"
)

// Words are the settings of models of text: how it is read, and what windows of words are. Names are word2vec.c's and
// fastText's, or gensim's where these are shorter than a flag can tell.
type Words struct {
	MinCount int `yaml:"min-count,omitempty" json:"min_count"` // 0 = 5 for word2vec, 1 for text
	// word2vec: the mean of the words around it predicts a word, and not each of them
	CBOW           bool    `yaml:"cbow,omitempty" json:"cbow,omitempty"`
	Window         int     `yaml:"window" json:"window"`                                       // words to each side, at most
	Negatives      int     `yaml:"negatives,omitempty" json:"negatives"`                       // drawn for each word predicted; 0 = 5
	ShareNegatives bool    `yaml:"share-negatives,omitempty" json:"share_negatives,omitempty"` // by all pairs of a window
	Subsample      float64 `yaml:"subsample" json:"subsample"`                                 // 0 = none
	NoiseExponent  float64 `yaml:"noise-exponent" json:"noise_exponent"`
	WordNGrams     int     `yaml:"word-ngrams" json:"word_ngrams"`   // text: words in a row that are a feature, at most
	Buckets        int     `yaml:"buckets,omitempty" json:"buckets"` // text: what n-grams are hashed to; 0 = 2,000,000
}

// defaultWords returns word2vec.c's and fastText's defaults.
func defaultWords() Words {
	return Words{Window: 5, Subsample: 1e-3, NoiseExponent: 0.75, WordNGrams: 1}
}

// TextOptions returns how text is read for the model; nil: it has other data.
func (c *Config) TextOptions() *text.Options {
	switch model.FamilyOf(c.Model).Reads {
	case text.Words:
		return &text.Options{Kind: text.Words, MinCount: cmp.Or(c.MinCount, 5), Window: c.Window,
			Negatives: cmp.Or(c.Negatives, 5), Sample: c.Subsample, NoiseExponent: c.NoiseExponent,
			OneGroup: c.CBOW || c.ShareNegatives}
	case text.Labels:
		o := &text.Options{Kind: text.Labels, MinCount: cmp.Or(c.MinCount, 1), NGrams: c.WordNGrams,
			Label: text.LabelPrefix}
		if o.NGrams > 1 {
			o.Buckets = cmp.Or(c.Buckets, 2_000_000)
		}
		return o
	}
	return nil
}
