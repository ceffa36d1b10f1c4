package main

import (
	"github.com/urfave/cli/v2"

	"hogwild/bench"
)

const benchHelp = `Usage: hogwild bench --floors [--json] [--seconds S]

Measures what this machine does at best, on one core and on all: multiply-adds, memory, random
updates of shared weights, a word that all cores write, a cache line's way from core to core,
waking a thread, starting a process. No training is faster than these. It takes 200 MB.

FLAGS

Examples:
  hogwild bench --floors
  hogwild bench --floors --seconds 1 --json
`

func benchCommand() *cli.Command {
	var floors, asJSON bool
	seconds := 8.0
	l := flagList{category: "Flags"}
	l.bool(&floors, "floors", "measure the floors of this machine")
	l.float(&seconds, "seconds", "`S` time to take, in seconds")
	l.bool(&asJSON, "json", "print the answer as one JSON object")
	return &cli.Command{
		Name: "bench", Description: benchHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			switch {
			case len(args) > 0:
				return usagef("unexpected argument %q; bench takes flags only", args[0])
			case !floors:
				return usagef("bench measures floors so far: hogwild bench --floors")
			case !(seconds > 0 && seconds <= 3600):
				return usagef("--seconds %g: want more than 0, and 3600 at most", seconds)
			}
			f, err := bench.Measure(bench.Options{Seconds: seconds, Idle: []string{"--version"}})
			if err != nil {
				return err
			}
			return report(c.App.Writer, f, asJSON)
		}),
	}
}
