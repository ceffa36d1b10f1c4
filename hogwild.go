// Package hogwild trains models by Hogwild! stochastic gradient descent: several worker
// processes update one set of weights in shared memory without locks.
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
// Training data are files, or arrays in memory (Options.TrainData). Options.OnEpoch is called
// after each epoch. Cancel the context to stop early.
//
// The types are aliases of types in the packages below hogwild/. See their fields with
// go doc hogwild/hogwild/config.Config, hogwild/hogwild/run.Options and
// hogwild/hogwild/rundir.Result. Those packages have no stable API of their own.
package hogwild

import (
	"context"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// Config has all settings of a run. Default returns their default values.
type Config = config.Config

// Options are the settings of one call of Run or Tune.
type Options = run.Options

// Mode is how workers update the weights: Config.Mode.
type Mode = config.Mode

// ParseMode reads a Mode: async, sync, delayed:8 and so on.
func ParseMode(text string) (Mode, error) { return config.ParseMode(text) }

// Result is the result of a run, and Epoch that of one epoch.
type (
	Result = rundir.Result
	Epoch  = rundir.EpochResult
)

// Data is a data set in memory: for Options.TrainData and TestData, and for Saved.PredictData.
type Data = data.Memory

// EvalResult is the loss and accuracy of saved weights on a data set.
type EvalResult = run.EvalResult

// Types for a custom Model. Meta describes the data, Param a tensor of weights. A Model computes
// the Gradient, made of Parts, for a Batch of Rows, and the Score. A Predictor is a Model that can
// also predict, a Prober one that also has class probabilities.
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
func IsWorker() bool { return run.IsWorker() }

// WorkerMain is the main function of a worker process. It returns the exit status.
func WorkerMain() int { return run.WorkerMain() }

// Run trains c.Model on c.Data with c.Workers processes. If ctx is cancelled, it saves the run and
// returns ErrInterrupted.
func Run(ctx context.Context, c Config, o Options) (Result, error) { return run.Run(ctx, c, o) }

// Tune finds the learning rate for c, and with the momentum optimizer the momentum, by short
// runs. It returns c with these values.
func Tune(ctx context.Context, c Config, o Options) (Config, error) {
	c, _, err := run.Tune(ctx, c, o)
	return c, err
}

// Eval evaluates saved weights, a weights.safetensors or a run folder, on data. format is auto or
// the format of data; target is the target column of a CSV file. If data is "", Eval uses the run's
// own test rows.
func Eval(weights, data, format, target string) (EvalResult, error) {
	return run.Eval(weights, data, format, target)
}

// EvalAs is Eval of weights that PyTorch has saved: d says of which model and data they are.
func EvalAs(weights string, d Description, data, format, target string) (EvalResult, error) {
	return run.EvalAs(weights, d, data, format, target)
}

// Description says of weights that PyTorch has saved which model and data they are of.
type Description = run.Description

// Saved is the model and weights of a run. Predict, PredictData, Probabilities and PredictFile
// predict rows; Tensors returns the weights.
type Saved = run.Saved

// Inputs names a file for Saved.PredictFile, Predictions has the predictions for a block of its
// rows, and Tensor is one weight array.
type (
	Inputs      = data.Inputs
	Predictions = run.Predictions
	Tensor      = run.Tensor
)

// Open reads a weights.safetensors or a run folder, such as Result.Run.
func Open(weights string) (*Saved, error) { return run.Open(weights) }

// OpenAs is Open of weights that PyTorch has saved, as safetensors or by torch.save.
func OpenAs(weights string, d Description) (*Saved, error) { return run.OpenAs(weights, d) }

// Register adds a custom model under a name for Config.Model; f creates it for the data that m
// describes. Workers need it too, so call Register before IsWorker. If the name is empty or taken,
// Run, Tune, Eval and Open return an error.
func Register(name string, f func(m Meta) (Model, error)) { model.Register(name, f) }
