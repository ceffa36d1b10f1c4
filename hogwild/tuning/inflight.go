package tuning

import (
	"cmp"
	"math"
	"slices"

	"hogwild/hogwild/clock"
	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// Steps in flight: how many there are at once, and what a GPU is given by default.

// inFlight returns how many steps are in flight at once: a step is computed on weights that lack all
// others in flight. In async and atomic modes they are the steps that can run at once: more workers
// than cores take turns, and lose their core between two short steps mostly. Within a long one they
// hold it meanwhile, which only the run can tell (Machine.Oversubscribed). In ordered mode a
// gradient waits until all other workers' are applied, and in locked mode workers
// that wait for a lock hold a gradient already: there all workers count.
func inFlight(c *config.Config, spec model.Spec, f Facts, m Machine, t Tuning) int {
	switch {
	case c.Mode.Traits().Alone:
		return 1 // within a replica or a block, or all workers' gradients in one step
	case c.GPU != "" && c.Layout != nil: // what replicas on several GPUs learn between merges is added in full
		return c.Workers * max(1, config.Whole(c.MergeEvery))
	case c.GPU != "":
		n := cmp.Or(c.InFlight, min(onGPU(c, spec, f, m.GPUs, t), f.Rows/(wavesAnEpoch*t.Batch)))
		if m.GPUs.Fit > 0 {
			n = min(n, m.GPUs.Fit)
		}
		return t.Sharers * max(1, n/t.Sharers)
	case c.Mode.Traits().Simulated:
		return onClock(c)
	}
	w := c.Workers
	if c.TakesTurns() {
		n := min(w, max(1, m.Cores))
		w = n + int(math.Round(m.Oversubscribed*float64(w-n)))
	}
	return max(w, localSteps(c, t.Batch))
}

// sharers returns how many workers share the steps in flight on GPUs. Where processes take turns, the steps of
// one at a time run on each GPU, and a worker with a part of them would leave the rest of the GPU idle in its turn.
func sharers(c *config.Config, g GPUs) int {
	switch {
	case c.GPU == "":
		return 0
	case g.Turns:
		return min(max(1, g.Count), c.Workers)
	}
	return c.Workers
}

// onClock returns how many steps virtual workers have in flight, as far as their rule takes them.
func onClock(c *config.Config) int {
	n := max(1, clock.Workers(c))
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

// localSteps returns how many steps in flight the local steps of w workers count for, M each between two merges. With a
// step of lr lambda h in the direction of lambda, a worker that is alone goes 1-exp(-lr lambda h M) of its way in M
// steps. All together go w times that, which grows when it is more than twice the way, as C steps in flight do when
//
//	C = M (pi/2) / -log(1-2/w)
//
// is at the bound. Two workers never go further than to the other side, but an update is
// late all the same, by the M steps that the other takes from one merge to the next: so they
// count M.
func localSteps(c *config.Config, batch int) int {
	m := config.Whole(c.MergeEvery)
	if m <= 1 || !c.Mode.Traits().Copies || batch != 1 || c.Workers == 1 {
		return 1
	}
	return int(float64(m) * perLocalStep(c.Workers))
}

// perLocalStep returns how many steps in flight one local step of each of w workers counts for.
func perLocalStep(w int) float64 {
	if w <= 2 {
		return 1
	}
	return math.Pi / 2 / -math.Log(1-2/float64(w))
}

// wavesAnEpoch: by default an epoch on a GPU has this many times the steps that are in flight, or more: most of
// them are to see what the others have learnt.
const wavesAnEpoch = 8

// stepBatch returns the number of examples of a step: what was asked for or, by default, on a GPU what suits it.
// Elsewhere a step of plain SGD that touches a few weights only is taken example by example: more of them converge
// slower and gain nothing. A small set has smaller batches, or an epoch would be a step or two.
func stepBatch(c *config.Config, spec model.Spec, f Facts) int {
	family := spec.Family()
	short := family.Short(f.Kind) && c.Optimizer == config.SGD
	switch batch := c.AskedBatch(); {
	case batch > 0:
		return batch
	case c.Layout != nil:
	case c.GPU != "" && short && (!c.Mode.Traits().Barrier || family.OfWords()):
		return 1
	case c.GPU != "" && (c.Mode.Traits().Barrier || family.Short(f.Kind)):
		return 64
	case c.GPU != "" && family.Network && !family.Layered:
		return 4
	case c.GPU != "":
		return 8
	case short && !c.AveragesGradients():
		return 1
	}
	return min(64, max(1, f.Rows/stepsAnEpoch))
}

// stepsAnEpoch: a small set has at least this many steps an epoch, as far as its rows allow.
const stepsAnEpoch = 64

// wordsAWord is how many words in flight there are by default for each word of the vocabulary: as many cost nothing
// where they were tried (docs/results/gpu.md).
const wordsAWord = 25

// onGPU returns how many steps in flight GPUs are given by default. A GPU is the faster the more they are, up to one
// for each multiprocessor where a step has all of it (of several dense rows), else two; they need few more epochs up to
// the number beyond which the learning rate would be lowered (docs/gpu.md), and past that nothing is gained. Where none
// is known, convolutional networks did not always learn with one for each. In a factorization two steps on one row or
// column at once should be rare. A word is a warp, and two CTAs of eight fit: a vector lacks what others write while it
// takes one word's part of a step.
func onGPU(c *config.Config, spec model.Spec, f Facts, g GPUs, t Tuning) int {
	sms, least, most := max(1, g.SMs), max(1, g.SMs/4), max(1, g.SMs)
	switch {
	case c.Optimizer != config.SGD: // each step moves all weights
		return least
	case f.Kind.Entries():
		return min(64*sms, max(1, slices.Min(append(slices.Clip(f.Shape), f.Features))*2/5))
	case f.Kind.Words():
		return min(16*sms, wordsAWord*max(1, f.Features))
	}
	if f.Kind.Sparse() || t.Batch == 1 {
		most *= 2
	}
	limit := limitsOf(c, spec, f, ofOneStep(c, t))
	room := limit.cap(c.LR)
	if limit.network {
		room /= 2 // beyond, late steps cost more epochs than they save time
	}
	if room == 0 || tooLarge(spec, f) {
		return max(1, sms/2)
	}
	return int(min(max(room, float64(least)), float64(most*max(1, g.Count))))
}
