package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"hogwild/hogwild/config"
)

// usageError is a mistake in what the user wrote: an ErrUsage whose text is its own.
type usageError string

// Error says what is wrong and how to mend it.
func (e usageError) Error() string { return string(e) }

// Is makes the error an ErrUsage, which ends the program with status 2.
func (e usageError) Is(target error) bool { return target == config.ErrUsage }

func usagef(format string, a ...any) error { return usageError(fmt.Sprintf(format, a...)) }

// cause is why a file could not be used, without its name.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// helpAsked is flag.ErrHelp with what the help is to be about: all, a flag, or "".
type helpAsked string

func (helpAsked) Error() string { return flag.ErrHelp.Error() }
