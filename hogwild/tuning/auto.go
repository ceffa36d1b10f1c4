package tuning

import (
	"cmp"
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// What the user leaves to the program: learning rate, epochs, and the regularizer of ratings. These become
// settings before the run, so that its config.yaml has them and a resumed run continues with the same.
// They do not depend on the number of workers: a comparison changes only what it is about.
// bench/rivals/defaults.py has the sets by which the numbers were chosen, docs/results/defaults.md what they reach.

// noiseCost bounds the share of the loss that the noise of gradients adds at a chosen rate. A step of rate
// r = lr h on b examples adds about r tr/(2b), with tr = E|x|^2. Here h is the largest curvature that the
// loss has anywhere: a model of many classes starts where h is small, and ends between two of them.
const noiseCost = 0.02

// An epoch of a small set has few steps. The automatic number of epochs makes them leastSteps, between fewestEpochs
// and mostEpochs; a factorization, whose step is about one entry, is given leastEntries.
const (
	leastSteps   = 9000
	leastEntries = 2_500_000

	fewestEpochs, mostEpochs = 10, 200

	fewEpochs = 4 // times fewer than these are few for the rate
)

// Settle fills in the rate and the epochs where they are left to the program, and says what it chose.
func Settle(c *config.Config, spec model.Spec, f Facts) (chosen []string) {
	if c.Schedule == config.Auto {
		chosen = settleSchedule(c, spec)
	}
	if spec.Family().Chunks {
		chosen = append(chosen, settleChunks(c, spec)...)
	}
	batch := stepBatch(c, spec, f)
	if c.LR == 0 {
		plain := f
		plain.Heavy = 0
		c.LR = firstDigits(autoRate(c, spec, plain, batch) / cmp.Or(f.Heavy, 1))
		says := fmt.Sprintf("lr %.3g", c.LR)
		if c.Program != "" {
			says += " for job.step"
		}
		if !f.Kind.AnyScale() || c.Scale == config.NoScale { // else they are scaled
			says += tooSmall(plainRate, c.LR)
		}
		if n := autoEpochs(c, spec, f, batch); c.Epochs > 0 && c.Epochs*fewEpochs <= n {
			says += fmt.Sprintf(" (meant for %d epochs: fewer learn less, and --tune finds a rate for them)", n)
		}
		chosen = append(chosen, says)
	}
	if c.Epochs == 0 {
		c.Epochs = autoEpochs(c, spec, f, batch)
		text := human.Plural(c.Epochs, "epoch")
		if c.Patience > 0 {
			text = "at most " + text
		}
		if f.Often > 0 && c.Epochs > fewestEpochs {
			text += fmt.Sprintf(" (rare features: one occurs in %s rows on average)", human.Short(f.Often))
		} else if c.Epochs > fewestEpochs {
			text += fmt.Sprintf(" (a small set: %s rows)", human.Count(int64(f.Rows)))
		}
		chosen = append(chosen, text)
	}
	return chosen
}

// settleChunks fills in the negatives and the regularizer of embeddings of a graph.
func settleChunks(c *config.Config, spec model.Spec) (chosen []string) {
	negatives, n3 := spec.Sampling()
	if c.Negatives == 0 {
		c.Negatives = negatives
		chosen = append(chosen, fmt.Sprintf("%d negatives", negatives))
	}
	if c.N3 == 0 && n3 > 0 {
		c.N3 = n3
		chosen = append(chosen, fmt.Sprintf("n3 %g", n3))
	}
	return chosen
}

// rarePasses is how often the steps of a rare feature of a table go the whole way of the largest curvature: the weights
// of texts that stand in three rows each would hardly have moved after ten epochs.
const rarePasses = 3

// autoEpochs returns how many epochs a run has where none are asked for.
func autoEpochs(c *config.Config, spec model.Spec, f Facts, batch int) int {
	if n := spec.Family().Epochs; n > 0 {
		return n
	}
	least := leastSteps * batch
	if spec.Family().Entries {
		least = leastEntries
	}
	epochs := max((least+f.Rows-1)/f.Rows, fewestEpochs)
	if h := cmp.Or(largestCurvature(spec.Loss), 1); f.Often > 0 && c.LR > 0 {
		epochs = max(epochs, int(min(mostEpochs, rarePasses*float64(batch)/(c.LR*h*f.Often))))
	}
	return min(epochs, mostEpochs)
}

// cbowFaster is the rate of CBOW over the rate of skip-gram, as in word2vec.c.
const cbowFaster = 2

// coolingRate is how many times as high the rate of a network is where it falls over the second half of the run, which
// takes away the noise of its steps, and what late gradients have added to it (docs/asynchrony.md).
const coolingRate = 1.4

// settleSchedule fills in how the rate falls.
func settleSchedule(c *config.Config, spec model.Spec) (chosen []string) {
	c.Schedule = config.Constant
	switch family := spec.Family(); {
	case family.Schedule != "":
		c.Schedule = config.Schedule(family.Schedule)
	case c.LR == 0 && family.Rehearses() && !c.Optimizer.Adaptive() && !c.StopsEarly():
		c.Schedule = config.Cooldown
	default:
		return nil
	}
	return []string{"a " + string(c.Schedule) + " schedule"}
}

// SettleRatings fills in what makes a factorization as good as one by biases alone, when no model was named.
func SettleRatings(c *config.Config, m *data.Meta) (chosen []string) {
	if c.Model != "" || !m.Matrix() || m.Implicit {
		return nil
	}
	if !c.Biases {
		c.Biases = true
		chosen = append(chosen, "biases")
	}
	if c.L2 == 0 {
		// Less where rows and columns have many entries. The loss is in squares of values and the loss of the factors
		// in values, so that l2 is in units of their deviation.
		each := 2 * float64(m.Rows) / float64(m.Features)
		c.L2 = firstDigits(float64(m.Targets.Deviation) * (0.1 + 5/each))
		chosen = append(chosen, fmt.Sprintf("l2 %.3g", c.L2))
	}
	return chosen
}

// autoRate returns the longest step that leaves room for steps in flight, and whose noise costs little, for outputs of
// about 1, as a network's are: see data.Standard.
func autoRate(c *config.Config, spec model.Spec, f Facts, batch int) float64 {
	switch family := spec.Family(); {
	case family.Rate > 0 && c.CBOW:
		return cbowFaster * family.Rate
	case family.OneRate > 0 && !c.AdaptsRows():
		return family.OneRate
	case family.Rate > 0:
		return family.Rate
	case spec.Deviation > 0:
		return plainRate / float64(spec.Deviation) // products of factors are as large as the values
	}
	cooling := 1.0
	if c.Schedule == config.Cooldown {
		cooling = coolingRate
	}
	t := Tuning{Batch: batch, Momentum: c.Momentum, Lambda: f.RawLambda}
	if centers(c, f) {
		t.Lambda = f.CenteredLambda
	}
	limit := limitsOf(c, spec, f, t)
	if limit.lambda == 0 || !spec.Family().Layered {
		return plainRate * cooling
	}
	lr := limit.inFlightRate(roomInFlight)
	if f.Trace > 0 {
		lr = min(lr, 2*noiseCost*float64(t.Batch)/(largestCurvature(spec.Loss)*f.Trace)*limit.scale)
	}
	if lr *= cooling; limit.maxLR > 0 {
		lr = min(lr, limit.maxLR)
	}
	return lr
}

// firstDigits returns x to two digits: more would say that it is known better.
func firstDigits(x float64) float64 {
	if !(x > 0) {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	if unit < 1 { // 1/unit is a whole number: the quotient is the nearest float64
		return math.Round(x/unit) / math.Round(1/unit)
	}
	return math.Round(x/unit) * unit
}
