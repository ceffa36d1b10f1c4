package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// Which case is best must not depend on whose best learning rate is nearest to one that all were given: the mean of N
// workers bears a rate N times as high as one worker does. So all cases of a group try the same rates with the same
// seeds, and each is compared at its best. The rates are powers of two times the group's base, the first three around
// it; while the best of any case is the least or the greatest tried, all try one beyond. Losses are of rows held out
// of the training set, at the end of the last epoch: test rows have no say. On a clock the best is the first at the
// target, by the loss of the same rows.
const (
	moreRates   = 6 // at each end, at most
	heldOut     = "0.1"
	firstSought = 1001 // seed: not one of those that repeats have
	searches    = "search"
)

// choose takes the rate with the least mean loss, of equal ones that nearest to the base, and returns its index: the
// least rate if none has a loss.
func (s *Search) choose(base float64) (best int) {
	away := func(i int) float64 { return math.Abs(math.Log(s.Rates[i] / base)) }
	for i := range s.Rates {
		if m, least := s.Mean(i), s.Mean(best); m < least || m == least && human.Finite(m) && away(i) < away(best) {
			best = i
		}
	}
	s.LR, s.AtEdge = s.Rates[best], best == 0 || best == len(s.Rates)-1
	return best
}

// averageLR is the setting by which a rate depends on how many nodes or workers are averaged.
const averageLR = "average-lr"

// unsought are settings with which the loss at the end does not tell a good rate.
var unsought = []struct{ flag, why string }{
	{"program", "a program takes its own steps"},
	{"tune", "with tune runs find their own"},
	{"gradient-delay", "with gradient-delay speeds are compared"},
	{"target-loss", "runs with target-loss end where they reach it"},
	{"target-accuracy", "runs with target-accuracy end where they reach it"},
}

// asked are settings that keep a case at the rate that it is given, unless it says otherwise itself.
func (c *Case) asked() (all []Setting) {
	if c.Value("lr-cap") == "" {
		all = append(all, Setting{"lr-cap", string(config.Off)})
	}
	if mode, _ := config.ParseMode(c.Value("mode")); c.Value(averageLR) == "" && (mode.Traits().Barrier ||
		several(c.Value("nodes"))) {
		all = append(all, Setting{averageLR, string(config.Same)})
	}
	return all
}

// sought reports whether a search is to settle the rate of cases that are compared, or why not; "": nothing to say.
func (p *Plan) sought(cases []*Case) (why string, ok bool) {
	for _, c := range cases {
		if c.Value("lr") != cases[0].Value("lr") {
			return "", false // it is what they compare
		}
		for _, u := range unsought {
			if v := c.Value(u.flag); v != "" && v != "false" && !(p.Clock && u.flag == "target-loss") {
				return u.why, false
			}
		}
	}
	return "", len(cases) > 1
}

// trier returns the trials of a plan, nil where there is none.
type trier func(Plan) ([][]*trial, error)

// errUntried: the folder does not say yet which rate is best.
var errUntried = errors.New("bench: learning rates are not known yet")

// tally is how many runs of a search are done, of those that are known to be needed.
type tally struct{ done, total int }

// rates settles the learning rates of the cases that are compared: the best of those tried, or with SameLR one for all.
func (p *Plan) rates(try trier) (n tally, err error) {
	if p.Search == 0 && !p.SameLR {
		return n, nil
	}
	p.Cases, p.Notes = slices.Clone(p.Cases), slices.Clone(p.Notes)
	groups, left := map[string][]*Case{}, map[string][]string{} // the latter by why
	for i := range p.Cases {
		c := &p.Cases[i]
		groups[c.Group] = append(groups[c.Group], c)
	}
	for _, c := range p.Cases {
		cases := groups[c.Group]
		if cases == nil {
			continue
		}
		delete(groups, c.Group)
		if why, ok := p.sought(cases); !ok {
			left[why] = append(left[why], c.Group)
			continue
		}
		s := &search{plan: p, cases: cases, try: try, set: validation, tally: &n}
		if failed := s.settle(); failed != nil && !errors.Is(failed, errUntried) {
			return n, failed
		} else if failed != nil {
			err = failed
		}
	}
	for _, u := range unsought {
		if names := strings.Join(left[u.why], ", "); left[u.why] != nil {
			p.Notes = append(p.Notes, strings.TrimPrefix(names+": ", ": ")+"one learning rate for all cases: "+u.why)
		}
	}
	return n, err
}

// search is a group's search for the best rate.
type search struct {
	plan      *Plan
	cases     []*Case
	try       trier
	tally     *tally
	set       string
	base      float64
	low, high int       // powers of two that were tried
	found     []*Search // of each case
	alive     []bool    // a run of the case came to an end, if by diverging
}

// settle settles the rates of the cases.
func (s *search) settle() error {
	if err := s.findBase(); err != nil || s.base == 0 {
		return err
	}
	if !s.plan.SameLR {
		s.low, s.high = -1, 1
		for powers := []int{-1, 0, 1}; len(powers) > 0; powers = s.beyond() {
			if err := s.measure(powers); err != nil {
				return err
			}
		}
	}
	for i, c := range s.cases {
		lr := s.base
		if s.found != nil && s.alive[i] {
			c.Search, lr = s.found[i], s.found[i].LR
		}
		c.Chosen = append(c.asked(), Setting{"lr", plainNumber(lr)})
	}
	return nil
}

// findBase is the rate that was asked for, or the automatic one of the first case; 0 if its run failed.
func (s *search) findBase() error {
	first := s.cases[0]
	if lr, err := strconv.ParseFloat(first.Value("lr"), 64); err == nil {
		s.base = lr
		return nil
	}
	trials, err := s.run(1, func() []Case { return []Case{s.variant(first, "auto", Setting{"epochs", "1"})} })
	switch {
	case err == nil && trials[0][0].Failed == "":
		s.base = trials[0][0].Config.LR
	case err == nil:
		s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("%s: no learning rate to begin a search with: %s", first.Name,
			trials[0][0].Failed))
	case errors.Is(err, errUntried):
		s.tally.total += 3 * len(s.cases) * s.plan.Search
	}
	return err
}

// variant is a case with other settings, as a search runs it.
func (s *search) variant(c *Case, name string, set ...Setting) Case {
	if s.set == validation {
		set = append(set, Setting{"validation", heldOut})
	} else {
		name += "." + s.set
	}
	return Case{Name: c.Name + "." + name, Of: c.Name, Launcher: c.Launcher,
		Settings: Override(c.Settings, append(c.asked(), set...))}
}

// rate returns the rate of a power of two: of its root on a clock, whose times are finer than losses.
func (s *search) rate(k int) float64 {
	if !s.plan.Clock {
		return math.Ldexp(s.base, k)
	}
	lr, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", s.base*math.Pow(2, float64(k)/2)), 64)
	return lr
}

// measure tries powers with all cases.
func (s *search) measure(powers []int) error {
	trials, err := s.run(s.plan.Search, func() (all []Case) {
		for _, c := range s.cases {
			for _, k := range powers {
				lr := plainNumber(s.rate(k))
				all = append(all, s.variant(c, "lr="+lr, Setting{"lr", lr}))
			}
		}
		return all
	})
	if err != nil {
		return err
	}
	if s.found == nil {
		s.found, s.alive = make([]*Search, len(s.cases)), make([]bool, len(s.cases))
		for i := range s.cases {
			s.found[i] = &Search{Set: s.set, Seeds: s.plan.searchSeeds(s.plan.Search)}
		}
	}
	for i, f := range s.found {
		for j, k := range powers {
			var losses []human.Number
			for _, t := range trials[i*len(powers)+j] {
				losses = append(losses, human.Number(s.score(t)))
				s.alive[i] = s.alive[i] || t.done()
			}
			at := len(f.Rates)
			if k < -1 {
				at = 0
			}
			f.Rates, f.Losses = slices.Insert(f.Rates, at, s.rate(k)), slices.Insert(f.Losses, at, losses)
		}
	}
	return nil
}

// run has cases tried with n seeds. Where no rows can be held out, which is refused as a mistake of the user, the
// search goes by the training loss.
func (s *search) run(n int, cases func() []Case) (trials [][]*trial, err error) {
	for {
		step := Plan{Command: s.plan.Command, Cases: cases(), Seeds: s.plan.searchSeeds(n), AtOnce: s.plan.AtOnce}
		trials, err = s.try(step)
		all := slices.Concat(trials...)
		if err == nil && slices.Contains(all, nil) {
			err = errUntried
		}
		all = slices.DeleteFunc(all, func(t *trial) bool { return !t.done() })
		if s.set == validation && s.found == nil && (errors.Is(err, config.ErrUsage) ||
			err == errUntried && len(all) == 0) {
			s.set = training
			continue
		}
		s.tally.done, s.tally.total = s.tally.done+len(all), s.tally.total+len(step.Cases)*n
		return trials, err
	}
}

// beyond are the powers next to those that were tried, where the best of a case is the last.
func (s *search) beyond() (powers []int) {
	low, high := s.low, s.high
	for i, f := range s.found {
		switch at := f.choose(s.base); {
		case !s.alive[i]: // it tells nothing
		case at == 0:
			low = max(s.low-1, -1-moreRates)
		case at == len(f.Rates)-1:
			high = min(s.high+1, 1+moreRates)
		}
	}
	if low < s.low {
		powers = append(powers, low)
	}
	if high > s.high {
		powers = append(powers, high)
	}
	s.low, s.high = low, high
	return powers
}

// SetSearch has the plan search learning rates: with five seeds, since by two the noise at the end of a run decides;
// with two if it is to be quick, and one where each case is run once.
func (p *Plan) SetSearch(quick, sameLR bool) {
	switch p.Search, p.SameLR = 5, sameLR; {
	case len(p.Seeds) == 1:
		p.Search = 1
	case quick:
		p.Search = 2
	}
}

// searchSeeds are n seeds that no repeat has.
func (p *Plan) searchSeeds(n int) (seeds []uint64) {
	for seed := uint64(firstSought); len(seeds) < n; seed++ {
		if !slices.Contains(p.Seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// score is a run's loss at the end of its last epoch, or on a clock when it reached the target; NaN if it has none.
func (s *search) score(t *trial) float64 {
	switch {
	case t.Failed != "" || len(t.History) == 0:
		return math.NaN()
	case s.plan.Clock:
		last := t.History[len(t.History)-1]
		if x := VirtualTime(t.History, s.plan.TargetLoss); human.Finite(x) {
			return x
		} // else the search has to see in which direction the loss falls
		return OnClock(last) * last.Judged().Loss / s.plan.TargetLoss
	}
	e := t.History[len(t.History)-1]
	switch {
	case s.set == training:
		return e.TrainLoss
	case e.ValidationLoss == nil:
		return math.NaN()
	}
	return *e.ValidationLoss
}
