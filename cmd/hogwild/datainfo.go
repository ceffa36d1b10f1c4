package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/internal/human"
)

const dataInfoHelp = `Usage: hogwild data info PATH [--json] [--check]

Reads a data file (or a folder of IDX or .npy files; - for standard input) as train does, and
reports rows, features, whether labels are classes or numbers, the input scaling that train would
use, non-zero values, format and checksum, and what train would refuse. --check reads every byte of a data cache (see data
convert) and reports damage.

FLAGS

Examples:
  hogwild data info mnist/
  hogwild data info housing.csv --target median_house_value
  hogwild data info u.data
`

func dataInfoCommand() *cli.Command {
	o := config.Default()
	var asJSON, check bool
	l := flagList{category: "Flags"}
	l.string(&o.Format, "format", "`FORMAT` auto, idx, libsvm, csv, npy or ratings")
	l.string(&o.Target, "target", "`COLUMN` column of a CSV file to predict, by name or number")
	l.string(&o.Ignore, "ignore", config.Lookup("ignore").Usage)
	l.string(&o.Missing, "missing", config.Lookup("missing").Usage)
	l.bool(&check, "check", "check every byte of a data cache")
	l.bool(&asJSON, "json", "print the result as one JSON object")
	return &cli.Command{
		Name: "info", Usage: "describe a data file", ArgsUsage: "PATH", Description: dataInfoHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			if len(args) != 1 {
				return usagef("data info takes one file or folder: hogwild data info mnist/")
			}
			if check {
				tell := newTeller(c.App.ErrWriter)
				err := data.CheckCache(args[0], tell.tell)
				if tell.end(); err != nil {
					return usagef("%v", err)
				}
			}
			o.Data = args[0]
			meta, err := data.Describe(data.Options{Path: o.Data, Format: o.Format, Target: o.Target, Ignore: o.Ignore,
				Missing: o.Missing})
			if err != nil {
				return usagef("%v", err)
			}
			if err := o.CheckIdle(&meta); err != nil {
				return err
			}
			if check {
				meta.Notes = append(meta.Notes, "checked: every byte is as it was written")
			}
			if asJSON {
				return json.NewEncoder(c.App.Writer).Encode(meta)
			}
			return writeMeta(c.App.Writer, meta)
		}),
	}
}

// writeMeta writes one fact a line.
func writeMeta(out io.Writer, m data.Meta) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "data\t%s\n", human.Name(m.Name))
	fmt.Fprintf(w, "format\t%s\n", m.Format)
	if m.Kind == data.Pairs {
		writePairs(w, m)
	} else {
		fmt.Fprintf(w, "rows\t%d\n", m.Rows)
		fmt.Fprintf(w, "features\t%s\n", features(m))
		fmt.Fprintf(w, "classes\t%s\n", classes(m.Classes))
		fmt.Fprintf(w, "scale\t%s, by default\n", m.ScaleText())
		fmt.Fprintf(w, "nonzeros\t%d (%.2f%%), stored as %s\n", m.Nonzeros, share(m), m.Kind)
	}
	fmt.Fprintf(w, "sha256\t%s\n", m.Checksum)
	for _, note := range m.Notes {
		what := "note"
		if problem, is := strings.CutPrefix(note, "problem: "); is {
			what, note = "problem", problem
		}
		fmt.Fprintf(w, "%s\t%s\n", what, note)
	}
	return w.Flush()
}

// writePairs tells of a matrix or a graph.
func writePairs(w io.Writer, m data.Meta) {
	if len(m.Shape) == 2 {
		cells := float64(m.Shape[0]) * float64(m.Shape[1])
		fmt.Fprintf(w, "matrix\t%d rows x %d columns\n", m.Shape[0], m.Shape[1])
		fmt.Fprintf(w, "entries\t%d (%.3g%%)\n", m.Rows, 100*float64(m.Rows)/cells)
	} else {
		fmt.Fprintf(w, "graph\t%d nodes, %d edges\n", m.Features, m.Rows)
	}
	if t := m.Targets; t != (data.Spread{}) { // synthetic data is described before it is made
		fmt.Fprintf(w, "values\t%g to %g, mean %.4g, standard deviation %.4g\n", t.Min, t.Max, t.Mean, t.Deviation)
	}
}

func features(m data.Meta) string {
	text := fmt.Sprint(m.Features)
	if len(m.Shape) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Shape), " ", " x "), "[]"))
	}
	if len(m.Columns) > 0 {
		text += ": " + first(m.Columns)
	}
	return text
}

func classes(names []string) string {
	if len(names) == 0 {
		return "none: the target is a number"
	}
	return fmt.Sprintf("%d: %s", len(names), first(names))
}

// first joins the names, of which it shows 20 at most.
func first(names []string) string {
	const most = 20
	shown := make([]string, min(len(names), most), most+1)
	for i := range shown {
		shown[i] = human.Name(names[i])
	}
	if len(names) > most {
		shown = append(shown, "...")
	}
	return strings.Join(shown, ", ")
}

// share is the percentage of values that are not zero.
func share(m data.Meta) float64 {
	if m.Rows == 0 || m.Features == 0 {
		return 0
	}
	return 100 * float64(m.Nonzeros) / float64(m.Rows) / float64(m.Features)
}
