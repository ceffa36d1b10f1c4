package tuning

import (
	"math"
	"slices"

	"hogwild/hogwild/clock"
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// Steps in flight: how many there are at once, and what a GPU is given when
// nobody says.

// inFlight is how many steps are in flight at once: a step is computed on weights that lack all
// others in flight. In async and atomic modes those are the steps that can run at once: more workers
// than cores take turns, and lose their core between two short steps mostly. Within a long one they
// hold it meanwhile, which only the run can tell (Machine.Held). In ordered mode a
// gradient waits until those of all other workers are applied, and in locked mode workers
// that wait for a lock hold a gradient already: there all workers count.
func inFlight(c *config.Config, f Facts, m Machine, batch, onGPU int) int {
	switch {
	case c.Mode.Kind == config.Sync, c.Mode.Kind == config.Blocks:
		return 1 // within a replica or a block, or all workers' gradients in one step
	case c.InFlight > 0:
		return c.InFlight
	case c.GPU != "" && c.Layout != nil:
		return c.Workers
	case c.GPU != "":
		each := min(onGPU, f.Rows/(wavesAnEpoch*batch)) / c.OnGPUs() // of a worker
		return c.OnGPUs() * max(1, each)
	case c.Mode.Kind == config.Clock:
		return onClock(c)
	}
	w := c.Workers
	if c.TakesTurns() {
		n := min(w, max(1, m.Cores))
		w = n + int(math.Round(m.Held*float64(w-n)))
	}
	return max(w, localSteps(c, batch))
}

// onClock is how many steps virtual workers have in flight, as far as their rule takes them.
func onClock(c *config.Config) int {
	n := max(1, clock.Workers(c.Mode.Speeds))
	switch c.Rule.Kind {
	case config.Rennala, config.Minibatch:
		return 1 // of the newest weights, all of them
	case config.Quorum:
		n = plan.CeilDiv(n, c.Rule.N)
	case config.Drop:
		n = min(n, c.Rule.N)
	}
	return n * max(1, config.Whole(c.MergeEvery))
}

// localSteps is what the steps count for that w workers take on their copies, M each between
// two merges. With a step of lr lambda h in the direction of lambda, a worker that is alone
// goes 1-exp(-lr lambda h M) of its way in M steps. All together go w times that, which
// grows when it is more than twice the way, as C steps in flight do when
//
//	C = M (pi/2) / -log(1-2/w)
//
// is at the bound. Two workers never go further than to the other side, but an update is
// late all the same, by the M steps that the other takes from one merge to the next: so they
// count M.
func localSteps(c *config.Config, batch int) int {
	m := config.Whole(c.MergeEvery)
	if m <= 1 || c.Mode.Kind != config.Async || batch != 1 || c.Workers == 1 {
		return 1
	}
	return int(float64(m) * perLocalStep(c.Workers))
}

// perLocalStep is how many steps in flight one local step of each of w workers counts for.
func perLocalStep(w int) float64 {
	if w <= 2 {
		return 1
	}
	return math.Pi / 2 / -math.Log(1-2/float64(w))
}

// wavesAnEpoch: where nobody says, an epoch on a GPU has so many times the steps that are in flight, or more: most of
// them are to see what the others have learnt.
const wavesAnEpoch = 8

// stepBatch is the examples of a step: those asked for, or, where nobody did, on a GPU those
// that suit it. Elsewhere a step of plain SGD that touches a few weights only is taken example
// by example: more of them converge slower and gain nothing. A small set has smaller batches, or an
// epoch would be a step or two.
func stepBatch(c *config.Config, spec model.Spec, f Facts, onGPU int) int {
	switch batch := c.AskedBatch(); {
	case batch > 0:
		return batch
	case c.Layout != nil:
	case c.GPU != "":
		return onGPU
	case spec.Family().Short(f.Kind) && c.Optimizer == config.SGD && !c.AveragesGradients():
		return 1
	}
	return min(64, max(1, f.Rows/stepsAnEpoch))
}

// stepsAnEpoch: a small set has at least so many steps an epoch, as far as its rows allow.
const stepsAnEpoch = 64

// gpuShare is lr lambda h C beyond which a GPU is given small steps. It is many times what
// costs nothing: a GPU is faster by more than what a late step loses.
const gpuShare = 10

// inFlightOnGPU are the steps in flight, and their examples, with which a model came to a given
// loss soonest when asynchrony was simulated with exact delays (docs/asynchrony.md), at the rates
// predicted; docs/gpu.md says how much faster a GPU must be with more of them. An
// H200 has 132 multiprocessors, each of which takes a step of a dense model.
//
// Past gpuShare steps of eight examples take the weights no further than steps of one.
func inFlightOnGPU(c *config.Config, spec model.Spec, f Facts, centered bool, lambda float64) (flight, batch int) {
	family := spec.Family()
	mlp := family == model.Perceptron
	switch short := family.Short(f.Kind); {
	case c.Mode.Kind == config.Sync && family == model.Words:
		return c.OnGPUs(), 1
	case c.Mode.Kind == config.Sync:
		return c.OnGPUs(), 64
	case short && c.Optimizer != config.SGD:
		return 32, 64 // each step moves all weights
	case f.Kind == data.Pairs: // two steps on one row or column at once should be rare
		return min(8448, max(1, slices.Min(append(slices.Clip(f.Shape), f.Features))*2/5)), 1
	case short:
		return 264, 1
	case !family.Layered(): // convnet
		return 32, 4 // more of them work on a GPU's other multiprocessors, and need as many more epochs
	case c.Optimizer != config.SGD:
		return 32, 8
	case !centered && (mlp || c.AskedBatch() > 1):
		return 64, 1
	case !centered || mlp || lambda*f.Curvature*c.LR*132 > gpuShare:
		return 132, 1
	}
	return 132, 8
}
