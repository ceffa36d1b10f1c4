package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

const sweepHelp = `Usage: hogwild sweep FILE.yaml [flags]

Trains with many combinations of settings and compares them. The file gives the settings that all
cases share, those that vary, and the seeds that each case is repeated with:

    name: lr-by-workers           # of the folder; default: the file's name
    about: How high a learning rate do two workers allow?
    base:                         # flags of hogwild train, shared by all cases
      data: digits
      model: softmax
      epochs: 3
    grid:                         # all combinations
      lr: [0.01, 0.1]
      workers: [1, 2]
    cases:                        # each at every point of the grid
      - {mode: async}
      - {name: averaged, mode: sync, average-every: 1}
    seeds: [1, 2, 3]              # or their number: 3; default: seed 1
    target-loss: 0.5              # for time to loss; default: 1.05, 1.1 and 1.3 times the best case's

base, grid and cases are all optional. After a line --- the file may have another grid, with its
own base, grid and cases. names: $name-$mode-$workers builds case names from settings (write names
with a hyphen in braces: ${lr-min}). group: in a case chooses the cases that it is compared with
(default: those with the same data, model and loss).

Where the file does not vary lr, cases that are compared are trained at their best learning rates,
which a search finds first: all try the same rates, scored by a tenth of the training rows that is
held out (docs/experiments.md). --same-lr trains all at one rate.

Every run is a separate process. The cases take turns, so that other load on the machine affects
all of them alike.

If a sweep is interrupted, by Ctrl-C or a crash, repeat the command to continue: it runs only what
is missing. It repeats a case whose settings changed, and all cases if the program changed. A run
that diverged counts as a result; a run that failed is tried again.

FLAGS

Files in the folder: report.html, results.csv (a line per case), results.json (everything, with
machine and commit), results.txt (for benchstat), runs/CASE.SEED (a run folder, for hogwild
report; the best case keeps the weights of its first seed, for hogwild predict), search/CASE.lr=RATE.SEED (those of the search).

Examples:
  hogwild sweep lr.yaml --dry-run
      list the cases, and how many of their runs are done
  hogwild sweep lr.yaml --repeat 5
      with the seeds 1 to 5
`

func sweepCommand() *cli.Command {
	o := &experimentFlags{}
	l := flagList{category: "Flags"}
	o.addTo(&l, "`N` repeat each case with the seeds 1 to N, instead of the file's seeds", "runs/sweeps/NAME")
	o.addSameLR(&l)
	return &cli.Command{
		Name: "sweep", Usage: "train with many settings and compare them", ArgsUsage: "FILE", Description: sweepHelp,
		Flags: l.flags,
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			if len(args) != 1 {
				return usagef("sweep takes one file with an experiment: hogwild sweep lr.yaml (hogwild sweep --help " +
					"shows an example)")
			}
			if s.given["repeat"] && (o.repeat < 1 || o.repeat > bench.MostSeeds) {
				return usagef("--repeat %d: want 1 to %d", o.repeat, bench.MostSeeds)
			}
			text, err := config.ReadYAML(args[0])
			if err != nil {
				return usagef("%s: %v", args[0], cause(err))
			}
			p, err := bench.ReadPlan(args[0], text, caseFlags{})
			if err != nil {
				return err
			}
			p.Command = s.again(o.out, "sweep", args[0])
			o.out = cmp.Or(o.out, filepath.Join("runs", "sweeps", p.Name))
			if o.repeat > 0 {
				p.Seeds = bench.FirstSeeds(o.repeat)
			}
			return o.run(c.App.Writer, c.App.ErrWriter, p)
		}),
	}
}

// WriteText writes the cases as a table.
func (r *dryRunReport) WriteText(out io.Writer) error {
	sum := 0
	for _, n := range r.Done {
		sum += n
	}
	fmt.Fprintf(out, "%s: %d of %d runs are done in %s\n", r.Name, sum, len(r.Cases)*len(r.Seeds), r.Folder)
	if r.Search.Total > 0 {
		least := ""
		if !r.Search.Known {
			least = "at least "
		}
		fmt.Fprintf(out, "search for learning rates: %d of %s%d runs are done\n", r.Search.Done, least, r.Search.Total)
	}
	fmt.Fprintln(out)
	rows := [][]string{{"CASE", "DONE", "SETTINGS"}}
	for i, c := range r.Cases {
		var settings []string
		for _, s := range c.Settings {
			settings = append(settings, "--"+s.Flag+"="+s.Value)
		}
		rows = append(rows, []string{c.Name, fmt.Sprintf("%d of %d", r.Done[i], len(r.Seeds)),
			commandLine(settings...)})
	}
	_, err := io.WriteString(out, human.Aligned(rows))
	return err
}
