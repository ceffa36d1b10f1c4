package main

import (
	"github.com/urfave/cli/v2"

	"hogwild/bench"
)

const benchHelp = `Usage: hogwild bench --floors [--json] [--seconds S]
       hogwild bench --probes --gpu N [--json] [--quick]
       hogwild bench --report FOLDER [--json]

Measures what this machine does at best, on one core and on all: multiply-adds, memory, random
updates of shared weights, a word that all cores write, a cache line's way from core to core,
waking a thread, starting a process. No training is faster than these. It takes 200 MB.

With --probes: what a GPU does at best: additions to few and many weights, loads, launches, its
clock. With --report: the page of what run.sh of make gpu-pack has left in a folder.

FLAGS

Examples:
  hogwild bench --floors
  hogwild bench --floors --seconds 1 --json
  hogwild bench --probes --gpu 0
`

func benchCommand() *cli.Command {
	var floors, probes, quick, asJSON bool
	var gpu, folder string
	seconds := 8.0
	l := flagList{category: "Flags"}
	l.bool(&floors, "floors", "measure the floors of this machine")
	l.float(&seconds, "seconds", "`S` time to take, in seconds")
	l.bool(&probes, "probes", "measure what a GPU does at best")
	l.string(&gpu, "gpu", "`N` the GPU to probe, counted from 0")
	l.bool(&quick, "quick", "probes: only see that they run")
	l.string(&folder, "report", "`FOLDER` of results to make a page of")
	l.bool(&asJSON, "json", "print the answer as one JSON object")
	return &cli.Command{
		Name: "bench", Description: benchHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			switch {
			case len(args) > 0:
				return usagef("unexpected argument %q; bench takes flags only", args[0])
			case folder != "":
				r, err := bench.Collect(folder)
				if err != nil {
					return err
				}
				return report(c.App.Writer, r, asJSON)
			case probes:
				return probe(c.App.Writer, gpu, quick, asJSON)
			case !floors:
				return usagef("what is to be measured? hogwild bench --floors, or --probes --gpu 0")
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
