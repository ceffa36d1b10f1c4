package data

import (
	"math"
	"slices"

	"hogwild/hogwild/data/format"
)

// noise is how much of a label is not in the row, against a margin of deviation 1:
// arctan(noise)/pi of all labels, 5%, are on the wrong side, as for a good classifier of
// RCV1's largest topic (Lewis, Yang, Rose, Li 2004).
const noise = 0.16

// sparseMaker makes rows as texts are: the columns of a row are drawn by Zipf's law;
// the values are (1 + log tf) log(1/share of rows), and the length of a row is 1. The label is
// the side of a plane on which the row lies. Columns are numbered by how frequent they are, the most
// frequent first, or in any order.
type sparseMaker struct {
	rows, columns, nonzeros, test int
	ranked                        bool
}

func (k sparseMaker) meta() Meta {
	return Meta{Rows: k.rows, Features: k.columns, Nonzeros: int64(k.rows) * int64(k.nonzeros), Kind: Sparse,
		Classes: []string{"-1", "1"}}
}

func (k sparseMaker) tests() int { return k.test }

func (k sparseMaker) make(budget *format.Budget, m Meta, use, seed uint64) (*Set, error) {
	number := make([]uint32, k.columns) // of the column at each rank
	for rank := range number {
		if number[rank] = uint32(rank); !k.ranked {
			number[rank] = uint32(Permuted(rank, k.columns, seed, forTruth))
		}
	}
	s, err := create(m, m.Rows*k.nonzeros, budget)
	if err != nil {
		return nil, err
	}
	law := newZipf(k.columns, max(1, float64(k.columns)/1000))
	truth, rarity := planted(seed, k.columns), make([]float32, k.columns)
	for j := range rarity {
		rarity[number[j]] = float32(-math.Log(min(0.9, float64(k.nonzeros)*law.chance(j))))
	}
	return filled(s, budget, inParallel(func(from, to int) {
		for i := from; i < to; i++ {
			d := drawsOf(seed, use, i)
			at, end := i*k.nonzeros, (i+1)*k.nonzeros
			k.columnsOf(s.Idx[at:end], law, number, &d)
			margin := weigh(s.Val[at:end], s.Idx[at:end], rarity, truth, &d)
			s.Ptr[i+1] = int64(end)
			s.Y[i] = label(margin+noise*d.normal(), m)
		}
	}))
}

// planted returns the true weights of n features.
func planted(seed uint64, n int) []float32 {
	w := make([]float32, n)
	for j := range w {
		d := drawsOf(seed, forTruth, j)
		w[j] = d.normal()
	}
	return w
}

// label returns the class of a margin; without classes, what the class is called.
func label(margin float32, m Meta) float32 {
	switch {
	case margin > 0:
		return 1
	case m.Classes == nil:
		return -1
	}
	return 0
}

// columnsOf draws different columns, in rising order. When those that are frequent are
// used up, it draws all alike.
func (k sparseMaker) columnsOf(idx []uint32, law zipf, number []uint32, d *draws) {
	for have, round := 0, 0; have < len(idx); round++ {
		for i := have; i < len(idx); i++ {
			if round < 16 {
				idx[i] = number[law.draw(d)]
			} else {
				idx[i] = uint32(d.below(k.columns))
			}
		}
		slices.Sort(idx)
		have = len(slices.Compact(idx))
	}
}

// weigh writes the values of a row, and returns its true margin.
func weigh(val []float32, idx []uint32, rarity, truth []float32, d *draws) (margin float32) {
	var squares float64
	for i, j := range idx {
		often := 1 // a word occurs once again with probability 1/2
		for x := d.next(); x&1 != 0 && often < 8; x >>= 1 {
			often++
		}
		val[i] = oftener[often] * rarity[j]
		squares += float64(val[i]) * float64(val[i])
	}
	length := float32(math.Sqrt(squares))
	for i, j := range idx {
		val[i] /= length
		margin += float32(val[i] * truth[j])
	}
	return margin
}

// oftener is 1 + log of how often a word occurs.
var oftener = func() (t [9]float32) {
	for n := 1; n < len(t); n++ {
		t[n] = float32(1 + math.Log(float64(n)))
	}
	return t
}()

// denseMaker makes rows of normal numbers, and labels as sparseMaker does: or values, the
// margins that labels would be the signs of.
type denseMaker struct {
	rows, columns int
	values        bool
}

func (k denseMaker) meta() Meta {
	m := Meta{Rows: k.rows, Features: k.columns, Nonzeros: int64(k.rows) * int64(k.columns), Kind: Floats}
	if !k.values {
		m.Classes = []string{"-1", "1"}
	}
	return m
}

func (k denseMaker) tests() int { return sixth(k.rows) }

func (k denseMaker) make(budget *format.Budget, m Meta, use, seed uint64) (*Set, error) {
	s, err := create(m, 0, budget)
	if err != nil {
		return nil, err
	}
	truth, root := planted(seed, k.columns), float32(math.Sqrt(float64(k.columns)))
	return filled(s, budget, inParallel(func(from, to int) {
		for i := from; i < to; i++ {
			d, margin := drawsOf(seed, use, i), float32(0)
			row := s.X[i*k.columns : (i+1)*k.columns]
			for j := range row {
				row[j] = d.normal()
				margin += float32(row[j] * truth[j])
			}
			if s.Y[i] = margin/root + float32(noise*d.normal()); !k.values {
				s.Y[i] = label(s.Y[i], m)
			}
		}
	}))
}
