package model

import (
	"math"
	"slices"
)

// Constant returns the outputs that fit labels best when the inputs are ignored: the mean or the
// median of values, and for classes what predicts their shares. A model that does worse has
// learned nothing. Nil for a model that predicts nothing, or whose loss is unknown.
func (s Spec) Constant(labels []float32) []float32 {
	if f := s.Family(); f == Own || f == Cut || f == Words || f.Ranks || f.Chunks || len(labels) == 0 {
		return nil
	}
	switch s.Loss {
	case Squared:
		sum := 0.0
		for _, y := range labels {
			sum += float64(y)
		}
		return []float32{float32(sum / float64(len(labels)))}
	case L1:
		sorted := slices.Sorted(slices.Values(labels))
		return []float32{sorted[len(sorted)/2]}
	}
	shares := ClassShares(labels, s.Classes)
	z := make([]float32, s.Outputs)
	for c := range z {
		p := shares[c]
		if s.Outputs == 1 {
			p = shares[1]
		}
		switch {
		case s.Loss == CrossEntropy:
			z[c] = float32(math.Log(p))
		case s.Loss == Logistic:
			z[c] = float32(math.Log(p / (1 - p)))
		case s.Loss == SquaredHinge:
			z[c] = float32(2*p - 1)
		case p > 0.5: // hinge
			z[c] = 1
		default:
			z[c] = -1
		}
	}
	return z
}

// Start sets the bias of the outputs of a model of values to the constant predictor: from 0, where
// all prices are 250,000, most steps would go into finding that.
func (s Spec) Start(w []float32, params []Param, labels []float32) {
	if !s.Loss.values() || !s.Bias || !s.Family().Layered && !s.Family().Network {
		return
	}
	copy(w[Offsets(params)[LastLayer(params)+1]:], s.Constant(labels))
}

// ScoreConstant returns the score on labels of outputs that are the same for every example. With
// Constant's it is the score to beat.
func (s Spec) ScoreConstant(outputs, labels []float32) (total Score) {
	z, label := make([]float32, len(outputs)), make([]float32, 1)
	add := func(y float32, n int) {
		copy(z, outputs)
		label[0] = y
		one := s.Loss.score(z, label, len(z))
		one.Loss = s.Loss.deltas(z, label, len(z)) // overwrites z
		total.Add(one, n)
	}
	if s.Classes == 0 {
		for _, y := range labels {
			add(y, 1)
		}
		return total
	}
	counts := make([]int, s.Classes)
	for _, y := range labels {
		counts[int(y)]++
	}
	for c, n := range counts {
		add(float32(c), n)
	}
	return total
}

// ClassShares returns the shares of k classes among labels. A class without labels counts as a
// part of one row, so that no share is 0.
func ClassShares(labels []float32, k int) []float64 {
	if k == 0 {
		return nil
	}
	shares := make([]float64, k)
	total := float64(len(labels)) + 1
	for c := range shares {
		shares[c] = 1 / (float64(k) * total)
	}
	for _, y := range labels {
		shares[int(y)] += 1 / total
	}
	return shares
}
