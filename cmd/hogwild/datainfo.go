package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
  hogwild data info u.data --task likes
  hogwild data info WN18RR
  hogwild data info reviews.txt
`

func dataInfoCommand() *cli.Command {
	o := config.Default()
	var asJSON, check bool
	var task string
	l := flagList{category: "Flags"}
	l.settings(&o, "format", "target", "ignore", "columns", "missing", "positive")
	l.add(&task, "task", taskUsage)
	l.add(&check, "check", "check every byte of a data cache")
	l.add(&asJSON, "json", "print the result as one JSON object")
	return verb(cli.Command{Name: "info", Usage: "describe a data file", ArgsUsage: "PATH", Description: dataInfoHelp,
		Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
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
			Columns: o.Columns, Missing: o.Missing, Positive: float32(o.Positive), Task: task})
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
	})
}

// writeMeta writes one fact a line.
func writeMeta(out io.Writer, m data.Meta) error {
	var rows facts
	rows.add("data", "%s", human.Name(m.Name))
	rows.add("format", "%s", m.Format)
	if m.Read > 0 {
		rows.add("read", "%d %s", m.Read, unit(m))
	}
	entities := float64(slices.Concat(m.Shape, []int{1})[0]) // or users
	switch {
	case m.Facts():
		rows.add("entities", "%d", m.Shape[0])
		rows.add("relations", "%d", m.Shape[1])
		rows.add("facts", "%d (%.3g an entity), for --model kge:complex:128", m.Rows, float64(m.Rows)/entities)
	case m.Implicit:
		rows.add("users", "%d", m.Shape[0])
		rows.add("items", "%d", m.Shape[1])
		rows.add("likes", "%d (%.3g a user), for --model bpr:64", m.Rows, float64(m.Rows)/entities)
	case m.Entries():
		rows.addPairs(m)
	case m.Text != nil:
		rows.addText(m)
	default:
		rows.add("rows", "%d", m.Rows)
		rows.add("features", "%s", features(m))
		rows.add("classes", "%s", classes(m.Classes))
		rows.add("scale", "%s, by default", m.ScaleText())
		rows.add("nonzeros", "%d (%.2f%%), stored as %s", m.Nonzeros, share(m), m.Kind)
	}
	rows.add("sha256", "%s", m.Checksum)
	for _, note := range m.Notes {
		what := "note"
		if problem, is := strings.CutPrefix(note, "problem: "); is {
			what, note = "problem", problem
		}
		rows.add(what, "%s", note)
	}
	return rows.write(out)
}

// unit names what is counted of the file: facts, entries, words, lines or rows.
func unit(m data.Meta) string {
	switch {
	case m.Facts():
		return "facts"
	case m.Entries():
		return "entries"
	case m.Words():
		return "words"
	case m.Text != nil:
		return "lines"
	}
	return "rows"
}

// addText adds what is known of a text.
func (f *facts) addText(m data.Meta) {
	if m.Words() {
		f.add("words", "%d, for --model word2vec:100", m.Rows)
		f.add("vocabulary", "%d words that occur %d times or more", m.Features, m.Text.MinCount)
		return
	}
	f.add("lines", "%d with labels, for --model text:100", m.Rows)
	f.add("vocabulary", "%d words", m.Features-m.Text.Buckets)
	f.add("labels", "%s", classes(m.Classes))
}

// addPairs adds what is known of a matrix or a graph.
func (f *facts) addPairs(m data.Meta) {
	if len(m.Shape) == 2 {
		cells := float64(m.Shape[0]) * float64(m.Shape[1])
		f.add("matrix", "%d rows x %d columns", m.Shape[0], m.Shape[1])
		f.add("entries", "%d (%.3g%%)", m.Rows, 100*float64(m.Rows)/cells)
	} else {
		f.add("graph", "%d nodes, %d edges", m.Features, m.Rows)
	}
	if t := m.Targets; t != (data.Spread{}) { // synthetic data is described before it is made
		f.add("values", "%g to %g, mean %.4g, standard deviation %.4g", t.Min, t.Max, t.Mean, t.Deviation)
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

// first joins the names, at most 20 of them.
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

// share returns the percentage of values that are not zero.
func share(m data.Meta) float64 {
	if m.Rows == 0 || m.Features == 0 {
		return 0
	}
	return 100 * float64(m.Nonzeros) / float64(m.Rows) / float64(m.Features)
}
