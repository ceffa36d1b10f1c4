package main

import (
	"errors"
	"flag"
	"io/fs"

	"hogwild/hogwild/config"
)

// usagef returns an error in what the user wrote, which ends the program with status 2.
func usagef(format string, a ...any) error { return config.Usage(format, a...) }

// cause returns why a file could not be used, without its name.
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
