package config

import "strconv"

// A setting that takes words has a type with a constant for each of them. The types are texts: files have what the user
// gave, and a word that is none of them is refused with all other wrong values, by the row of its setting.

// Auto leaves a choice to the run. It is a value of several types.
const Auto = "auto"

// NoScale is the Scale of inputs that are left as they are.
const NoScale = "none"

// The types, which take Auto too where a setting does.
type (
	Count          string // a number from 1
	Switch         string // On, Off
	Average        string // what mode sync averages
	AverageLR      string // how the learning rate follows the number of workers that are averaged
	OptimizerState string // whose it is
	Partition      string // how examples are given to workers
	Schedule       string // of the learning rate: see package plan
	Outer          string // how a round of several nodes applies the mean of their changes
	Solver         string // how linear models are trained
	OnDivergence   string // what a run does then
	Seen           string // whether what users have in the training rows is a candidate for them
	Sampling       string // how items are drawn that a user is not known to like
	RowOptimizer   string // how each row of a table that ranks is stepped
	Precision      string // of numbers on a GPU
)

// InPlace is the MergeEvery of a run whose workers update the shared weights themselves.
const InPlace Count = "1"

// Whole returns the number of a Count; 0: it is a word.
func Whole(c Count) int {
	n, err := strconv.Atoi(string(c))
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// The words of these types.
const (
	On  Switch = "on"
	Off Switch = "off"

	Weights   Average = "weights"
	Gradients Average = "gradients"

	Scaled AverageLR = "scaled"
	Same   AverageLR = "same" // nothing scales it

	Private OptimizerState = "private" // each worker has its own
	Shared  OptimizerState = "shared"

	Dynamic    Partition = "dynamic"
	Contiguous Partition = "contiguous" // fixed shares

	Constant Schedule = "constant"
	Cosine   Schedule = "cosine"
	Stepwise Schedule = "step"
	Exp      Schedule = "exp"
	Linear   Schedule = "linear"
	Cooldown Schedule = "cooldown"

	Mean     Outer = "mean"     // adds it
	Nesterov Outer = "nesterov" // takes it as the gradient of SGD with Nesterov momentum

	Dual     Solver = "dual" // ascends dual coordinates
	PlainSGD Solver = "sgd"  // keeps SGD's weights: see package exact

	SeenOut Seen = "out"
	SeenIn  Seen = "in"

	Once       Sampling = "once"       // as often as they are liked, and no step where the user likes one
	Popularity Sampling = "popularity" // as often as they are liked, again while the user likes one
	Uniform    Sampling = "uniform"

	RowSGD     RowOptimizer = "sgd"
	RowAdaGrad RowOptimizer = "adagrad" // a rate of its own for each row

	FP32 Precision = "fp32"
	FP16 Precision = "fp16" // as they are stored: what is computed is fp32

	Stop     OnDivergence = "stop"     // the run ends, with its last good snapshot
	Rollback OnDivergence = "rollback" // it continues from there with half the learning rate, three times at most
)

// words lists the words of a setting.
func words[T ~string](all ...T) []string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return texts
}
