// Package hogwild trains models by Hogwild! stochastic gradient descent: several worker
// processes update one set of weights in shared memory without locks.
//
//	func main() {
//		if hogwild.IsWorker() { // the workers are processes of your own binary
//			os.Exit(hogwild.WorkerMain())
//		}
//		c := hogwild.Default()
//		c.Workers, c.Data, c.Model = 4, "digits", "mlp:128"
//		saved, result, err := hogwild.Train(context.Background(), c, hogwild.Options{})
//		...
//		labels, err := saved.Predict(image)
//		...
//	}
//
// Train leaves no files behind. Run keeps the run in a folder, as the command hogwild train does: Open
// reads its weights, and Config.Resume continues it. Training data are files, or arrays in memory
// (Options.TrainData). Options.OnEpoch is called after each epoch. Cancel the context to stop early.
//
// The module is called hogwild, which go get cannot fetch: clone it, and name the clone in your go.mod
// by go mod edit -replace hogwild=/path/to/clone.
//
// Most types are aliases of types in the packages below hogwild/, which have no stable API of their own; their comments
// here list the fields and methods, except Config's.
package hogwild

import (
	"cmp"
	"context"
	"io"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/tune"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// Config has all settings of a run. Default returns their default values: start from these. A setting is
// the flag of hogwild train of the same name (hogwild help train all); go doc hogwild/hogwild/config.Config lists the
// fields. The method Validate checks the settings as Run does.
type Config = config.Config

// Options are the settings of one call of Train, Run or Tune. They are not saved with the run.
type Options struct {
	// TrainData and TestData are data in memory; they replace the files Config.Data and Config.Test.
	// Without TestData a sixth of TrainData is held out.
	TrainData, TestData *Data

	OnEpoch func(Epoch) // called after each epoch is evaluated; the run waits until it returns
	// Ctrl-C, SIGTERM and SIGHUP stop and save the run; a closed pipe as stdout or stderr does not end the program
	Signals bool

	Progress  io.Writer // destination of progress output; nil: none
	Quiet     bool      // only warnings go to Progress
	Dashboard string    // address of the dashboard, printed before the run starts

	Timing     bool   // report where the time went
	CPUProfile string // file for a CPU profile (pprof) of worker 0
	Trace      string // file for an execution trace of worker 0
}

// inner returns the options of package run, without the ones for a job of several nodes.
func (o Options) inner() run.Options {
	return run.Options{TrainData: o.TrainData, TestData: o.TestData, OnEpoch: o.OnEpoch, Signals: o.Signals,
		Progress: o.Progress,
		Quiet:    o.Quiet, Dashboard: o.Dashboard, Timing: o.Timing, CPUProfile: o.CPUProfile, Trace: o.Trace}
}

// Mode is how workers update the weights: Config.Mode.
type Mode = config.Mode

// ParseMode reads a Mode: async, sync, delayed:8 and so on.
func ParseMode(text string) (Mode, error) { return config.ParseMode(text) }

// Rule is what is done with late gradients: Config.Rule.
type Rule = config.Rule

// ParseRule reads a Rule: adaptive, drop:8 and so on.
func ParseRule(text string) (r Rule, err error) {
	err = r.UnmarshalText([]byte(text))
	return r, err
}

// Result is what a run came to, as hogwild train --json prints it. A figure that the run does not have is
// nil: TestAccuracy of values, TestRMSE of classes. What has no words here is in the glossary of docs/asynchrony.md.
//
//	Model, Program, Data, Mode, Merge string         what was trained
//	Device, CPU string                               where: cpu or cuda:0; avx512, avx2, neon, go
//	GPUs []string                                    their UUIDs
//	Workers, Batch, Epochs int                       at the end; epochs completed
//	Examples int64                                   trained in all
//	Seconds, WallSeconds, StartupSeconds float64     of training; with the time between epochs; before it
//	ExamplesPerSecond, WallRate float64              of these times
//	TrainLoss, TestLoss float64                      of the last epoch
//	TestAccuracy, TestRMSE, TestR2 *float64          a share from 0 to 1; values
//	ValidationLoss, ValidationAccuracy *float64      of the best epoch, whose weights are tested then
//	ValidationRMSE, ValidationR2 *float64            the same
//	BestEpoch int                                    0: no validation set
//	Metrics, TrainMetrics map[string]float64         that a program measures: on test rows, and in training
//	Classes []ClassFigures                           precision, recall and F1 of each class
//	Confusion [][]int                                test rows of class i taken for class j
//	Ranking *Ranking                                 area under the ROC curve, average precision; two classes
//	LogLoss *float64                                 the test loss, where it is that of probabilities
//	Residuals *Residuals                             targets minus predictions
//	Ranked *Ranked                                   figures of a ranking of all candidates: docs/rankings.md
//	Restarts, Rollbacks int                          of workers; after divergence
//	LostExamples, DiscardedExamples int64            by these
//	Shares []Share                                   of each device
//	Rounds int                                       of a job of several nodes, whose number is Nodes.Nodes
//	Library string                                   between these
//	Bytes int64                                      between these
//	SumSeconds, WaitSeconds float64                  between these
//	Rows *Rows                                       read, trained on, validated and tested on
//	Seed uint64                                      of weights and order
//	Init *InitFrom                                    the first weights, if they are from a file
//	Parameters int64                                 weights in all
//	ValuesPerExample, FlopsPerExample float64        what an example costs
//	Time time.Time                                   of the end
//	Machine Machine                                  cores, memory, kernel
//	Version, Commit, Run string                      the program's; the run folder
//	Lambda, MaxInFlight, Curvature, MaxLR float64    what the learning rate was chosen by
//	LeastInFlight float64                            the least limit while it trained
//	LRUsed, MomentumUsed, BiasStep float64           as trained with
//	LRCapped, Centered bool                          as trained with
//	InFlight int                                     steps in flight, on GPUs and where workers take turns; else 0
//	InFlightSeen float64                             the same by samples
//	Auto, Warning, Rate string                       what the run chose; what is wrong with the result
//	StalenessSamples, StalenessP50 int64             updates by others between read and write
//	StalenessP99, StalenessMax int64                 the same
//	StalenessMean, LostUpdates, Conflicts float64    the same; shares from 0 to 1
//	LostSamples int64                                steps at which losses were looked for
//	LostBelow float64                                upper limit of LostUpdates, with 95% confidence
//	StalenessHistogram [][2]uint64                   least value, samples
//	BarrierWait float64                              seconds, of all workers
//	Tables []TableSamples                            conflicts and lost updates of parts of the weights
//	PerWorker []WorkerStatus                         at the end
//	Scales []Scale                                   other numbers of workers
//	Unused, Notes, Events, Timing []string           tensors; remarks; what happened to workers
//	ShownLive bool                                   set by the command line
//	Stopped, Error string                            why it ended early
//	Missed string                                    the target that it has not reached
//	History []Epoch                                  each epoch
type Result = rundir.Result

// Epoch is what one epoch came to.
//
//	Kind string                                      epoch
//	Epoch int                                        from 1
//	Seconds, LR, TrainLoss, TestLoss float64         since the start of the run; at the end of the epoch
//	Examples int64                                   since the start of the run
//	TestAccuracy, TestRMSE, TestR2 *float64          as in Result
//	ValidationLoss, ValidationAccuracy *float64      with a validation set; TestLoss is NaN then
//	ValidationRMSE, ValidationR2 *float64            the same
//	Metrics, TrainMetrics map[string]float64         that a program measures: on test rows, and in training
type Epoch = rundir.EpochResult

// Data is a data set in memory: for Options.TrainData and TestData, and for Saved.PredictData.
//
//	Name string               for messages
//	Rows []Row                Row{Val: numbers}; sparse with Idx, their columns
//	Pairs [][2]uint32         instead of rows: row and column of each entry, or two nodes
//	Y []float32               labels, values, or numbers of classes
//	W []float32               by what the losses of rows are multiplied in training; nil: by 1
//	Features int              of a row; 0: as many as the rows have
//	Columns, Classes []string  names
//	Shape []int               of an image in a row: height, width; or channels, height, width
type Data = data.Memory

// EvalResult is the loss and accuracy of saved weights on a data set.
type EvalResult = saved.EvalResult

// Model is a custom model, for Register.
//
//	Params() []Param                        the tensors in the order in which they lie in w
//	Init([]float32, uint64)                 writes the initial weights w, a function of the seed
//	Grad([]float32, *Batch, *Gradient) float64   sets the gradient of the mean loss at w; returns the summed loss
//	Eval([]float32, *Batch) Score           the sums of loss and errors over the batch
type Model = model.Model

// Predictor is a Model that can also predict. Have the compiler check yours: var _ hogwild.Predictor = &myModel{}.
type Predictor interface {
	// Predict appends, for each row of the batch, the number of a class or a value.
	Predict(w []float32, b *Batch, to []float32) []float32
}

// Prober is a Predictor of classes that knows their probabilities.
type Prober interface {
	Predictor
	// Probabilities appends, for each row of the batch, one number per class. They sum to 1.
	Probabilities(w []float32, b *Batch, to []float32) []float32
}

// Types for a custom Model. Meta describes the data, Param a tensor of weights. The Gradient is made of Parts, a Batch
// has Rows and their labels Y, and a Score is of sums.
type (
	Meta     = data.Meta
	Param    = model.Param
	Gradient = model.Gradient
	Part     = model.Part
	Score    = model.Score
	Batch    = data.Batch
	Row      = data.Row
)

// Errors of Run, for errors.Is.
var (
	ErrUsage       = config.ErrUsage       // a wrong setting or file, before any process was started
	ErrDiverged    = config.ErrDiverged    // the loss was not finite or far too large
	ErrInterrupted = config.ErrInterrupted // by ctx or Ctrl-C; the run is saved
	ErrTerminated  = config.ErrTerminated  // by SIGTERM; the run is saved
	ErrHangup      = config.ErrHangup      // by SIGHUP, as from a closed terminal; the run is saved
)

// Default returns a Config with the default values.
func Default() Config { return config.Default() }

// IsWorker reports whether Run started this process as a worker. Call it first in main, after
// registering models; if it is true, exit with WorkerMain().
func IsWorker() bool { return workers.IsWorker() }

// WorkerMain carries out a worker process, and returns the exit status.
func WorkerMain() int { return worker.Main() }

// Train trains c.Model on c.Data with c.Workers processes and returns the trained model. It leaves no files behind: the
// run's are in a folder of os.TempDir until it ends. A model may come with an error, as when ctx is cancelled
// (ErrInterrupted).
func Train(ctx context.Context, c Config, o Options) (*Saved, Result, error) {
	if folder := cmp.Or(c.Run, c.Resume); folder != "" {
		return nil, Result{}, config.Usage("Train keeps no run folder, and Config names %s; call Run", folder)
	}
	dir, remove, err := rundir.Temporary("hogwild-train-")
	if err != nil {
		return nil, Result{}, err
	}
	defer remove()
	if c.Run = filepath.Join(dir, "run"); c.SavesByCost() {
		c.SaveEvery = "0" // it is never resumed
	}
	result, err := Run(ctx, c, o)
	saved, failed := Open(c.Run)
	result.Run = ""
	return saved, result, cmp.Or(err, failed)
}

// Run trains as Train does, with a run folder, c.Run or a new one below runs/, in which everything is saved. If ctx is
// cancelled, it saves the run and returns ErrInterrupted.
func Run(ctx context.Context, c Config, o Options) (Result, error) {
	if c.Optimizer == "" { // Default has one
		return Result{}, config.Usage("Config is not complete: start from hogwild.Default(), and change what you need")
	}
	return run.Run(ctx, c, o.inner())
}

// Tune finds the learning rate for c, and with the momentum optimizer the momentum, by runs that are judged on rows
// held out. It returns c with these values.
func Tune(ctx context.Context, c Config, o Options) (Config, error) {
	c, _, err := tune.Tune(ctx, c, o.inner())
	return c, err
}

// Eval evaluates saved weights, a weights.safetensors or a run folder, on data. format is auto or
// the format of data; target is the target column of a CSV file. If data is "", Eval uses the run's
// own test rows.
func Eval(weights, data, format, target string) (EvalResult, error) {
	return saved.Eval(weights, data, format, target)
}

// EvalAs evaluates weights that PyTorch has saved: d says of which model and data they are.
func EvalAs(weights string, d Description, data, format, target string) (EvalResult, error) {
	return saved.EvalAs(weights, d, data, format, target)
}

// Description says of weights that PyTorch has saved which model and data they are of.
type Description = saved.Description

// Saved is the model and weights of a run. It serves one goroutine.
//
//	Predict(...[]float32) ([]float32, error)     rows of numbers: for each the number of its class, or a value
//	PredictData(*Data) ([]float32, error)        rows or pairs
//	Probabilities(*Data) ([][]float32, error)    of each class, for each row
//	PredictFile(Inputs, bool, func(*Predictions) error) ([]string, error)   a file, with probabilities or not; notes
//	Tensors() []Tensor                           copies of the weights
//	Model() string                               the name
//	Classes() []string                           as the training data had them; nil for values
//	Meta() Meta                                  of the training data: classes, columns, scaling
//	Spec() Spec                                  the model with nothing left open
//	Pairs() bool                                 whether it predicts pairs
//	CheckPredict(bool) error                     why it has no predictions, or no probabilities
type Saved = saved.Saved

// Inputs names a file for Saved.PredictFile, Predictions has the predictions for a block of its
// rows, and Tensor is one weight array.
type (
	Inputs      = data.Inputs
	Predictions = saved.Predictions
	Tensor      = saved.Tensor
)

// Open reads a weights.safetensors or a run folder, such as Result.Run.
func Open(weights string) (*Saved, error) { return saved.Open(weights) }

// OpenAs opens weights that PyTorch has saved, as safetensors or by torch.save.
func OpenAs(weights string, d Description) (*Saved, error) { return saved.OpenAs(weights, d) }

// Register adds a custom model under a name for Config.Model; f creates it for the data that m
// describes. Workers need it too, so call Register before IsWorker. If the name is empty or taken,
// Run, Tune, Eval and Open return an error.
func Register(name string, f func(m Meta) (Model, error)) { model.Register(name, f) }
