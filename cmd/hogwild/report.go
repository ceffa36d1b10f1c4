package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/bench/page"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

const reportHelp = `Usage: hogwild report RUN... [flags]
       hogwild report EXPERIMENT [flags]
       hogwild report DIR [flags]

Writes a self-contained HTML file with figures, tables, settings and the command to repeat the run.
It follows the browser's light or dark theme. RUN is a run folder, finished or still training;
several runs are compared. EXPERIMENT is the folder, or the results.json, of hogwild bench, sweep
or reproduce. DIR is a folder of run folders: the page is a table of them, which sorts and filters,
with links to the reports that are there.

FLAGS

Examples:
  hogwild report runs/digits
      writes runs/digits/report.html
  hogwild report runs/async runs/sync --out both.html --png
      writes both.html, and each figure as both-NAME.png
  hogwild report runs/sweeps/lr-by-workers
  hogwild report runs
      writes runs/report.html, the table of all runs
`

// reportOptions is what the flags of report set.
type reportOptions struct {
	out                   string
	png, svg, json, force bool
}

func reportCommand() *cli.Command {
	var o reportOptions
	l := flagList{category: "Flags"}
	l.add(&o.out, "out", "`FILE` output file (default: report.html in the run folder; for several runs, in the "+
		"current folder)")
	l.add(&o.png, "png", "also write each figure beside it, as FILE-NAME.png")
	l.add(&o.svg, "svg", "also write each figure beside it, as FILE-NAME.svg")
	forcing(&l, &o.force)
	l.add(&o.json, "json", "print the names of the written files as one JSON object")
	return verb(cli.Command{Name: "report", Usage: "write an HTML report of runs", ArgsUsage: "RUN|EXPERIMENT",
		Description: reportHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		var p document
		list, folder, err := indexed(args)
		if err == nil && list == nil {
			p, folder, err = pageOf(args)
		}
		if err != nil {
			return err
		}
		if o.out == "" {
			o.out = filepath.Join(folder, "report.html")
		}
		if list != nil {
			p = list.index(filepath.Dir(o.out))
		}
		w, err := o.write(p)
		if err != nil {
			return err
		}
		return report(c.App.Writer, w, o.json)
	})
}

// document is a page that report writes.
type document interface {
	WriteHTML(io.Writer) error
	Figures() []figure.Figure
}

// indexed returns the runs in a folder that is no run and no experiment itself; nil if that is not what is asked for.
func indexed(paths []string) (list *runList, folder string, err error) {
	if len(paths) != 1 {
		return nil, "", nil
	}
	folder = paths[0]
	if _, err := resultsOf(folder); err == nil {
		return nil, "", nil
	}
	if found, err := rundir.FindRuns(folder); err != nil || len(found) == 0 {
		return nil, "", nil // pageOf says why
	}
	list, err = listRuns(folder, false)
	return list, folder, err
}

// index is the table of the runs, in a file in a folder, the newest first.
func (l *runList) index(in string) *page.Index {
	x := &page.Index{Title: human.Plural(len(l.Runs), "run") + " in " + l.Folder, Heads: strings.Fields(
		"run ended data model mode workers epochs seconds loss score state")}
	number := func(v human.Number, text string) page.Entry {
		return page.Entry{Text: text, Key: human.IfFinite(float64(v), func(x float64) string { return fmt.Sprint(x) })}
	}
	for _, r := range slices.Backward(l.Runs) {
		link := filepath.Join(r.Run, "report.html")
		if _, err := os.Stat(link); err != nil {
			link = ""
		} else if near, err := filepath.Rel(in, link); err == nil {
			link = (&url.URL{Path: filepath.ToSlash(near)}).String()
		}
		score := r.TestAccuracy
		if !human.Finite(float64(score)) {
			score = r.TestR2
		}
		row := []page.Entry{{Text: filepath.Base(r.Run), Link: link}}
		if r.State != unreadable {
			row = append(row, page.Entry{Text: r.Time.Local().Format("2006-01-02 15:04")},
				page.Entry{Text: filepath.Base(r.Data)}, page.Entry{Text: r.Model}, page.Entry{Text: r.Mode},
				number(human.Number(r.Workers), fmt.Sprint(r.Workers)),
				number(human.Number(r.Epochs), fmt.Sprint(r.Epochs)),
				number(r.Seconds, shown(r.Seconds, human.Short)), number(r.TestLoss, shown(r.TestLoss, human.Loss)),
				number(score, r.score()))
		}
		for len(row) < len(x.Heads)-1 {
			row = append(row, page.Entry{})
		}
		x.Rows = append(x.Rows, append(row, page.Entry{Text: r.stateText()}))
	}
	return x
}

// pageOf reads what is to be reported, and says in which folder the report belongs.
func pageOf(paths []string) (p *page.Page, folder string, err error) {
	var runs []*rundir.Recorded
	for _, path := range paths {
		results, err := resultsOf(path)
		switch {
		case err != nil:
			return nil, "", err
		case results == "":
			r, err := rundir.ReadRun(path)
			if err != nil {
				return nil, "", err
			}
			runs = append(runs, r)
		case len(paths) > 1:
			return nil, "", usagef("%s is an experiment and needs a separate report: hogwild report %s", path, path)
		default:
			e, err := bench.ReadExperiment(results)
			if err != nil {
				return nil, "", err
			}
			return page.OfExperiment(e), filepath.Dir(results), nil
		}
	}
	switch len(runs) {
	case 0:
		return nil, "", usagef("report needs a run folder, or the folder of a bench, a sweep or a reproduction: " +
			"hogwild report runs/digits")
	case 1:
		return page.OfRuns(runs), paths[0], nil
	}
	return page.OfRuns(runs), ".", nil
}

// resultsOf returns the path of an experiment's results.json; "" for a run folder.
func resultsOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", usagef("%s: %v; want a run folder, or the folder of a bench, a sweep or a reproduction",
			path, cause(err))
	}
	if !info.IsDir() {
		return path, nil
	}
	results := filepath.Join(path, "results.json")
	if _, err := os.Stat(results); err == nil {
		return results, nil
	}
	if _, err := os.Stat(filepath.Join(path, "config.yaml")); err != nil {
		return "", usagef(
			"%s is neither a run folder, which has config.yaml, nor an experiment, which has results.json", path)
	}
	return "", nil
}

// written is the files that a report has come to.
type written struct {
	Report  string   `json:"report"`
	Figures []string `json:"figures,omitempty"`
}

// write writes the page and, if asked, its figures.
func (o *reportOptions) write(p document) (*written, error) {
	type file struct {
		name  string
		kind  atomicfile.Kind
		write func(io.Writer) error
	}
	files := []file{{o.out, atomicfile.Page, p.WriteHTML}}
	base := strings.TrimSuffix(o.out, filepath.Ext(o.out))
	for _, f := range p.Figures() {
		if o.png {
			files = append(files, file{base + "-" + f.Name + ".png", atomicfile.PNG, f.PNG})
		}
		if o.svg {
			files = append(files, file{base + "-" + f.Name + ".svg", atomicfile.SVG, f.SVG})
		}
	}
	for _, f := range files { // all of them, before the first is written
		if err := mayReplace("--out ", f.name, f.kind, o.force); err != nil {
			return nil, err
		}
	}
	w := &written{Report: o.out}
	for i, f := range files {
		if err := replaceFile(f.name, f.kind, o.force, f.write); err != nil {
			return nil, err
		}
		if i > 0 {
			w.Figures = append(w.Figures, f.name)
		}
	}
	return w, nil
}

// WriteText writes a line for each file.
func (w *written) WriteText(out io.Writer) error {
	_, err := fmt.Fprintln(out, strings.Join(append([]string{w.Report}, w.Figures...), "\n"))
	return err
}
