package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ModeKind is a way in which workers may update one set of weights.
type ModeKind int

// The kinds of modes, the first of which is the default: see ModeHelp.
const (
	Async ModeKind = iota
	Atomic
	Locked
	Ordered
	Sync
	Delayed
)

// Modes are the names of the kinds, but for Delayed, in whose place other forms stand.
var Modes = []string{"async", "atomic", "locked", "ordered", "sync"}

// ModeHelp says what each mode is, a line each.
const ModeHelp = `  async                   plain stores, no locks: updates may be lost. Small models train on local
                          copies that are merged often; --merge-every 1 is Hogwild! in place
  atomic                  adds by compare-and-swap: no update is lost
  locked                  each update locks the blocks of weights that it writes (AIG)
  ordered                 parallel gradients, updates in the order of the gradients (RR, round robin)
  sync                    each worker trains a replica, or a share of the batch; averaged at a barrier
  delayed:K               one worker that applies each update K steps late: repeatable bit for bit
  delayed:geometric:K     the same with random delays, K steps on average
`

// Mode is how the workers of a run update the weights. Files and flags have its text.
type Mode struct {
	Kind      ModeKind
	Delay     int  // Delayed: by how many updates
	Geometric bool // Delayed: on average, at random, and not always
}

const (
	delayedText   = "delayed:"
	geometricText = "geometric:"
	maxDelay      = 1<<16 - 1 // every update in flight holds a gradient
)

// ParseMode reads a mode. The error matches ErrUsage.
func ParseMode(text string) (Mode, error) {
	var m Mode
	if err := m.Set(text); err != nil {
		return Mode{}, Usage("mode %q: %w", text, err)
	}
	return m, nil
}

// MustMode is ParseMode of a text that is one; another panics.
func MustMode(text string) Mode {
	m, err := ParseMode(text)
	if err != nil {
		panic(err)
	}
	return m
}

// Set reads a flag's value.
func (m *Mode) Set(text string) error {
	delay, delayed := strings.CutPrefix(text, delayedText)
	if !delayed {
		i := slices.Index(Modes, text)
		if i < 0 {
			return fmt.Errorf("choose one of %s, delayed:K, delayed:geometric:K", strings.Join(Modes, ", "))
		}
		*m = Mode{Kind: ModeKind(i)}
		return nil
	}
	delay, random := strings.CutPrefix(delay, geometricText)
	k, err := strconv.Atoi(delay)
	if err != nil || k < 0 || k > maxDelay {
		return fmt.Errorf("write delayed:K or delayed:geometric:K, with K from 0 to %d updates", maxDelay)
	}
	*m = Mode{Delayed, k, random}
	return nil
}

// String is what Set reads.
func (m Mode) String() string {
	switch {
	case m.Kind != Delayed:
		return Modes[m.Kind]
	case m.Geometric:
		return delayedText + geometricText + strconv.Itoa(m.Delay)
	}
	return delayedText + strconv.Itoa(m.Delay)
}

// MarshalText and UnmarshalText are for files.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// Optimizer is a rule by which a gradient moves the weights.
type Optimizer string

// The optimizers.
const (
	SGD      Optimizer = "sgd"
	Momentum Optimizer = "momentum"
	Adam     Optimizer = "adam"
	AdaGrad  Optimizer = "adagrad"
)

// Slots is how many numbers the rule keeps for each weight.
func (o Optimizer) Slots() int {
	switch o {
	case Momentum, AdaGrad:
		return 1
	case Adam:
		return 2
	}
	return 0
}

// Adaptive reports whether a step is scaled by the gradients before it: its length says nothing
// of how far the weights move.
func (o Optimizer) Adaptive() bool { return o == Adam || o == AdaGrad }
