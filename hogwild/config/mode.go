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
	Clock
	Blocks
)

// Modes are the names of the kinds, but for Clock and Blocks, in whose place other forms stand.
var Modes = []string{"async", "atomic", "locked", "ordered", "sync"}

// ModeHelp says what each mode is, a line each.
const ModeHelp = `  async                   plain stores, no locks: updates may be lost. Small models train on local
                          copies that are merged often; --merge-every 1 is Hogwild! in place
  atomic                  adds by compare-and-swap: no update is lost
  locked                  each update locks the blocks of weights that it writes (AIG)
  ordered                 parallel gradients, updates in the order of the gradients (RR, round robin)
  sync                    each worker trains a replica, or a share of the batch; averaged at a barrier
  clock:SPEEDS            one worker that plays many on a virtual clock: repeatable bit for bit; see --rule
  delayed:K               clock:equal:K+1: each update is K steps late
  delayed:geometric:K     the same with random delays, K steps on average
  blocks[:G]              factor: a G x G grid of blocks; workers train those that share no row or column.
                          The same bits with any number of workers
`

// Mode is how the workers of a run update the weights. Files and flags have its text.
type Mode struct {
	Kind    ModeKind
	Speeds  Speeds // Clock
	Delayed bool   // Clock: written as delayed:K
	Grid    int    // Blocks: of how many by how many
}

// DelayedBy is the mode delayed:K.
func DelayedBy(k int) Mode { return Mode{Kind: Clock, Speeds: Speeds{N: k + 1}, Delayed: true} }

const (
	delayedText   = "delayed:"
	clockText     = "clock:"
	blocksText    = "blocks"
	geometricText = "geometric:"
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
	if speeds, clock := strings.CutPrefix(text, clockText); clock {
		read, err := parseSpeeds(speeds)
		if err == nil {
			*m = Mode{Kind: Clock, Speeds: read}
		}
		return err
	}
	if grid, blocks := strings.CutPrefix(text, blocksText); blocks && (grid == "" || grid[0] == ':') {
		return m.setBlocks(grid)
	}
	delay, delayed := strings.CutPrefix(text, delayedText)
	if !delayed {
		i := slices.Index(Modes, text)
		if i < 0 {
			return fmt.Errorf("choose one of %s, clock:SPEEDS, delayed:K, delayed:geometric:K, blocks",
				strings.Join(Modes, ", "))
		}
		*m = Mode{Kind: ModeKind(i)}
		return nil
	}
	delay, random := strings.CutPrefix(delay, geometricText)
	k, err := strconv.Atoi(delay)
	if err != nil || k < 0 || k >= MostVirtual {
		return fmt.Errorf("write delayed:K or delayed:geometric:K, with K from 0 to %d updates", MostVirtual-1)
	}
	if *m = DelayedBy(k); random {
		m.Speeds.Kind = RandomOrder
	}
	return nil
}

// The grid of blocks, and how large it may be.
const (
	defaultGrid = 8
	mostGrid    = 256 // ranges are numbered in a byte
)

// setBlocks reads what follows blocks.
func (m *Mode) setBlocks(text string) (err error) {
	g := defaultGrid
	if text != "" {
		g, err = strconv.Atoi(text[1:])
	}
	if err != nil || g < 1 || g > mostGrid {
		return fmt.Errorf("write blocks or blocks:G, with G from 1 to %d", mostGrid)
	}
	*m = Mode{Kind: Blocks, Grid: g}
	return nil
}

// String is what Set reads.
func (m Mode) String() string {
	switch {
	case m.Kind == Blocks && m.Grid == defaultGrid:
		return blocksText
	case m.Kind == Blocks:
		return blocksText + ":" + strconv.Itoa(m.Grid)
	case m.Kind != Clock:
		return Modes[m.Kind]
	case !m.Delayed:
		return clockText + m.Speeds.String()
	case m.Speeds.Kind == RandomOrder:
		return delayedText + geometricText + strconv.Itoa(m.Speeds.N-1)
	}
	return delayedText + strconv.Itoa(m.Speeds.N-1)
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
