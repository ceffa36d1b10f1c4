package bench

import (
	"maps"
)

// ofModes are the flags in which cases may differ that are compared by their modes.
var ofModes = []string{"mode", "average", "average-every"}

// like finds the case of c's group that has the same settings but for some flags, and these workers
// and this mode; nil: there is none.
func (e *Experiment) like(c *Measured, mode string, workers int, but ...string) *Measured {
	want := c.without(but...)
	for i := range e.Cases {
		o := &e.Cases[i]
		if o.Group == c.Group && o.Mode == mode && o.Workers == workers && maps.Equal(o.without(but...), want) {
			return o
		}
	}
	return nil
}

// baseline is the case that a case's speed-up is measured against: of its group and
// settings, one worker of the same mode, else one worker of async; nil: there is none.
func (e *Experiment) baseline(c *Measured) *Measured {
	if b := e.like(c, c.Mode, 1, "workers"); b != nil {
		return b
	}
	return e.like(c, "async", 1, append(ofModes, "workers")...)
}

// Rival is the case whose mode a case's is compared with: of its group, workers and
// settings, the one of the group's first mode; nil: there is none, or it is c itself.
func (e *Experiment) Rival(c *Measured) *Measured {
	for i := range e.Cases {
		if first := &e.Cases[i]; first.Group == c.Group {
			if first.Mode == c.Mode {
				return nil
			}
			return e.like(c, first.Mode, c.Workers, ofModes...)
		}
	}
	return nil
}

// AboutVersus says what the words of Verdicts are.
const AboutVersus = "ratio to that mode with as many workers and its 95% confidence interval where paired t-tests " +
	"show a difference; where runs missed the target or diverged, they count as last, and a rank test shows who is " +
	"later or higher; equal: shown to be within 5%; undecided: neither, or fewer than 5 repeats. " +
	"The probability of any wrong word in a group is at most 5% (Holm's step-down)."

// Verdicts compare a case with its rival, in words; "": there is nothing to compare.
type Verdicts struct{ Speed, Time, Loss string }

// Versus compares the speeds of a group's cases, their times to the target and their losses at the end with their
// rivals'.
func (e *Experiment) Versus(cases []*Measured) map[*Measured]*Verdicts {
	verdicts := map[*Measured]*Verdicts{}
	var words []*string // what the tests say, where there is evidence
	var p []float64
	for _, c := range cases {
		v, r := &Verdicts{}, e.Rival(c)
		if verdicts[c] = v; r == nil {
			continue
		}
		for _, x := range []struct {
			word *string
			fate
			a, b []float64
		}{
			{&v.Speed, fate{}, Rate.Of(c), Rate.Of(r)},
			{&v.Time, fate{"later", "sooner", "missed"}, SecondsToTarget.Of(c), SecondsToTarget.Of(r)},
			{&v.Loss, fate{"higher", "lower", "diverged"}, TestLoss.Late(c), TestLoss.Late(r)},
		} {
			says, probability := x.compare(x.a, x.b)
			if *x.word = says; says != "" {
				words, p = append(words, x.word), append(p, probability)
			}
		}
	}
	for i, adjusted := range holm(p) {
		if !(adjusted <= level) {
			*words[i] = string(Undecided)
		}
	}
	return verdicts
}

// SpeedUp is how many times faster a case is than its baseline, repeat by repeat, each
// against the baseline's run of the same turn.
func (e *Experiment) SpeedUp(c *Measured) []float64 {
	b := e.baseline(c)
	if b == nil {
		return nil
	}
	return ratios(Rate.Of(c), Rate.Of(b))
}
