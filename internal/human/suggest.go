package human

import (
	"fmt"
	"slices"
)

// Suggest is "; did you mean X?" for the name that is most like the word, or
// nothing when none is like it.
func Suggest(prefix, word string, names []string) string {
	best, least := "", 1+min(2, len(word)/2)
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// distance counts the letters to insert, delete or replace to make b of a
// (Levenshtein): row[j] is the distance from the part of a read so far to b[:j].
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			replace := before[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, before[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
