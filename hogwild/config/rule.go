package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// RuleKind is what is done with a gradient that comes late.
type RuleKind int

// The kinds of rules: see RuleHelp.
const (
	Plain RuleKind = iota
	Inverse
	Adaptive
	Tail
	TailPublished
	Drop
	Rennala
	Minibatch
	Quorum
	Clip
	Compensate
	DelayedNesterov
)

// RuleHelp says what each rule is, a line each. Tau is the number of updates since the gradient was begun, n the number
// of workers.
const RuleHelp = `  plain                   x -= lr g, however late
  inverse                 lr/(1 + tau) (Zhang, Gupta 2015)
  adaptive                lr min(1, n/tau) (Mishchenko et al. 2022, Koloskova et al. 2022)
  tail[:A]                lr (1 + A (1 - 2 F)), F the share of shorter delays so far, and half of the equal ones
  tail-published[:A]      the same with F as published, without the equal ones (ASAP.SGD, Backstrom et al. 2022)
  drop:R[,stop]           only if tau < R; stop: a worker that is so late begins anew (Ringmaster, 2025)
  rennala:B               a step by the mean of the first B gradients of the newest weights (Rennala, 2023)
  minibatch               all workers, then one step by their mean
  quorum:Q[,S]            a step by the mean of the first Q gradients, however late (FedBuff, 2022), and of those
                          that come within a time S after them
  clip:C                  g min(1, C/|g|) (Clipped ASGD, 2026)
  dc:L                    g + L g*g*(x - x of the gradient) (DC-ASGD, 2017)
  delayed-nesterov:N      momentum once in N updates (Liu et al. 2024), with outer-lr and outer-momentum
`

// Rule is what is done with gradients that come late. Its zero is plain.
type Rule struct {
	Kind RuleKind
	N    int     // R, B, Q, or N of DelayedNesterov
	X    float64 // A, C, L, or S of Quorum
	Stop bool    // Drop
}

// ruleNames are the kinds' names.
var ruleNames = []string{"plain", "inverse", "adaptive", "tail", "tail-published", "drop", "rennala", "minibatch",
	"quorum", "clip", "dc", "delayed-nesterov"}

// RuleHints are rules, and beginnings of rules.
var RuleHints = strings.Fields("plain inverse adaptive tail tail-published drop: rennala: minibatch quorum: clip: " +
	"dc: delayed-nesterov:")

// Set reads a flag's value.
func (r *Rule) Set(text string) error {
	name, value, given := strings.Cut(text, ":")
	for i, n := range ruleNames {
		if n != name {
			continue
		}
		read := Rule{Kind: RuleKind(i)}
		if err := read.setValue(value, given); err != nil {
			return err
		}
		*r = read
		return nil
	}
	return fmt.Errorf("choose one of %s", strings.Join(ruleNames, ", "))
}

// setValue reads what follows a name.
func (r *Rule) setValue(value string, given bool) (err error) {
	name := ruleNames[r.Kind]
	switch r.Kind {
	case Plain, Inverse, Adaptive, Minibatch:
		if given {
			return fmt.Errorf("%s has no number", name)
		}
	case Tail, TailPublished:
		r.X = 1
		if given {
			r.X, err = strconv.ParseFloat(value, 64)
		}
		if err != nil || !(r.X >= 0 && r.X <= 1) {
			return fmt.Errorf("write %s or %s:A, with A from 0 to 1", name, name)
		}
	case Clip, Compensate:
		if r.X, err = strconv.ParseFloat(value, 64); err != nil || !(r.X >= 0) || r.Kind == Clip && r.X == 0 ||
			r.Kind == Compensate && !human.Finite(r.X) {
			return fmt.Errorf("write %s:X, with a number above 0", name)
		}
	case Drop, Rennala, Quorum, DelayedNesterov:
		number, rest, more := strings.Cut(value, ",")
		if r.N, err = strconv.Atoi(number); err != nil || r.N < 1 || r.N > math.MaxInt32 {
			return fmt.Errorf("write %s:N, with N from 1", name)
		}
		switch {
		case more && r.Kind == Drop && rest == "stop":
			r.Stop = true
		case more && r.Kind == Quorum:
			if r.X, err = strconv.ParseFloat(rest, 64); err != nil || !(r.X > 0) || !human.Finite(r.X) {
				return fmt.Errorf("write quorum:Q or quorum:Q,S, with a time S above 0")
			}
		case more:
			return fmt.Errorf("write %s:N, not %q", name, value)
		}
	}
	return nil
}

// String returns the text that Set reads.
func (r Rule) String() string {
	g := func(x float64) string { return ":" + strconv.FormatFloat(x, 'g', -1, 64) }
	text := ruleNames[r.Kind]
	switch r.Kind {
	case Tail, TailPublished:
		if r.X != 1 {
			text += g(r.X)
		}
	case Clip, Compensate:
		text += g(r.X)
	case Drop, Rennala, Quorum, DelayedNesterov:
		text += ":" + strconv.Itoa(r.N)
		if r.Stop {
			text += ",stop"
		}
		if r.Kind == Quorum && r.X > 0 {
			text += "," + g(r.X)[1:]
		}
	}
	return text
}

// MarshalText and UnmarshalText are for files.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Rule) UnmarshalText(text []byte) error {
	if err := r.Set(string(text)); err != nil {
		return Usage("rule %q: %w", text, err)
	}
	return nil
}

// MustRule returns the rule of a text that is one; on another it panics.
func MustRule(text string) (r Rule) {
	if err := r.Set(text); err != nil {
		panic(err)
	}
	return r
}
