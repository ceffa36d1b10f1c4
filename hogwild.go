// Package hogwild is the library: a run of Hogwild! stochastic gradient descent, in which
// several worker processes update one set of weights in shared memory without locks.
//
//	func main() {
//		if hogwild.IsWorker() { // the workers are processes of your own binary
//			os.Exit(hogwild.WorkerMain())
//		}
//		c := hogwild.Default()
//		c.Workers, c.Data, c.Model = 4, "digits", "mlp:128"
//		result, err := hogwild.Run(context.Background(), c, hogwild.Options{})
//		...
//		saved, err := hogwild.Open(result.Run)
//		...
//		labels, err := saved.Predict(image)
//		...
//	}
//
// Data come from files, or from memory (Options.TrainData). Options.OnEpoch is called after each
// epoch; cancel the context to stop early.
//
// The types are those of the packages below hogwild/: go doc hogwild/hogwild/config.Config
// lists the settings, hogwild/hogwild/run.Options and hogwild/hogwild/rundir.Result likewise.
// By themselves those packages make no promises to other programs.
package hogwild

import (
	"context"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// Config is everything that decides a run; Default is what it does when nothing is said.
type Config = config.Config

// Options are what belongs to one call of Run or Tune.
type Options = run.Options

// Mode is how workers update the weights: Config.Mode.
type Mode = config.Mode

// ParseMode reads a Mode: async, sync, delayed:8 and so on.
func ParseMode(text string) (Mode, error) { return config.ParseMode(text) }

// Result is what a run came to, and Epoch one epoch of it.
type (
	Result = rundir.Result
	Epoch  = rundir.EpochResult
)

// Data is a data set in memory: for Options.TrainData and TestData, and for Saved.PredictData.
type Data = data.Memory

// EvalResult is what saved weights come to on a data set.
type EvalResult = run.EvalResult

// A custom Model is registered under a name. Meta describes the data to it, and Param
// describes its weights. It computes the Gradient, which consists of Parts, of a Batch of Rows,
// and the Score. A Predictor has predictions too, and a Prober probabilities of classes.
type (
	Model     = model.Model
	Predictor = model.Predictor
	Prober    = model.Prober
	Meta      = data.Meta
	Param     = model.Param
	Gradient  = model.Gradient
	Part      = model.Part
	Score     = model.Score
	Batch     = data.Batch
	Row       = data.Row
)

// Why a run ended, for errors.Is.
var (
	ErrUsage       = config.ErrUsage       // a wrong setting or file, before any process was started
	ErrDiverged    = config.ErrDiverged    // a loss was not finite
	ErrInterrupted = config.ErrInterrupted // by ctx or Ctrl-C; what was trained is saved
	ErrTerminated  = config.ErrTerminated  // by SIGTERM; what was trained is saved
)

// Default is a Config of the defaults.
func Default() Config { return config.Default() }

// IsWorker tells whether this process was started by Run as a worker. A program asks it
// first thing in main, after registering its models, and leaves the process to WorkerMain
// if so.
func IsWorker() bool { return run.IsWorker() }

// WorkerMain is a worker process's main. It returns the exit status.
func WorkerMain() int { return run.WorkerMain() }

// Run trains c.Model on c.Data with c.Workers processes. What was trained is saved when ctx
// is cancelled. Errors match those above.
func Run(ctx context.Context, c Config, o Options) (Result, error) { return run.Run(ctx, c, o) }

// Tune finds the learning rate for c, and with the momentum optimizer the momentum, by short
// runs. It returns c with them.
func Tune(ctx context.Context, c Config, o Options) (Config, error) {
	c, _, err := run.Tune(ctx, c, o)
	return c, err
}

// Eval computes loss and accuracy of saved weights, a weights.safetensors or a run folder, on
// data. format is auto or the data's format; target is the column of a CSV file. Without data
// it takes the run's own test rows.
func Eval(weights, data, format, target string) (EvalResult, error) {
	return run.Eval(weights, data, format, target)
}

// Saved are the weights of a run with their model. They predict (Predict, PredictData, Probabilities,
// and PredictFile for the rows of a file), and Tensors are the weights themselves.
type Saved = run.Saved

// Inputs name a file for Saved.PredictFile, Predictions are those of some of its rows, and a Tensor
// is one array of the weights.
type (
	Inputs      = data.Inputs
	Predictions = run.Predictions
	Tensor      = run.Tensor
)

// Open reads a weights.safetensors or a run folder, such as Result.Run.
func Open(weights string) (*Saved, error) { return run.Open(weights) }

// Register adds a model under a name that Config.Model then knows: f makes one for the data
// that m describes. Workers need it too: call it before IsWorker. After a name that is empty or
// taken, Run, Tune, Eval and Open return an error that says so.
func Register(name string, f func(m Meta) (Model, error)) { model.Register(name, f) }
