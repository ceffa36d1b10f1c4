package config

import (
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
	Negatives      int     `yaml:"negatives" json:"negatives"`                                 // drawn for each word predicted
	ShareNegatives bool    `yaml:"share-negatives,omitempty" json:"share_negatives,omitempty"` // by all pairs of a window
	Subsample      float64 `yaml:"subsample" json:"subsample"`                                 // 0 = none
	NoiseExponent  float64 `yaml:"noise-exponent" json:"noise_exponent"`
	WordNGrams     int     `yaml:"word-ngrams" json:"word_ngrams"`   // text: words in a row that are a feature, at most
	Buckets        int     `yaml:"buckets,omitempty" json:"buckets"` // text: what n-grams are hashed to; 0 = 2,000,000
}

// defaultWords are word2vec.c's and fastText's.
func defaultWords() Words {
	return Words{Window: 5, Negatives: 5, Subsample: 1e-3, NoiseExponent: 0.75, WordNGrams: 1}
}

// textOptions are how text is read for the model; nil: it has other data.
func (c *Config) textOptions() *text.Options {
	least := func(auto int) int {
		if c.MinCount == 0 {
			return auto
		}
		return c.MinCount
	}
	switch model.FamilyOf(c.Model) {
	case model.Words:
		return &text.Options{Kind: text.Words, MinCount: least(5), Window: c.Window, Negatives: c.Negatives,
			Sample: c.Subsample, NoiseExponent: c.NoiseExponent, OneGroup: c.CBOW || c.ShareNegatives}
	case model.Text:
		o := &text.Options{Kind: text.Labels, MinCount: least(1), NGrams: c.WordNGrams, Label: "__label__"}
		if o.NGrams > 1 {
			if o.Buckets = c.Buckets; o.Buckets == 0 {
				o.Buckets = 2_000_000
			}
		}
		return o
	}
	return nil
}

// ofModel is a setting that only models of a family have.
func ofModel(name string, f model.Family) []need {
	return []need{{"model", "use model " + name, false, func(k known) bool { return model.FamilyOf(k.Model) == f }}}
}

var ofWords, ofText = ofModel("word2vec:100", model.Words), ofModel("text:100", model.Text)

// tableOfText is the part of the table for models of text.
var tableOfText = Group{"Text", []Setting{
	{Name: "min-count", Value: func(c *Config) any { return &c.MinCount },
		Usage: "`N` leave out words that occur less often; auto: 5 for word2vec, 1 for text", Zero: "auto",
		most: 1 << 30,
		needs: []need{{"model", "use model word2vec:100 or text:100", false,
			func(k known) bool { return !k.not(model.Words, model.Text) }}}},
	{Name: "cbow", Value: func(c *Config) any { return &c.CBOW },
		Usage: "word2vec: predict a word from the mean of those around it (CBOW), not from each (skip-gram)",
		needs: ofWords},
	{Name: "window", Value: func(c *Config) any { return &c.Window },
		Usage: "`N` word2vec: words to each side of a word, at most; how many is drawn anew each time",
		least: 1, most: 1000, needs: ofWords},
	{Name: "negatives", Value: func(c *Config) any { return &c.Negatives },
		Usage: "`K` word2vec: negative samples for each word that is predicted",
		least: 1, most: 100, needs: ofWords},
	{Name: "share-negatives", Value: func(c *Config) any { return &c.ShareNegatives },
		Usage: "word2vec: all pairs of a window share their negative samples (faster; see docs/words.md)",
		needs: append([]need{{"cbow", "", false, func(k known) bool { return !k.CBOW }}}, ofWords...)},
	{Name: "subsample", Value: func(c *Config) any { return &c.Subsample },
		Usage: "`T` word2vec: leave out occurrences of words with a larger share of the text, most of the most " +
			"frequent; 0: none",
		most: 1, needs: ofWords},
	{Name: "noise-exponent", Value: func(c *Config) any { return &c.NoiseExponent },
		Usage: "`X` word2vec: negative samples are drawn by their counts to the power of X",
		least: -10, most: 10, needs: ofWords},
	{Name: "word-ngrams", Value: func(c *Config) any { return &c.WordNGrams },
		Usage: "`N` text: sequences of up to N words are features, too",
		least: 1, most: 16, needs: ofText},
	{Name: "buckets", Value: func(c *Config) any { return &c.Buckets },
		Usage: "`N` text: features that sequences of words are hashed to; auto: 2000000", Zero: "auto",
		most: 1 << 30,
		needs: append([]need{
			{"word-ngrams", "use word-ngrams 2", false, func(k known) bool { return k.WordNGrams > 1 }},
		}, ofText...)},
}}
