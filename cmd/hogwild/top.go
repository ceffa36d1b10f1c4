package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/display"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

const topHelp = `Usage: hogwild top [RUN] [--once] [--json]

Shows the workers of a live run, renewed each second until the run ends or Ctrl-C:

  STATE        starting, training, waiting (for others, or for the next epoch), paused, restarting,
               gone (no more restarts), leaving (finishing its chunk after a scale-down)
  EXAMPLES/S   over the last two seconds
  CHUNK        the piece of the epoch that it is working on
  STALENESS    updates of others between a step's read and its write: MEAN and 99th percentile (P99)

FLAGS
` + whichRun + `
Examples:
  hogwild top
  hogwild top runs/digits --once
  hogwild top runs/digits --json
`

func topCommand() *cli.Command {
	var once, asJSON bool
	l := flagList{category: "Flags"}
	l.add(&once, "once", "print it once: the default when stdout is not a terminal")
	l.add(&asJSON, "json", "print it once, as one JSON object")
	return verb(cli.Command{Name: "top", Usage: "show the workers of a live run", ArgsUsage: "RUN",
		Description: topHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		folder, err := liveRun("top", args)
		if err != nil {
			return err
		}
		v := &view{Run: folder}
		if err := v.renew(); err != nil {
			return err
		}
		live := human.NewLive(directly(c.App.Writer))
		if once || asJSON || live.Size == nil {
			return report(c.App.Writer, v, asJSON)
		}
		return v.follow(live)
	})
}

// view is a live run as top shows it.
type view struct {
	Run    string        `json:"run"`
	Chunks int           `json:"chunks"` // of an epoch
	Status rundir.Status `json:"status"`
	head   string        // what is trained on what
}

// renew asks the run how it is.
func (v *view) renew() error {
	a, err := rundir.Ask(v.Run, rundir.Request{Do: rundir.DoStatus})
	if err != nil {
		return err
	}
	v.Chunks, v.Status = a.Chunks, *a.Status
	if v.head == "" {
		r, err := rundir.ReadSummary(v.Run)
		if err != nil {
			return err
		}
		v.head = fmt.Sprintf("%s: %s on %s, %s", v.Run, r.Config.Model, filepath.Base(r.Config.Data), r.Config.Mode)
	}
	return nil
}

// WriteText writes the whole view.
func (v *view) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(v.lines(79), "\n")+"\n")
	return err
}

// follow renews the view on a terminal until the run has ended.
func (v *view) follow(live human.Live) error {
	for {
		columns, _ := live.Size()
		lines := v.lines(columns - 1)
		if err := live.Draw(nil, lines...); err != nil {
			return err
		}
		time.Sleep(time.Second)
		if err := v.renew(); err != nil {
			if _, runs := rundir.Live(v.Run); runs {
				return err
			}
			return live.Draw(append(lines, "the run has ended"))
		}
	}
}

// lines returns the run's lines, and one for each worker.
func (v *view) lines(columns int) []string {
	head := v.head + ", " + human.Plural(len(v.Status.Workers), "worker")
	if v.Status.Paused {
		head += ", paused"
	}
	rows := [][]string{{"WORKER", "PID", "STATE", "EXAMPLES/S", "CHUNK", "STALENESS: MEAN, P99", "RESTARTS"}}
	for _, k := range v.Status.Workers {
		chunk, stale := noNumber, noNumber
		if k.Chunk > 0 {
			chunk = fmt.Sprintf("%d/%d", k.Chunk, v.Chunks)
		}
		if in := k.Instruments; in != nil && in.StalenessSamples > 0 {
			stale = fmt.Sprintf("%.3g, %d", in.StalenessMean, in.StalenessP99)
		}
		rows = append(rows, []string{fmt.Sprint(k.Rank), fmt.Sprint(k.PID), k.State, human.Rate(k.Rate), chunk, stale,
			fmt.Sprint(k.Restarts)})
	}
	all := append([]string{head}, display.ProgressLines(v.Status, columns)...)
	return append(append(all, ""), strings.Split(strings.TrimRight(human.AlignedRight(rows), "\n"), "\n")...)
}
