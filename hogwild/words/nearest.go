package words

import (
	"fmt"
	"io"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
	"hogwild/internal/vec"
)

// Neighbour is a word, and the cosine of its vector with that of the word asked about.
type Neighbour struct {
	Word   string  `json:"word"`
	Cosine float32 `json:"cosine"`

	id int
}

// Nearest are the neighbours of a word, the nearest first.
type Nearest struct {
	Word string      `json:"word"`
	Near []Neighbour `json:"nearest"`
}

// Neighbours are those of several words.
type Neighbours []Nearest

// Nearest finds the neighbours of words, n of each. The error, which matches config.ErrUsage, names a word that has no
// vector.
func (v *Vectors) Nearest(words []string, n int) (Neighbours, error) {
	var all Neighbours
	z := make([]float32, len(v.Words))
	for _, word := range words {
		id := slices.Index(v.Words, word)
		if id < 0 {
			return nil, config.Usage("%s has no word %s%s", v.Path, human.Quote(word),
				human.Suggest("", word, v.Words[:min(len(v.Words), 1<<16)]))
		}
		for j := range z {
			z[j] = vec.Dot(v.unit(id), v.unit(j))
		}
		near := Nearest{Word: word}
		for _, b := range best(z, n, []int{id}) {
			near.Near = append(near.Near, Neighbour{v.Words[b.id], b.Cosine, b.id})
		}
		all = append(all, near)
	}
	return all, nil
}

// best are the n largest of z, but for some that are left out, the largest first.
func best(z []float32, n int, out []int) []Neighbour {
	top := make([]Neighbour, 0, n+1)
	for j, x := range z {
		if len(top) == n && !(x > top[n-1].Cosine) || slices.Contains(out, j) {
			continue
		}
		at := len(top)
		for at > 0 && x > top[at-1].Cosine {
			at--
		}
		top = slices.Insert(top, at, Neighbour{Cosine: x, id: j})
		top = top[:min(len(top), n)]
	}
	return top
}

// WriteText writes a word and its neighbours below each other.
func (n Neighbours) WriteText(w io.Writer) error {
	for i, of := range n {
		if i > 0 {
			fmt.Fprintln(w)
		}
		rows := [][]string{{of.Word, "cosine"}}
		for _, near := range of.Near {
			rows = append(rows, []string{"  " + near.Word, fmt.Sprintf("%.4f", near.Cosine)})
		}
		if _, err := io.WriteString(w, human.Aligned(rows)); err != nil {
			return err
		}
	}
	return nil
}
