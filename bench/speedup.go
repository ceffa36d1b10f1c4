package bench

import (
	"maps"
)

// ofModes are the flags in which cases may differ that are compared by their modes.
var ofModes = []string{"mode", "average", "average-every"}

// like finds the case of c's group that has the same settings but for some flags, and
// so many workers and the mode; nil: there is none.
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

// AboutVersus says what the words of Versus are.
const AboutVersus = "ratio to that mode with as many workers and its 95% confidence interval where paired t-tests " +
	"show a difference; " +
	"equal: shown to be within 5%; undecided: neither, or fewer than 5 repeats. " +
	"The probability of any wrong word in a group is at most 5% (Holm's step-down)."

// Versus compares the speeds of a group's cases, and their times to the target, with those of their rivals: in words,
// "" where there is nothing to compare.
func (e *Experiment) Versus(cases []*Measured) (speeds, times map[*Measured]string) {
	speeds, times = map[*Measured]string{}, map[*Measured]string{}
	type comparison struct {
		of   map[*Measured]string
		c    *Measured
		test paired
	}
	var all []comparison
	var p []float64
	for _, c := range cases {
		r := e.Rival(c)
		if r == nil {
			continue
		}
		for _, x := range []comparison{{speeds, c, pair(c.ExamplesPerSecond, r.ExamplesPerSecond)},
			{times, c, pair(c.SecondsToTarget, r.SecondsToTarget)}} {
			if x.test.n > 0 {
				all, p = append(all, x), append(p, min(x.test.within(), x.test.beyond(0)))
			}
		}
	}
	for i, adjusted := range holm(p) {
		switch x := all[i]; {
		case !(adjusted <= level):
			x.of[x.c] = string(Undecided)
		case x.test.within() < x.test.beyond(0):
			x.of[x.c] = "equal"
		default:
			x.of[x.c] = x.test.factor()
		}
	}
	return speeds, times
}

// SpeedUp is how many times faster a case is than its baseline, repeat by repeat, each
// against the baseline's run of the same turn.
func (e *Experiment) SpeedUp(c *Measured) []Number {
	b := e.baseline(c)
	if b == nil {
		return nil
	}
	return ratios(c.ExamplesPerSecond, b.ExamplesPerSecond)
}
