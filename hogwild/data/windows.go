package data

import (
	"math"
	"math/bits"

	"hogwild/internal/vec"
)

// SentenceStart marks the first word of a sentence in the Idx of Tokens.
const SentenceStart = 1 << 31

// NoTarget stands where a negative was drawn that is the word itself: it is left out, as in word2vec.c.
const NoTarget = vec.NoTarget

// Evaluation is the epoch whose windows a text is evaluated with.
const Evaluation = -1

// Windows draws them, as word2vec.c does (Mikolov et al. 2013, "Distributed representations", sections 2.2 and 2.3).
// Whether a word is kept, how far its window reaches and which negatives it has are functions of seed, epoch and row:
// every process draws the same, and a chunk that is trained again is the same work.
type Windows struct {
	s     *Set
	keep  []uint32 // of each word: how many of 2^32 draws keep it
	table []alias
	reach int

	window [2]Window // the last two, in turn
	turn   int
}

// alias is a row of an alias table (Walker 1977): of 2^32 draws own are the word itself, and others are other.
type alias struct{ own, other uint32 }

// NewWindows makes the tables for a set of Tokens.
func NewWindows(s *Set) *Windows {
	o := s.Text
	w := &Windows{s: s, keep: make([]uint32, s.Features), reach: o.Window}
	weights := make([]float64, s.Features)
	for j, f := range s.Freq {
		w.keep[j] = math.MaxUint32
		if t := o.Sample; t > 0 {
			share := (math.Sqrt(float64(f)/t) + 1) * t / float64(f)
			w.keep[j] = uint32(min(1, share) * math.MaxUint32)
		}
		weights[j] = math.Pow(float64(f), o.NoiseExponent)
	}
	w.table = aliasTable(weights)
	return w
}

// aliasTable returns the table by which words are drawn with probabilities in proportion to the weights.
func aliasTable(weights []float64) []alias {
	sum := 0.0
	for _, v := range weights {
		sum += v
	}
	n := len(weights)
	table, share := make([]alias, n), make([]float64, n)
	var small, large []int
	for j, v := range weights {
		table[j] = alias{math.MaxUint32, uint32(j)}
		if share[j] = v / sum * float64(n); share[j] < 1 {
			small = append(small, j)
		} else {
			large = append(large, j)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		table[s] = alias{uint32(share[s] * math.MaxUint32), uint32(l)}
		if share[l] -= 1 - share[s]; share[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	return table
}

// Tables returns what the windows are drawn by, for a device that draws the same: what all draws of the set have in
// common (mixed with an epoch it is their key), of each word how many of 2^32 draws keep it, and its row of the alias
// table, two numbers each: how many draws are the word itself, and which word the others are.
func (w *Windows) Tables() (base uint64, keep, table []uint32) {
	for _, a := range w.table {
		table = append(table, a.own, a.other)
	}
	return w.base(), w.keep, table
}

// draw returns the random number of the word at a row: its upper half decides whether it is kept.
func draw(key uint64, row int) uint64 { return mix(key + uint64(row)*0x9e3779b97f4a7c15) }

func (w *Windows) base() uint64 { return mix(w.s.Seed + drawWindows) }

// key returns what all draws of an epoch have in common.
func (w *Windows) key(epoch int) uint64 { return mix(w.base() + uint64(epoch)) }

// At returns the window of the word at a row, valid until the call after the next. It has no Inputs if the word is left
// out, or no word around it is kept.
func (w *Windows) At(row int32, epoch int) Window {
	i, key, all := int(row), w.key(epoch), w.s.Idx
	w.turn ^= 1
	window := &w.window[w.turn]
	in, out := window.Inputs[:0], window.Targets[:0]
	x := draw(key, i)
	word := all[i] &^ SentenceStart
	if uint32(x>>32) > w.keep[word] {
		return Window{}
	}
	reach := 1 + int(x&math.MaxUint32*uint64(w.reach)>>32)
	for j := i; j > 0 && all[j]&SentenceStart == 0 && len(in) < reach; {
		j--
		if id := all[j] &^ SentenceStart; uint32(draw(key, j)>>32) <= w.keep[id] {
			in = append(in, id)
		}
	}
	for a, b := 0, len(in)-1; a < b; a, b = a+1, b-1 {
		in[a], in[b] = in[b], in[a]
	}
	for j, n := i+1, len(in)+reach; j < len(all) && all[j]&SentenceStart == 0 && len(in) < n; j++ {
		if id := all[j]; uint32(draw(key, j)>>32) <= w.keep[id] {
			in = append(in, id)
		}
	}
	groups := min(len(in), 1)
	if !w.s.Text.OneGroup {
		groups = len(in)
	}
	for range groups {
		out = append(out, word)
		for range w.s.Text.Negatives {
			x = x*6364136223846793005 + 1442695040888963407
			at, part := bits.Mul64(x, uint64(len(w.table)))
			id := uint32(at)
			if n := w.table[at]; uint32(part>>32) > n.own {
				id = n.other
			}
			if id == word {
				id = NoTarget
			}
			out = append(out, id)
		}
	}
	*window = Window{in, out}
	return *window
}
