package tuning

import (
	"fmt"
	"math"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// Header returns what the user should know before the run: whether the steps in flight are within
// the limit, and what centring has done for it.
func (j *Job) Header() (lines []string) {
	if j.Used.Auto != "" {
		lines = append(lines, "auto: "+j.Used.Auto)
	}
	if j.Used.Center {
		lines = append(lines, fmt.Sprintf("centred inputs: lambda %.2g -> %.2g", j.Used.Raw, j.Used.Lambda))
	}
	if j.Used.MaxInFlight > 0 && !j.Asked.Mode.Traits().Barrier && !j.Used.Capped {
		lines = append(lines, j.stable())
	}
	if j.Used.FewSteps > 0 {
		lines = append(lines, j.fewText())
	} else if j.Used.MaxInFlight == 0 && j.Used.InFlight > 1 {
		lines = append(lines, j.unknown())
	}
	if j.Used.Replicas > 0 && j.Used.LR == j.Asked.LR {
		lines = append(lines, fmt.Sprintf("lr %.3g is at the limit of stable steps: %s keep it, and an epoch may "+
			"reduce the loss less than with one", j.Asked.LR, j.averaged()))
	}
	if j.Used.Slower {
		lines = append(lines, fmt.Sprintf("lr %.3g allows %d workers few local steps between merges, which is slower "+
			"than one worker: --workers 1 or a lower --lr trains more examples/s", max(j.Asked.LR, j.Used.LR),
			j.Asked.Workers))
	}
	return append(lines, j.lasts()...)
}

// Where no limit is known, a long run forgets what late steps cost it at its beginning. A convnet of 46 steps came to a
// loss 54% above one worker's with 8 in flight, 21% with 4 and 8% with 2; with 235 steps chance decided. So a step in
// flight is to be one of enoughSteps, and a run of manySteps is not judged.
const (
	enoughSteps = 20
	manySteps   = 1000
)

// fewSteps returns the steps of the whole run, of several nodes one node's, if they are few for the steps in flight and
// nothing else tells how many of these lose nothing; else 0. A simulation is meant to have them.
func fewSteps(c *config.Config, f Facts, t Tuning) int {
	if t.MaxInFlight > 0 || t.InFlight < 2 || c.Mode.Traits().Simulated {
		return 0
	}
	steps := (f.Rows + t.Batch - 1) / t.Batch * c.Epochs / c.AllNodes()
	if steps >= min(manySteps, enoughSteps*t.InFlight) {
		return 0
	}
	return steps
}

// knob returns the setting that decides how many steps are in flight.
func (j *Job) knob() string {
	switch program := j.Asked.Layout != nil; {
	case program && j.Used.InFlight > j.Asked.Workers:
		return "--merge-every"
	case j.Used.Sharers > 0 && !program:
		return "--in-flight"
	}
	return "--workers"
}

// fewText warns of a short run.
func (j *Job) fewText() string {
	return fmt.Sprintf("%s in all with %d in flight, and no limit of these is known here: the loss may stay well "+
		"above one worker's; try a lower %s, more --epochs or a smaller --batch",
		human.Plural(j.Used.FewSteps, "step"), j.Used.InFlight, j.knob())
}

// unknown says that no limit is known, and of what.
func (j *Job) unknown() string {
	what := j.Asked.Model
	if j.Asked.Optimizer.Adaptive() {
		what = string(j.Asked.Optimizer)
	} else if j.Asked.Loss == string(model.L1) {
		what = "the loss l1"
	}
	return fmt.Sprintf("no limit of steps in flight is known for %s: compare with a run of %s 1", what, j.knob())
}

// lasts warns of a velocity to which more steps in flight add than (1-mu) C < pi/2 has. Sums would diverge at any
// learning rate, as decay acts on what was read; but a velocity is stored, and of two steps on the same one the later
// wins, which is stable (simulated: docs/gpu.md).
func (j *Job) lasts() (lines []string) {
	each := float64(j.Used.InFlight)
	if j.Asked.OptimizerState == config.Private {
		each /= float64(j.Asked.Workers)
	}
	if j.Asked.Optimizer != config.Momentum || (1-j.Used.Momentum)*each <= math.Pi/2 {
		return nil
	}
	return []string{fmt.Sprintf("momentum %.3g, %.0f steps in flight on one velocity: stable, but it averages over "+
		"about %s steps; a lower momentum or fewer steps in flight may be faster", j.Used.Momentum, each,
		rounded(each/(1-j.Used.Momentum)))}
}

// farBeyond times the longest step that is sure to be stable, half or a quarter of the bound, is sure to be unstable.
const farBeyond = 4

// stable compares the limit with the steps in flight.
func (j *Job) stable() string {
	if j.Used.MaxLR > 0 && j.Used.LR > farBeyond*j.Used.MaxLR {
		return fmt.Sprintf("lr %.3g is far beyond %.2g, up to which steps of this batch are stable",
			j.Used.LR, j.Used.MaxLR)
	}
	who, are, they := strconv.Itoa(j.Used.InFlight), "are", "within it"
	switch {
	case j.Used.Sharers > 0:
		who = human.Plural(j.Used.InFlight, "step")
	case j.Used.InFlight == j.Asked.Workers:
		who = human.Plural(j.Asked.Workers, "worker")
	case j.Used.InFlight < j.Asked.Workers:
		who = fmt.Sprintf("%d workers on %s", j.Asked.Workers, human.Plural(j.Used.InFlight, "core"))
	}
	if j.Used.InFlight == 1 && j.Asked.Workers == 1 {
		are = "is"
	} else if float64(j.Used.InFlight) > twoDigits(j.Used.MaxInFlight) {
		if they = "beyond it, and the cap is off"; j.Asked.LRCap != config.Off {
			return fmt.Sprintf("lr %.3g loses nothing up to about %s in flight, and is lowered beyond about %s; %s "+
				"are between: %s", j.Used.LR, Steps(j.Used.MaxInFlight), rounded(j.Used.Cap), who, j.cost())
		}
	}
	return fmt.Sprintf("lr %.3g is stable up to about %s in flight; %s %s %s", j.Used.LR, Steps(j.Used.MaxInFlight),
		who, are, they)
}

// cost returns what steps beyond the limit cost: of networks the medians that were measured (docs/asynchrony.md).
func (j *Job) cost() string {
	switch {
	case !model.FamilyOf(j.Asked.Model).Rehearses():
		return "an epoch may reduce the loss less"
	case float64(j.Used.InFlight) <= j.Used.Cap/2:
		return "networks end with a few per cent more training loss, some with 20% or more"
	}
	return "networks end with 10 to 50% more training loss, some with twice as much"
}

// Changes returns lines on the user's settings that the run changes.
func (j *Job) Changes() (lines []string) {
	if j.Used.Capped {
		why := fmt.Sprintf("%d steps in flight", j.Used.InFlight)
		if j.Used.LR == j.Used.MaxLR {
			why = fmt.Sprintf("the limit for a batch of %s on rows of this length",
				human.Plural(j.Used.Batch, "example"))
		}
		lines = append(lines, fmt.Sprintf("lr %.3g lowered to %s: %s", j.Asked.LR, lowered(j.Asked.LR, j.Used.LR), why)+
			tooSmall(j.Asked.LR, j.Used.LR))
	}
	if j.Used.Replicas > 0 && j.Used.LR > j.Asked.LR {
		lines = append(lines, j.averageText())
	}
	return lines
}

// averageText says what became of the rate asked for, times the replicas.
func (j *Job) averageText() string {
	within := ""
	if j.Used.LR < j.Asked.LR*float64(j.Used.Replicas) {
		within = ", within the limit of stable steps"
	}
	return fmt.Sprintf("lr %.3g -> %.2g: %s x %.3g%s (--average-lr same keeps %.3g)", j.Asked.LR, j.Used.LR,
		j.averaged(), j.Asked.LR, within, j.Asked.LR)
}

// averaged returns the word for the replicas.
func (j *Job) averaged() string {
	if j.Asked.Mode.Traits().Barrier {
		return fmt.Sprintf("%d averaged workers", j.Used.Replicas)
	}
	return fmt.Sprintf("%d nodes", j.Used.Replicas)
}

// lowered returns the smaller rate to, in two digits, or as many as tell it from the rate from.
func lowered(from, to float64) string {
	for digits := 2; ; digits++ {
		if text := fmt.Sprintf("%.*g", digits, to); text != fmt.Sprintf("%.*g", digits, from) || to >= from {
			return text
		}
	}
}

// plainRate is the rate where nothing is known of the curvature.
const plainRate = 0.01

// tooSmall returns advice on a rate that is small, and less than a hundredth of another: a few large inputs decide
// it.
func tooSmall(from, to float64) string {
	if to*100 >= from || to > plainRate {
		return ""
	}
	return " (so small a rate learns slowly: scale the inputs with --scale standard)"
}

// Steps returns the text of a number of steps, rounded.
func Steps(x float64) string {
	if n := rounded(x); n != "1" {
		return n + " steps"
	}
	return "1 step"
}

// rounded returns a count to two digits: the rest mean nothing.
func rounded(x float64) string {
	if x >= 1e6 {
		return "a million or more"
	}
	return fmt.Sprintf("%.0f", twoDigits(x))
}

func twoDigits(x float64) float64 {
	unit := max(1, math.Pow(10, math.Floor(math.Log10(max(x, 1)))-1))
	return max(1, math.Round(x/unit)*unit)
}

// MergeText says how the workers of an async run on cores write the weights; of other runs
// it is empty.
func (j *Job) MergeText() string {
	if !j.Asked.AsyncOnCores() {
		return ""
	}
	steps := func(n int) string {
		text := "merged every " + human.Plural(n, "local step")
		if j.Asked.MergeEvery == config.Auto {
			text += " (auto)"
		}
		return text
	}
	switch t := j.Used; {
	case t.HotRows > 0:
		text := fmt.Sprintf("async, in place, the first %s of each table %s",
			human.Plural(min(t.HotRows, model.HotRows), "row"), steps(t.MergeEvery))
		if next := t.HotRows - model.HotRows; t.RareMerge > 1 && next > 0 {
			text += fmt.Sprintf(", the next %s every %s", human.Count(int64(next)),
				human.Count(int64(t.RareMerge*t.MergeEvery)))
		}
		return text
	case t.MergeEvery > 1:
		text := j.Asked.Mode.String() + ", " + steps(t.MergeEvery)
		if t.RareMerge > 1 {
			text += fmt.Sprintf(", rare features every %s", human.Count(int64(t.RareMerge*t.MergeEvery)))
		}
		return text
	case j.Asked.Apart > 0:
		return fmt.Sprintf("async, in place, by the blocks of a %d x %d grid", j.Asked.Apart, j.Asked.Apart)
	case t.BiasMergeEvery > 1:
		return fmt.Sprintf("async, in place, the bias %s", steps(t.BiasMergeEvery))
	}
	return j.Asked.Mode.String() + ", in place"
}
