package config

// Optimizer is a rule by which a gradient moves the weights.
type Optimizer string

// The optimizers.
const (
	SGD      Optimizer = "sgd"
	Momentum Optimizer = "momentum"
	Adam     Optimizer = "adam"
	AdaGrad  Optimizer = "adagrad"
)

// Slots is how many numbers the rule keeps for each weight.
func (o Optimizer) Slots() int {
	switch o {
	case Momentum, AdaGrad:
		return 1
	case Adam:
		return 2
	}
	return 0
}

// Adaptive reports whether a step is scaled by the gradients before it: its length says nothing
// of how far the weights move.
func (o Optimizer) Adaptive() bool { return o == Adam || o == AdaGrad }
