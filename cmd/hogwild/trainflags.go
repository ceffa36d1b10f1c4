package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
)

const (
	ignoreUsage  = "`COLUMNS` of a CSV file to leave out, by name or number, separated by commas"
	missingUsage = "`HOW` missing values in a CSV file: fill (with the column's mean or most common text), drop (such rows) or error"
)

// flags lists the flags of train in the order of its help. What a destination
// holds when the list is made is the flag's default.
func (o *trainOptions) flags() []cli.Flag {
	var l flagList
	l.category = "Workers and data"
	l.add(&cli.GenericFlag{Name: "workers", Category: l.category, Value: &workerCount{&o.Workers, &o.CPUWorkers},
		Usage: "`N` worker processes; auto: one per core; with --gpu also gpu:4,cpu:2"})
	l.string(&o.Data, "data", "`PATH` file, folder of IDX or .npy files, - for standard input, digits, or synth:NAME (see data make)")
	l.string(&o.Test, "test", "`PATH` test data (default: the data set's own test split, else a held-out sixth)")
	l.string(&o.Validation, "validation", "`FILE` validation data, a share of the training rows, e.g. 0.1, or none: the test set is then used only at the end (default: 0.1 for networks without --epochs, else none)")
	l.string(&o.Format, "format", "`FORMAT` auto, idx, libsvm, csv, npy or ratings")
	l.string(&o.Target, "target", "`COLUMN` column of a CSV file to predict, by name or number")
	l.string(&o.Ignore, "ignore", ignoreUsage)
	l.string(&o.Missing, "missing", missingUsage)
	l.count(&o.Limit, "limit", "`N` train on the first N rows only")
	l.string(&o.Scale, "scale", "`HOW` scaling of inputs: auto (bytes by 255, numeric columns to mean 0 and standard deviation 1, sparse rows not), none, unit, standard or MEAN,STD")

	l.category = "Model"
	l.string(&o.Model, "model", "`MODEL` softmax, logistic, hinge, linear, l1, mlp:256,128, convnet, conv:SHAPE, factor:32 or cut (default: depends on the data)")
	l.string(&o.Program, "program", "`COMMAND` program that trains a model of its own, in place of --model: 'python3 step.py' (see docs/programs.md)")
	l.string(&o.Loss, "loss", "`LOSS` cross-entropy, logistic, hinge, squared or l1 (default: depends on the model)")
	l.bool(&o.noBias, "no-bias", "train without bias terms")
	l.bool(&o.Biases, "biases", "factor: add a bias for each row and column (default: if --model is left out)")
	l.string(&o.Center, "center", "`HOW` centring (subtracting the means of the inputs): auto, on or off")
	l.string(&o.BiasStep, "bias-step", "`X` step size of the bias relative to the weights': auto or a factor")
	l.float(&o.L2, "l2", "`X` add X/2 times the sum of squared weights to the mean loss (default: 0; chosen from the data for ratings without --model)")
	l.float(&o.L1, "l1", "`X` add X times the sum of absolute weights to the mean loss")

	l.string(&o.Init, "init", "`FILE` start from these weights: a run folder, safetensors, or a state_dict of torch.save (.pt)")
	l.bool(&o.InitPartial, "init-partial", "take the tensors of --init that fit by name and shape")

	o.trainingFlags(&l)
	return l.flags
}

// trainingFlags adds those that say how and where to train.
func (o *trainOptions) trainingFlags(l *flagList) {
	l.category = "Mode"
	l.value(&o.Mode, "mode", "`MODE` how workers update the shared weights: async (no locks), sync (averaged), atomic, locked, ordered or delayed:K")
	l.string(&o.Average, "average", "`WHAT` sync averages: weights after local steps, or gradients")
	l.count(&o.AverageEvery, "average-every", "`N` local steps between two averagings, or epoch")
	l.string(&o.AverageState, "average-state", "`HOW` optimizer state when weights are averaged: keep, average or reset")
	l.string(&o.AverageLR, "average-lr", "`HOW` learning rate of workers that sync averages, and of nodes: scaled (lr x their number, within the stable limit), same, or auto: scaled with sgd and momentum where a limit is known")
	l.count(&o.Batch, "batch", "`N` examples per worker and step; auto: 64, fewer on small sets, 1 on sparse rows and pairs")
	l.count(&o.GlobalBatch, "global-batch", "`N` examples per step of all workers together, instead of --batch")
	l.string(&o.Partition, "partition", "`HOW` assignment of examples: dynamic (to the next free worker) or contiguous (fixed shares)")
	l.string(&o.MergeEvery, "merge-every", "`M` async: local steps on a copy of the weights between two merges; auto; 1: update in place")

	l.duration(&o.GradientDelay, "gradient-delay", "`TIME` artificial delay of each gradient, e.g. 100ns: for experiments")

	l.category = "GPU"
	l.string(&o.GPU, "gpu", "`N` keep the weights on GPU N; several GPUs: 0,1; choose by free memory: auto or auto:2 (default: host memory)")
	l.string(&o.GPUMemFree, "gpu-mem-free", "`SIZE` free memory that auto requires of a GPU, e.g. 4GiB")
	l.int(&o.CPUWorkers, "cpu-workers", "`N` workers on CPU cores, the rest on GPUs; --workers gpu:4,cpu:2 sets both")
	l.count(&o.InFlight, "in-flight", "`N` steps in flight on the GPUs at once; auto: depends on the model")
	l.string(&o.Write, "write", "`HOW` updates on a GPU: atomic (additions), racy (stores; sparse models and factor only) or auto")
	l.bool(&o.MPS, "mps", "start NVIDIA's Multi-Process Service, so that workers on one GPU run at the same time")

	l.category = "Optimizer"
	l.count(&o.Epochs, "epochs", "`N` passes over the data; auto: 10, up to 200 on small sets")
	l.above(&o.LR, "lr", "`X` learning rate; auto: from the curvature of the loss on the data")
	l.bool(&o.tune, "tune", "find the learning rate and momentum by runs that are judged on rows held out")
	l.string(&o.LRCap, "lr-cap", "`HOW` cap of the learning rate by the steps in flight: auto, off, or a maximum for lr x lambda x steps")
	l.string((*string)(&o.Optimizer), "optimizer", "`NAME` sgd, momentum, adam or adagrad")
	l.float(&o.Momentum, "momentum", "`X` momentum coefficient, for momentum")
	l.bool(&o.MomentumCorrection, "momentum-correction", "lower the momentum with more workers")
	l.float(&o.Beta1, "beta1", "`X` decay of the first moment, for adam")
	l.float(&o.Beta2, "beta2", "`X` decay of the second moment, for adam")
	l.string(&o.OptimizerState, "optimizer-state", "`WHOSE` optimizer state: private (one per worker) or shared")
	l.string(&o.Schedule, "schedule", "`NAME` learning rate schedule: constant, cosine, step, exp or linear")
	l.float(&o.LRMin, "lr-min", "`X` final learning rate of the schedule")
	l.float(&o.Decay, "decay", "`X` factor of the learning rate per epoch, for step and exp")

	l.category = "Several nodes"
	l.count(&o.here, "nodes", "`N` nodes in this process, each with its own workers, to try on one machine what several do")
	l.string(&o.MPI, "mpi", "`HOW` auto: be one node of the job that mpirun or srun has started, if one has; on: be one, or fail; off: a run of its own")
	l.string(&o.Rounds, "rounds", "`N` rounds of averaging between nodes in an epoch, or auto: communication takes under a fifth of the time")
	l.string(&o.Outer, "outer", "`HOW` how a round applies the mean of the nodes' changes: mean (adds it) or nesterov (DiLoCo)")
	l.float(&o.OuterLR, "outer-lr", "`X` learning rate of --outer nesterov")
	l.float(&o.OuterMomentum, "outer-momentum", "`X` momentum of --outer nesterov")
	l.duration(&o.NodeTimeout, "node-timeout", "`TIME` save and end the job if a node is silent for TIME")

	l.category = "Run"
	l.add(&cli.Uint64Flag{Name: "seed", Category: l.category, Destination: &o.Seed, Value: o.Seed,
		Usage: "`N` seed of the order of examples and of the initial weights"})
	l.above(&o.TargetLoss, "target-loss", "`X` stop when the validation loss is X or less (without --validation, the test loss)")
	l.above(&o.TargetAccuracy, "target-accuracy", "`X` stop when the validation accuracy is X or more (without --validation, the test accuracy)")
	l.duration(&o.StopAfter, "stop-after", "`TIME` stop, saved, so long after the first worker began to train, within an epoch too; 0: never")
	l.int(&o.Patience, "patience", "`N` stop after N epochs without a better validation loss; 0: never (20 for networks that hold out rows by themselves)")
	l.string(&o.Run, "run", "`DIR` run folder (default: runs/<time>-<name>)")
	l.string(&o.SaveEvery, "save-every", "`N` epochs between snapshots, or a time: 30s; auto: so seldom that saving takes 2% of the time at most; 0: only at the end")
	l.string(&o.Resume, "resume", "`DIR` run folder to resume, with its settings")
	l.int(&o.MaxRestarts, "max-restarts", "`N` restarts in a row of a worker that dies or hangs; one that has trained for a while has all again")
	l.string(&o.MaxMemory, "max-memory", "`SIZE` memory that the data, also while they are read, and the weights may take, e.g. 4GiB; auto: three quarters of the free memory")
	l.duration(&o.HangTimeout, "hang-timeout", "`TIME` replace a worker that is stopped or stuck for TIME; 0: never")
	l.string(&o.OnDivergence, "on-divergence", "`HOW` if training diverges: stop, or rollback (to the last good snapshot, with half the learning rate, at most 3 times)")
	l.string(&o.config, "config", "`FILE` YAML file of settings; the keys are the names of these flags")
	l.bool(&o.json, "json", "print the report as one JSON object")
	l.string(&o.dashboard, "dashboard", "`ADDRESS` serve a live dashboard of the run, e.g. 127.0.0.1:8080; port 0: any free port")
	l.bool(&o.public, "dashboard-public", "allow others on the network to see the dashboard, without a password")
	l.bool(&o.Quiet, "quiet", "no progress on stderr")
	l.string(&o.CPUProfile, "cpuprofile", "`FILE` write a CPU profile")
	l.string(&o.Trace, "trace", "`FILE` write an execution trace")
	l.bool(&o.Timing, "timing", "report where the time went")
}

// flagList builds a list of flags, each in the category set before it.
type flagList struct {
	category string
	flags    []cli.Flag
}

func (l *flagList) add(f cli.Flag) { l.flags = append(l.flags, f) }

func (l *flagList) value(v cli.Generic, name, usage string) {
	l.add(&cli.GenericFlag{Name: name, Usage: usage, Category: l.category, Value: v})
}

// count is a flag for a number from 1, above one for a number above 0; or for the word for 0.
func (l *flagList) count(p *int, name, usage string) {
	l.value(positive[int]{p, cmp.Or(config.Zero(name), "none")}, name, usage)
}

func (l *flagList) above(p *float64, name, usage string) {
	l.value(positive[float64]{p, cmp.Or(config.Zero(name), "none")}, name, usage)
}

func (l *flagList) int(p *int, name, usage string) {
	l.add(&cli.IntFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) float(p *float64, name, usage string) {
	l.add(&cli.Float64Flag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) string(p *string, name, usage string) {
	l.add(&cli.StringFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) duration(p *time.Duration, name, usage string) {
	l.add(&cli.DurationFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) bool(p *bool, name, usage string) {
	l.add(&cli.BoolFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

// positive is a number above 0, or the word for 0 that its flag has, if it has one. What is out of range is left to the
// checks of all settings.
type positive[T int | float64] struct {
	n    *T
	zero string
}

// Set reads a flag's value.
func (p positive[T]) Set(text string) error {
	if text == p.zero {
		*p.n = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	n, want := T(v), "a number above 0"
	if _, whole := any(n).(int); whole {
		want = "a whole number from 1"
		if float64(n) != v {
			n = 0
		}
	}
	if err != nil || n == 0 {
		return errors.New("want " + want + ", or " + p.zero)
	}
	*p.n = n
	return nil
}

// String is what Set reads.
func (p positive[T]) String() string {
	if p.n == nil || *p.n == 0 {
		return p.zero
	}
	return fmt.Sprint(*p.n)
}

// workerCount is a number of workers, auto, or gpu:N,cpu:M.
type workerCount struct{ all, host *int }

// Set reads a flag's value.
func (w *workerCount) Set(text string) error {
	err := w.count().Set(text)
	if err == nil || !strings.Contains(text, ":") {
		return err // --cpu-workers, wherever it stands, is a setting of its own
	}
	var gpu, cpu int
	if k, _ := fmt.Sscanf(text+";", "gpu:%d,cpu:%d;", &gpu, &cpu); k != 2 || gpu < 1 || cpu < 1 || fmt.Sprintf("gpu:%d,cpu:%d", gpu, cpu) != text {
		return fmt.Errorf("%w; or with --gpu gpu:N,cpu:M, for N workers on GPUs and M on CPU cores, each at least 1", err)
	}
	*w.all, *w.host = gpu+cpu, cpu
	return nil
}

// String is what Set reads.
func (w *workerCount) String() string {
	if w.host != nil && *w.host > 0 {
		return fmt.Sprintf("gpu:%d,cpu:%d", *w.all-*w.host, *w.host)
	}
	return w.count().String()
}

func (w *workerCount) count() positive[int] { return positive[int]{w.all, config.Zero("workers")} }
