package config

// A setting that takes words has a type with a constant for each of them. The types are texts: files have what the user
// gave, and a word that is none of them is refused with all other wrong values, by the row of its setting.

// Auto leaves a choice to the run. It is a value of several types.
const Auto = "auto"

// Count is a number from 1, or Auto: see Whole.
type Count string

// InPlace is the MergeEvery of a run whose workers update the shared weights themselves.
const InPlace Count = "1"

// Switch is Auto, On or Off.
type Switch string

// Average is what mode sync averages.
type Average string

// AverageLR is the learning rate of workers that are averaged: Auto, Scaled or Same.
type AverageLR string

// OptimizerState says whose the state of an optimizer is.
type OptimizerState string

// Partition is how examples are given to workers.
type Partition string

// Schedule is how the learning rate changes: Auto, or as package plan has it.
type Schedule string

// Outer is how a round of several nodes applies the mean of their changes.
type Outer string

// Solver is Auto, Dual or PlainSGD.
type Solver string

// OnDivergence is what a run does when training diverges.
type OnDivergence string

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
