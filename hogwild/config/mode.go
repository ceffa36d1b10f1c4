package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mode is how the workers of a run update the weights. Files and flags have its text.
type Mode struct {
	Kind    ModeKind
	Speeds  Speeds // Clock
	Delayed bool   // Clock: written as delayed:K
	Grid    int    // Blocks: of how many by how many
}

// DelayedBy returns the mode delayed:K.
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

// MustMode returns ParseMode's mode of a text that is one; on another it panics.
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
		i := slices.IndexFunc(modes[:], func(t Traits) bool { return t.name == text })
		if i < 0 || text == "" {
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

// String returns the text that Set reads.
func (m Mode) String() string {
	switch {
	case m.Kind == Blocks && m.Grid == defaultGrid:
		return blocksText
	case m.Kind == Blocks:
		return blocksText + ":" + strconv.Itoa(m.Grid)
	case m.Kind != Clock:
		return m.Traits().name
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

// Slots returns how many numbers the rule keeps for each weight.
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
