// Package model computes losses and gradients on slices: linear models, perceptrons
// and convolutional networks under five losses, matrix factorization, graph cuts, words and texts,
// and whatever a Go program registers. It does not know that weights are shared, nor how
// they are updated.
//
// What a model is: model.go, with param.go, draw.go (first weights), loss.go and center.go, for inputs less their
// means. Which there are: spec.go and family.go. The models: linear.go and mlp.go, with step.go for single rows;
// convnet.go, with convshape.go, its stages convstage.go and densestage.go on convlayer.go, and dropout.go; factor.go
// and cut.go, with touched.go and simplex.go; word2vec.go and text.go; program.go. Those that rank: rank.go,
// bpr.go, and kge.go on the losses of kgeloss.go and the scores of kgescore.go. Values in another unit: standard.go.
// Where their steps meet: hot.go. What
// they cost: flops.go. What they are to beat: constant.go.
package model

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
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
	Fixed      bool // no gradient changes it
	Buffer     bool // of a program, and fixed: where gradients are averaged its values are
	Common     bool // examples of all blocks write it: see Common
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
	// Simplex is not 0 when G is for one point of a simplex with Simplex corners: a step
	// ends with its projection (see Project), and the weights take the difference.
	Simplex int
	// BiasStep scales the step of the bias against the weights' step; 0 is 1.
	BiasStep float32
	// Center is not nil when the layer learns on centred inputs.
	Center *Center
}

// Center is what a layer on centred inputs keeps, so that zeros stay zeros. On inputs
// x - mu it computes z = V x - m s + k, where m = mu'x is kept with each row. Plain SGD on
// W = V - s mu' then is
//
//	V -= lr delta x'    s -= lr delta    k -= lr delta (1 + |mu|^2 - m)
//
// V lies where the layer's weight does, and k where its bias does.
type Center struct {
	S     int       // where s begins, as wide as the bias
	Norm2 float32   // |mu|^2
	M     []float32 // m of each row of the batch
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

	Metrics *Metrics // a program's; nil: none
}

// Metrics are sums over examples of what a program computes along with the loss, by name. Correct has accuracy's
// sum, too.
type Metrics map[string]float64

// Add adds another score n times.
func (s *Score) Add(one Score, n int) {
	s.N += n * one.N
	s.Loss += float64(n) * one.Loss
	s.Correct += n * one.Correct
	s.SqErr += float64(n) * one.SqErr
	s.Y += float64(n) * one.Y
	s.Y2 += float64(n) * one.Y2
	if one.Metrics == nil {
		return
	}
	sum := Metrics{} // of its own: copies of a score share what they point to
	if s.Metrics != nil {
		sum = maps.Clone(*s.Metrics)
	}
	for name, v := range *one.Metrics {
		sum[name] += float64(n) * v
	}
	s.Metrics = &sum
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

// RowEvaluator is a model that evaluates rows of a set where they lie.
type RowEvaluator interface {
	// EvalRows is Eval of the rows [from, to) of a set; false if it takes batches of this set.
	EvalRows(w []float32, set *data.Set, from, to int) (Score, bool)
}

// Predictor is a model that tells what it makes of inputs, whatever their labels are.
type Predictor interface {
	// Predict appends what each row of the batch is taken for: the number of a class, or a value.
	Predict(w []float32, b *data.Batch, to []float32) []float32
}

// Prober is a Predictor of classes that knows their probabilities.
type Prober interface {
	Predictor
	// Probabilities appends, for each row of the batch, one number per class. They sum to 1, and the
	// class that Predict chooses has the largest.
	Probabilities(w []float32, b *data.Batch, to []float32) []float32
}

// Stepper is a model whose step on one example is so short, or touches so few weights, that a Gradient in between
// would cost more than the step.
type Stepper interface {
	Model
	// Suits reports whether Steps can be used on the set, and, when it can, whether a worker
	// may train a copy of the weights for some hundred steps before it adds what it has
	// learnt to the weights of all.
	Suits(set *data.Set) (steps, copied bool)
	// Steps takes a step of plain SGD on each of the rows, one after the other: for each
	// what Grad on that row alone and w -= lr g do, but for rounding; a model of words changes what it
	// has read between the parts of a step. It returns the
	// summed loss. Ask for 64 rows at a time or more, all of one rate. Behind rows, as
	// far as its capacity goes, may stand the next call's rows, to be fetched ahead.
	Steps(w []float32, set *data.Set, rows []int32, s Step) float64
	// Touched appends the ranges of weights that a step on the row writes.
	Touched(set *data.Set, row int32, ranges []Range) []Range
}

// Noded is a model of the entries of a matrix, whose weights belong to its rows and columns.
type Noded interface {
	// Nodes appends the ranges of the weights that belong to the nodes from:to; the columns' are behind the rows'.
	Nodes(from, to int, ranges []Range) []Range
}

// HalfStepper is a Stepper that takes a step in two halves too, with coefficients from one
// to the other, so that a caller can put what it likes between them.
type HalfStepper interface {
	Stepper
	// CoefLen is how many coefficients a step has.
	CoefLen() int
	// Read is the half that reads: it sets coef to the coefficients of a step on the first of
	// rows. Where the guard g is not nil, and the model's loop knows what to do with it, whole
	// steps under the guard come first: as many as need not wait, done of them, and coef is for
	// the row behind these. The loss is loss - log(p), with p at least 2^-64: a caller
	// multiplies the p of many steps, and takes one logarithm, as each would take half as long
	// as a step. What stands behind those rows is fetched ahead.
	Read(w []float32, set *data.Set, rows []int32, s Step, coef []float32, g *vec.Guard) (done int, loss, p float64)
	// Write is the half that writes: by the coefficients of the row. Regularizers and
	// projections act on the weights as they are now. Read and Write in turns leave the bits
	// that Steps leaves.
	Write(w []float32, set *data.Set, row int32, s Step, coef []float32)
	// WriteAtomic is Write by compare-and-swap, on the bits of the weights: nothing that
	// others write meanwhile is lost. Where no others write, it leaves the bits that Write leaves.
	WriteAtomic(w []uint32, set *data.Set, row int32, s Step, coef []float32)
}

// Range is the weights From to To-1.
type Range struct{ From, To int }

// Step is how long the steps of a Stepper are.
type Step struct {
	LR, L2, L1 float32
	Bias       *float32  // of a linear model, when it is not to be the one in w
	Epoch      int       // from 0: a model of words draws other windows in each
	Twin       int       // from which block's ranges negatives are drawn, from 1, by models that rank; 0: from all
	Common     []float32 // of a model with Common weights, when they are not to be the ones in w
}

// times returns the step on a row whose loss, and all that it brings along, is multiplied by a.
func (s Step) times(a float32) Step {
	s.LR *= a
	return s
}

// registry holds the models that the program added, badNames the errors of those that it could not
// add.
var (
	registry = map[string]func(data.Meta) (Model, error){}
	badNames []error
)

// Register adds a model under a name that New, and with it the trainer, then
// knows. f makes one for the data that m describes. Workers are processes of the
// same binary: call Register in all of them, before anything is run (an init
// function does both). A name that is empty or taken changes nothing, and is an error of
// RegisterError, since an init function cannot return one.
func Register(name string, f func(m data.Meta) (Model, error)) {
	switch {
	case name == "":
		badNames = append(badNames, errors.New("model: Register: the name is empty"))
	case FamilyOf(name) != Own:
		badNames = append(badNames,
			fmt.Errorf("model: Register: %q is the name of a built-in model: choose another", name))
	case registry[name] != nil:
		badNames = append(badNames, fmt.Errorf("model: Register: %q is registered already: register each model once, "+
			"under its own name", name))
	default:
		registry[name] = f
	}
}

// RegisterError returns the errors of all calls of Register.
func RegisterError() error { return errors.Join(badNames...) }

// Options say which model is wanted.
type Options struct {
	Name     string    // "" = by the data
	Loss     string    // "" = by the name and the data
	Bias     bool      // has each layer a bias?
	CBOW     bool      // word2vec: the mean of a window's words predicts, and not each of them
	Biases   bool      // factor: has each row and each column a bias?
	Center   bool      // learn on inputs less their means: see Center
	Mean     []float32 // of the inputs, when Center
	BiasStep float32   // the step of a linear model's bias against its weights' step; 0 is 1
	L2       float32   // factor, kge and those that rank apply it themselves
	Shrink   Shrink    // of those that rank, which apply it themselves
	Uniform  bool      // those that rank: all items are drawn alike, and not as often as they are liked
	Once     bool      // bpr: where the item that was drawn is liked there is no step, as in implicit
	// those that rank: each row has a rate of its own, see vec.Pairwise
	AdaptiveRows bool
	N3           float32 // kge
	Negatives    int     // kge: drawn for each side of a chunk; 0: the default
	Seed         uint64  // dropout, negatives
	Layout       *Layout // of a model that a program computes; nil: it is another one
}

// New makes the model that o names, registered or built in, for the data that m
// describes. Resolve says what is chosen where o leaves it open.
func New(o Options, m data.Meta) (Model, error) {
	if o.Layout != nil {
		return programModel{o.Layout}, nil
	}
	if f, ok := registry[o.Name]; ok {
		if err := noOptions(o.Name, o.Loss, o.Bias); err != nil {
			return nil, err
		}
		own, err := f(m)
		if err != nil {
			return nil, err
		}
		return own, checkPredict(o.Name, own)
	}
	s, err := Resolve(o, m)
	if err != nil {
		return nil, err
	}
	return s.New(), nil
}

// checkPredict refuses a model with a method that is called like one that predictions need, and is another: it would
// train, and not predict.
func checkPredict(name string, m Model) error {
	want := reflect.TypeFor[Prober]()
	for i := range want.NumMethod() {
		needed := want.Method(i)
		if has := reflect.ValueOf(m).MethodByName(needed.Name); has.IsValid() && has.Type() != needed.Type {
			return fmt.Errorf("model: %s: its method %s is a %v; predictions need a %v", name, needed.Name,
				has.Type(), needed.Type)
		}
	}
	return nil
}

// noOptions refuses options that a registered model would not hear of.
func noOptions(name, loss string, bias bool) error {
	if loss != "" || !bias {
		return fmt.Errorf("model: %s is a custom model: it has its own loss and biases; leave --loss and --no-bias out",
			name)
	}
	return nil
}

// known lists the names that New accepts.
func known() string {
	var names []string
	for _, f := range families {
		names = append(names, f.forms...)
	}
	return strings.Join(append(names, slices.Sorted(maps.Keys(registry))...), ", ")
}
