package rundir

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"hogwild/hogwild/control"
	"hogwild/internal/human"
)

// Result is the outcome of a run. Its JSON form is the contract of `--json`.
type Result struct {
	Mode string `json:"mode"`
	// how async workers on cores write: in place, or merged after some local steps
	Merge  string `json:"merge,omitempty"`
	Device string `json:"device"`
	// what the loops ran on: avx512, avx2, neon, go; see HOGWILD_CPU
	CPU string `json:"cpu"`
	// UUIDs of those that were used; the configuration may say "auto"
	GPUs              []string `json:"gpus,omitempty"`
	Workers           int      `json:"workers"`
	Model             string   `json:"model"`
	Program           string   `json:"program,omitempty"` // the command, where that is the model
	Data              string   `json:"data"`
	Batch             int      `json:"batch"`
	Epochs            int      `json:"epochs"`   // completed
	Examples          int64    `json:"examples"` // trained in all
	Seconds           float64  `json:"seconds"`  // training only
	ExamplesPerSecond float64  `json:"examples_per_second"`
	// from the first step to the last epoch's evaluation, the time between epochs and pauses included
	WallSeconds float64 `json:"wall_seconds,omitempty"`
	WallRate    float64 `json:"wall_examples_per_second,omitempty"`
	// first worker's exec to the last worker's first update
	StartupSeconds float64 `json:"startup_seconds"`
	TrainLoss      float64 `json:"train_loss"`
	// of the last epoch: others that a program reports in training
	TrainMetrics map[string]float64 `json:"train_metrics,omitempty"`
	Tested
	Metrics map[string]float64 `json:"metrics,omitempty"` // others that a program measures
	// with a validation set: of the best epoch; so are TrainLoss, and the weights that are saved and tested
	Validation
	BestEpoch    int   `json:"best_epoch,omitempty"`
	*Detail            // of the predictions for the test set; nil for a run that was interrupted
	Restarts     int   `json:"restarts"`
	LostExamples int64 `json:"lost_examples"`
	Rollbacks    int   `json:"rollbacks,omitempty"` // after divergence
	// trained in vain before them, and not among Examples
	DiscardedExamples int64     `json:"discarded_examples,omitempty"`
	Shares            []Share   `json:"shares,omitempty"` // of each device, when there are several
	*Nodes                      // nil: one alone
	Seed              uint64    `json:"seed"`
	Init              *InitFrom `json:"init,omitempty"` // nil: the model's own first weights

	Parameters int64 `json:"parameters"` // weights in all
	// mean stored inputs of a training row: see data.Set.ValuesPerRow
	ValuesPerExample float64 `json:"values_per_example"`
	FlopsPerExample  float64 `json:"flops_per_example"` // of its products, forward and backward: see model.Flops

	Time    time.Time `json:"time,omitzero"` // when it ended
	Machine Machine   `json:"machine"`
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Run     string    `json:"run"`

	Lambda      float64 `json:"lambda,omitempty"` // see tuning.Tuning
	MaxInFlight float64 `json:"max_in_flight,omitempty"`
	// the least that the limit came to as the run trained, at the rates of its epochs; 0: it was not measured again
	LeastInFlight float64 `json:"least_max_in_flight,omitempty"`
	Curvature     float64 `json:"curvature,omitempty"`
	MaxLR         float64 `json:"max_lr,omitempty"`
	LRUsed        float64 `json:"lr_used"`
	LRCapped      bool    `json:"lr_capped"`               // it is less than was asked for
	MomentumUsed  float64 `json:"momentum_used,omitempty"` // of the momentum optimizer
	Centered      bool    `json:"centered"`
	BiasStep      float64 `json:"bias_step"`
	// steps in flight: on GPUs as they run, else of workers that take turns, as expected before the run
	InFlight     int     `json:"in_flight,omitempty"`
	InFlightSeen float64 `json:"in_flight_measured,omitempty"` // the same by their samples
	// what the run chose where the user left it to the program
	Auto    string `json:"auto,omitempty"`
	Warning string `json:"warning,omitempty"` // the result looks like success and is none
	Rate    string `json:"-"`                 // how the learning rate came to be another one

	*control.Instruments                // of all workers
	PerWorker            []WorkerStatus `json:"per_worker,omitempty"` // at the end
	Scales               []Scale        `json:"scales,omitempty"`     // how the number of workers has changed
	// tensors that received no gradient in the first epoch
	Unused []string `json:"unused,omitempty"`

	Rows  *Rows    `json:"rows,omitempty"`  // nil: only the program has any
	Notes []string `json:"notes,omitempty"` // what was done to the data, and what the device has to say
	// why it ended early: interrupted, terminated, hung up, diverged, failed, target loss, target accuracy, stop after
	Stopped   string        `json:"stopped,omitempty"`
	Missed    string        `json:"missed,omitempty"` // the target that it has not reached
	Error     string        `json:"error,omitempty"`  // why it failed
	ShownLive bool          `json:"-"`                // the reader has just seen what stood above the run
	History   []EpochResult `json:"-"`
	Events    []string      `json:"-"` // what happened to workers, a line each
	Timing    []string      `json:"-"` // where the time went, if it was asked
}

// Texts of Result.Stopped; a target or a time that was reached has others.
const (
	StoppedInterrupted = "interrupted"
	StoppedTerminated  = "terminated"
	StoppedHangup      = "hung up"
	StoppedDiverged    = "diverged"
	StoppedFailed      = "failed"
)

// Rows is how many rows, entries, lines or words were read, and what for. Which were left out, the Notes say.
type Rows struct {
	Read       int `json:"read,omitempty"` // of the file of training data; 0: they were generated
	Train      int `json:"train"`
	Validation int `json:"validation,omitempty"`
	Test       int `json:"test"`
	TestRead   int `json:"test_read,omitempty"` // of a file of its own
}

// text returns the counts in a line.
func (r *Rows) text(unit string) string {
	if r == nil || r.Read == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s: %s to train on, ", human.Count(int64(r.Read)), unit, human.Count(int64(r.Train)))
	if r.Validation > 0 {
		text += human.Count(int64(r.Validation)) + " to validate, "
	}
	if text += human.Count(int64(r.Test)); r.TestRead > 0 {
		text += fmt.Sprintf(" of the %s of its own file", human.Count(int64(r.TestRead)))
	}
	return text + " to test"
}

// Share is what of a run's examples the workers of a device have trained.
type Share struct {
	Device   string  `json:"device"` // cuda:0, cpu
	Examples int64   `json:"examples"`
	Share    float64 `json:"share"` // of all; they add up to 1
}

// sharesText returns the shares in a line.
func (r Result) sharesText() string {
	var words []string
	for _, s := range r.Shares {
		words = append(words, fmt.Sprintf("%s %.0f%%", s.Device, 100*s.Share))
	}
	return strings.Join(words, ", ")
}

// EpochResult is one epoch: a line of progress, and a line of metrics.jsonl.
type EpochResult struct {
	Kind      string  `json:"kind"` // "epoch"
	Epoch     int     `json:"epoch"`
	Seconds   float64 `json:"seconds"`  // of training since the start of the run
	Examples  int64   `json:"examples"` // trained since the start of the run
	LR        float64 `json:"lr"`       // at the end of the epoch
	TrainLoss float64 `json:"train_loss"`
	Tested
	Validation // with a validation set the test set is not evaluated: TestLoss is NaN

	// others that a program measures on the rows by which the epoch is judged
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// others that it reports in training, means over the epoch
	TrainMetrics map[string]float64 `json:"train_metrics,omitempty"`
}

// Best returns the first epoch with the least validation loss; nil if there is none.
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
	Rank int `json:"rank"`
	PID  int `json:"pid"`
	// starting, training, waiting, paused, restarting, gone, leaving, left
	State    string  `json:"state"`
	Examples int64   `json:"examples"`            // trained since the start of the run
	Rate     float64 `json:"examples_per_second"` // smoothed over some two seconds
	Restarts int     `json:"restarts"`
	Chunk    int     `json:"chunk,omitempty"` // that it has in hand, from 1; hogwild top alone has it

	// in the report: nanoseconds that an update took, as a mean over some 500 microseconds, and how often
	StepTimes [][2]uint64 `json:"step_ns_histogram,omitempty"`

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

// Done returns the share of the run's examples that are trained, from 0 to 1.
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

// Scale is a change of the number of workers.
type Scale struct {
	Epoch   int     `json:"epoch"`   // from 1
	Seconds float64 `json:"seconds"` // of training since the start of the run
	From    int     `json:"from"`
	To      int     `json:"to"`
}

// String says the change in words.
func (s Scale) String() string {
	return fmt.Sprintf("scaled from %s to %d in epoch %d, after %.1f s", human.Plural(s.From, "worker"), s.To,
		s.Epoch, s.Seconds)
}

// InitFrom says what a run started from.
type InitFrom struct {
	From    string `json:"from"`    // the file
	Tensors int    `json:"tensors"` // of the model that it had
	Of      int    `json:"of"`      // tensors of the model
}

// Text returns what a report says of it.
func (s InitFrom) Text() string {
	if s.Tensors == s.Of {
		return fmt.Sprintf("%s, all %d tensors", s.From, s.Of)
	}
	return fmt.Sprintf("%s, %d of %d tensors", s.From, s.Tensors, s.Of)
}

// Nodes is what a job on several nodes has spent on speaking with each other, as node 0 has seen it.
type Nodes struct {
	Nodes   int    `json:"nodes"`
	Library string `json:"library"`     // what moved the numbers
	Rounds  int    `json:"node_rounds"` // in which weights were averaged
	Bytes   int64  `json:"node_bytes"`  // that a node gave to be summed, in all rounds
	// from when a round was due on all nodes until its sum was there; workers train meanwhile
	SumSeconds  float64 `json:"sum_seconds"`
	WaitSeconds float64 `json:"wait_seconds"` // workers of node 0 waited for rounds and other nodes
}

// WorkersText returns "4 workers", or "3 nodes with 4 workers".
func WorkersText(nodes, workers int) string {
	text := human.Plural(workers, "worker")
	if nodes > 1 {
		text = human.Plural(nodes, "node") + " with " + text
	}
	return text
}

// Text returns a line for people.
func (n *Nodes) Text() string {
	text := fmt.Sprintf("%d, %s; %s", n.Nodes, n.Library, human.Plural(n.Rounds, "round"))
	if n.Rounds > 0 {
		text += fmt.Sprintf(" of %s in %.2g s", human.Bytes(n.Bytes/int64(n.Rounds)), n.SumSeconds/float64(n.Rounds))
	}
	return text + fmt.Sprintf("; waited %.2f s", n.WaitSeconds)
}
