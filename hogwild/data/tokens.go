package data

import (
	"slices"

	"hogwild/shm"
)

// tokenRows are the words of a text: a number each, and how many of each there are is in the vocabulary.
type tokenRows struct{ bare }

func init() { layouts[Tokens] = tokenRows{} }

func (tokenRows) inputs(s *Set, _ int) []array {
	return []array{ofRows("idx", shm.U32, &s.Idx, s.Rows)}
}

func (tokenRows) former(s *Set) former {
	var windows *Windows
	return func(b *Batch, rows, _ []int32) {
		if windows == nil {
			windows = NewWindows(s)
		}
		b.Windows = b.Windows[:0]
		for _, i := range rows {
			w := windows.At(i, b.Epoch)
			b.Rows, b.Y = append(b.Rows, Row{}), append(b.Y, 0)
			b.Windows = append(b.Windows, Window{slices.Clone(w.Inputs), slices.Clone(w.Targets)})
		}
	}
}

// count takes the shares of words in what is trained on, in other sets too.
func (tokenRows) count(s *Set) {
	total, counts := 0.0, s.Text.Vocabulary.Counts
	for _, c := range counts {
		total += float64(c)
	}
	for j, c := range counts {
		s.Freq[j] = float32(float64(c) / total)
	}
	s.Nonzeros = int64(s.Rows)
}
