package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/run"
	"hogwild/internal/human"
)

const reproduceHelp = `Usage: hogwild reproduce paper [--quick] [flags]
       hogwild reproduce tutorial [--data mnist/] [flags]

  paper       the experiments of the Hogwild! paper, at this machine's size
  tutorial    a published tutorial's synchronous SGD on MNIST
`

const reproducePaperHelp = `Usage: hogwild reproduce paper [--quick] [flags]

Repeats the experiments of the Hogwild! paper (Niu, Recht, Ré, Wright 2011) at this machine's
size, on synthetic data with the shapes of the paper's sets: Hogwild! (--mode async), AIG (locked) and
RR (ordered) on RCV1, Netflix, Jumbo, Abdomen and DBLife, by 1, 2, 4 ... workers up to the cores,
ten at most; gradients that take longer and longer; averages of models. The report sets the
paper's figures beside ours, and says of each of its statements whether ours agree, differ, or
cannot tell.

It takes about half an hour on two cores, with --quick about four minutes; longer on more, since
there are more numbers of workers to be run. What was stopped goes on when the same command is
given again.

FLAGS

In the folder: report.html (the figures), results.csv, results.json, results.txt (for benchstat),
runs/CASE.SEED (a run folder each).

Examples:
  hogwild reproduce paper --quick
  hogwild reproduce paper --workers 1,2,4,8 --repeat 5
  hogwild reproduce paper --quick --size 0.01 --repeat 1
      a minute, to see that it works: the figures mean nothing
`

const reproduceTutorialHelp = `Usage: hogwild reproduce tutorial [--data mnist/] [flags]

Repeats a published tutorial on one GPU: four workers, a quarter of MNIST each, a small
convolutional network, momentum SGD, and the mean of all weights after each of three epochs, which
gave test accuracies of 87, 92 and 93%. Here the workers are processes on cores. Beside it the
same network is trained without locks. Without --data it learns the built-in digits, which
are not MNIST.

FLAGS

Examples:
  hogwild reproduce tutorial --data mnist/
`

// reproduceOptions are the flags of reproduce.
type reproduceOptions struct {
	bench.PaperOptions
	workers, data, out string
	limit              int
	json, fresh        bool
	dryRun             bool
}

func reproduceCommands() []*cli.Command {
	return []*cli.Command{
		reproduceCommand("paper", reproducePaperHelp, (*reproduceOptions).paper, func(o *reproduceOptions, l *flagList) {
			o.Size = 1
			l.bool(&o.Quick, "quick", "smaller sets and fewer passes: minutes, not half an hour")
			l.float(&o.Size, "size", "`X` times as many examples")
			l.string(&o.workers, "workers", "`N,M` numbers of workers (default: 1,2,4 ... to the cores, at most 10)")
		}),
		reproduceCommand("tutorial", reproduceTutorialHelp, (*reproduceOptions).tutorial, func(o *reproduceOptions, l *flagList) {
			l.string(&o.data, "data", "`DIR` folder with the four IDX files of MNIST (default: the built-in digits)")
			l.int(&o.limit, "limit", "`N` train on the first N images only")
		}),
	}
}

// reproduceCommand is a command with the flags that both have, and its own in front.
func reproduceCommand(name, help string, do func(o *reproduceOptions, s *settings) (bench.Plan, error), own func(*reproduceOptions, *flagList)) *cli.Command {
	o := &reproduceOptions{PaperOptions: bench.PaperOptions{Repeat: 3}}
	l := flagList{category: "Flags"}
	own(o, &l)
	l.int(&o.Repeat, "repeat", "`N` runs of each case")
	l.string(&o.out, "out", "`DIR` folder of the results (default: runs/reproduce-NAME)")
	l.bool(&o.fresh, "fresh", "run again what is done")
	l.bool(&o.dryRun, "dry-run", "list the cases, and run nothing")
	l.bool(&o.json, "json", "print the results as one JSON object")
	return &cli.Command{
		Name: name, Description: help, Flags: l.flags,
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			switch {
			case len(args) > 0:
				return usagef("unexpected argument %q; reproduce %s takes flags only", args[0], name)
			case o.Repeat < 1 || o.Repeat > mostSeeds:
				return usagef("--repeat %d: want 1 to %d", o.Repeat, mostSeeds)
			}
			o.Command = s.again("reproduce", name)
			p, err := do(o, s)
			if err != nil {
				return err
			}
			if o.out == "" {
				o.out = filepath.Join("runs", "reproduce-"+p.Name)
			}
			return o.run(c.App.Writer, c.App.ErrWriter, p)
		}),
	}
}

// again is the command line with the flags that were given, but for those that only say
// how to go about it.
func (s *settings) again(words ...string) string {
	words = append([]string{"hogwild"}, words...)
	for _, name := range s.names() {
		f := s.set.Lookup(name)
		switch {
		case !s.given[name] || name == "json" || name == "fresh" || name == "dry-run":
		case isBool(f):
			words = append(words, "--"+name+"="+f.Value.String())
		default:
			words = append(words, "--"+name, f.Value.String())
		}
	}
	return strings.ReplaceAll(commandLine(words...), "=true", "")
}

// paper is the plan of the paper.
func (o *reproduceOptions) paper(s *settings) (bench.Plan, error) {
	for _, text := range strings.Split(o.workers, ",") {
		if o.workers == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || len(o.Workers) > 0 && n <= o.Workers[len(o.Workers)-1] || len(o.Workers) == 0 && n != 1 {
			return bench.Plan{}, usagef("--workers %q: want growing numbers that begin with 1, the serial version, as 1,2,4", o.workers)
		}
		o.Workers = append(o.Workers, n)
	}
	if len(o.Workers) == 1 {
		return bench.Plan{}, usagef("--workers %q: one number of workers has no speed-up; give some, as 1,2,4", o.workers)
	}
	p, err := bench.PaperPlan(o.PaperOptions)
	if err != nil {
		return p, usagef("--%v", err)
	}
	return p, nil
}

// tutorial is the plan of the tutorial.
func (o *reproduceOptions) tutorial(*settings) (bench.Plan, error) {
	if o.data != "" {
		if info, err := os.Stat(o.data); err != nil || !info.IsDir() {
			return bench.Plan{}, usagef("--data %s: want a folder with the four IDX files of MNIST; leave it out for the built-in digits", o.data)
		}
	}
	if o.limit < 0 {
		return bench.Plan{}, usagef("--limit %d: want a number of images", o.limit)
	}
	return bench.TutorialPlan(bench.TutorialOptions{Data: o.data, Limit: o.limit, Repeat: o.Repeat, Command: o.Command}), nil
}

// run measures a plan and reports.
func (o *reproduceOptions) run(stdout, stderr io.Writer, p bench.Plan) error {
	if o.dryRun {
		return report(stdout, &rehearsal{p.Name, o.out, p.Seeds, p.Cases, (&bench.Runner{Folder: o.out}).Done(p)}, o.json)
	}
	err := folderFor(o.out, p)
	if err != nil {
		return err
	}
	if p.Name != "tutorial" {
		if p.Floors, err = o.floors(stderr); err != nil {
			return err
		}
	}
	return carryOut(stdout, stderr, o.out, p, o.fresh, o.json)
}

// floors are those of this machine: as they were measured when the experiment began, if it
// only goes on.
func (o *reproduceOptions) floors(stderr io.Writer) (*bench.Floors, error) {
	if e, err := bench.ReadExperiment(o.out); err == nil && e.Floors != nil && !o.fresh {
		return e.Floors, nil
	}
	seconds := 8.0
	if o.Quick {
		seconds = 3
	}
	seconds *= max(0.02, min(1, o.Size))
	fmt.Fprintf(stderr, "floors of this machine: %.2g s\n", seconds)
	run.VerifyLoops(false) // some of them are measured
	return bench.Measure(bench.Options{Seconds: seconds, Idle: []string{"--version"}})
}

// reproduced is an experiment with what it says of the publication.
type reproduced struct{ *bench.Experiment }

// WriteText writes the table and the verdicts.
func (r reproduced) WriteText(w io.Writer) error { return r.WriteReproduction(w) }

// WriteJSON writes the results and the verdicts as one JSON object.
func (r reproduced) WriteJSON(w io.Writer) error {
	return human.WriteJSON(w, struct {
		*bench.Experiment
		Findings []bench.Finding `json:"findings"`
	}{r.Experiment, r.Findings()})
}
