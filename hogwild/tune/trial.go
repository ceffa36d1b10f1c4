package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
	"hogwild/internal/human"
)

// nearly is how much of the rate that a trial finds stable may be chosen: the run, which has other rows, finds another.
// A long run has tuneSeeds.
const nearly, tuneSeeds = 0.9, 3

// Trial is one of the runs.
type Trial struct {
	LR, Momentum float64
	Seed         uint64
	// at its end, of rows held out, else mean over the last epoch's second half; infinite when the numbers diverged
	Loss    float64
	Seconds float64 // of training

	long   bool
	most   float64   // rate up to which single steps are stable, and some more; 0: not known
	blocks []float64 // losses of blocks of those rows
}

// try makes the runs of a setting, unless they are there: a short one, or long ones of other seeds until one diverges.
func (t *tuner) try(c *config.Config, lr, momentum float64) (runs []Trial, err error) {
	long := *c == t.long
	for _, g := range t.groups(long) {
		if g[0].LR == lr && g[0].Momentum == momentum {
			return g, nil
		}
	}
	for seed := range uint64(tuneSeeds) {
		tr, err := t.run(c, Trial{LR: lr, Momentum: momentum, Seed: seed, long: long})
		if err != nil {
			return nil, err
		}
		if runs = append(runs, tr); !long || math.IsInf(tr.Loss, 1) {
			break
		}
	}
	return runs, nil
}

// run makes one run.
func (t *tuner) run(c *config.Config, tr Trial) (Trial, error) {
	if t.ctx.Err() != nil {
		return tr, config.CauseOf(t.ctx)
	}
	fold := tr.Seed % uint64(len(t.data))
	held := t.held[fold]
	one := *c
	one.LR, one.LRMin, one.Momentum, one.Seed = tr.LR, c.LRMin*tr.LR/c.LR, tr.Momentum, c.Seed+tr.Seed
	one.Run = filepath.Join(t.folder, fmt.Sprint(len(t.trials)))
	sets := t.data[fold].Sets
	if held != nil { // nor does it look at the test rows
		sets.Test = sets.Validation
	}
	if one.Validation == "" {
		sets.Validation = nil
	}
	result, half, err := run.Borrow(t.ctx, one, sets)
	tr.Loss, tr.Seconds = half, result.Seconds
	if err == nil && held != nil {
		tr.blocks, err = held.losses(one.Run)
		tr.Loss = mean(tr.blocks)
	}
	loss := "diverged"
	if tr.most = nearly * result.MaxLR; tr.most > 0 && tr.LR > tr.most && err == nil {
		tr.Loss, loss = math.NaN(), fmt.Sprintf("beyond %.2g, where single steps may diverge", tr.most)
	}
	if errors.Is(err, config.ErrDiverged) || math.IsNaN(tr.Loss) {
		tr.Loss, tr.blocks, err = math.Inf(1), nil, nil
	}
	if err != nil {
		return tr, err
	}
	t.trials = append(t.trials, tr)
	if !math.IsInf(tr.Loss, 1) {
		loss = "loss " + human.Loss(tr.Loss)
	}
	if tr.Seed > 0 {
		loss += fmt.Sprintf(" (seed %d)", one.Seed)
	}
	width := len(t.named(Trial{LR: 0.0001234, Momentum: 0.97}))
	t.say("  %-*s  %-12s %6.2f s", width, t.named(tr), loss, tr.Seconds)
	return tr, os.RemoveAll(one.Run)
}

// named says what was tried.
func (t *tuner) named(tr Trial) string {
	if t.data[0].Job.Asked.Optimizer != config.Momentum {
		return fmt.Sprintf("lr %g", tr.LR)
	}
	return fmt.Sprintf("lr %g, momentum %g", tr.LR, tr.Momentum)
}

// best returns the short or the long runs with the least mean loss.
func (t *tuner) best(c *config.Config) []Trial {
	return slices.MinFunc(t.groups(*c == t.long), byMean)
}

// choice returns the setting with the least mean loss over the seeds, or the next smaller rate, which diverges later,
// if that is within one standard error. How says how sure that is.
func (t *tuner) choice() (best Trial, how string) {
	groups := t.groups(true)
	slices.SortFunc(groups, byMean)
	best = groups[0][0]
	own, next := groups[0], 1
	for _, g := range groups {
		if by, sigma := worse(g, groups[0]); by <= sigma && g[0].Momentum == best.Momentum && g[0].LR < best.LR &&
			(next == 1 || g[0].LR > own[0].LR) {
			own, next = g, 0
		}
	}
	on := t.held[0].String()
	if n := len(own); n > 1 {
		l := byLoss(own)
		on += fmt.Sprintf(" (%s to %s by %d seeds)", human.Loss(l[0].Loss), human.Loss(l[n-1].Loss), n)
	}
	loss := human.Loss(meanLoss(own))
	if next == len(groups) || math.IsInf(meanLoss(groups[next]), 1) {
		return own[0], fmt.Sprintf(": loss %s on %s; no other rate is known to be stable", loss, on)
	}
	by, sigma := worse(groups[next], own)
	other := t.named(groups[next][0])
	if by <= sigma {
		return own[0], fmt.Sprintf("; could not tell it from %s: losses %s and %s, +- %.2g, on %s", other, loss,
			human.Loss(meanLoss(groups[next])), sigma, on)
	}
	return own[0], fmt.Sprintf(": loss %s on %s; the next, %s, has %.2g +- %.2g more", loss, on, other, by, sigma)
}

// groups returns the short or the long runs of each setting, in their order.
func (t *tuner) groups(long bool) (all [][]Trial) {
	for _, tr := range t.trials {
		if last := len(all) - 1; tr.long == long && tr.Seed > 0 {
			all[last] = append(all[last], tr)
		} else if tr.long == long {
			all = append(all, []Trial{tr})
		}
	}
	return all
}

// meanLoss returns the mean over seeds, where the worst counts as at most twice the middle one: whether a row far from
// all others is among the last that a run trains on is chance.
func meanLoss(g []Trial) (mean float64) {
	for i := range g {
		mean += g[i].Loss * counts(g, i) / float64(len(g))
	}
	return mean
}

func byMean(a, b []Trial) int { return cmp.Compare(meanLoss(a), meanLoss(b)) }

// counts returns how much of the i-th loss counts.
func counts(g []Trial, i int) float64 {
	losses := byLoss(g)
	if middle := losses[len(g)/2].Loss; g[i].Loss > 2*middle && !math.IsInf(g[i].Loss, 1) {
		return 2 * middle / g[i].Loss
	}
	return 1
}

func byLoss(g []Trial) []Trial {
	return slices.SortedFunc(slices.Values(g), func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
}

// worse returns by how much the loss of one setting is above another's, over the same rows and seeds, and the standard
// error of that: of the rows and of the seeds together. Of losses of rows trained on it is not known, and 1%; of a
// single row it is so large that nothing can be told.
func worse(a, b []Trial) (by, sigma float64) {
	if math.IsInf(meanLoss(b), 1) {
		return 0, 0
	}
	if by = meanLoss(a) - meanLoss(b); math.IsInf(by, 1) {
		return by, 0
	}
	fewest := slices.MinFunc(a, func(a, b Trial) int { return len(a.blocks) - len(b.blocks) })
	rows, seeds := make([]float64, len(fewest.blocks)), make([]float64, len(a))
	for i := range a {
		ofA, ofB := counts(a, i), counts(b, i)
		seeds[i] = a[i].Loss*ofA - b[i].Loss*ofB
		for j := range rows {
			rows[j] += (a[i].blocks[j]*ofA - b[i].blocks[j]*ofB) / float64(len(a))
		}
	}
	switch len(rows) {
	case 0:
		return by, math.Abs(meanLoss(b)) / 100
	case 1:
		return by, math.Abs(by)
	}
	return by, math.Hypot(meanError(rows), meanError(seeds))
}

// meanError returns the standard error of the mean of x; 0 of a single one.
func meanError(x []float64) float64 {
	mean, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(max(len(x)-1, 1)) / float64(len(x)))
}

func (t *tuner) say(format string, args ...any) {
	t.data[0].Say(fmt.Sprintf(format, args...))
}
