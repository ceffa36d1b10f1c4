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

// tuneAlike is by what share losses differ that may be alike: beyond it they are not, however uncertain they are.
const tuneAlike = 0.02

// nearly is how much of the rate that a trial finds stable may be chosen: the run, which has other rows, finds another.
const nearly = 0.9

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

// reach returns how far a gradient moves the weights in the long run.
func (t Trial) reach() float64 { return t.LR / (1 - t.Momentum) }

// try makes one run, unless it has been made, with the seed'th seed after the run's.
func (t *tuner) try(c *config.Config, lr, momentum float64, seed uint64) error {
	if t.tried(c, lr, momentum, seed) >= 0 {
		return nil
	}
	if t.ctx.Err() != nil {
		return config.CauseOf(t.ctx)
	}
	one := *c
	one.LR, one.LRMin, one.Momentum, one.Seed = lr, c.LRMin*lr/c.LR, momentum, c.Seed+seed
	one.Run = filepath.Join(t.folder, fmt.Sprint(len(t.trials)))
	sets := t.data.Sets
	if t.held != nil { // nor does it look at the test rows
		sets.Test = sets.Validation
	}
	if one.Validation == "" {
		sets.Validation = nil
	}
	result, half, err := run.Borrow(t.ctx, one, sets)
	tr := Trial{LR: lr, Momentum: momentum, Seed: seed, Loss: half, Seconds: result.Seconds, long: t.isLong(c)}
	if err == nil && t.held != nil {
		tr.blocks, err = t.held.losses(one.Run)
		tr.Loss = mean(tr.blocks)
	}
	loss := "diverged"
	if tr.most = nearly * result.MaxLR; tr.most > 0 && lr > tr.most && err == nil {
		tr.Loss, loss = math.NaN(), fmt.Sprintf("beyond %.2g, where single steps may diverge", tr.most)
	}
	if errors.Is(err, config.ErrDiverged) || math.IsNaN(tr.Loss) {
		tr.Loss, tr.blocks, err = math.Inf(1), nil, nil
	}
	if err != nil {
		return err
	}
	t.trials = append(t.trials, tr)
	width := 12
	if one.Optimizer == config.Momentum {
		width = 26
	}
	if !math.IsInf(tr.Loss, 1) {
		loss = "loss " + human.Loss(tr.Loss)
	}
	if seed > 0 {
		loss += fmt.Sprintf(" (seed %d)", one.Seed)
	}
	t.say("  %-*s  %-12s %6.2f s", width, t.named(tr), loss, tr.Seconds)
	return os.RemoveAll(one.Run)
}

// tried returns which trial has been made with these settings; -1: none.
func (t *tuner) tried(c *config.Config, lr, momentum float64, seed uint64) int {
	return slices.IndexFunc(t.trials, func(tr Trial) bool {
		return tr.LR == lr && tr.Momentum == momentum && tr.Seed == seed && tr.long == t.isLong(c)
	})
}

func (t *tuner) isLong(c *config.Config) bool { return *c == t.long }

// named says what was tried.
func (t *tuner) named(tr Trial) string {
	if t.data.Job.Asked.Optimizer != config.Momentum {
		return fmt.Sprintf("lr %g", tr.LR)
	}
	return fmt.Sprintf("lr %g, momentum %g", tr.LR, tr.Momentum)
}

// best returns the trial with the least loss among short or long ones, with the first seed.
func (t *tuner) best(c *config.Config) Trial {
	best := Trial{Loss: math.Inf(1)}
	for _, tr := range t.trials {
		if tr.long == t.isLong(c) && tr.Seed == 0 && (best.LR == 0 || tr.Loss < best.Loss) {
			best = tr
		}
	}
	return best
}

// finalists returns the best long trial, that of the next smaller rate, which is safer should the best one have been
// lucky, and the next best near it: more seeds tell which is best, and how sure that is.
func (t *tuner) finalists() (all []Trial) {
	var others []Trial
	best, below := t.best(&t.long), Trial{}
	for _, tr := range t.trials {
		if !tr.long || tr.Seed > 0 || tr.same(best) || math.IsInf(tr.Loss, 1) {
			continue
		}
		if others = append(others, tr); tr.Momentum == best.Momentum && tr.LR < best.LR && tr.LR > below.LR {
			below = tr
		}
	}
	all = []Trial{best}
	if below.LR > 0 {
		all = append(all, below)
	}
	slices.SortFunc(others, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
	for _, tr := range others {
		if by, sigma := worse([]Trial{tr}, all[:1]); !tr.same(below) &&
			(by <= max(2*sigma, 5*tuneAlike*math.Abs(best.Loss)) || below.LR == 0) {
			return append(all, tr)
		}
	}
	return all
}

// choice returns the setting with the least mean loss over the seeds, or of those that cannot be told from it the one
// whose steps go least far: it diverges last. How says how sure that is.
func (t *tuner) choice() (chosen Trial, how string) {
	groups := t.groups()
	slices.SortFunc(groups, func(a, b []Trial) int { return cmp.Compare(meanLoss(a), meanLoss(b)) })
	best, own := groups[0], groups[0]
	for _, g := range groups {
		if by, sigma := worse(g, best); by <= sigma && g[0].reach() < own[0].reach() {
			own = g
		}
	}
	chosen = own[0]
	next := slices.IndexFunc(groups, func(g []Trial) bool { return !g[0].same(chosen) && !math.IsInf(meanLoss(g), 1) })
	on := "the rows that it trained on"
	if t.held != nil {
		on = t.held.String()
	}
	if n := len(own); n > 1 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, tr := range own {
			low, high = min(low, tr.Loss), max(high, tr.Loss)
		}
		on += fmt.Sprintf(" (%s to %s by %d seeds)", human.Loss(low), human.Loss(high), n)
	}
	loss := human.Loss(meanLoss(own))
	if next < 0 {
		return chosen, fmt.Sprintf(": loss %s on %s; no other rate is known to be stable", loss, on)
	}
	other := groups[next]
	by, sigma := worse(other, own)
	if by <= sigma {
		return chosen, fmt.Sprintf("; could not tell it from %s: losses %s and %s, +- %.2g, on %s", t.named(other[0]),
			loss, human.Loss(meanLoss(other)), sigma, on)
	}
	return chosen, fmt.Sprintf(": loss %s on %s; the next, %s, has %.2g +- %.2g more", loss, on,
		t.named(other[0]), by, sigma)
}

// same reports whether two trials differ by seed alone.
func (t Trial) same(o Trial) bool { return t.LR == o.LR && t.Momentum == o.Momentum }

// groups returns the long trials of each setting that was tried with most seeds, in their order.
func (t *tuner) groups() (all [][]Trial) {
	most := 0
	for _, tr := range t.trials {
		if tr.long && tr.Seed == 0 {
			g := slices.DeleteFunc(slices.Clone(t.trials), func(o Trial) bool { return !o.long || !o.same(tr) })
			if len(g) > most {
				most, all = len(g), nil
			}
			if len(g) == most {
				all = append(all, g)
			}
		}
	}
	return all
}

func meanLoss(g []Trial) (mean float64) {
	for _, tr := range g {
		mean += tr.Loss / float64(len(g))
	}
	return mean
}

// worse returns by how much the loss of one setting is above that of another, over the same rows and seeds, and the
// standard error of that: of the rows and of the seeds together. Of losses of rows trained on it is not known, and half
// of tuneAlike; of a single row it is so large that nothing can be told.
func worse(a, b []Trial) (by, sigma float64) {
	if len(a) != len(b) || math.IsInf(meanLoss(b), 1) {
		return 0, 0
	}
	if by = meanLoss(a) - meanLoss(b); math.IsInf(by, 1) {
		return by, 0
	}
	rows, seeds := make([]float64, len(a[0].blocks)), make([]float64, len(a))
	for i := range a {
		seeds[i] = a[i].Loss - b[i].Loss
		for j := range rows {
			rows[j] += (a[i].blocks[j] - b[i].blocks[j]) / float64(len(a))
		}
	}
	switch len(rows) {
	case 0:
		return by, tuneAlike / 2 * math.Abs(meanLoss(b))
	case 1:
		return by, math.Abs(by)
	}
	return by, math.Hypot(meanError(rows), meanError(seeds))
}

func mean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
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
	t.data.Say(fmt.Sprintf(format, args...))
}
