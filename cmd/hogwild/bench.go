package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

const benchHelp = `Usage: hogwild bench [flags]
       hogwild bench --limits --repeat 0 [--json] [--seconds S]
       hogwild bench --microbench --gpu N [--json] [--quick]
       hogwild bench --report FOLDER [--json]

Compares modes and numbers of workers: each case is trained several times, in turns, each time
by fresh processes. For every case it says how many examples a second are trained, how many
times faster that is than one worker, how soon a test loss is reached, where it ends, and how
stale updates were; with ranges, and what not to read into them. Without flags it compares on
the built-in digits and on synthetic sparse rows, in about a minute on two cores.

The folder of --out holds all figures: results.json, results.csv, results.txt (for benchstat)
and report.html. The same command with the same folder goes on where it was stopped.

With --limits: first what this machine does at best, on one core and on all (multiply-adds,
memory, random updates of shared weights, a word that all cores write, a cache line's way from
core to core, waking a thread, starting a process), then the cases as shares of it. No training
is faster than these. It takes 200 MB. Of GPUs it knows nothing: --microbench does.

With --microbench: what a GPU does at best: additions to few and many weights, loads, copies, launches,
its clock. With --report: the page of a folder with what run.sh of make gpu-bundle has found.

FLAGS modes workers data model lr epochs repeat target-loss out limits

Flags of train that are missing here stand in the file of --config, which is one of those that
hogwild sweep reads. Each of its cases is trained in all modes and with all numbers of workers,
but for what it says itself.

Examples:
  hogwild bench
      the modes, and 1, 2, 4 ... workers, up to the cores
  hogwild bench --data mnist/ --model mlp:128 --lr 0.1 --workers 1,2,4 --epochs 3
      on images of your own
  hogwild bench --modes async,sync --data a9a --test a9a.t --model logistic --target-loss 0.33
      seconds to a test loss, without locks and in step
  hogwild bench --config cases.yaml --repeat 10 --out runs/cases
      settings from a file, ten times; stopped and called again it goes on
  hogwild bench --limits --repeat 0
      what this machine does at best, alone
`

// benchOptions is what the flags of bench set.
type benchOptions struct {
	train                             *trainOptions
	modes, workers, config, out       string
	repeat                            int
	target, seconds                   float64
	limits, microbench, quick, asJSON bool
	folder                            string // --report
}

// benchTrains are the flags of train that bench takes as well.
var benchTrains = []string{"data", "test", "model", "limit", "scale", "batch", "epochs", "lr", "optimizer", "momentum", "gpu"}

func benchCommand() *cli.Command {
	o := &benchOptions{train: &trainOptions{Config: config.Default()}, repeat: 5, seconds: 8}
	return &cli.Command{
		Name: "bench", Usage: "compare modes and numbers of workers; what this machine can do at best", Description: benchHelp, Flags: o.flags(),
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q; bench takes flags only", args[0])
			}
			return o.do(s, c.App.Writer, c.App.ErrWriter)
		}),
	}
}

// flags lists the flags of bench, some of which are those of train.
func (o *benchOptions) flags() []cli.Flag {
	l := flagList{category: "What to compare"}
	l.string(&o.modes, "modes", "`LIST` of modes, as async,sync (default: all five)")
	l.string(&o.workers, "workers", "`LIST` of numbers of workers, as 1,2,4 (default: up to the cores; on GPUs 1, 2 and 4 each); with --gpu also gpu:4,cpu:2")
	l.int(&o.repeat, "repeat", "`N` runs of each case, each with another seed")
	l.float(&o.target, "target-loss", "`X` test loss to take times to (default: one that every case reaches)")
	l.string(&o.out, "out", "`DIR` folder of the results (default: runs/bench-<time>-<name>)")
	l.string(&o.config, "config", "`FILE` of settings, as hogwild sweep reads")
	l.bool(&o.quick, "quick", "3 runs of each case; microbench: only see that they run")
	l.bool(&o.asJSON, "json", "print the answer as one JSON object")

	for _, f := range o.train.flags() {
		if slices.Contains(benchTrains, f.Names()[0]) {
			l.add(inCategory(f, "What to train, as in hogwild train (without --data and --model: two small sets)"))
		}
	}

	l.category = "Limits of the machine"
	l.bool(&o.limits, "limits", "measure what this machine does at best")
	l.float(&o.seconds, "seconds", "`S` time to take for it, in seconds")
	l.bool(&o.microbench, "microbench", "measure what a GPU does at best")
	l.string(&o.folder, "report", "`FOLDER` of results of make gpu-bundle to make a page of")
	return l.flags
}

// inCategory is a flag in another category.
func inCategory(f cli.Flag, category string) cli.Flag {
	switch f := f.(type) {
	case *cli.StringFlag:
		f.Category = category
	case *cli.IntFlag:
		f.Category = category
	case *cli.Float64Flag:
		f.Category = category
	case *cli.GenericFlag:
		f.Category = category
	}
	return f
}

// checkIdle refuses flags that have no effect in the way that the others choose.
func (o *benchOptions) checkIdle(s *settings) error {
	switch {
	case o.folder != "":
		return s.only("--report", "report", "json")
	case o.microbench:
		return s.only("--microbench", "microbench", "gpu", "quick", "json")
	case o.limits && s.given["repeat"] && o.repeat == 0:
		return s.only("--limits --repeat 0", "limits", "repeat", "seconds", "gpu", "json")
	case s.typed("seconds") && !o.limits:
		return usagef("--seconds %g has no effect without --limits: add it, or leave --seconds out", o.seconds)
	case s.typed("quick") && s.typed("repeat"):
		return usagef("--quick has no effect with --repeat %d: leave one of them out", o.repeat)
	}
	return nil
}

// do carries out the command in one of its ways.
func (o *benchOptions) do(s *settings, stdout, stderr io.Writer) error {
	if err := o.checkIdle(s); err != nil {
		return err
	}
	switch {
	case o.folder != "":
		r, err := bench.Collect(o.folder)
		if err != nil {
			return err
		}
		return report(stdout, r, o.asJSON)
	case o.microbench:
		return microbench(stdout, o.train.GPU, o.quick, o.asJSON)
	case !(o.seconds > 0 && o.seconds <= 3600):
		return usagef("--seconds %g: want more than 0, and 3600 at most", o.seconds)
	case o.repeat == 0 && o.limits:
		f, err := machineLimits(io.Discard, o.seconds)
		if err != nil {
			return err
		}
		if o.train.GPU != "" {
			fmt.Fprintln(stderr, "these are the limits of the cores; hogwild bench --microbench --gpu 0 measures what a GPU does at best")
		}
		return report(stdout, f, o.asJSON)
	}
	p, err := o.plan(s)
	if err != nil {
		return err
	}
	return o.run(p, stdout, stderr)
}
