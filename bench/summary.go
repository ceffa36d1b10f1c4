package bench

import "io"

// Spread is the median of repeats and their range; N is how many there are, without
// those that are not finite.
type Spread struct {
	Median, Low, High float64
	N                 int
}

// Summarize is the spread of a list.
func Summarize(list []Number) Spread { panic("not yet") }

// Verdict compares two lists: "equal" where their ranges overlap, else by which factor
// the medians differ.
type Verdict struct {
	Ratio float64 // of the medians
	Equal bool    // the ranges overlap
}

// Compare compares a list with another.
func Compare(a, with []Number) Verdict { panic("not yet") }

// Baseline is the case that a case's speed-up is measured against: of its group and
// settings, one worker of the same mode, else one worker of async; nil: there is none.
func (e *Experiment) Baseline(c *Measured) *Measured { panic("not yet") }

// SpeedUp is how many times faster a case is than its baseline, repeat by repeat, each
// against the baseline's run of the same turn.
func (e *Experiment) SpeedUp(c *Measured) []Number { panic("not yet") }

// Fairness says what a reader must know before comparing: more workers than cores, GPU
// workers that take turns, ranges that overlap, runs that failed or missed the target.
func (e *Experiment) Fairness() []string { panic("not yet") }

// WriteText writes the table for a terminal: medians and ranges.
func (e *Experiment) WriteText(w io.Writer) error { panic("not yet") }

// WriteJSON writes results.json.
func (e *Experiment) WriteJSON(w io.Writer) error { panic("not yet") }

// WriteBenchmarks writes results.txt, in Go's benchmark format, which benchstat reads.
func (e *Experiment) WriteBenchmarks(w io.Writer) error { panic("not yet") }

// WriteCSV writes a line for each case: its settings, then medians and ranges.
func (e *Experiment) WriteCSV(w io.Writer) error { panic("not yet") }
