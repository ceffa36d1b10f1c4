package config

import "hogwild/hogwild/data/text"

// reading returns what a setting needs that has an effect only on models that read a kind of text.
func reading(kind, name string) []need {
	return []need{{"model", "use model " + name, false, func(k known) bool { return k.family().Reads == kind }}}
}

var ofWords, ofText = reading(text.Words, "word2vec:100"), reading(text.Labels, "text:100")

// tableOfText is the part of the table for models of text.
var tableOfText = Group{"Text", []Setting{
	{Name: "min-count", Usage: "`N` leave out words that occur less often; auto: 5 for word2vec, 1 for text",
		Zero: "auto", most: 1 << 30,
		needs: []need{{"model", "use model word2vec:100 or text:100", false,
			func(k known) bool { return k.family().OfText() }}}},
	{Name: "cbow", Usage: "word2vec: predict a word from the mean of those around it (CBOW), not from each (skip-gram)",
		needs: ofWords},
	{Name: "window", Usage: "`N` word2vec: words to each side of a word, at most; how many is drawn anew each time",
		least: 1, most: 1000, needs: ofWords},
	{Name: "negatives", Usage: "`K` negative samples: word2vec: for each word that is predicted (auto: 5); kge: for " +
		"the heads, and as many for the tails, of 64 facts (auto: 512)",
		Zero: "auto", most: 1 << 16, needs: []need{{"model", "use model word2vec:100 or kge:complex:128", false,
			func(k known) bool { return k.family().OfWords() || k.family().Chunks }}}},
	{Name: "share-negatives", Usage: "word2vec: all pairs of a window share their negative samples (faster; see " +
		"docs/words.md)",
		needs: append([]need{{"cbow", "", false, func(k known) bool { return !k.CBOW }}}, ofWords...)},
	{Name: "subsample", Usage: "`T` word2vec: leave out occurrences of words with a larger share of the text, most " +
		"of the most frequent; 0: none",
		most: 1, needs: ofWords},
	{Name: "noise-exponent", Usage: "`X` word2vec: negative samples are drawn by their counts to the power of X",
		least: -10, most: 10, needs: ofWords},
	{Name: "word-ngrams", Usage: "`N` text: sequences of up to N words are features, too",
		least: 1, most: 16, needs: ofText},
	{Name: "buckets", Usage: "`N` text: features that sequences of words are hashed to; auto: 2000000", Zero: "auto",
		most: 1 << 30,
		needs: append([]need{
			{"word-ngrams", "use word-ngrams 2", false, func(k known) bool { return k.WordNGrams > 1 }},
		}, ofText...)},
}}
