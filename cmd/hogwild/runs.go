package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
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
	l.bool(&asJSON, "json", "print the list as one JSON object")
	return &cli.Command{
		Name: "runs", Usage: "list the runs in a folder", ArgsUsage: "DIR", Description: runsHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			if len(args) > 1 {
				return usagef("runs takes one folder of runs, got %d; hogwild compare shows runs side by side", len(args))
			}
			list, err := listRuns(slices.Concat(args, []string{"runs"})[0], len(args) == 0)
			if err != nil {
				return err
			}
			return report(c.App.Writer, list, asJSON)
		}),
	}
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
	Seconds      bench.Number `json:"seconds"`         // of training
	TrainLoss    bench.Number `json:"train_loss"`
	TestLoss     bench.Number `json:"test_loss"`
	TestAccuracy bench.Number `json:"test_accuracy"`
	TestRMSE     bench.Number `json:"test_rmse"`
	TestR2       bench.Number `json:"test_r2"`
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
		r, err := rundir.Glance(folder)
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

var nan = bench.Number(math.NaN())

// ran is what a run folder tells.
func ran(r *rundir.Recorded) ranRun {
	c := &r.Config
	one := ranRun{Run: r.Folder, Time: r.Updated(), Data: c.Data, Model: c.Model, Mode: c.Mode.String(), Workers: c.Workers,
		EpochsAsked: c.Epochs, State: r.State(), Resumable: r.Resumable(), Seconds: nan, TrainLoss: nan, TestLoss: nan}
	var accuracy, rmse, r2 *float64
	if e := r.Last(); e != nil {
		one.Epochs, one.Seconds = e.Epoch, bench.Number(e.Seconds)
		one.TrainLoss, one.TestLoss = bench.Number(e.TrainLoss), bench.Number(e.TestLoss)
		accuracy, rmse, r2 = e.TestAccuracy, e.TestRMSE, e.TestR2
	}
	if e := r.Result; e != nil {
		one.Epochs, one.Seconds, one.Error = e.Epochs, bench.Number(e.Seconds), e.Error
		one.TrainLoss, one.TestLoss = bench.Number(e.TrainLoss), bench.Number(e.TestLoss)
		accuracy, rmse, r2 = e.TestAccuracy, e.TestRMSE, e.TestR2
	}
	one.TestAccuracy, one.TestRMSE, one.TestR2 = orNaN(accuracy), orNaN(rmse), orNaN(r2)
	return one
}

func orNaN(x *float64) bench.Number {
	if x == nil {
		return nan
	}
	return bench.Number(*x)
}

// WriteText writes a line for each run.
func (l *runList) WriteText(out io.Writer) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintf(out, "no runs in %s; hogwild train makes one\n", l.Folder)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tENDED\tDATA\tMODEL\tMODE\tWORKERS\tEPOCHS\tTIME\tTEST LOSS\tACCURACY\tSTATE")
	for _, r := range l.Runs {
		if r.State == unreadable {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\t-\t-\t-\t%s: %s\n", human.Name(filepath.Base(r.Run)), r.State, r.Error)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d/%d\t%s\t%s\t%s\t%s\n", human.Name(filepath.Base(r.Run)), r.Time.Local().Format("2006-01-02 15:04"),
			human.Name(filepath.Base(r.Data)), r.Model, r.Mode, r.Workers, r.Epochs, r.EpochsAsked,
			seconds(r.Seconds), shown(r.TestLoss, human.Loss), r.score(), r.stateText())
	}
	return w.Flush()
}

// stateText is the state in words.
func (r *ranRun) stateText() string {
	text := string(r.State)
	if r.Resumable {
		text += ", resumable"
	}
	return text
}

// score is the accuracy, or what stands for it where a number is predicted.
func (r *ranRun) score() string {
	if text := shown(r.TestAccuracy, human.Accuracy); text != noNumber {
		return text
	}
	return shown(r.TestR2, func(x float64) string { return fmt.Sprintf("R2 %.4f", x) })
}

// noNumber stands where there is no number.
const noNumber = "-"

// shown is a number, or noNumber.
func shown(x bench.Number, text func(float64) string) string {
	if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
		return noNumber
	}
	return text(float64(x))
}

func seconds(x bench.Number) string {
	return shown(x, func(s float64) string {
		if s < 100 {
			return human.Short(s) + " s"
		}
		return human.Clock(s)
	})
}

// WriteJSON writes the list as one JSON object.
func (l *runList) WriteJSON(w io.Writer) error { return human.WriteJSON(w, l) }
