package main

import (
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

const benchHelp = `Usage: hogwild bench [flags]

Compares modes and worker counts. Each case is trained several times with different seeds, by
fresh processes, and the cases take turns. For each case the report gives examples/s, the speed-up
over one worker, the time to a test loss, the final loss and the staleness of updates, all with
ranges, and what the repeats show of speed, time and loss beside the first mode. A run that missed
the target loss counts as later than all that did not. With no flags, it trains on the built-in
digits and on synthetic sparse rows, in about eight minutes on two cores.

The learning rate falls linearly to 0 (--schedule): at a constant rate the loss at the end is noise.
Programs, and cases of --config with a schedule or a target at which they end, keep theirs.

Each case is compared at its best learning rate. Before the comparison all cases try the same rates,
in factors of two around --lr or the automatic rate, with seeds of their own (five; two with --quick,
one where each case is run once), and are scored by a tenth of the training rows that is held out.
While the best of any case is the lowest or highest rate, all try one more. --same-lr leaves this out:
it compares mechanisms at one rate, at which cases that average are behind.

The folder --out receives all results: results.json, results.csv, results.txt (for benchstat)
and report.html. Repeat the command with the same folder to continue a bench that was stopped.

--nodes compares jobs of several nodes, which average their weights --rounds times an epoch: in one
process, or by MPI with --launcher. The report adds the rounds taken, their bytes, and the shares of
the time that went into communication. The default is then --modes async, and as many workers on each
node as the largest job has cores. The nodes share this machine, so speeds are not those of a cluster.

FLAGS modes workers data model lr schedule epochs repeat same-lr out

For other flags of train, write a file as hogwild sweep reads it, and give it to --config. Each of
its cases is trained in all modes and with all worker counts, except for settings that the case
itself contains.

Examples:
  hogwild bench
      all modes, with 1, 2, 4 ... workers up to the number of cores
  hogwild bench --data mnist/ --model mlp:128 --lr 0.1 --workers 1,2,4 --epochs 3
      on your own images
  hogwild bench --modes async,sync --data a9a --test a9a.t --model logistic --target-loss 0.33
      seconds to a test loss, lock-free and synchronous
  hogwild bench --data mnist/ --model mlp:128 --nodes 1,2,4 --rounds auto,1,8
      local SGD between nodes: time to a test loss by nodes and rounds
  hogwild bench --program 'python3 step.py' --data mnist/ --workers 1,2,4 --epochs 2
      a PyTorch program, async and sync
  hogwild bench --config cases.yaml --repeat 10 --out runs/cases
      settings from a file, ten runs of each case
`

// benchOptions is what the flags of bench set.
type benchOptions struct {
	train                   *trainOptions
	modes, workers, config  string
	nodes, rounds, launcher string
	target                  float64
	experimentFlags
}

func benchCommand() *cli.Command {
	o := &benchOptions{train: &trainOptions{Config: config.Default()},
		experimentFlags: experimentFlags{repeat: 5}}
	return &cli.Command{
		Name: "bench", Usage: "compare modes and worker counts", Description: benchHelp,
		Flags: o.flags(),
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q; bench takes flags only", args[0])
			}
			return o.do(s, c.App.Writer, c.App.ErrWriter)
		}),
	}
}

// flags lists the flags of bench, some of them shared with train.
func (o *benchOptions) flags() []cli.Flag {
	l := flagList{category: "What to compare"}
	l.add(&o.modes, "modes", "`LIST` of modes, e.g. async,sync (default: all five; with --program or --gpu these "+
		"two)")
	l.add(&o.workers, "workers", "`LIST` of worker counts, e.g. 1,2,4 (default: up to the number of cores; on "+
		"GPUs 1, 2 and 4 each)")
	l.add(&o.nodes, "nodes", "`LIST` of numbers of nodes, e.g. 1,2,4, each with its own workers, all on this "+
		"machine (docs/nodes.md)")
	l.add(&o.rounds, "rounds", "`LIST` of rounds of averaging between nodes in an epoch, e.g. auto,1,8")
	l.add(&o.launcher, "launcher", "`COMMAND` that starts the nodes, e.g. 'mpirun --bind-to none -n {nodes}' "+
		"(default: all nodes in one process)")
	l.add(&o.repeat, "repeat", "`N` runs of each case, with different seeds")
	l.add(&o.target, "target-loss", "`X` test loss for the time-to-loss figures (default: 1.05, 1.1 and 1.3 times "+
		"the best case's)")
	l.add(&o.sameLR, "same-lr", "compare all cases at one learning rate, without a search for the best one of each")
	l.add(&o.out, "out", "`DIR` folder for the results (default: runs/bench-<time>-<name>)")
	l.add(&o.config, "config", "`FILE` of cases, in the format of hogwild sweep")
	l.add(&o.quick, "quick", "3 runs of each case, too few for verdicts, which need 5, and two seeds in the search "+
		"for learning rates")
	l.add(&o.json, "json", "print the result as one JSON object")

	o.train.Schedule = config.Linear // at a constant rate the loss at the end is noise
	l.category = "What to train, as in hogwild train (without --data and --model: two small sets)"
	l.settings(&o.train.Config, benchTrains...)
	return l.flags
}

// do carries out the command.
func (o *benchOptions) do(s *settings, stdout, stderr io.Writer) error {
	if s.typed("quick") && s.typed("repeat") {
		return usagef("--quick has no effect with --repeat %d: leave one of them out", o.repeat)
	}
	if err := s.noteTestData(stderr); err != nil {
		return err
	}
	p, err := o.plan(s)
	if err != nil {
		return err
	}
	if err := o.checkFolder(p); err != nil {
		return err
	}
	return o.run(stdout, stderr, p)
}

// checkFolder refuses a folder that holds other cases, or these with other settings: nothing is written over.
func (o *benchOptions) checkFolder(p bench.Plan) error {
	before, err := experimentIn(o.out)
	if before == nil {
		return err
	}
	for _, was := range before.Cases {
		at := slices.IndexFunc(p.Cases, func(c bench.Case) bool { return c.Name == was.Name })
		switch {
		case at < 0:
			return usagef("--out %s: it holds the case %s, which this bench does not have; name another folder",
				o.out, was.Name)
		case !bench.SameSettings(p.Cases[at].Settings, was.Settings) || p.Cases[at].Launcher != was.Launcher:
			return usagef("--out %s: it holds the case %s with other settings; name another folder",
				o.out, was.Name)
		}
	}
	return nil
}
