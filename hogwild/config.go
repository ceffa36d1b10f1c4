package hogwild

// Version names the program in checkpoints, in results and between a coordinator
// and its workers, who refuse another one.
const Version = "0.1.0"

// Config is everything that decides a run. The yaml names are those of the flags.
type Config struct {
	Workers int    `yaml:"workers" json:"workers"` // processes
	Data    string `yaml:"data" json:"data"`       // digits, a file, or a folder of IDX files
	Test    string `yaml:"test" json:"test"`       // "" = the set's own test split, else a held-out sixth
	Format  string `yaml:"format" json:"format"`   // auto, idx, libsvm, csv, npy
	Target  string `yaml:"target" json:"target"`   // CSV: the column to predict, by name or 1-based number
	Limit   int    `yaml:"limit" json:"limit"`     // first rows of the training set; 0 = all
	Scale   string `yaml:"scale" json:"scale"`     // auto, none, unit, standard, MEAN,STD

	Model string  `yaml:"model" json:"model"` // "" = by the labels
	Loss  string  `yaml:"loss" json:"loss"`   // "" = by model and labels
	Bias  bool    `yaml:"bias" json:"bias"`
	L2    float64 `yaml:"l2" json:"l2"`
	L1    float64 `yaml:"l1" json:"l1"`

	Mode         string `yaml:"mode" json:"mode"`                   // async, sync
	Average      string `yaml:"average" json:"average"`             // weights, gradients
	AverageEvery int    `yaml:"average-every" json:"average_every"` // local steps; 0 = one epoch
	AverageState string `yaml:"average-state" json:"average_state"` // keep, average, reset
	Batch        int    `yaml:"batch" json:"batch"`                 // examples per worker and step
	GlobalBatch  int    `yaml:"global-batch" json:"global_batch"`   // split over the workers; 0 = batch x workers

	Epochs         int     `yaml:"epochs" json:"epochs"`
	LR             float64 `yaml:"lr" json:"lr"`
	Optimizer      string  `yaml:"optimizer" json:"optimizer"` // sgd, momentum, adam, adagrad
	Momentum       float64 `yaml:"momentum" json:"momentum"`
	Beta1          float64 `yaml:"beta1" json:"beta1"`
	Beta2          float64 `yaml:"beta2" json:"beta2"`
	OptimizerState string  `yaml:"optimizer-state" json:"optimizer_state"` // private, shared
	Schedule       string  `yaml:"schedule" json:"schedule"`               // constant, cosine, step, exp, linear
	LRMin          float64 `yaml:"lr-min" json:"lr_min"`
	Decay          float64 `yaml:"decay" json:"decay"` // factor an epoch, for step and exp
	Partition      string  `yaml:"partition" json:"partition"`
	Seed           uint64  `yaml:"seed" json:"seed"`
	TargetLoss     float64 `yaml:"target-loss" json:"target_loss"`         // 0 = none
	TargetAccuracy float64 `yaml:"target-accuracy" json:"target_accuracy"` // 0 = none

	Run         string `yaml:"run" json:"run"`               // the run folder; "" = runs/<time>-<name>
	SaveEvery   string `yaml:"save-every" json:"save_every"` // epochs ("1") or time ("30s"); "0" = only at the end
	Resume      string `yaml:"resume" json:"resume"`         // a run folder to go on from
	MaxRestarts int    `yaml:"max-restarts" json:"max_restarts"`
}

// Default is what a run does when nothing is said.
func Default() Config {
	return Config{
		Workers: 0, // as many as there are cores: Validate fills it in
		Data:    "digits", Format: "auto", Scale: "auto",
		Bias: true,
		Mode: "async", Average: "weights", AverageState: "keep", Batch: 64,
		Epochs: 10, LR: 0.01, Optimizer: "sgd", Momentum: 0.9, Beta1: 0.9, Beta2: 0.999,
		OptimizerState: "private", Schedule: "constant", Decay: 0.1,
		Partition: "ticket", Seed: 1, SaveEvery: "1", MaxRestarts: 3,
	}
}
