// Package model computes losses and gradients on slices: linear models and
// multilayer perceptrons under five losses, and whatever a program registers. It
// does not know that weights are shared, nor how they are updated.
package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hogwild/hogwild/data"
)

// Param is one named tensor of a model's weights. Shape is PyTorch's (a linear
// layer's weight is out x in), and so is the order of elements in files. In memory
// a Param with Transposed set is stored in x out, so that walking the non-zero
// inputs of an example touches contiguous weights.
type Param struct {
	Name       string // as torch.nn.Sequential names it: 0.weight
	Shape      []int
	Transposed bool
	Decay      bool // subject to l1 and l2: weights are, biases are not
}

// Part is the gradient of one weight matrix over a batch, still factored: for
// W (in x out) at Offset it is sum_i X[i] D[i]' with X[i] the i-th row of inputs,
// D[i] its delta (b x out, already divided by b); the bias, at Bias unless that is
// -1, has sum_i D[i]. With X nil the part is dense: G is the gradient of the
// len(G) weights at Offset.
type Part struct {
	Offset, In, Out int
	Bias            int
	X               []data.Row
	D               []float32
	G               []float32
}

// Gradient is what Grad leaves behind: the parts cover each weight at most once.
type Gradient struct{ Parts []Part }

// Score is what an evaluation adds up over n examples.
type Score struct {
	N       int
	Loss    float64 // sum over examples
	Correct int     // classification
	SqErr   float64 // regression: sum of (prediction - y)^2
	Y, Y2   float64 // regression: sum of y and of y^2
}

// Model computes losses and gradients on slices. A Model owns its scratch memory:
// it serves one goroutine. It does not know that w is shared and may change while
// it is read.
type Model interface {
	// Params lists the tensors in the order in which they lie in w, without gaps.
	Params() []Param
	// Init writes the initial weights, a function of the seed alone.
	Init(w []float32, seed uint64)
	// Grad sets g to the gradient of the batch's mean loss at w, and returns the
	// summed loss. g's slices are views of w's scratch, valid until the next call.
	Grad(w []float32, b *data.Batch, g *Gradient) float64
	// Eval returns the sums of loss and errors over the batch.
	Eval(w []float32, b *data.Batch) Score
}

// registry holds the models that the program added.
var registry = map[string]func(data.Meta) (Model, error){}

// Register adds a model under a name that New, and with it the trainer, then
// knows. f makes one for the data that m describes. Workers are processes of the
// same binary: call Register in all of them, before anything is run (an init
// function does both). A name that is taken panics.
func Register(name string, f func(m data.Meta) (Model, error)) {
	_, taken := registry[name]
	if name == "" || taken || builtin(name) {
		panic(fmt.Sprintf("model: Register: the name %q is empty or taken", name))
	}
	registry[name] = f
}

// Registered tells whether name is a user's own model.
func Registered(name string) bool { return registry[name] != nil }

// New makes the model of that name, registered or built in, for the data that m
// describes. Name and loss may be empty: Resolve says what is chosen then.
func New(name, loss string, m data.Meta, bias bool) (Model, error) {
	if f, ok := registry[name]; ok {
		if err := noOptions(name, loss, bias); err != nil {
			return nil, err
		}
		return f(m)
	}
	s, err := Resolve(name, loss, m, bias)
	if err != nil {
		return nil, err
	}
	return s.New(), nil
}

// noOptions refuses options that a registered model would not hear of.
func noOptions(name, loss string, bias bool) error {
	if loss != "" || !bias {
		return fmt.Errorf("model: %s is the program's own model: it takes neither a loss nor the absence of biases", name)
	}
	return nil
}

// known lists the names that New accepts.
func known() string {
	names := []string{"softmax", "logistic", "hinge", "linear", "l1", "mlp:WIDTHS (mlp:128; mlp:256,128)"}
	return strings.Join(append(names, slices.Sorted(maps.Keys(registry))...), ", ")
}
