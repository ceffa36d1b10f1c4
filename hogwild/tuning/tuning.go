// Package tuning decides what a run decides for itself: the learning rate that its steps in
// flight allow, centred inputs, the step of the bias, how often copies of the weights are
// merged, and what a GPU is given. It looks at the data; it changes nothing.
//
//	tuning.go     Choose
//	limit.go      how many steps may be in flight
//	center.go     whether inputs are centred
//	merge.go      how many local steps there are between two merges
//	inflight.go   how many steps are in flight
//	curvature.go  the curvature of the loss
//	spectrum.go   the largest eigenvalue of the inputs
//	job.go        Tuning, Job, and what is measured
package tuning

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// Choose measures a set and decides what a run makes of it. Model and loss are resolved. On a
// GPU it fills in the steps in flight and the batch: see fillGPU.
func (c *Job) Choose(set *data.Set) (Tuning, error) {
	f, err := c.measure(set)
	if err != nil {
		return Tuning{LR: c.LR, Momentum: c.Momentum, BiasStep: 1}, err
	}
	decided := c.decide(f, Machine{Cores: runtime.NumCPU()}) // sets what of c a GPU needs
	settled := Job{Config: c.Config, Tuning: decided}
	err = settled.SettleMerges(set)
	return settled.Tuning, err
}

// decide looks at nothing but the settings, what was measured, and the machine.
func (c *Job) decide(f Facts, m Machine) Tuning {
	l := Tuning{LR: c.LR, Momentum: c.Momentum, BiasStep: f.BiasStep, Center: f.Center,
		Lambda: f.Lambda, Raw: f.RawLambda, Curvature: f.Curvature}
	c.fillGPU(&l, f)
	l.InFlight = c.inFlight(m)
	if c.MomentumCorrection {
		l.Momentum = explicitMomentum(c.Momentum, l.InFlight)
	}
	limit := c.limits(&l, f)
	l.MaxInFlight, l.MaxLR = limit.inFlight(c.LR), limit.maxLR
	if l.MaxInFlight > 0 && (c.Workers > 2 || c.Workers == 2 && c.GPU == "") {
		l.Hold = max(1, int(limit.localSteps(c.LR)/perLocalStep(c.Workers)))
	}
	if c.LRCap != "off" && l.InFlight > 1 {
		if lr := limit.rate(float64(l.InFlight)); lr > 0 && lr < c.LR {
			l.LR, l.Capped = lr, true
		}
	}
	return l
}

// measure takes from a set what decide needs. Whether inputs are centred is settled here, since
// the rest is measured on them.
func (c *Job) measure(set *data.Set) (Facts, error) {
	f := Facts{Kind: set.Kind, Rows: set.Rows, Features: set.Features, Shape: set.Shape, BiasStep: 1}
	if !model.FamilyOf(c.Model).Layered() || set.Kind == data.Pairs {
		return f, c.settleNothing()
	}
	sample, l := sampleRows(set), Tuning{BiasStep: 1}
	if err := c.settleBias(&l, set, sample.Rows); err != nil {
		return f, err
	}
	ones := 0.0
	if c.Bias {
		ones = math.Sqrt(l.BiasStep)
	}
	l.Lambda = eigenvalue(sample.Rows, set.Features, nil, ones, c.Seed)
	f.RawLambda = l.Lambda
	if err := c.settleCenter(&l, set, sample.Rows); err != nil {
		return f, err
	}
	f.Lambda, f.Center, f.BiasStep = l.Lambda, l.Center, l.BiasStep
	var mu []float32
	if f.Center {
		mu = set.Mean
	}
	f.RowNorm = rowNorm(manyRows(set).Rows, set.Features, mu, ones, f.Lambda, c.Seed)
	f.Squares = squaredNorm(sample.Rows, set.Features, mu, ones, f.Lambda)
	f.Curvature = lossCurvature(model.Loss(c.Loss), classShares(sample.Y, len(set.Classes)))
	return f, nil
}

// settleNothing refuses what was asked for, where nothing is known.
func (c *Job) settleNothing() error {
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
	linear := model.FamilyOf(c.Model) != model.Perceptron
	plain := c.Bias && c.Optimizer == config.SGD && !c.AveragesGradients()
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
	if l.MaxInFlight > 0 && c.Mode.Kind != config.Sync && !l.Capped {
		lines = append(lines, l.stable(c))
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
	if c.Optimizer != config.Momentum || (1-l.Momentum)*each <= math.Pi/2 {
		return nil
	}
	return []string{fmt.Sprintf("momentum %.3g, %.0f steps in flight on one velocity: stable, as it is stored and not added to, "+
		"but it remembers some %s steps; less of either may be faster", l.Momentum, each, rounded(each/(1-l.Momentum)))}
}

// stable compares the limit with the steps in flight.
func (l Tuning) stable(c *Job) string {
	who, are, they := strconv.Itoa(l.InFlight), "are", "within it"
	switch {
	case c.GPU != "":
		who = human.Plural(l.InFlight, "step")
	case l.InFlight == c.Workers:
		who = human.Plural(c.Workers, "worker")
	case l.InFlight < c.Workers:
		who = fmt.Sprintf("%d workers on %s", c.Workers, human.Plural(l.InFlight, "core"))
	}
	if l.InFlight == 1 && c.Workers == 1 {
		are = "is"
	} else if float64(l.InFlight) > l.MaxInFlight {
		they = "beyond it: an epoch may achieve less"
		if c.LRCap == "off" {
			they = "beyond it, and the cap is off"
		}
	}
	return fmt.Sprintf("lr %.3g is stable up to about %s in flight; %s %s %s", c.LR, about(l.MaxInFlight), who, are, they)
}

// Changes is what of the user's settings the run changes, for whoever watches.
func (l Tuning) Changes(c *Job) (lines []string) {
	if l.Capped {
		why := fmt.Sprintf("%d steps in flight", l.InFlight)
		if l.LR == l.MaxLR {
			why = fmt.Sprintf("a step of %s on rows of this length", human.Plural(c.Batch, "example"))
		}
		lines = append(lines, fmt.Sprintf("lr %.3g -> %.2g: %s", c.LR, l.LR, why))
	}
	if l.Momentum != c.Momentum {
		lines = append(lines, fmt.Sprintf("momentum %.3g -> %.3g: %d steps in flight", c.Momentum, l.Momentum, l.InFlight))
	}
	return lines
}

// about is a number of steps, rounded.
func about(x float64) string {
	if n := rounded(x); n != "1" {
		return n + " steps"
	}
	return "1 step"
}

// rounded is a count of which two digits mean something.
func rounded(x float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(math.Max(x, 1)))-1)
	if x >= 1e6 {
		return "a million or more"
	}
	return fmt.Sprintf("%.0f", math.Max(1, math.Round(x/math.Max(1, unit))*math.Max(1, unit)))
}
