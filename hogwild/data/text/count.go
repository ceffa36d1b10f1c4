package text

import (
	"bytes"
	"cmp"
	"slices"
)

// Count is the vocabulary of the words of some lines that occur as often as least.
func Count(all []byte, least int, use func(line int) bool) *Vocabulary {
	places := map[string]int{}
	var counts []int64
	var words []string
	line := 0
	for l := range bytes.Lines(all) {
		if use(line) {
			for w := range bytes.FieldsSeq(l) {
				i, ok := places[string(w)]
				if !ok {
					i = len(words)
					word := string(w)
					places[word] = i
					words, counts = append(words, word), append(counts, 0)
				}
				counts[i]++
			}
		}
		line++
	}
	order := make([]int, 0, len(words))
	for i, c := range counts {
		if c >= int64(least) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	v := &Vocabulary{}
	for _, i := range order {
		v.Words, v.Counts = append(v.Words, words[i]), append(v.Counts, counts[i])
	}
	return v
}
