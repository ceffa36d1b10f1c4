package model

import (
	"strings"

	"hogwild/hogwild/data"
)

// Family is a kind of models that are made and trained alike.
type Family int

// The families. What a program registers is its Own, and so is a name that nobody knows.
const (
	Own Family = iota
	Linear
	Perceptron
	Convolutional
	Factor
	Cut
	Words
	Text
)

// FamilyOf is the family of the models of a name, which is not "".
func FamilyOf(name string) Family {
	kind, _, _ := strings.Cut(name, ":")
	switch kind {
	case "mlp":
		return Perceptron
	case "convnet", "conv":
		return Convolutional
	case "factor":
		return Factor
	case "cut":
		return Cut
	case "word2vec":
		return Words
	case "text":
		return Text
	}
	for _, linear := range linearName {
		if name == linear {
			return Linear
		}
	}
	return Own
}

// Family is that of the model.
func (s Spec) Family() Family { return FamilyOf(s.Name) }

// Layered reports whether the first layer is a linear one on the inputs, whose spectrum then
// says how far a step may go.
func (f Family) Layered() bool { return f == Linear || f == Perceptron }

// OfText reports whether the model is one of words: their vectors are its weights.
func (f Family) OfText() bool { return f == Words || f == Text }

// Short reports whether an example is about a few weights only; kind is that of the set.
func (f Family) Short(kind data.Kind) bool {
	return kind.Entries() || kind.Words() || kind.Sparse() && f != Perceptron
}
