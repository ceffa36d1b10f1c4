package config

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"hogwild/internal/human"
)

// Why a run ended, for errors.Is.
var (
	ErrUsage       = errors.New("wrong flag or file")
	ErrDiverged    = errors.New("training diverged")
	ErrGap         = errors.New("the duality gap is above the target: train for more epochs, or with a larger l2")
	ErrInterrupted = errors.New("interrupted")
	ErrTerminated  = errors.New("terminated")
	ErrHangup      = errors.New("hung up")
	// the run's own could not be written
	ErrElsewhere = errors.New("saved in another folder")
	ErrAfterLoop = errors.New("a program failed after its loop over job.batches()") // the run is complete
	ErrReported  = errors.New("reported by another node")
)

// Interruption returns which of ErrInterrupted, ErrTerminated and ErrHangup an error matches: a signal or
// the caller ended the run, which is saved. Nil: none of them.
func Interruption(err error) error {
	for _, kind := range []error{ErrInterrupted, ErrTerminated, ErrHangup} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// Reported is an error that another node of a job reports.
type Reported struct{ Err error }

// Error returns the text of that node's error.
func (e Reported) Error() string { return e.Err.Error() }

// Unwrap returns the error as that node has it.
func (e Reported) Unwrap() error { return e.Err }

// Is makes the error an ErrReported.
func (e Reported) Is(target error) bool { return target == ErrReported }

// usageError is what the user can mend: a flag or a file.
type usageError struct{ error }

func (e usageError) Error() string        { return human.BriefMessage(e.error.Error()) }
func (e usageError) Is(target error) bool { return target == ErrUsage }
func (e usageError) Unwrap() error        { return e.error }

// Usage returns an error that matches ErrUsage: what the user can mend.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// tableError is a usage error with lines behind it.
type tableError struct {
	error
	lines []string
}

func (e tableError) Error() string { return e.error.Error() + "\n" + strings.Join(e.lines, "\n") }
func (e tableError) Unwrap() error { return e.error }

// Table returns an error that matches ErrUsage and has a table. The lines are to be short, few, and nothing
// that a terminal obeys.
func Table(lines []string, format string, args ...any) error {
	return tableError{Usage(format, args...), lines}
}

// TableOf returns the lines of an error that has a table; nil for others.
func TableOf(err error) []string {
	if t := (tableError{}); errors.As(err, &t) {
		return t.lines
	}
	return nil
}

func between(name string, v, lo, hi float64) error {
	switch {
	case v >= lo && v <= hi:
		return nil
	case hi == math.MaxFloat32:
		return Usage("%s %.10g: must be from %g, and finite", name, v, lo)
	}
	return Usage("%s %.10g: must be from %.10g to %.10g", name, v, lo, hi)
}

func positive(name string, v float64) error {
	if !(v > 0 && v <= math.MaxFloat32) {
		return Usage("%s %v: must be a positive number", name, v)
	}
	return nil
}

// fromOne refuses a number out of range; for 0 the setting has a word.
func fromOne(name string, n, most int, zero string) error {
	if n < 0 || n > most {
		return Usage("%s %d: must be from 1 to %d, or %s", name, n, most, zero)
	}
	return nil
}
