package bench

import (
	"fmt"
	"hogwild/hogwild/config"
)

// ending is why a plan was not carried out to its end, in words of its own.
type ending struct {
	kind error
	text string
}

// Error says what happened and what to do.
func (e *ending) Error() string { return e.text }

// usage is a mistake of the user.
func usage(format string, a ...any) error {
	return &ending{config.ErrUsage, fmt.Sprintf(format, a...)}
}

// Unwrap is config.ErrUsage or an interruption: see config.Interruption.
func (e *ending) Unwrap() error { return e.kind }
