package tuning

import (
	"hogwild/hogwild/config"
	"strings"
)

// Tuning is what a run decides for itself. The coordinator works it out from the settings and the
// training data, and every process of the run has the same.
type Tuning struct {
	Lambda      float64 `json:"lambda"`        // of the inputs as the run learns on them, the bias's column included; 0: nothing is known of this model
	Raw         float64 `json:"raw"`           // lambda of the inputs as they are
	Curvature   float64 `json:"curvature"`     // h of the loss at the outputs: see lossCurvature; 0: none
	InFlight    int     `json:"in_flight"`     // steps in flight at once
	MaxInFlight float64 `json:"max_in_flight"` // as many of them cost nothing at the learning rate asked for; 0: not known
	MaxLR       float64 `json:"max_lr"`        // with a longer rate steps of this batch grow, however few are in flight; 0: not known
	LR          float64 `json:"lr"`            // used
	Momentum    float64 `json:"momentum"`      // used
	Center      bool    `json:"center"`        // the inputs are learned on less their means
	BiasStep    float64 `json:"bias_step"`     // of a linear model's bias against that of its weights
	Hold        int     `json:"hold"`          // local steps that a worker may take between two merges within the limit; 0: any number
	Capped      bool    `json:"capped"`        // LR is less than was asked for

	MergeEvery     int `json:"merge_every"`      // local steps between two merges; 1: in place
	BiasMergeEvery int `json:"bias_merge_every"` // the same of a bias that alone is copied
}

// Facts are what is measured of the training data. Of a model on which the inputs' spectrum says
// nothing, the numbers are 0.
type Facts struct {
	Kind     string
	Rows     int
	Features int
	Shape    []int

	RawLambda float64 // largest eigenvalue of E[x x'] of the inputs as they are, with the bias's column
	Lambda    float64 // of the inputs as the run learns on them
	RowNorm   float64 // R2, see rowNorm
	Squares   float64 // see squaredNorm
	Curvature float64 // see lossCurvature

	Center   bool    // the inputs are learned on less their means
	BiasStep float64 // of the bias
}

// Machine is what a run has to run on.
type Machine struct {
	Cores int // that this process may use
}

// Job is a run as all its processes know it: what the user asked for, and what the run makes
// of it. Its JSON form is one object, with what was decided beside the settings.
type Job struct {
	config.Config
	Tuning Tuning `json:"tuning"`
}

// layered tells whether a model is a linear one or a perceptron on the inputs: what
// the spectrum of the inputs tells of.
func layered(name string) bool {
	switch name {
	case "softmax", "logistic", "hinge", "linear", "l1":
		return true
	}
	return strings.HasPrefix(name, "mlp")
}

// UsedMomentum is the one that the run uses; without a Tuning, the one asked for.
func (c *Job) UsedMomentum() float64 {
	if c.Tuning.LR == 0 {
		return c.Momentum
	}
	return c.Tuning.Momentum
}
