package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"hogwild/bench/page"
	"hogwild/hogwild/rundir"
)

const compareHelp = `Usage: hogwild compare RUN RUN... [--json]

Shows runs side by side, as hogwild report does: the final results, the training time to the lowest
test loss (with --validation, validation loss) that all of them reached, and the settings that
differ. A single run of each says little: hogwild bench repeats runs and gives ranges.

FLAGS
Examples:
  hogwild compare runs/async runs/sync
  hogwild compare runs/2026* --json
`

func compareCommand() *cli.Command {
	var asJSON bool
	l := flagList{category: "Flags"}
	l.add(&asJSON, "json", "print the comparison as one JSON object")
	return verb(cli.Command{Name: "compare", Usage: "compare settings and results of runs", ArgsUsage: "RUN",
		Description: compareHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) < 2 {
			return usagef("compare takes two or more run folders: hogwild compare runs/async runs/sync (hogwild " +
				"runs lists them)")
		}
		var runs []*rundir.Recorded
		var of comparison
		for _, folder := range args {
			r, err := rundir.ReadRun(folder)
			if err != nil {
				return err
			}
			runs, of.Runs = append(runs, r), append(of.Runs, ran(r))
		}
		of.page, of.Comparison = page.Compare(runs)
		return report(c.App.Writer, &of, asJSON)
	})
}

// comparison is runs side by side.
type comparison struct {
	page *page.Page
	Runs []ranRun `json:"runs"`
	*page.Comparison
}

// WriteText writes the report of the runs without its figures.
func (c *comparison) WriteText(out io.Writer) error { return c.page.WriteText(out) }
