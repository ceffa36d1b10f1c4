// Package tuning decides what a run decides for itself: the learning rate that its steps in
// flight allow, centred inputs, the step of the bias, how often copies of the weights are
// merged, and what a GPU is given. It looks at the data; it changes nothing.
//
//	tuning.go    Tuning, Job, Choose
//	spectrum.go  the largest eigenvalue of the inputs
//	center.go    whether inputs are centred
//	merge.go     how many local steps there are between two merges
//	inflight.go  how many steps are in flight
package tuning

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// Tuning is how much asynchrony a problem bears, and what a run makes of it. The
// coordinator works it out from the training data, and every process of the run
// has the same.
//
// A gradient that lands C-1 others after it was asked for makes a feedback with
// delay, which is stable while
//
//	lr lambda h C < pi/2
//
// with lambda the largest eigenvalue of E[x x'] and h the curvature of the loss at
// the outputs. A gradient is a mean over its batch, so the batch does not enter. The
// curvature falls as a model learns; kappa stands for (pi/2)/h at the rates that
// turned out best (docs/asynchrony.md).
type Tuning struct {
	Lambda   float64 `json:"lambda"`    // of the inputs as the run learns on them, the bias's column included; 0: the law says nothing of this model
	Raw      float64 `json:"raw"`       // lambda of the inputs as they are
	InFlight int     `json:"in_flight"` // steps under way at once
	Knee     float64 `json:"knee"`      // as many of them the learning rate asked for bears; 0: no kappa for this loss
	LR       float64 `json:"lr"`        // used
	Momentum float64 `json:"momentum"`  // used
	Center   bool    `json:"center"`    // the inputs are learned on less their means
	BiasStep float64 `json:"bias_step"` // of a linear model's bias against that of its weights
	Hold     int     `json:"hold"`      // local steps that a worker may take between two merges within the knee; 0: any number
	Capped   bool    `json:"capped"`    // LR is less than was asked for

	MergeEvery     int `json:"merge_every"`      // local steps between two merges; 1: in place
	BiasMergeEvery int `json:"bias_merge_every"` // the same of a bias that alone is copied
}

// Job is a run as all its processes know it: what the user asked for, and what the run makes
// of it. Its JSON form is one object, with the law beside the settings.
type Job struct {
	config.Config
	Tuning Tuning `json:"law"`
}

// Choose works out the Law of a run on a set, and what a GPU makes of it: see fillGPU. Model
// and loss are resolved.
func (c *Job) Choose(set *data.Set) (Tuning, error) {
	l := Tuning{LR: c.LR, Momentum: c.Momentum, BiasStep: 1}
	settle := c.settle
	if !layered(c.Model) || set.Kind == data.Pairs {
		settle = c.settleNothing
	}
	if err := settle(&l, set); err != nil {
		return l, err
	}
	c.fillGPU(&l, set)
	l.InFlight = c.inFlight()
	if c.MomentumCorrection {
		l.Momentum = explicitMomentum(c.Momentum, l.InFlight)
	}
	if l.Knee = l.knee(c); l.Knee > 0 {
		if c.Workers > 2 || c.GPU == "" {
			l.Hold = max(1, int(l.Knee/perLocalStep(c.Workers)))
		}
		if c.LRCap != "off" && l.InFlight > 1 && float64(l.InFlight) > l.Knee {
			l.LR, l.Capped = c.LR*l.Knee/float64(l.InFlight), true
		}
	}
	settled := Job{Config: c.Config, Tuning: l}
	err := settled.SettleMerges(set)
	return settled.Tuning, err
}

// knee is how many steps in flight the learning rate asked for bears; 0: the law does
// not say.
func (l *Tuning) knee(c *Job) float64 {
	rate := c.LR
	if c.Optimizer == "momentum" { // in the long run a gradient moves the weights so much
		rate /= 1 - l.Momentum
	}
	if kappa := c.kappa(); kappa > 0 && l.Lambda > 0 {
		return min(kappa/(l.Lambda*rate), 1e12)
	}
	return 0
}

// settle settles centring and the bias's step, and finds lambda.
func (c *Job) settle(l *Tuning, set *data.Set) error {
	sample := sampleRows(set)
	if err := c.settleBias(l, set, sample); err != nil {
		return err
	}
	ones := 0.0
	if c.Bias {
		ones = math.Sqrt(l.BiasStep)
	}
	l.Lambda = eigenvalue(sample, set.Features, nil, ones, c.Seed)
	l.Raw = l.Lambda
	return c.settleCenter(l, set, sample)
}

// settleNothing refuses what was asked for, where the law does not speak.
func (c *Job) settleNothing(*Tuning, *data.Set) error {
	if x, err := strconv.ParseFloat(c.BiasStep, 64); err == nil && x != 1 {
		return c.noBiasStep()
	}
	return c.MayCenter("the model "+c.Model, false)
}

func (c *Job) noBiasStep() error {
	return config.Usage("bias-step %s: it is for plain sgd on a linear model with a bias; leave it at auto", c.BiasStep)
}

// settleBias decides the step of the bias. Where rows are sparse and short (words of
// a text, scaled to length 1), the bias's column of ones is by far the longest
// direction, and it alone would decide how many steps in flight are borne.
func (c *Job) settleBias(l *Tuning, set *data.Set, sample []data.Row) error {
	linear := !strings.HasPrefix(c.Model, "mlp")
	plain := c.Bias && c.Optimizer == "sgd" && !c.AveragesGradients()
	if c.BiasStep != "auto" {
		l.BiasStep, _ = strconv.ParseFloat(c.BiasStep, 64) // Validate has read it
		if l.BiasStep != 1 && !(plain && linear) {
			return c.noBiasStep()
		}
		return nil
	}
	if plain && linear && set.Kind == data.Sparse {
		l.BiasStep = cmp.Or(min(1, eigenvalue(sample, set.Features, nil, 0, c.Seed)), 1)
	}
	return nil
}

// layered tells whether a model is a linear one or a perceptron on the inputs: what
// the law speaks of.
func layered(name string) bool {
	switch name {
	case "softmax", "logistic", "hinge", "linear", "l1":
		return true
	}
	return strings.HasPrefix(name, "mlp")
}

// kappa is what lr lambda C may come to; 0: the law has no say. The numbers are
// those at which the best rates lay when C was large (docs/asynchrony.md), but for
// the squared loss, whose curvature is 2 and does not fall: there it is the bound
// itself, (pi/2)/2, less a third. The l1 loss has no curvature.
func (c *Job) kappa() float64 {
	if c.Optimizer != "sgd" && c.Optimizer != "momentum" {
		return 0
	}
	if own, err := strconv.ParseFloat(c.LRCap, 64); err == nil {
		return own
	}
	kappa := map[model.Loss]float64{model.CrossEntropy: 50, model.Logistic: 16, model.Hinge: 16, model.Squared: 0.5}[model.Loss(c.Loss)]
	if strings.HasPrefix(c.Model, "mlp") {
		kappa = min(kappa, 20)
	}
	return kappa
}

// explicitMomentum is the momentum to use so that, with what asynchrony adds, mu
// comes out. A step that finds the weights of one of w workers, any of them, adds
// (1-1/w) of the last step by itself (Mitliagkas, Zhang, Hadjis and Re 2016, theorem
// 3): steps obey d[t] = (1-1/w) d[t-1] - lr/w g, where d[t] = step[t] - m step[t-1]
// with an explicit momentum m. So step[t] has m + (1-1/w) of step[t-1] and
// -m (1-1/w) of step[t-2]: together 1 - (1-m)/w, which is mu for
//
//	m = 1 - (1-mu) w
//
// and where that is negative there is too much momentum already (Omnivore: Hadjis,
// Zhang, Mitliagkas, Iter and Re 2016, lower it likewise).
func explicitMomentum(mu float64, w int) float64 { return max(0, 1-(1-mu)*float64(w)) }

// Header is what the user should know before the run: whether the steps in flight are
// borne, and what centring has done for it.
func (l Tuning) Header(c *Job) (lines []string) {
	if l.Center {
		lines = append(lines, fmt.Sprintf("inputs less their means: lambda %.2g -> %.2g", l.Raw, l.Lambda))
	}
	if l.Knee > 0 && c.Mode != "sync" && !l.Capped {
		lines = append(lines, l.bears(c))
	}
	return append(lines, l.lasts(c)...)
}

// lasts warns of a velocity to which more steps in flight add than (1-mu) C < pi/2 has:
// then sums that lack nothing diverge at any learning rate, as decay acts on what was
// read. A velocity is stored, not added to, so that of two steps on the same one the
// later wins; that is stable (simulated: docs/asynchrony.md).
func (l Tuning) lasts(c *Job) (lines []string) {
	each := float64(l.InFlight)
	if c.OptimizerState == "private" {
		each /= float64(c.Workers)
	}
	if c.Optimizer != "momentum" || (1-l.Momentum)*each <= math.Pi/2 {
		return nil
	}
	return []string{fmt.Sprintf("momentum %.3g, %.0f steps in flight on one velocity: stable, as it is stored and not added to, "+
		"but it remembers some %s steps; less of either may be faster", l.Momentum, each, rounded(each/(1-l.Momentum)))}
}

// bears compares the knee with the steps in flight.
func (l Tuning) bears(c *Job) string {
	who, are, they := strconv.Itoa(l.InFlight), "are", "within it"
	switch {
	case c.GPU != "":
		who = human.Plural(l.InFlight, "step")
	case l.InFlight == c.Workers:
		who = human.Plural(c.Workers, "worker")
	}
	if l.InFlight == 1 {
		are = "is"
	} else if float64(l.InFlight) > l.Knee {
		they = "beyond it, and the cap is off"
	}
	return fmt.Sprintf("lr %.3g bears about %s steps in flight; %s %s %s", c.LR, rounded(l.Knee), who, are, they)
}

// Changes is what of the user's settings the run changes, for whoever watches.
func (l Tuning) Changes(c *Job) (lines []string) {
	if l.Capped {
		lines = append(lines, fmt.Sprintf("lr %.3g -> %.2g: %d steps in flight", c.LR, l.LR, l.InFlight))
	}
	if l.Momentum != c.Momentum {
		lines = append(lines, fmt.Sprintf("momentum %.3g -> %.3g: %d steps in flight", c.Momentum, l.Momentum, l.InFlight))
	}
	return lines
}

// rounded is a count of which two digits mean something.
func rounded(x float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(math.Max(x, 1)))-1)
	if x >= 1e6 {
		return "a million or more"
	}
	return fmt.Sprintf("%.0f", math.Max(1, math.Round(x/math.Max(1, unit))*math.Max(1, unit)))
}

// UsedMomentum is the one that the run uses; without a Tuning, the one asked for.
func (c *Job) UsedMomentum() float64 {
	if c.Tuning.LR == 0 {
		return c.Momentum
	}
	return c.Tuning.Momentum
}
