package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/rundir"
)

const scaleHelp = `Usage: hogwild scale [RUN] N [--json]

Changes a live run to N workers. Learning rate, merge period and steps in flight become those that
a new run with N workers would have.

  async, atomic, locked, ordered   at once: new workers join, others end after the chunk in hand
  sync                             after the current round; the rest of the epoch is cut anew
  --partition contiguous           when the current epoch ends

FLAGS
` + whichRun + `
Examples:
  hogwild scale 8
  hogwild scale runs/digits 2
`

const pauseHelp = `Usage: hogwild pause [RUN] [--json]

Pauses a live run: its workers wait. Each finishes its chunk, which takes milliseconds. The pause
does not count as training time. hogwild continue ends it.

FLAGS
` + whichRun + `
Examples:
  hogwild pause
  hogwild pause runs/digits
`

const continueHelp = `Usage: hogwild continue [RUN] [--json]

Ends the pause of a run: its workers train again.

FLAGS
` + whichRun + `
Examples:
  hogwild continue
  hogwild continue runs/digits
`

const stopHelp = `Usage: hogwild stop [RUN] [--json]

Ends a live run as SIGTERM does, and waits until it has ended. The run is saved;
hogwild train --resume RUN continues it.

FLAGS
` + whichRun + `
Examples:
  hogwild stop
  hogwild stop runs/digits
`

// whichRun is a paragraph of the help of commands for live runs.
const whichRun = `
RUN is the run's folder. It may be left out if one run is live in the folder runs. The run must
belong to the same user, on the same machine.
`

func scaleCommand() *cli.Command {
	return askCommand("scale", "change the number of workers of a live run", "RUN N", scaleHelp,
		func(args []string) (string, rundir.Request, error) {
			if len(args) == 0 || len(args) > 2 {
				return "", rundir.Request{}, usagef("scale takes the number of workers, and before it the run: " +
					"hogwild scale runs/digits 8")
			}
			last := args[len(args)-1]
			n, err := strconv.Atoi(last)
			if err != nil || n < 1 {
				return "", rundir.Request{}, usagef("scale %q: give the number of workers, 1 or more: hogwild scale "+
					"runs/digits 8", last)
			}
			folder, err := liveRun("scale", args[:len(args)-1], last)
			return folder, rundir.Request{Do: rundir.DoScale, Workers: n}, err
		})
}

func pauseCommand() *cli.Command {
	return doCommand(rundir.DoPause, "pause a live run", pauseHelp)
}

func continueCommand() *cli.Command {
	return doCommand(rundir.DoContinue, "end the pause of a run", continueHelp)
}

func stopCommand() *cli.Command {
	return doCommand(rundir.DoStop, "end a live run, and save it", stopHelp)
}

// doCommand returns a command that asks a run for what it is called, and takes nothing but the run.
func doCommand(name, usage, help string) *cli.Command {
	return askCommand(name, usage, "RUN", help, func(args []string) (string, rundir.Request, error) {
		folder, err := liveRun(name, args)
		return folder, rundir.Request{Do: name}, err
	})
}

// askCommand returns a command that makes one request of a live run.
func askCommand(name, usage, arguments, help string,
	read func(args []string) (folder string, q rundir.Request, err error)) *cli.Command {
	var asJSON bool
	l := flagList{category: "Flags"}
	l.add(&asJSON, "json", "print the answer as one JSON object")
	return verb(cli.Command{Name: name, Usage: usage, ArgsUsage: arguments, Description: help, Flags: l.flags},
		func(c *cli.Context, _ *settings, args []string) error {
			folder, q, err := read(args)
			if err != nil {
				return err
			}
			a, err := rundir.Ask(folder, q)
			if err != nil {
				return err
			}
			if q.Do == rundir.DoStop {
				a.Says = "ended, and saved"
				if r, err := rundir.ReadSummary(folder); err == nil && r.Result == nil {
					a.Says = "ended without a result: see its own messages"
				}
			}
			return report(c.App.Writer, said{folder, a.Says}, asJSON)
		})
}

// said is what a run answered.
type said struct {
	Run  string `json:"run"`
	Says string `json:"says"`
}

// WriteText writes the answer in a line.
func (s said) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n", s.Run, s.Says)
	return err
}

// liveRun returns the run that was named, or else the one that is live in the default folder; more is what follows it
// in the command.
func liveRun(command string, args []string, more ...string) (string, error) {
	example := commandLine(append([]string{"hogwild", command, "runs/digits"}, more...)...)
	if len(args) > 1 {
		return "", usagef("%s takes one run folder, got %d: %s", command, len(args), example)
	}
	if len(args) == 1 {
		return args[0], nil
	}
	folders, err := rundir.FindRuns("runs")
	if _, missing := os.Stat("runs"); errors.Is(missing, os.ErrNotExist) {
		folders, err = nil, nil
	}
	if err != nil {
		return "", err
	}
	var live []string
	for _, folder := range folders {
		if _, is := rundir.Live(folder); is {
			live = append(live, folder)
		}
	}
	switch len(live) {
	case 1:
		return live[0], nil
	case 0:
		return "", usagef("no run is live in the folder runs: name the run's folder, as in: %s", example)
	}
	return "", usagef("%d runs are live (%s): name one of them", len(live), strings.Join(live, ", "))
}
