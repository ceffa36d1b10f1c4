package model

import "hogwild/hogwild/data"

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
