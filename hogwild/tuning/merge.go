package tuning

import (
	"fmt"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// In async on cores a worker may take its steps on a copy of the weights, and merge it with
// the weights of all every so many local steps (see cpu/merge.go). Without a copy each step
// writes where all others write: in place, which is Hogwild! as published.

// MaxCopied is the largest sparse linear model that is copied whole, a megabyte of it: copy
// and base then stay in a core's cache. In a larger one most weights are rare, and two workers
// seldom meet at one: at its bias alone, which is copied by itself.
const MaxCopied = 1 << 18

// maxDenseCopied is the largest dense model that is copied unless told otherwise, or centred: half of a core's second-level cache
// of a megabyte, so that the copy stays there.
const maxDenseCopied = 1 << 17

// biasSteps are the local steps of a bias that is copied by itself: with rows of ten numbers
// two workers are faster by a third for it, with rows of seventy no slower.
const biasSteps = 64

// SettleMerges sets how many local steps there are between two merges of all weights, and of
// the bias alone; 1 is in place. All else of the Tuning is settled.
func (c *Job) SettleMerges(set *data.Set) error {
	t := &c.Tuning
	t.MergeEvery, t.BiasMergeEvery = 1, 1
	if !c.asyncOnCores() || c.Workers == 1 || c.MergeEvery == "1" {
		return nil
	}
	m, err := model.New(c.TrainedOptions(set), set.Meta)
	if err != nil {
		return err
	}
	ps := m.Params()
	n := model.Size(ps)
	if s, ok := m.(model.HalfStepper); ok && c.Optimizer == config.SGD && c.Batch == 1 && c.GradientDelay == 0 {
		if steps, copied := s.Suits(set); steps {
			switch {
			case copied && n <= MaxCopied:
				t.MergeEvery = c.sparsePeriod(n)
			case copied && ps[len(ps)-1].Len() == 1: // there is a bias
				t.BiasMergeEvery = c.told(c.withinLimit(biasSteps))
			}
			return nil
		}
	}
	t.MergeEvery = c.densePeriod(set.Kind, n)
	return nil
}

// asyncOnCores tells whether nothing keeps workers from each other's weights but the copies
// that they train.
func (c *Job) asyncOnCores() bool { return c.Mode.Kind == config.Async && c.GPU == "" }

// told is the period that the user gave, or else auto.
func (c *Job) told(auto int) int {
	if n, err := strconv.Atoi(c.MergeEvery); err == nil {
		return n
	}
	return auto
}

// withinLimit is a period that the learning rate bears: see Hold.
func (c *Job) withinLimit(every int) int {
	if c.Tuning.Hold > 0 {
		return min(every, c.Tuning.Hold)
	}
	return every
}

// densePeriod is that of a layered model of w weights on dense inputs, their zeros skipped or
// not, and of every model that centres. Each step writes most of the weights then, and without
// a copy every cache line of them would travel at every step.
//
// The differences of all workers are added up, so that local steps are as if made in flight
// together. Two workers bear it: on MNIST at batch 64, rate 0.1, and at batch 1, rate 0.005,
// accuracies are the same with 1, 16 and 128 local steps. With eight, perceptrons diverge at 16
// (simulated with exact delays), so that beyond two workers they are trained in place unless
// told otherwise. Centred ones are never trained in place by several workers (model.Centered):
// they take four steps, and a run that centres takes two at least, whatever the limit.
func (c *Job) densePeriod(kind string, w int) int {
	centered := c.Tuning.Center
	if c.Optimizer != config.SGD || !model.FamilyOf(c.Model).Layered() ||
		!centered && (kind == data.Sparse || w > maxDenseCopied && c.MergeEvery == "auto") {
		return 1
	}
	every := max(8, 128/max(1, c.Batch))
	switch {
	case c.Workers <= 2 || model.FamilyOf(c.Model) != model.Perceptron:
	case centered:
		every = 4
	default:
		every = 1
	}
	if c.Tuning.MaxInFlight > 0 { // a merge is of all weights: what costs nothing in flight
		every = min(every, max(1, int(c.Tuning.MaxInFlight)))
	}
	every = c.withinLimit(every)
	if centered {
		every = max(every, 2)
	}
	return c.told(every)
}

// sparsePeriod is that of a linear model of w weights on sparse rows. Too few local steps, and
// merging takes longer than training; too many, and each of the workers goes most of the way
// alone, so that they overshoot together (docs/asynchrony.md): the product with the
// number of workers counts. Where the limit leaves fewer than are worth a merge, the model is
// trained in place.
func (c *Job) sparsePeriod(w int) int {
	every := 512
	if w > 1<<14 {
		every = 4096 // merging all of so many takes as long as a hundred steps
	}
	every = max(16, every/c.Workers)
	if within := c.withinLimit(every); within < every {
		every = within
		if every < fewestSteps+w/fewestShare {
			every = 1
		}
	}
	return c.told(every)
}

// With fewer local steps than fewestSteps and one for each fewestShare weights, two workers are
// slower than in place (docs/asynchrony.md).
const fewestSteps, fewestShare = 5, 2048

// writesInPlace tells whether several async workers were told to write the weights where
// they lie.
func (c *Job) writesInPlace() bool {
	return c.asyncOnCores() && c.Workers > 1 && c.MergeEvery == "1"
}

// MergesCentered tells whether the weights that workers share are centred ones in their merged
// form: see model.Centered.
func (c *Job) MergesCentered() bool {
	return c.asyncOnCores() && c.Tuning.Center && c.Tuning.MergeEvery > 1
}

// MergeText says how the workers of an async run on cores write the weights; of other runs
// it is empty.
func (c *Job) MergeText() string {
	if !c.asyncOnCores() {
		return ""
	}
	steps := func(n int) string {
		text := "merged every " + human.Plural(n, "local step")
		if c.MergeEvery == "auto" {
			text += " (auto)"
		}
		return text
	}
	switch t := c.Tuning; {
	case t.MergeEvery > 1:
		return "async, " + steps(t.MergeEvery)
	case t.BiasMergeEvery > 1:
		return fmt.Sprintf("async, in place, the bias %s", steps(t.BiasMergeEvery))
	}
	return "async, in place"
}
