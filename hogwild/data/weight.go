package data

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// Balanced is the weight of classes that makes all as heavy as each other: n / (k count), where n and the count of
// each of k classes are sums of the rows' weights.
const Balanced = "balanced"

// Weighted reports whether some rows of the set count more than others.
func (s *Set) Weighted() bool { return s.W != nil || s.class != nil }

// Weights returns the factors of WeightOf: one of each row, and one of each class; nil: all are 1.
func Weights(s *Set) (rows, classes []float32) { return s.W, s.class }

// WeightOf returns by what the loss of a row is multiplied.
func (s *Set) WeightOf(i int32) float32 {
	w := float32(1)
	if s.W != nil {
		w = s.W[i]
	}
	if s.class != nil {
		w *= s.class[int(s.Y[i])]
	}
	return w
}

// weightsOf appends the weights of rows; of a set that is not weighted, none.
func weightsOf(s *Set, to []float32, rows []int32) []float32 {
	if s.Weighted() {
		for _, i := range rows {
			to = append(to, s.WeightOf(i))
		}
	}
	return to
}

// WeightOf returns by what the loss of row i of the batch is multiplied.
func (b *Batch) WeightOf(i int) float32 {
	if len(b.W) == 0 {
		return 1
	}
	return b.W[i]
}

// Heavy returns E[w^2]/E[w] of the rows' weights w: by so much shorter steps are as stable as without weights. 0: the
// set is not weighted.
func (s *Set) Heavy() float64 {
	sum, squares := 0., 0.
	for i := 0; s.Weighted() && i < s.Rows; i++ {
		w := float64(s.WeightOf(int32(i)))
		sum, squares = sum+w, squares+w*w
	}
	return squares / max(sum, math.SmallestNonzeroFloat64)
}

// Weighed returns the set with weights of its classes, by which its rows' own are multiplied: Balanced, or NAME=WEIGHT
// between commas, where others have 1. "" is none.
func (s *Set) Weighed(classes string) (*Set, error) {
	if s.class == nil && classes == "" {
		return s, nil
	}
	own, sums := *s, make([]float64, len(s.Classes))
	own.class = nil
	if classes == "" {
		return &own, nil
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("data: class-weight %s: %s has values to predict, not classes; give its rows weights",
			classes, s.Name)
	}
	total, occur := 0., 0.
	for i, y := range s.Y {
		w := float64(own.WeightOf(int32(i)))
		total += w
		sums[int(y)] += w
	}
	for _, sum := range sums {
		if sum > 0 {
			occur++
		}
	}
	class := slices.Repeat([]float32{1}, len(sums))
	for c, sum := range sums {
		if classes == Balanced && sum > 0 {
			class[c] = float32(total / (occur * sum))
		}
	}
	if classes != Balanced {
		if err := namedWeights(&s.Meta, classes, class); err != nil {
			return nil, err
		}
	}
	total = 0
	for c, sum := range sums {
		total += sum * float64(class[c])
	}
	if total == 0 {
		return nil, fmt.Errorf("data: class-weight %s: no row of %s has a weight above 0", classes, s.Name)
	}
	own.class = class
	return &own, nil
}

// namedWeights reads the weights of classes that are given by name.
func namedWeights(m *Meta, classes string, weights []float32) error {
	cells, err := csv.NewReader(strings.NewReader(classes)).Read()
	for _, cell := range cells {
		at := strings.LastIndexByte(cell, '=')
		w, ok := format.Number(cell[at+1:])
		if at < 0 || !ok || !(w >= 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("data: class-weight %s: %s: want balanced, or NAME=WEIGHT between commas, where a "+
				"weight is 0 or more", classes, human.Quote(cell))
		}
		v, number := format.Number(cell[:at])
		c := slices.IndexFunc(m.Classes, func(name string) bool {
			is, same := format.Number(name)
			return name == cell[:at] || number && same && is == v
		})
		if c < 0 {
			return fmt.Errorf("data: class-weight %s: no class %s; %s has %s", classes, human.Quote(cell[:at]), m.Name,
				format.Some(m.Classes))
		}
		weights[c] = float32(w)
	}
	if err != nil {
		return fmt.Errorf("data: class-weight %s: want NAME=WEIGHT between commas; one with a comma needs quotes",
			classes)
	}
	return nil
}

// checkWeights refuses weights of rows that are not finite, or below 0, or all 0. Where says where a row stands; nil:
// by its number.
func checkWeights(w []float32, name string, where func(i int) string) error {
	some := w == nil
	for i, v := range w {
		if !(v >= 0) || math.IsInf(float64(v), 0) {
			at := fmt.Sprintf("%s: row %d", name, i)
			if where != nil {
				at = where(i)
			}
			return fmt.Errorf("data: %s: weight %g: want a finite number, 0 or more", at, v)
		}
		some = some || v > 0
	}
	if !some {
		return fmt.Errorf("data: %s: all %s rows have the weight 0: there is nothing to learn from", name,
			count(len(w)))
	}
	return nil
}
