// Package config is what the user asks of a run: its settings, their defaults, and which of
// them go together. All that can be said without the data is checked before they are read.
//
//	signals.go    signals that end a run
//	yaml.go       files of settings, and where an entry of them stands
//	sets.go       the data that the settings name
//	resolve.go    Resolve
//	conflicts.go  settings that contradict each other
//	idle.go       settings that have no effect
//	settings.go   what goes by all settings
//	table.go      the table of all settings
//	tabletext.go  of it, what models of text have
//	tablerank.go  and what those have that rank
//	tableruns.go  the rest of it: nodes, and the life of a run
//	setting.go    Setting
//	checks.go     values that a setting cannot have, and what follows from several
//	needs.go      what a setting needs to have an effect
//	gpus.go       which GPUs
//	config.go     Config, Default
//	words.go      the part of it that models of text have
//	ranking.go    and what those have that rank
//	values.go     the words that settings take
//	mode.go       the modes and the optimizers
//	traits.go     what each mode is
//	rule.go       what is done with late gradients
//	speeds.go     the speeds of mode clock
//	errors.go     errors that the user can mend, and the words for 0
package config

import (
	"math"
	"strconv"
	"time"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/model"
)

// Version names the program in what it saves, in results and between a coordinator
// and its workers, who refuse another one.
const Version = "0.1.0"

// Config has all settings of a run. The yaml names are the names of the flags.
type Config struct {
	Workers int    `yaml:"workers" json:"workers"` // processes
	Data    string `yaml:"data" json:"data"`       // digits, a file, a folder of IDX files, or synth:NAME
	Test    string `yaml:"test" json:"test"`       // "" = the data set's own test split, else a held-out sixth
	Format  string `yaml:"format" json:"format"`   // auto, idx, libsvm, csv, npy, ratings, text
	Target  string `yaml:"target" json:"target"`   // CSV: the column to predict, by name or 1-based number
	// CSV: columns to leave out, by name or 1-based number, between commas
	Ignore string `yaml:"ignore" json:"ignore"`
	// CSV: the column of the weights of the training rows, by name or 1-based number; and of classes: balanced, or
	// NAME=WEIGHT between commas
	Weight      string `yaml:"weight,omitempty" json:"weight,omitempty"`
	ClassWeight string `yaml:"class-weight,omitempty" json:"class_weight,omitempty"`
	Columns     string `yaml:"columns,omitempty" json:"columns,omitempty"` // of ratings or edges: which is what
	Missing     string `yaml:"missing" json:"missing"`                     // missing values of a CSV: fill, drop, error
	Limit       int    `yaml:"limit,omitempty" json:"limit"`               // train on the first rows only; 0 = all
	Scale       string `yaml:"scale" json:"scale"`                         // auto, none, unit, standard, MEAN,STD

	// Validation data: a share of the training rows, e.g. 0.1, or a path; "none". Epochs are compared on
	// it, and the test set is used only at the end. "" = none, but for some networks: see HoldsOut.
	Validation string `yaml:"validation" json:"validation"`
	// stop after this many epochs without a better validation loss; 0 = never, but for those networks
	Patience int `yaml:"patience" json:"patience"`

	// Program is the command that trains a model of its own, in place of Model; Layout is what it has
	// said of that model.
	Program string        `yaml:"program" json:"program,omitempty"`
	Layout  *model.Layout `yaml:"-" json:"layout,omitempty"`

	Model  string  `yaml:"model" json:"model"` // "" = depends on the labels
	Loss   string  `yaml:"loss" json:"loss"`   // "" = depends on model and labels
	Bias   bool    `yaml:"bias" json:"bias"`
	Biases bool    `yaml:"biases" json:"biases"` // factor: a bias for each row and each column
	L2     float64 `yaml:"l2" json:"l2"`
	L1     float64 `yaml:"l1" json:"l1"`

	Words   `yaml:",inline"`
	Ranking `yaml:",inline"`

	// the first weights: a file, of PyTorch too, or a run folder; "" = the model's own
	Init string `yaml:"init" json:"init,omitempty"`
	// take the tensors that fit, and the model's own for the others
	InitPartial bool `yaml:"init-partial" json:"init_partial,omitempty"`

	// async, atomic, locked, ordered, sync, clock:SPEEDS, delayed:K, delayed:geometric:K, blocks:G
	Mode         Mode    `yaml:"mode" json:"mode"`
	Rule         Rule    `yaml:"rule" json:"rule"`                             // clock: for late gradients
	Apart        int     `yaml:"-" json:"apart,omitempty"`                     // async: see KeepsApart; 0: it does not
	Traced       string  `yaml:"-" json:"traced,omitempty"`                    // clock:trace: see clock.KeepTrace
	Solver       Solver  `yaml:"solver" json:"solver"`                         // auto, sgd, dual
	Average      Average `yaml:"average" json:"average"`                       // weights, gradients
	AverageEvery int     `yaml:"average-every,omitempty" json:"average_every"` // local steps; 0 = one epoch
	// of nodes, and of workers in sync: auto, scaled (lr x their number, within the run's limit), same
	AverageLR AverageLR `yaml:"average-lr" json:"average_lr"`
	// examples per worker and step; 0 = depends on data and model
	Batch       int `yaml:"batch,omitempty" json:"batch"`
	GlobalBatch int `yaml:"global-batch,omitempty" json:"global_batch"` // split over the workers; 0 = batch x workers

	// auto, on, off: subtract the means of the inputs
	Center Switch `yaml:"center" json:"center"`
	// the step of the bias of sparse rows: auto, or off: the step of the weights
	BiasStep Switch `yaml:"bias-step" json:"bias_step"`
	// whether steps in flight lower the learning rate: auto, off
	LRCap Switch `yaml:"lr-cap" json:"lr_cap"`
	// async: local steps on a copy of the weights between two merges, or auto; 1 = update in place
	MergeEvery Count `yaml:"merge-every" json:"merge_every"`

	// delays each gradient, for experiments; JSON: ns
	GradientDelay time.Duration `yaml:"gradient-delay" json:"gradient_delay"`

	// devices: "0", "0,1", "auto", "auto:2"; "" = host memory
	GPU string `yaml:"gpu" json:"gpu"`
	// free memory that "auto" requires of a GPU; "" = what the run needs
	GPUMemFree string `yaml:"gpu-mem-free" json:"gpu_mem_free"`
	// GPU: steps of all workers in flight at once; 0 = depends on the model
	InFlight int `yaml:"in-flight,omitempty" json:"in_flight"`
	// GPU: auto, fp32, fp16
	Precision Precision `yaml:"precision" json:"precision"`

	Epochs int `yaml:"epochs" json:"epochs"` // 0 = auto: 10, more on small sets
	// 0 = auto: from the curvature of the loss on the data
	LR             float64        `yaml:"lr" json:"lr"`
	Optimizer      Optimizer      `yaml:"optimizer" json:"optimizer"` // sgd, momentum, adam, adagrad
	Momentum       float64        `yaml:"momentum" json:"momentum"`
	Beta1          float64        `yaml:"beta1" json:"beta1"`
	Beta2          float64        `yaml:"beta2" json:"beta2"`
	OptimizerState OptimizerState `yaml:"optimizer-state" json:"optimizer_state"` // private, shared
	Schedule       Schedule       `yaml:"schedule" json:"schedule"`
	LRMin          float64        `yaml:"lr-min" json:"lr_min"`
	Decay          float64        `yaml:"decay" json:"decay"` // factor per epoch, for step and exp
	Partition      Partition      `yaml:"partition" json:"partition"`
	Seed           uint64         `yaml:"seed" json:"seed"`
	TargetLoss     float64        `yaml:"target-loss,omitempty" json:"target_loss"`         // 0 = none
	TargetAccuracy float64        `yaml:"target-accuracy,omitempty" json:"target_accuracy"` // 0 = none
	TargetGap      float64        `yaml:"target-gap,omitempty" json:"target_gap"`           // of the dual solver; 0 = none

	// since the first worker of this process began to train; 0 = never; JSON: ns
	StopAfter time.Duration `yaml:"stop-after" json:"stop_after,omitempty"`

	Run string `yaml:"run" json:"run"` // the run folder; "" = runs/<time>-<name>
	// epochs ("1") or time ("30s"); "0" = only at the end; "auto" = so that it costs 2% of the time at most
	SaveEvery   string `yaml:"save-every" json:"save_every"`
	Resume      string `yaml:"resume" json:"resume"`             // a run folder to continue
	MaxRestarts int    `yaml:"max-restarts" json:"max_restarts"` // of each worker that dies

	// bytes that reading the data and the run may take, e.g. 4GiB; auto = three quarters of the free memory
	MaxMemory string `yaml:"max-memory" json:"max_memory"`
	// a worker that has not run for so long is replaced; 0 = never; JSON: ns
	HangTimeout time.Duration `yaml:"hang-timeout" json:"hang_timeout"`

	OnDivergence OnDivergence `yaml:"on-divergence" json:"on_divergence"` // stop, rollback

	// Between nodes: runs on several machines that train one set of weights, started by an MPI launcher.
	// auto: be one node of the job that the launcher has started, if one has; on: be one, or fail; off: a run of its
	// own
	MPI Switch `yaml:"mpi" json:"mpi"`
	// rounds of averaging in an epoch: auto, or a number
	Rounds Count `yaml:"rounds" json:"rounds"`
	// what a round does with the mean of the nodes' differences: mean, nesterov
	Outer         Outer   `yaml:"outer" json:"outer"`
	OuterLR       float64 `yaml:"outer-lr" json:"outer_lr"`             // of nesterov
	OuterMomentum float64 `yaml:"outer-momentum" json:"outer_momentum"` // of nesterov
	// the job ends if a node has not answered for so long; JSON: ns
	NodeTimeout time.Duration `yaml:"node-timeout" json:"node_timeout"`

	// Which node of how many this run is. 0 nodes: it is alone.
	Node  int `yaml:"-" json:"node,omitempty"`
	Nodes int `yaml:"-" json:"nodes,omitempty"`

	HostNode  int `yaml:"-" json:"host_node,omitempty"`  // which of the nodes on this host, from 0
	HostNodes int `yaml:"-" json:"host_nodes,omitempty"` // how many share its cores

	// Tuned is how sure Tune was of the learning rate, for people; "" = it was not asked.
	Tuned string `yaml:"-" json:"tuned,omitempty"`

	// Standard is how a network that predicts values learns them; zero: as they are, as runs of old did
	Standard data.Standard `yaml:"-" json:"standard,omitzero"`

	// Sample is the number of examples per epoch of the short runs of Tune; 0 = all.
	Sample int `yaml:"-" json:"sample,omitempty"`
}

// Default returns the settings of a run for which the user gives none.
func Default() Config {
	return Config{
		Workers: 0, // as many as there are cores
		Data:    "digits", Format: Auto, Missing: format.Fill, Scale: Auto,
		Bias: true, Center: Auto, BiasStep: Auto, LRCap: Auto, MergeEvery: Auto,
		Average: Weights, AverageLR: Auto, Solver: Auto,
		Precision: Auto, Optimizer: SGD, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999,
		OptimizerState: Private, Schedule: Auto, Decay: 0.1, Words: defaultWords(), Ranking: defaultRanking(),
		Partition: Dynamic, Seed: 1, SaveEvery: Auto, MaxRestarts: 3, HangTimeout: time.Minute, MaxMemory: Auto,
		OnDivergence: Stop,
		MPI:          Auto, Rounds: Auto, Outer: Mean, OuterLR: 0.7, OuterMomentum: 0.9,
		NodeTimeout: 2 * time.Minute,
	}
}

const (
	maxWorkers = 1024     // more processes of one program are a mistake
	maxBatch   = 1 << 20  // per worker
	maxShare   = 1 - 1e-6 // of momentum and the betas: nearer to 1, a float32 is 1
)

// CheckLRMin refuses a schedule that would end above its beginning.
func (c *Config) CheckLRMin() error {
	switch {
	case c.LR == 0: // auto
		return between("lr-min", c.LRMin, 0, math.MaxFloat32)
	case !(c.LRMin >= 0 && c.LRMin <= c.LR):
		return Usage("lr-min %g: must be from 0 to lr, which is %g", c.LRMin, c.LR)
	}
	return nil
}

// checkMerge refuses a MergeEvery that is no number of steps.
func (c *Config) checkMerge() error {
	if c.MergeEvery != Auto && Whole(c.MergeEvery) == 0 {
		return Usage("merge-every %q: give auto, or a number of local steps from 1 (1 updates the shared weights in "+
			"place)", c.MergeEvery)
	}
	return nil
}

// checkValidation refuses a share that is none.
func (c *Config) checkValidation() error {
	if _, _, err := data.ValidationShare(c.Validation); err != nil {
		return Usage("%w", err)
	}
	return nil
}

// AllWorkers returns the number of workers of all nodes, if each has as many as this one.
func (c *Config) AllWorkers() int { return c.Workers * c.AllNodes() }

// AllNodes returns the number of nodes, 1 of a run that is alone.
func (c *Config) AllNodes() int { return max(1, c.Nodes) }

// ModelOptions returns the options of the model.
func (c *Config) ModelOptions() model.Options {
	return model.Options{Name: c.Model, Loss: c.Loss, Bias: c.Bias, Biases: c.Biases, CBOW: c.CBOW, L2: float32(c.L2),
		Shrink: c.shrink(), Uniform: c.drawsUniformly(), Once: c.drawsOnce(), AdaptiveRows: c.AdaptsRows(),
		Negatives: c.Negatives, N3: float32(c.N3), Seed: c.Seed, Layout: c.Layout}
}

// NodeRounds returns how many rounds nodes take in an epoch; 0: as many as their cost allows.
func (c *Config) NodeRounds() int { return Whole(c.Rounds) }

// AskedBatch returns the number of examples of a step that was asked for, Batch or a worker's part of
// GlobalBatch; 0: by data and model.
func (c *Config) AskedBatch() int {
	if c.GlobalBatch > 0 {
		return c.GlobalBatch / max(1, c.AllWorkers())
	}
	return c.Batch
}

// SavesByCost reports whether the run is saved as often as costs little.
func (c *Config) SavesByCost() bool { return c.SaveEvery == Auto }

// SavePeriod reads SaveEvery: a number of epochs, or a duration; auto is neither.
func (c *Config) SavePeriod() (epochs int, every time.Duration, err error) {
	if c.SavesByCost() {
		return 0, 0, nil
	}
	if n, err := strconv.Atoi(c.SaveEvery); err == nil && n >= 0 {
		return n, 0, nil
	}
	if d, err := time.ParseDuration(c.SaveEvery); err == nil && d > 0 {
		return 0, d, nil
	}
	return 0, 0,
		Usage("save-every %q: give a number of epochs (1), a time (30s, 5m) or auto; 0 saves at the end only",
			c.SaveEvery)
}
