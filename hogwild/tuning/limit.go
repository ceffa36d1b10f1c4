package tuning

import (
	"cmp"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// A gradient that lands C-1 others after the weights that it was computed on is feedback with a delay.
// Along the direction of the inputs' largest eigenvalue lambda it is stable while
//
//	lr lambda h C < pi/2
//
// with h the curvature of the loss at the outputs. A gradient is a mean over its batch, so the batch
// does not enter.
//
// Well below that bound nothing is lost, but near it the noise of the gradients is amplified and
// the first steps overshoot. stableShare of it is what was found to cost at most 3% of
// the training loss on the jobs tried (docs/asynchrony.md).
const stableShare = 0.25

// networkShare is stableShare for a network that learns classes: where it begins to oscillate along the direction of
// the largest curvature, that curvature falls.
const networkShare = 0.5

// roomInFlight is for how many steps in flight a chosen rate leaves room. Twice the rate learns little faster.
const roomInFlight = 8

// networkCap is how many times the limit of a network may be in flight before its rate is lowered, and to what it is
// lowered: up to there a shorter step lost more than late ones in most cases. As many steps as automatic rates leave
// room for may be networkFew times the limit: networks learn although theirs is below a step (docs/asynchrony.md).
const networkCap, networkFew = 8, 24

// capShare returns the share of the bound beyond which the learning rate is lowered, and to which. Between
// stableShare and it a run loses less than it would with a rate lowered to stableShare. Where the curvature falls as a
// model learns it is the bound itself; the squared loss's does not fall. The hinge loss has bounded gradients and
// hardly any curvature: its best rates with many steps in flight were 8 to 16.
func capShare(loss model.Loss) float64 {
	switch loss {
	case model.Squared:
		return 0.5
	case model.Hinge:
		return 4
	}
	return 1
}

// A step of b examples grows by itself, on average over rows, beyond
//
//	lr h (R2 + (b-1) lambda)/b < 2
//
// with R2 of rowNorm (Jain, Kakade, Kidambi, Netrapalli, Sidford, JMLR 2018). At the bound itself
// little is learned: half of it is where they find the fastest steps. A quarter is taken where the curvature does not
// fall, which long rows then make too much of, and for perceptrons, which have more layers than that
// on the inputs: there half diverged on two of the jobs tried.
func stepShare(spec model.Spec) float64 {
	if spec.Loss == model.Squared || spec.Family().Rehearses() {
		return 0.25
	}
	return 0.5
}

// noiseShare bounds what the noise of gradients adds to the loss when they are late. With the rate
// r = lr h, steps of b examples leave the loss higher by about r tr/(2b) times the loss itself, with tr the
// sum of the eigenvalues of E[x x']; along the eigenvector of eigenvalue a the part of it is multiplied by
// (1 + sin t)/cos t, t = r a C, which is 1 + t to first order. So C steps in flight add r^2 C S/(2b), with S
// the sum of the squares of the eigenvalues.
const noiseShare = 0.015

// limits are what a problem allows. The zero value: nothing is known.
type limits struct {
	constant float64 // lr lambda C, up to which nothing is lost
	most     float64 // lr lambda C, beyond which the rate is lowered; of networks see cap
	merging  float64 // lr lambda M, up to which M local steps of two workers between two merges lose nothing
	network  bool
	lambda   float64
	scale    float64 // of all of them, by momentum
	noise    float64 // lr^2 (C-1), up to which the noise of late gradients costs nothing; 0: no bound
	maxLR    float64 // of steps of the batch, with none of them late; 0: no bound
}

// limitsOf returns the limits of the run. With momentum a gradient moves the weights by lr/(1-mu) in the long run. How
// large lr lambda C may be follows from the curvature h of the loss.
func limitsOf(c *config.Config, spec model.Spec, f Facts, t Tuning) limits {
	h, b := f.Curvature*cmp.Or(f.Heavy, 1), float64(t.Batch)
	if t.Lambda <= 0 || c.Optimizer.Adaptive() || h <= 0 {
		return limits{}
	}
	scale := 1.0
	if c.Optimizer == config.Momentum {
		scale = 1 - t.Momentum
	}
	bound := math.Pi / 2 / h * scale
	out := limits{constant: stableShare * bound, most: capShare(spec.Loss) * bound, merging: bound, lambda: t.Lambda,
		network: f.Newton > 0, scale: scale}
	if out.network {
		out.lambda = f.Newton / h // what the inputs would have, were the model linear
		if spec.Loss != model.Squared {
			out.constant = networkShare * bound
		}
		out.most = networkCap * out.constant
	}
	out.noise = 2 * noiseShare * b / (h * h * max(f.Squares, t.Lambda*t.Lambda)) * scale * scale
	if r2 := max(f.RowNorm, t.Lambda); spec.Loss != model.Hinge { // whose gradients do not grow with the error
		out.maxLR = stepShare(spec) * 2 * b / (h * (r2 + (b-1)*t.Lambda)) * scale
	}
	return out
}

// rehearsedWeights are the most of a network that is rehearsed: more would take seconds, and memory that the run may
// not have.
const rehearsedWeights = 10e6

// tooLarge reports whether a network is too large to rehearse: then the inputs' eigenvalue bounds their rate, but
// allows too many steps in flight.
func tooLarge(spec model.Spec, f Facts) bool {
	return spec.Family().Rehearses() && f.Weights > rehearsedWeights
}

// InFlightAt returns how many steps in flight a rate allows a network whose curvature is g, see Newton; 0: not known.
func InFlightAt(j *Job, spec model.Spec, f Facts, lr, g float64) float64 {
	f.Newton = g
	return limitsOf(&j.Asked, spec, f, j.Used).inFlight(lr)
}

// inFlight returns how many steps in flight a rate allows; 0: not known.
func (l limits) inFlight(lr float64) float64 {
	if l.lambda == 0 {
		return 0
	}
	c := l.constant / (l.lambda * lr)
	if l.noise > 0 {
		c = min(c, 1+l.noise/(lr*lr))
	}
	return min(c, 1e12)
}

// biasHeld returns how many steps, beyond those in flight, may be late with their change of the bias. A bias moves by
// biasStep where the direction of lambda moves by lambda, so there may be as many more of them.
func (l limits) biasHeld(lr, biasStep float64) float64 {
	return l.inFlight(lr) * max(1, l.lambda/cmp.Or(biasStep, 1))
}

// inFlightRate returns the rate at which c steps in flight lose nothing.
func (l limits) inFlightRate(c float64) float64 { return l.constant / (l.lambda * c) }

// localSteps returns how many steps two workers may take between two merges at a rate.
// The bound itself, not a share of it: steps on a copy are late by half of a period on average,
// and see all of their worker's own (docs/asynchrony.md has what was measured).
func (l limits) localSteps(lr float64) float64 {
	return min(l.merging/(l.lambda*lr), 1e12)
}

// rate returns what lr is lowered to with c steps in flight, if it is lowered; 0: not known.
func (l limits) rate(lr, c float64) float64 {
	to := lr * l.cap(lr) / c
	if l.maxLR > 0 {
		to = min(to, l.maxLR)
	}
	return to
}

// cap returns how many steps in flight a rate is not lowered for; 0: not known.
func (l limits) cap(lr float64) float64 {
	if l.lambda == 0 {
		return 0
	}
	c := l.most / (l.lambda * lr)
	if l.network {
		c = max(c, min(c*networkFew/networkCap, roomInFlight))
	}
	return min(c, 1e12)
}
