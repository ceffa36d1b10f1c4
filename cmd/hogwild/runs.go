package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

const runsHelp = `Usage: hogwild runs [DIR] [--json]

Lists the run folders in DIR (default: runs), oldest first, with data, model, settings, finished
epochs, state, final test loss and accuracy (or R2), and training time.

  live          running now: hogwild top RUN shows its workers
  done          finished all epochs, or reached --target-loss, --target-accuracy or --stop-after
  interrupted   stopped by Ctrl-C, SIGTERM or SIGHUP, and saved
  diverged      the loss became infinite, not a number or far too large
  failed        stopped by an error
  unfinished    killed before its result was written
  resumable     hogwild train --resume RUN continues it

FLAGS
Examples:
  hogwild runs
  hogwild runs runs/sweeps/lr-by-workers/runs --json
`

func runsCommand() *cli.Command {
	var asJSON bool
	l := flagList{category: "Flags"}
	l.add(&asJSON, "json", "print the list as one JSON object")
	return verb(cli.Command{Name: "runs", Usage: "list the runs in a folder", ArgsUsage: "DIR", Description: runsHelp,
		Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) > 1 {
			return usagef("runs takes one folder of runs, got %d; hogwild report shows runs side by side", len(args))
		}
		list, err := listRuns(slices.Concat(args, []string{"runs"})[0], len(args) == 0)
		if err != nil {
			return err
		}
		return report(c.App.Writer, list, asJSON)
	})
}

// ranRun is a run as the lists show it: how far it came, and how well it did at last.
type ranRun struct {
	Run          string       `json:"run"` // its folder
	Time         time.Time    `json:"time,omitzero"`
	Data         string       `json:"data"`
	Model        string       `json:"model"`
	Mode         string       `json:"mode"`
	Workers      int          `json:"workers"`
	Epochs       int          `json:"epochs"` // done
	EpochsAsked  int          `json:"epochs_asked"`
	State        rundir.State `json:"state"`
	Resumable    bool         `json:"resumable"`
	Error        string       `json:"error,omitempty"` // why it failed, or cannot be read
	Seconds      human.Number `json:"seconds"`         // of training
	TrainLoss    human.Number `json:"train_loss"`
	TestLoss     human.Number `json:"test_loss"`
	TestAccuracy human.Number `json:"test_accuracy"`
	TestRMSE     human.Number `json:"test_rmse"`
	TestR2       human.Number `json:"test_r2"`
}

// unreadable is the state of a run whose files are damaged.
const unreadable rundir.State = "unreadable"

// runList is the runs of a folder.
type runList struct {
	Folder string   `json:"folder"`
	Runs   []ranRun `json:"runs"`
}

// listRuns reads the runs in a folder; one that is not there is an empty one if it may be missing.
func listRuns(folder string, mayBeMissing bool) (*runList, error) {
	list := &runList{Folder: folder, Runs: []ranRun{}}
	if _, err := os.Stat(folder); os.IsNotExist(err) && mayBeMissing {
		return list, nil
	}
	folders, err := rundir.FindRuns(folder)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		r, err := rundir.ReadSummary(folder)
		if err != nil {
			list.Runs = append(list.Runs, ranRun{Run: folder, State: unreadable, Error: err.Error(),
				Seconds: nan, TrainLoss: nan, TestLoss: nan, TestAccuracy: nan, TestRMSE: nan, TestR2: nan})
			continue
		}
		list.Runs = append(list.Runs, ran(r))
	}
	slices.SortStableFunc(list.Runs, func(a, b ranRun) int { return a.Time.Compare(b.Time) })
	return list, nil
}

var nan = human.NumberOf(nil)

// ran returns what a run folder tells.
func ran(r *rundir.Recorded) ranRun {
	c, got := &r.Config, r.Outcome()
	return ranRun{Run: r.Folder, Time: r.Updated(), Data: c.Data, Model: c.Model, Mode: c.Mode.String(),
		Workers: c.Workers,
		Epochs:  got.Epochs, EpochsAsked: c.Epochs, State: r.State(), Resumable: r.Resumable(), Error: got.Error,
		Seconds:   human.Number(got.Seconds),
		TrainLoss: human.Number(got.TrainLoss), TestLoss: human.Number(got.TestLoss),
		TestAccuracy: human.NumberOf(got.TestAccuracy), TestRMSE: human.NumberOf(got.TestRMSE),
		TestR2: human.NumberOf(got.TestR2)}
}

// WriteText writes a line for each run.
func (l *runList) WriteText(out io.Writer) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintf(out, "no runs in %s; hogwild train makes one\n", l.Folder)
		return err
	}
	rows := [][]string{{"RUN", "ENDED", "DATA", "MODEL", "MODE", "WORKERS", "EPOCHS", "TIME", "TEST LOSS",
		"ACCURACY", "STATE"}}
	for _, r := range l.Runs {
		row := slices.Repeat([]string{noNumber}, len(rows[0]))
		row[0], row[len(row)-1] = human.Name(filepath.Base(r.Run)), r.stateText()
		if r.State != unreadable {
			copy(row[1:], []string{r.Time.Local().Format("2006-01-02 15:04"), human.Name(filepath.Base(r.Data)),
				r.Model, r.Mode, fmt.Sprint(r.Workers),
				fmt.Sprintf("%d/%d", r.Epochs, r.EpochsAsked), seconds(r.Seconds),
				shown(r.TestLoss, human.Loss), r.score()})
		}
		rows = append(rows, row)
	}
	_, err := io.WriteString(out, human.Aligned(rows))
	return err
}

// stateText returns the state in words.
func (r *ranRun) stateText() string {
	text := string(r.State)
	if r.State == unreadable {
		text += ": " + r.Error
	}
	if r.Resumable {
		text += ", resumable"
	}
	return text
}

// score returns the accuracy, or what stands for it where a number is predicted.
func (r *ranRun) score() string {
	if text := shown(r.TestAccuracy, human.Accuracy); text != noNumber {
		return text
	}
	return shown(r.TestR2, func(x float64) string { return fmt.Sprintf("R2 %.4f", x) })
}

// noNumber stands where there is no number.
const noNumber = "-"

// shown returns a number, or noNumber.
func shown(x human.Number, text func(float64) string) string {
	return cmp.Or(human.IfFinite(float64(x), text), noNumber)
}

func seconds(x human.Number) string {
	return shown(x, func(s float64) string {
		if s < 100 {
			return human.Short(s) + " s"
		}
		return human.Clock(s)
	})
}
