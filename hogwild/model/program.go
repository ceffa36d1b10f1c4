package model

import (
	"fmt"
	"slices"

	"hogwild/hogwild/data"
)

// ProgramName is the name of the model that a program of the user's computes: see Layout.
const ProgramName = "program"

// The values of Tensor.Kind.
const (
	Parameter = "parameter" // trained
	Frozen    = "frozen"    // a parameter that takes no gradient
	Buffer    = "buffer"    // numbers that the program updates, as the running mean of BatchNorm
	Integer   = "integer"   // a buffer of integers; among the weights they are float32 numbers
)

// Tensor is a named tensor of a program's model.
type Tensor struct {
	Name  string `json:"name"` // in PyTorch's state_dict
	Shape []int  `json:"shape"`
	Kind  string `json:"kind"` // parameter, frozen, buffer, integer
}

// Layout is what a program says of its model. It is the same in all processes of a run. The tensors
// lie in the weights in this order.
type Layout struct {
	Tensors []Tensor          `json:"tensors"`
	Same    map[string]string `json:"same,omitempty"` // names of tensors that are another one: tied weights
	// A program with a data set of its own says how many examples that has: of training, and to test.
	// The run then deals out their indices.
	Rows     int `json:"rows,omitempty"`
	TestRows int `json:"test_rows,omitempty"`
}

// Params returns the tensors as the weights have them.
func (l *Layout) Params() []Param {
	ps := make([]Param, len(l.Tensors))
	for i, t := range l.Tensors {
		ps[i] = Param{Name: t.Name, Shape: slices.Clone(t.Shape), Fixed: t.Kind != Parameter,
			Buffer: t.Kind == Buffer || t.Kind == Integer}
	}
	return ps
}

// programModel has the tensors of a layout. The program itself computes losses and gradients.
type programModel struct{ layout *Layout }

// Params is Model's.
func (m programModel) Params() []Param { return m.layout.Params() }

// Init is Model's. The program writes the first weights: see package program.
func (m programModel) Init([]float32, uint64) {}

// Grad panics: see package program.
func (m programModel) Grad([]float32, *data.Batch, *Gradient) float64 { panic(computes("a gradient")) }

// Eval panics: see package program.
func (m programModel) Eval([]float32, *data.Batch) Score { panic(computes("a loss")) }

func computes(what string) string {
	return fmt.Sprintf("model: the program computes %s, and not this process", what)
}
