package tuning

import (
	"fmt"
	"math"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// Header is what the user should know before the run: whether the steps in flight are within
// the limit, and what centring has done for it.
func (j *Job) Header() (lines []string) {
	if j.Auto != "" {
		lines = append(lines, "auto: "+j.Auto)
	}
	if j.Tuning.Center {
		lines = append(lines, fmt.Sprintf("centred inputs: lambda %.2g -> %.2g", j.Raw, j.Lambda))
	}
	if j.MaxInFlight > 0 && j.Mode.Kind != config.Sync && !j.Capped {
		lines = append(lines, j.stable())
	}
	if j.NodesLR && j.Tuning.LR == j.Config.LR {
		lines = append(lines, fmt.Sprintf("lr %.3g is at %s: %d nodes keep it, and an epoch may reduce the loss less than on one", j.Config.LR, j.nodeLimit(), j.Nodes))
	}
	if j.Slower {
		how := "write in place"
		if j.Tuning.MergeEvery > 1 {
			how = fmt.Sprintf("must merge every %d local steps", j.Tuning.MergeEvery)
		}
		lines = append(lines, fmt.Sprintf("at lr %.3g %d workers %s, which is slower than one worker: --workers 1 or a lower --lr trains more examples/s", max(j.Config.LR, j.Tuning.LR), j.Workers, how))
	}
	return append(lines, j.lasts()...)
}

// lasts warns of a velocity to which more steps in flight add than (1-mu) C < pi/2 has:
// then sums that lack nothing diverge at any learning rate, as decay acts on what was
// read. A velocity is stored, not added to, so that of two steps on the same one the
// later wins; that is stable (simulated: docs/gpu.md).
func (j *Job) lasts() (lines []string) {
	each := float64(j.Tuning.InFlight)
	if j.OptimizerState == "private" {
		each /= float64(j.Workers)
	}
	if j.Optimizer != config.Momentum || (1-j.Tuning.Momentum)*each <= math.Pi/2 {
		return nil
	}
	return []string{fmt.Sprintf("momentum %.3g, %.0f steps in flight on one velocity: stable, as each overwrites the velocity, "+
		"but it averages over about %s steps; a lower momentum or fewer steps in flight may be faster", j.Tuning.Momentum, each, rounded(each/(1-j.Tuning.Momentum)))}
}

// stable compares the limit with the steps in flight.
func (j *Job) stable() string {
	who, are, they := strconv.Itoa(j.Tuning.InFlight), "are", "within it"
	switch {
	case j.GPU != "":
		who = human.Plural(j.Tuning.InFlight, "step")
	case j.Tuning.InFlight == j.Workers:
		who = human.Plural(j.Workers, "worker")
	case j.Tuning.InFlight < j.Workers:
		who = fmt.Sprintf("%d workers on %s", j.Workers, human.Plural(j.Tuning.InFlight, "core"))
	}
	if j.Tuning.InFlight == 1 && j.Workers == 1 {
		are = "is"
	} else if float64(j.Tuning.InFlight) > j.MaxInFlight {
		they = "beyond it: an epoch may reduce the loss less"
		if j.LRCap == "off" {
			they = "beyond it, and the cap is off"
		}
	}
	return fmt.Sprintf("lr %.3g is stable up to about %s in flight; %s %s %s", j.Tuning.LR, about(j.MaxInFlight), who, are, they)
}

// Recounted says that so many steps were measured to be in flight, more than were expected. Changes says what comes of it, unless
// the rate stays.
func (j *Job) Recounted(seen float64, expected int, stays bool) string {
	text := fmt.Sprintf("steps in flight: %.2g measured, %d expected", seen, expected)
	if j.MaxInFlight == 0 || j.Tuning.LR > j.Config.LR {
		return text
	}
	text += fmt.Sprintf("; lr %.3g is stable up to about %s", j.Config.LR, about(j.MaxInFlight))
	switch {
	case float64(j.Tuning.InFlight) <= j.MaxInFlight:
		text += ": they are within it"
	case !j.Capped || stays:
		text += ": an epoch may reduce the loss less; a lower --lr or fewer --workers avoid that"
	}
	return text
}

// Changes is what of the user's settings the run changes, for whoever watches.
func (j *Job) Changes() (lines []string) {
	if j.Capped {
		why := fmt.Sprintf("%d steps in flight", j.Tuning.InFlight)
		if j.Tuning.LR == j.MaxLR {
			why = fmt.Sprintf("the limit for a batch of %s on rows of this length", human.Plural(j.Tuning.Batch, "example"))
		}
		lines = append(lines, fmt.Sprintf("lr %.3g lowered to %s: %s", j.Config.LR, lowered(j.Config.LR, j.Tuning.LR), why)+tooSmall(j.Config.LR, j.Tuning.LR))
	}
	if j.NodesLR && j.Tuning.LR > j.Config.LR {
		lines = append(lines, j.nodesText())
	}
	if j.Tuning.Momentum != j.Config.Momentum {
		lines = append(lines, fmt.Sprintf("momentum %.3g -> %.3g: %d steps in flight", j.Config.Momentum, j.Tuning.Momentum, j.Tuning.InFlight))
	}
	return lines
}

// nodesText says what became of the rate asked for, times the nodes.
func (j *Job) nodesText() string {
	within := ""
	if j.Tuning.LR < j.Config.LR*float64(j.Nodes) {
		within = ", within " + j.nodeLimit()
	}
	return fmt.Sprintf("lr %.3g -> %.2g: %d nodes x %.3g%s (--node-lr same keeps %.3g)", j.Config.LR, j.Tuning.LR, j.Nodes, j.Config.LR, within, j.Config.LR)
}

// nodeLimit is what keeps the nodes' rate from being longer.
func (j *Job) nodeLimit() string {
	if j.MaxLR > 0 && j.Tuning.LR >= j.MaxLR {
		return "the limit for a batch of " + human.Plural(j.Tuning.Batch, "example")
	}
	return "the limit of " + human.Plural(j.Tuning.InFlight, "step") + " in flight"
}

// lowered is the smaller rate to, in two digits, or as many as tell it from the rate from.
func lowered(from, to float64) string {
	for digits := 2; ; digits++ {
		if text := fmt.Sprintf("%.*g", digits, to); text != fmt.Sprintf("%.*g", digits, from) || to >= from {
			return text
		}
	}
}

// plainRate is the rate where nothing is known of the curvature.
const plainRate = 0.01

// tooSmall is what to do about a rate that is small, and less than a hundredth of another: a few large inputs decide it.
func tooSmall(from, to float64) string {
	if to*100 >= from || to > plainRate {
		return ""
	}
	return " (so small a rate learns slowly: scale the inputs with --scale standard)"
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

// MergeText says how the workers of an async run on cores write the weights; of other runs
// it is empty.
func (j *Job) MergeText() string {
	if !j.AsyncOnCores() {
		return ""
	}
	steps := func(n int) string {
		text := "merged every " + human.Plural(n, "local step")
		if j.Config.MergeEvery == "auto" {
			text += " (auto)"
		}
		return text
	}
	switch t := j.Tuning; {
	case t.MergeEvery > 1:
		return "async, " + steps(t.MergeEvery)
	case t.BiasMergeEvery > 1:
		return fmt.Sprintf("async, in place, the bias %s", steps(t.BiasMergeEvery))
	}
	return "async, in place"
}
