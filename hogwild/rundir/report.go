package rundir

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
	"hogwild/internal/self"
)

// Result is what a run comes to. Its JSON form is the contract of `--json`.
type Result struct {
	Mode              string             `json:"mode"`
	Merge             string             `json:"merge,omitempty"` // how async workers on cores write: in place, or merged every so many local steps
	Device            string             `json:"device"`
	CPU               string             `json:"cpu"`            // what the loops ran on: avx512, avx2, neon, go; see HOGWILD_CPU
	GPUs              []string           `json:"gpus,omitempty"` // UUIDs of those that were used; the configuration may say "auto"
	Workers           int                `json:"workers"`
	Model             string             `json:"model"`
	Program           string             `json:"program,omitempty"` // the command, where that is the model
	Data              string             `json:"data"`
	Batch             int                `json:"batch"`
	Epochs            int                `json:"epochs"`   // completed
	Examples          int64              `json:"examples"` // trained in all
	Seconds           float64            `json:"seconds"`  // training only
	ExamplesPerSecond float64            `json:"examples_per_second"`
	WallSeconds       float64            `json:"wall_seconds,omitempty"` // from the first step to the last epoch's evaluation, the time between epochs and pauses included
	WallRate          float64            `json:"wall_examples_per_second,omitempty"`
	StartupSeconds    float64            `json:"startup_seconds"` // first worker's exec to the last worker's first update
	TrainLoss         float64            `json:"train_loss"`
	TrainMetrics      map[string]float64 `json:"train_metrics,omitempty"` // of the last epoch: others that a program tells of in training
	TestLoss          float64            `json:"test_loss"`
	TestAccuracy      *float64           `json:"test_accuracy,omitempty"`
	TestRMSE          *float64           `json:"test_rmse,omitempty"`
	TestR2            *float64           `json:"test_r2,omitempty"`
	Metrics           map[string]float64 `json:"metrics,omitempty"` // others that a program measures
	Validation                           // with a validation set: of the best epoch; so are TrainLoss, and the weights that are saved and tested
	BestEpoch         int                `json:"best_epoch,omitempty"`
	*Detail                              // of the predictions for the test set; nil for a run that was interrupted
	Restarts          int                `json:"restarts"`
	LostExamples      int64              `json:"lost_examples"`
	Rollbacks         int                `json:"rollbacks,omitempty"`          // after divergence
	DiscardedExamples int64              `json:"discarded_examples,omitempty"` // trained in vain before them, and not among Examples
	Shares            []Share            `json:"shares,omitempty"`             // of each device, when there are several
	*Nodes                               // nil: one alone
	Seed              uint64             `json:"seed"`
	Init              *Started           `json:"init,omitempty"` // nil: the model's own first weights

	Parameters       int64   `json:"parameters"`         // weights in all
	ValuesPerExample float64 `json:"values_per_example"` // mean stored inputs of a training row: see data.Set.ValuesPerRow
	FlopsPerExample  float64 `json:"flops_per_example"`  // of its products, forward and backward: see model.Flops

	Time    time.Time `json:"time,omitzero"` // when it ended
	Machine Machine   `json:"machine"`
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Run     string    `json:"run"`

	Lambda        float64 `json:"lambda,omitempty"` // see tuning.Tuning
	MaxInFlight   float64 `json:"max_in_flight,omitempty"`
	LeastInFlight float64 `json:"least_max_in_flight,omitempty"` // the least that the limit came to as the run trained, at the rates of its epochs; 0: it was not measured again
	Curvature     float64 `json:"curvature,omitempty"`
	MaxLR         float64 `json:"max_lr,omitempty"`
	LRUsed        float64 `json:"lr_used"`
	LRCapped      bool    `json:"lr_capped"`               // it is less than was asked for
	MomentumUsed  float64 `json:"momentum_used,omitempty"` // of the momentum optimizer
	Centered      bool    `json:"centered"`
	BiasStep      float64 `json:"bias_step"`
	InFlight      int     `json:"in_flight,omitempty"`          // steps of workers that take turns, as expected before the run
	InFlightSeen  float64 `json:"in_flight_measured,omitempty"` // the same by their samples
	Auto          string  `json:"auto,omitempty"`               // what the run chose where the user left it to the program
	Warning       string  `json:"warning,omitempty"`            // the result looks like success and is none
	Rate          string  `json:"-"`                            // how the learning rate came to be another one

	*control.Instruments                // of all workers
	PerWorker            []WorkerStatus `json:"per_worker,omitempty"` // at the end
	Scales               []Scale        `json:"scales,omitempty"`     // how the number of workers has changed
	Unused               []string       `json:"unused,omitempty"`     // tensors that received no gradient in the first epoch

	Notes   []string      `json:"notes,omitempty"`   // what was done to the data, and what the device has to say
	Stopped string        `json:"stopped,omitempty"` // why it ended early: interrupted, terminated, hung up, diverged, failed, target loss, target accuracy, stop after
	Error   string        `json:"error,omitempty"`   // why it failed
	Told    bool          `json:"-"`                 // whoever reads the text has just seen what stood above the run
	History []EpochResult `json:"-"`
	Events  []string      `json:"-"` // what happened to workers, a line each
	Timing  []string      `json:"-"` // where the time went, if it was asked
}

// Texts of Result.Stopped; a target or a time that was reached has others.
const (
	StoppedInterrupted = "interrupted"
	StoppedTerminated  = "terminated"
	StoppedHangup      = "hung up"
	StoppedDiverged    = "diverged"
	StoppedFailed      = "failed"
)

// Share is what of a run's examples the workers of a device have trained.
type Share struct {
	Device   string  `json:"device"` // cuda:0, cpu
	Examples int64   `json:"examples"`
	Share    float64 `json:"share"` // of all; they add up to 1
}

// sharesText is the shares in a line.
func (r Result) sharesText() string {
	var words []string
	for _, s := range r.Shares {
		words = append(words, fmt.Sprintf("%s %.0f%%", s.Device, 100*s.Share))
	}
	return strings.Join(words, ", ")
}

// EpochResult is one epoch: a line of progress, and a line of metrics.jsonl.
type EpochResult struct {
	Kind         string   `json:"kind"` // "epoch"
	Epoch        int      `json:"epoch"`
	Seconds      float64  `json:"seconds"`  // of training since the start of the run
	Examples     int64    `json:"examples"` // trained since the start of the run
	LR           float64  `json:"lr"`       // at the end of the epoch
	TrainLoss    float64  `json:"train_loss"`
	TestLoss     float64  `json:"test_loss"`
	TestAccuracy *float64 `json:"test_accuracy,omitempty"`
	TestRMSE     *float64 `json:"test_rmse,omitempty"`
	TestR2       *float64 `json:"test_r2,omitempty"`
	Validation            // with a validation set the test set is not evaluated: TestLoss is NaN

	Metrics      map[string]float64 `json:"metrics,omitempty"`       // others that a program measures on the rows by which the epoch is judged
	TrainMetrics map[string]float64 `json:"train_metrics,omitempty"` // others that it tells of in training, means over the epoch
}

// Best is the first epoch with the least validation loss; nil if there is none.
func Best(history []EpochResult) (best *EpochResult) {
	for i := range history {
		e := &history[i]
		if v := e.ValidationLoss; v != nil && !math.IsNaN(*v) && (best == nil || *v < *best.ValidationLoss) {
			best = e
		}
	}
	return best
}

// WorkerStatus is one worker as the display and metrics.jsonl show it.
type WorkerStatus struct {
	Rank     int     `json:"rank"`
	PID      int     `json:"pid"`
	State    string  `json:"state"`               // starting, training, waiting, paused, restarting, gone, leaving, left
	Examples int64   `json:"examples"`            // trained since the start of the run
	Rate     float64 `json:"examples_per_second"` // smoothed over some two seconds
	Restarts int     `json:"restarts"`
	Chunk    int     `json:"chunk,omitempty"` // that it has in hand, from 1; hogwild top alone has it

	*control.Instruments // since the start of the run
}

// Status is a run at one moment.
type Status struct {
	Kind     string         `json:"kind"`  // "second"
	Epoch    int            `json:"epoch"` // the one under way, from 1
	Epochs   int            `json:"epochs"`
	Seconds  float64        `json:"seconds"` // of training since the start of the run
	Examples int64          `json:"examples"`
	Total    int64          `json:"total_examples,omitempty"` // when all epochs are done
	Rate     float64        `json:"examples_per_second"`      // smoothed over some two seconds
	Workers  []WorkerStatus `json:"workers"`
	Paused   bool           `json:"paused,omitempty"`
	Scale    *Scale         `json:"scale,omitempty"` // the number of workers has just changed
	Last     *EpochResult   `json:"-"`               // the last epoch evaluated, nil before the first

	Rollbacks int `json:"rollbacks,omitempty"` // after divergence, so far

	// TrainLoss is the mean over the examples of this epoch so far; nil before the first chunk is done.
	TrainLoss *float64 `json:"train_loss,omitempty"`

	TrainMetrics map[string]float64 `json:"train_metrics,omitempty"` // see EpochResult
}

// Done is the share of the run's examples that are trained, from 0 to 1.
func (s *Status) Done() float64 {
	if s.Total <= 0 {
		return 0
	}
	return min(float64(s.Examples)/float64(s.Total), 1)
}

// Left estimates the seconds of training that are left from the mean speed so far; ok says whether it can.
func (s *Status) Left() (seconds float64, ok bool) {
	if s.Examples <= 0 || s.Total < s.Examples {
		return 0, false
	}
	return s.Seconds / float64(s.Examples) * float64(s.Total-s.Examples), true
}

// WriteJSON writes the result as one JSON object.
func (r Result) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }

// fewClasses is the most classes of which the report for people has a table.
const fewClasses = 5

// WriteText writes the result for people: what was trained, how fast, how well, what
// happened to workers on the way, and what to type next.
func (r Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if r.Told {
		r.CPU, r.Merge, r.Auto, r.Rate, r.Events, r.Notes = "", "", "", "", nil, nil
	}
	nodes := 1
	if r.Nodes != nil {
		nodes = r.Nodes.Nodes
	}
	started := ""
	if !r.Told {
		started = fmt.Sprintf("%.3f s", r.StartupSeconds)
		fmt.Fprintf(&b, "%s on %s: %s, %s, batch %d, %s\n\n", cmp.Or(r.Program, r.Model), DataText(r.Data), WorkersText(nodes, r.Workers), r.Mode, r.Batch, r.Device)
	}
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s "+format+"\n", append([]any{label}, args...)...)
	}
	known := func(label, text string) {
		if text != "" {
			row(label, "%s", text)
		}
	}

	if r.Init != nil {
		row("init", "%s", r.Init.Text())
	}
	row("epochs", "%d, %s examples", r.Epochs, human.Count(r.Examples))
	row("training", "%.2f s, %s examples/s", r.Seconds, human.Rate(r.ExamplesPerSecond))
	known("wall", r.wallText())
	if r.Shares != nil {
		row("shares", "%s of the examples", r.sharesText())
	}
	if r.Nodes != nil {
		row("nodes", "%s", r.Nodes.Text())
	}
	known("start-up", started)
	known("cpu", r.CPU)
	known("merge", r.Merge)
	r.scoreRows(row)
	b.WriteString(r.Detail.ScoreLines())
	detail, table := r.Detail.Text(fewClasses), r.Detail != nil && r.Residuals == nil && len(r.Classes) <= fewClasses
	if !table {
		b.WriteString(detail)
	}
	if r.Instruments != nil && r.StalenessSamples > 0 {
		row("staleness", "%s", r.stalenessText())
	}
	known("auto", r.Auto)
	known("rate", r.Rate)
	if r.Restarts > 0 || r.LostExamples > 0 {
		row("restarts", "%d, %s examples lost", r.Restarts, human.Count(r.LostExamples))
	}
	if r.Rollbacks > 0 {
		row("rollbacks", "%d, %s examples discarded, learning rate now %g", r.Rollbacks, human.Count(r.DiscardedExamples), r.LRUsed)
	}
	for _, list := range []struct {
		label string
		lines []string
	}{{"events", r.Events}, {"notes", r.Notes}, {"timing", r.Timing}} {
		for _, line := range list.lines {
			row(list.label, "%s", line)
			list.label = ""
		}
	}
	known("warning", r.Warning)
	if r.Stopped != "" {
		row("stopped", "early: %s", r.Stopped)
	}
	if r.Run != "" {
		row("saved in", "%s", r.Run)
		if table {
			b.WriteString("\n" + detail)
		}
		if r.Stopped != StoppedDiverged { // that may have left no weights
			fmt.Fprintf(&b, "\n%s\n", strings.Join(r.next(), "\n"))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// wallText is the speed with the time between epochs; "" before the first step.
func (r Result) wallText() string {
	if r.WallSeconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2f s, %s examples/s with the time between epochs", r.WallSeconds, human.Rate(r.WallRate))
	if r.WallSeconds >= 2*r.Seconds {
		text += fmt.Sprintf(": %s of it is not training, but evaluation, saving and pauses", human.Share(1-r.Seconds/r.WallSeconds))
	}
	return text
}

// DataText is the name of the data for people.
func DataText(name string) string {
	if name == data.None {
		return "its own data"
	}
	return name
}

// scoreRows are the losses and scores of the report.
func (r Result) scoreRows(row func(label, format string, args ...any)) {
	v, train := r.Validation, "train loss "+human.Loss(r.TrainLoss)
	if r.BestEpoch > 0 { // all figures are of its weights
		row("best epoch", "%d, %s, %s", r.BestEpoch, train, v.scores().Text(", "))
	} else if r.Examples > 0 {
		row("train loss", "%s", human.Loss(r.TrainLoss))
	}
	for _, name := range slices.Sorted(maps.Keys(r.TrainMetrics)) {
		row("train "+name, "%s", human.Loss(r.TrainMetrics[name]))
	}
	switch {
	case v.ValidationLoss == nil && math.IsNaN(r.TestLoss) && r.interrupted():
		row("test loss", "not evaluated: the run was %s", r.Stopped)
	case v.ValidationLoss == nil && math.IsNaN(r.TestLoss) && r.Model == model.ProgramName && r.Stopped == "":
		row("test loss", "not evaluated: the program has no test data, or no function marked @job.evaluate")
	case v.ValidationLoss == nil:
		row("test loss", "%s", human.Loss(r.TestLoss))
	case r.BestEpoch == 0: // within the first epoch
		row("validation", "%s", v.scores().Text(", "))
	case math.IsNaN(r.TestLoss):
		row("test loss", "not evaluated: the run did not finish")
	default:
		row("test loss", "%s, with the weights of epoch %d; test rows were used only for this", human.Loss(r.TestLoss), r.BestEpoch)
	}
	if r.TestAccuracy != nil {
		row("accuracy", "%s", human.Accuracy(*r.TestAccuracy))
	}
	if r.TestRMSE != nil {
		row("RMSE", "%s", human.Loss(*r.TestRMSE))
	}
	if r.TestR2 != nil {
		row("R2", "%.4f", *r.TestR2)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		row(name, "%s", human.Loss(r.Metrics[name]))
	}
}

// stalenessText is what the instruments say, in a line.
func (r Result) stalenessText() string {
	text := fmt.Sprintf("mean %.3g, p99 %d, max %d updates by other workers", r.StalenessMean, r.StalenessP99, r.StalenessMax)
	if r.InFlight > 0 {
		text += fmt.Sprintf("; %.2g in flight at once by the median, %d expected", r.InFlightSeen, r.InFlight)
	}
	if r.Conflicts > 0 || r.LostSamples > 0 {
		text += fmt.Sprintf("; %s in conflict", human.Share(r.Conflicts))
	}
	if n := r.LostSamples; n > 0 {
		text += fmt.Sprintf(", %s lost (%s looked at: below %s)", human.Share(r.LostUpdates), human.Count(n), human.Share(r.LostBelow))
	}
	return text
}

// interrupted reports whether a signal has ended the run.
func (r Result) interrupted() bool {
	return slices.Contains([]string{StoppedInterrupted, StoppedTerminated, StoppedHangup}, r.Stopped)
}

// next is the commands that the user may want to type after the run.
func (r Result) next() []string {
	next := []string{human.Next + self.Name() + " eval " + human.ShellWord(r.Run)} // on the same test rows
	if r.interrupted() {
		next = append(next, human.Next+self.Name()+" train --resume "+human.ShellWord(r.Run))
	}
	return next
}
