// Package words finds the neighbours of words among vectors. The vectors are a run's, or in files of word2vec.
//
//	nearest.go  neighbours
//	open.go     the vectors of a run or a file
//	read.go     files of word2vec
//	vectors.go  the vectors
package words

import (
	"fmt"
	"io"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
	"hogwild/internal/vec"
)

// Neighbour is a word, and the cosine of its vector with the asked word's.
type Neighbour struct {
	Word   string  `json:"word"`
	Cosine float32 `json:"cosine"`
}

// Nearest are the neighbours of a word, the nearest first.
type Nearest struct {
	Word string      `json:"word"`
	Near []Neighbour `json:"nearest"`
}

// Neighbours are the neighbours of several words.
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
		all = append(all, Nearest{word, v.best(z, n, id)})
	}
	return all, nil
}

// best returns the n words with the largest cosines z, but for one that is left out, the largest first.
func (v *Vectors) best(z []float32, n, out int) (top []Neighbour) {
	for j, x := range z {
		if len(top) == n && !(x > top[n-1].Cosine) || j == out {
			continue
		}
		at := len(top)
		for at > 0 && x > top[at-1].Cosine {
			at--
		}
		top = slices.Insert(top, at, Neighbour{v.Words[j], x})
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
