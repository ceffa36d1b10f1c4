package model

import (
	"slices"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
)

// Family is a kind of models that are made and trained alike: the file of its models fills it in. Others ask for its
// traits.
type Family struct {
	Layered  bool // the first layer is a linear one on the inputs, whose spectrum says how far a step may go
	Network  bool // there are layers between inputs and outputs
	Entries  bool // an example is an entry of a matrix, whose row and column have weights of their own
	Ranks    bool // an example touches candidates, too, that are drawn for it
	Alike    bool // all of these alike, unless it is said otherwise
	Projects bool // a step ends with a projection of the weights
	Whole    bool // the objective is about all examples: none is held out
	// a step is of many rows at once, which share negatives; their loss does not say which weights rank best, and the
	// last ones are kept
	Chunks bool
	Weighs bool // multiplies the loss of a row by the row's weight
	L1     bool // takes the regularizer l1
	Halves bool // a GPU may store its rows in half precision

	Reads    string  // the kind of text that it reads, see package text; its weights are vectors of words. "": none
	Rate     float64 // the default learning rate and epochs; 0: by the data
	OneRate  float64 // the default where rows have no rates of their own, as they have by default; 0: they have not
	Epochs   int
	Schedule string // likewise; "": constant

	forms   []string // of its names, for people: a name, or what is before a colon, stands first
	task    func(name, loss string) (string, error)
	resolve func(o Options, m data.Meta) (Spec, error)
	build   func(s Spec) Model
}

// families are all of them but Own.
var families = []*Family{Linear, Perceptron, Convolutional, Factor, BPR, WARP, Cut, Words, Text, Graph}

// Own is what a program registers, and an unknown name.
var Own = &Family{L1: true}

// FamilyOf returns the family of the models of a name.
func FamilyOf(name string) *Family {
	kind, _, _ := strings.Cut(name, ":")
	for _, f := range families {
		if slices.Contains(f.names(), kind) && (f != Linear || name == kind) {
			return f
		}
	}
	return Own
}

// names returns the family's names, without what follows a colon.
func (f *Family) names() (names []string) {
	for _, form := range f.forms {
		name, _, _ := strings.Cut(form, " ")
		name, _, _ = strings.Cut(name, ":")
		names = append(names, name)
	}
	return names
}

// Family returns the model's family.
func (s Spec) Family() *Family { return FamilyOf(s.Name) }

// Rehearses reports whether the curvature in the weights grows as the model learns, and is measured on a trial run.
func (f *Family) Rehearses() bool { return f.Layered && f.Network }

// OfText reports whether the model is one of words: their vectors are its weights.
func (f *Family) OfText() bool { return f.Reads != "" }

// OfWords reports whether an example is a word of a text.
func (f *Family) OfWords() bool { return f.Reads == text.Words }

// Short reports whether an example is about a few weights only; kind is the set's.
func (f *Family) Short(kind data.Kind) bool {
	return kind.Entries() || kind.Words() || kind.Facts() || kind.Sparse() && f != Perceptron
}
