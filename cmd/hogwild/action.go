package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"
)

// verb returns a command that calls do: see action.
func verb(c cli.Command, do func(c *cli.Context, s *settings, args []string) error) *cli.Command {
	c.Action = action(do)
	return &c
}

// action makes the action of a command: it reads the command line and the
// environment, then calls do with the positional arguments.
func action(do func(c *cli.Context, s *settings, args []string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		s, err := newSettings(c.Command)
		if err != nil {
			return err
		}
		args, err := s.arguments(c.Args().Slice())
		if about := (helpAsked)(""); errors.As(err, &about) {
			return writeHelp(c.App.Writer, s, strings.TrimLeft(string(about), "-"))
		}
		if err == nil {
			err = unknownVariable(c.App.Commands)
		}
		if err == nil {
			err = s.environment()
		}
		if err != nil {
			return err
		}
		return s.placed(do(c, s, args))
	}
}
