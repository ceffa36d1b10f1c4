package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/internal/human"
)

const sweepHelp = `Usage: hogwild sweep FILE.yaml [flags]

Trains with many settings and compares them. The file says what is the same in all cases, what
they differ in, and with which seeds each is repeated:

    name: lr-by-workers           # of the folder; default: the file's name
    about: How high a learning rate do two workers allow?
    base:                         # flags of hogwild train, the same in all cases
      data: digits
      model: softmax
      epochs: 3
    grid:                         # each with each
      lr: [0.01, 0.1]
      workers: [1, 2]
    cases:                        # and each of these with each point of the grid
      - {mode: async}
      - {name: averaged, mode: sync, average-every: 1}
    seeds: [1, 2, 3]              # or how many: 3; default: seed 1 alone
    target-loss: 0.5              # time to this test loss; default: one that all reach

base, grid and cases may each be missing. Behind a line of --- stands another grid, with base, grid
and cases of its own. names: $name-$mode-$workers names cases by their settings (with a hyphen in
braces: ${lr-min}), and a group: in a case says with which others it is compared (default: those
that learn the same from the same).

Every run is a process of its own, and the cases take turns, so that what else the machine does
falls on all alike.

A sweep that was stopped, by Ctrl-C or by the end of the machine, goes on when the same command is
given again: only what is missing is run. So is a case whose settings were changed, and all when
the program is another one. A run that diverged is a result; one that failed is tried again.

FLAGS

In the folder: report.html (the figures), results.csv (a line for each case), results.json (all,
with machine and commit), results.txt (for benchstat), runs/CASE.SEED (a run folder each, without
weights; hogwild report reads it).

Examples:
  hogwild sweep lr.yaml --dry-run
      the cases, and how many of their runs are done
  hogwild sweep lr.yaml --repeat 5
      with the seeds 1 to 5
`

func sweepCommand() *cli.Command {
	o := &experimentFlags{}
	l := flagList{category: "Flags"}
	o.addTo(&l, "`N` repeat each case with the seeds 1 to N, instead of those of the file", "runs/sweeps/NAME")
	return &cli.Command{
		Name: "sweep", Usage: "train with many settings, and compare them", ArgsUsage: "FILE", Description: sweepHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			if len(args) != 1 {
				return usagef("sweep takes one file with an experiment: hogwild sweep lr.yaml (hogwild sweep --help shows one)")
			}
			if s.given["repeat"] && (o.repeat < 1 || o.repeat > bench.MostSeeds) {
				return usagef("--repeat %d: want 1 to %d", o.repeat, bench.MostSeeds)
			}
			text, err := os.ReadFile(args[0])
			if err != nil {
				return usagef("reading the experiment: %v", err)
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
			return o.run(c.App.Writer, c.App.ErrWriter, p, 0)
		}),
	}
}

// rehearsal is what a sweep would do.
type rehearsal struct {
	Name   string       `json:"name"`
	Folder string       `json:"folder"`
	Seeds  []uint64     `json:"seeds"`
	Cases  []bench.Case `json:"cases"`
	Done   []int        `json:"done"` // runs of each case
}

// WriteText writes the cases as a table.
func (r *rehearsal) WriteText(out io.Writer) error {
	sum := 0
	for _, n := range r.Done {
		sum += n
	}
	fmt.Fprintf(out, "%s: %d of %d runs are done in %s\n\n", r.Name, sum, len(r.Cases)*len(r.Seeds), r.Folder)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "CASE\tDONE\tSETTINGS\n")
	for i, c := range r.Cases {
		var settings []string
		for _, s := range c.Settings {
			settings = append(settings, "--"+s.Flag+"="+s.Value)
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%s\n", c.Name, r.Done[i], len(r.Seeds), strings.TrimSpace(commandLine(settings...)))
	}
	return w.Flush()
}

// WriteJSON writes it as one JSON object.
func (r *rehearsal) WriteJSON(w io.Writer) error {
	return human.WriteJSON(w, r)
}
