package tuning

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
)

// Steps in flight: how many are under way at once, and what a GPU is given when
// nobody says.

// inFlight is how many steps are under way at once: a step is computed on weights
// that lack all others' steps under way.
func (c *Job) inFlight() int {
	k, _, delayed := c.DelaySteps()
	switch {
	case c.Mode == "sync":
		return 1 // within a replica, or all workers' gradients in one step
	case c.GPU != "":
		return c.InFlight
	case delayed:
		return k + 1
	}
	return c.localSteps()
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
func (c *Job) localSteps() int {
	m, err := strconv.Atoi(c.MergeEvery)
	if err != nil || m == 1 || c.Mode != "async" || c.Batch != 1 || c.Workers == 1 {
		return c.Workers
	}
	return max(c.Workers, int(float64(m)*perLocalStep(c.Workers)))
}

// perLocalStep is how many steps in flight one local step of each of w workers counts for.
func perLocalStep(w int) float64 {
	if w <= 2 {
		return 1
	}
	return math.Pi / 2 / -math.Log(1-2/float64(w))
}

// An epoch has so many times the steps that are in flight, or more: most of them are to
// see what the others have learnt.
const wavesAnEpoch = 8

// fillGPU sets for a run on GPUs what nobody did: how many steps are under way at once,
// and of how many examples. More of either converge slower than they compute faster.
func (c *Job) fillGPU(l *Tuning, set *data.Set) {
	if c.GPU == "" {
		return
	}
	flight, batch := c.onGPU(l, set)
	if c.Mode == "sync" {
		flight, batch = c.OnGPUs(), 64
	}
	if c.Batch == 0 {
		c.Batch = batch
	}
	if c.InFlight == 0 {
		each := min(flight, set.Rows/(wavesAnEpoch*c.Batch)) / c.OnGPUs() // of a worker
		c.InFlight = c.OnGPUs() * max(1, each)
	}
}

// onGPU are the steps in flight, and their examples, with which a model came to a given
// loss soonest when asynchrony was simulated with exact delays (docs/asynchrony.md). An
// H200 has 132 multiprocessors, each of which takes a step of a dense model.
//
// Past the knee a step of eight examples takes the weights no further than one of one.
// Kappa is low by about two for centred inputs, and so is the knee.
func (c *Job) onGPU(l *Tuning, set *data.Set) (flight, batch int) {
	mlp := strings.HasPrefix(c.Model, "mlp")
	knee := l.knee(c)
	switch short := c.Short(set.Kind); {
	case short && c.Optimizer != "sgd":
		return 32, 64 // each step moves all weights
	case set.Kind == data.Pairs: // two steps on one row or column at once should be rare
		return min(8448, max(1, slices.Min(append(slices.Clip(set.Shape), set.Features))*2/5)), 1
	case short:
		return 264, 1
	case !layered(c.Model): // convnet
		return 32, 4
	case c.Optimizer != "sgd":
		return 32, 8
	case !l.Center && (mlp || c.Batch > 1):
		return 64, 1
	case !l.Center || mlp || knee > 0 && 132 > 2*knee:
		return 132, 1
	}
	return 132, 8
}
