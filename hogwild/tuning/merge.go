package tuning

import (
	"cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// In async on cores a worker may take its steps on a copy of the weights, and merge it with the weights of all once in
// a number of local steps (see cpu/merge.go). Without a copy each step writes where all others write: in place, which
// is Hogwild! as published.

// maxDenseCopied is the largest dense model that is copied unless told otherwise, or centred: half of a core's
// second-level cache of a megabyte, so that the copy stays there.
const maxDenseCopied = 1 << 17

// biasSteps are the local steps of a bias that is copied by itself: with rows of ten numbers
// two workers are faster by a third for it, with rows of seventy no slower.
const biasSteps = 64

// Merging returns how many local steps there are between two merges of all weights, and of
// the bias alone; 1 is in place. All else of the Tuning is settled.
func Merging(c *config.Config, spec model.Spec, f Facts, t Tuning) (every, bias int) {
	if !c.AsyncOnCores() || c.Workers == 1 || c.MergeEvery == config.InPlace {
		return 1, 1
	}
	if f.HotRowsFirst && fuses(c, f, t.Batch) {
		return hotPeriod(c, spec), 1
	}
	if f.SupportsCopy && !t.Center && fuses(c, f, t.Batch) {
		switch {
		case f.Weights <= MaxCopied:
			return sparsePeriod(c, f.Weights, t.MaxLocalSteps), 1
		case spec.Bias:
			return 1, userPeriodOr(c, within(biasSteps, t.MaxLocalSteps))
		}
		return 1, 1
	}
	return densePeriod(c, spec, f, t), 1
}

// fuses reports whether the model takes its steps by itself, and nothing stands between their reads and writes.
func fuses(c *config.Config, f Facts, batch int) bool {
	return f.HasStepper && c.Optimizer == config.SGD && batch == 1 && c.GradientDelay == 0
}

// hotPeriod returns the period of merges of a model of words, whose hot rows alone are merged: in place each step takes
// their lines from other cores (docs/words.md has the figures). Up to these numbers, at the rates of the defaults,
// two, eight and, of word2vec, sixteen workers have the losses of work in place; what local steps do together grows
// with the rate. Fewer steps than the fewest are not worth a merge.
func hotPeriod(c *config.Config, spec model.Spec) int {
	most, together, fewest, rate := 512., 1024., 64, 0.025
	switch family := spec.Family(); {
	case family.Chunks: // a step takes a millisecond, so that lines seldom travel
		return userPeriodOr(c, 1)
	case !family.OfWords(): // each step writes the vectors of all labels
		most, together, fewest, rate = 8, 64, 4, 0.1
	}
	longer := max(1, c.LR/rate)
	every := int(min(most, together/float64(c.Workers)) / longer)
	if every < fewest {
		every = 1
	}
	return userPeriodOr(c, every)
}

// hotRows returns how many rows of each table a worker has to itself, and how many merges of the first model.HotRows
// there are between two of all these: of half a row of each table for each step, which takes a twentieth of the steps'
// time. Other cores have just written most lines of these rows; the rows behind them seldom lie in another core's
// cache. A period four times as long has a higher loss where the vocabulary is large (docs/results/words.md), and so
// has a copy of all rows where it is small: they are a sixteenth of it at most.
func hotRows(c *config.Config, spec model.Spec, f Facts, every int) (rows, rare int) {
	fewWrites := c.ShareNegatives || c.CBOW && c.Workers > 2 // measured with sixteen
	if spec.Family().Chunks {
		return manyRelations, 0
	}
	rows = min(2*every, f.Features/16)
	if c.MergeEvery != config.Auto || !spec.Family().OfWords() || fewWrites || rows <= model.HotRows {
		return model.HotRows, 0
	}
	return rows, 4
}

// manyRelations are the relations that are merged in each merge: with as many, others are rare.
const manyRelations = 1024

// mergesInVain refuses a period that was asked for where workers write in place whatever it is.
func mergesInVain(c *config.Config, f Facts, t Tuning) error {
	if userPeriodOr(c, 1) == 1 || !c.AsyncOnCores() || c.Workers == 1 || t.MergeEvery > 1 || t.BiasMergeEvery > 1 {
		return nil
	}
	return config.Usage("merge-every %s has no effect with model %s on %s rows, batch %d and optimizer %s: its "+
		"workers always write in place; leave merge-every out",
		c.MergeEvery, c.Model, f.Kind, t.Batch, c.Optimizer)
}

// userPeriodOr returns the period that the user gave, or else auto.
func userPeriodOr(c *config.Config, auto int) int { return cmp.Or(config.Whole(c.MergeEvery), auto) }

// within returns a period that the learning rate allows: see Tuning.MaxLocalSteps.
func within(every, hold int) int {
	if hold > 0 {
		return min(every, hold)
	}
	return every
}

// densePeriod returns the period of a layered model on dense inputs, their zeros skipped or not, and of every model
// that centres. Each step writes most of the weights then, and without a copy every cache line of them would travel at
// every step.
//
// The differences of all workers are added up, so that local steps are as if made in flight together. Two workers lose
// nothing by it: on MNIST at batch 64, rate 0.1, and at batch 1, rate 0.005, accuracies are the same with 1, 16 and 128
// local steps. With eight, perceptrons diverge at 16 (simulated with exact delays), so that beyond two workers they are
// trained in place unless told otherwise. Centred ones are never trained in place by several workers (model.Centered):
// they take four steps, and a run that centres takes two at least, whatever the limit.
//
// Momentum and AdaGrad do the same, each worker with a state for itself. No limit is known for AdaGrad: two workers
// take half as many local steps as plain sgd without a limit, and more write in place. Adam writes in place: copies are
// a tenth faster, and its loss is 2 to 4% higher with them (docs/results/speed.md). One state for all is memory that
// all write at each step: a copy of the weights alone gains little.
func densePeriod(c *config.Config, spec model.Spec, f Facts, t Tuning) int {
	centered, family := t.Center, spec.Family()
	if !family.Layered || c.Optimizer.Slots() > 0 && !c.PrivateState() && c.MergeEvery == config.Auto ||
		!centered && (f.Kind.Sparse() || f.Weights > maxDenseCopied && c.MergeEvery == config.Auto) {
		return 1
	}
	every := max(8, 128/max(1, t.Batch))
	if c.Optimizer.Adaptive() {
		every /= 2
	}
	switch {
	case c.Optimizer == config.Adam:
		every = 1
	case c.Workers <= 2 || !family.Rehearses() && !c.Optimizer.Adaptive():
	case centered:
		every = 4
	default:
		every = 1
	}
	if t.MaxInFlight > 0 { // a merge is of all weights: what costs nothing in flight
		every = min(every, max(1, int(t.MaxInFlight)))
	}
	every = within(every, t.MaxLocalSteps)
	if centered {
		every = max(every, 2)
	}
	return userPeriodOr(c, every)
}

// sparsePeriod returns the period of a linear model of w weights on sparse rows. Too few local steps, and
// merging takes longer than training; too many, and each of the workers goes most of the way
// alone, so that they overshoot together (docs/asynchrony.md): the product with the
// number of workers counts. Where the limit leaves fewer than are worth a merge, the model is
// trained in place.
func sparsePeriod(c *config.Config, w, hold int) int {
	every := 512
	if w > 1<<14 {
		every = 4096 // merging this many takes as long as a hundred steps
	}
	every = max(16, every/c.Workers)
	if most := within(every, hold); most < every {
		every = most
		if every < fewestSteps+w/fewestShare {
			every = 1
		}
	}
	return userPeriodOr(c, every)
}

// dualMerging returns the period of the dual solver, and for how many each worker steps. A step sets the loss of its
// row to the best it can be by itself, so that what local steps do together grows with their number times the share of
// the inputs' largest eigenvalue in |x|^2. Within dualTogether a pass is worth as much as one worker's. Where that
// leaves few, workers take more, and each steps as if others did the same: a pass is then worth a little less.
func dualMerging(c *config.Config, f Facts) (every int, spread float64) {
	if !c.AsyncOnCores() || c.Workers == 1 || c.MergeEvery == config.InPlace || f.Weights > MaxCopied {
		return 1, 1
	}
	most := int(dualTogether * f.RowNorm / f.RawLambda / float64(c.Workers))
	every = min(most, 512)
	if most < fewestDual {
		every = 8 * fewestDual
	}
	if every = userPeriodOr(c, every); every > most {
		return every, max(1, 0.7*float64(c.Workers))
	}
	return every, 1
}

const dualTogether, fewestDual = 12, 32

// slower reports whether two workers of a small linear model on sparse rows train slower than one does,
// because the learning rate allows them few local steps. With fewer than 8 + w/200 of them, or in place,
// two had .12 to .85 of one's examples/s on each of six sets, of 100 to 16,000 weights, on the two cores
// of a virtual machine with Intel Xeon processors. Of more workers, and of larger models, nothing is
// known.
func slower(c *config.Config, f Facts, t Tuning) bool {
	const most = 1 << 14 // weights
	return c.AsyncOnCores() && c.Workers == 2 && c.MergeEvery == config.Auto && f.SupportsCopy && f.Weights <= most &&
		!t.Center && fuses(c, f, t.Batch) && t.MergeEvery < 8+f.Weights/200
}

// With fewer local steps than fewestSteps and one for each fewestShare weights, two workers are
// slower than in place (docs/asynchrony.md).
const fewestSteps, fewestShare = 5, 2048
