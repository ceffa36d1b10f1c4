package config

import (
	"errors"
	"math"
	"testing"
	"time"

	"hogwild/internal/check"
	"hogwild/internal/machine"
)

func TestDefaultIsValid(t *testing.T) {
	c, err := defaults().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers != machine.Cores() {
		t.Errorf("%d workers on %d cores", c.Workers, machine.Cores())
	}
	if again, err := c.Resolve(); err != nil || again != c {
		t.Errorf("a second Resolve changes %+v to %+v (%v)", c, again, err)
	}
}

// refusals are settings that no run can have, and what is said of them.
var refusals = []struct {
	edit func(c *Config)
	says string
}{
	{func(c *Config) { c.Workers = -1 }, "workers -1: must be from 1 to 1024"},
	{func(c *Config) { c.Workers = 1025 }, "workers 1025: must be from 1 to 1024"},
	{func(c *Config) { c.Rounds, c.Nodes = "0", 2 },
		`rounds "0": give auto, or a number of rounds an epoch from 1`},
	{func(c *Config) { c.Rounds, c.Nodes = "often", 2 }, `rounds "often": give auto`},
	{func(c *Config) { c.NodeTimeout, c.Nodes = time.Millisecond, 2 }, "node-timeout 1ms: must be at least 1s"},
	{func(c *Config) { c.Outer, c.OuterLR, c.Nodes = "nesterov", 0, 2 }, "outer-lr 0: must be a positive number"},
	{func(c *Config) { c.Outer, c.OuterMomentum, c.Nodes = "nesterov", 1, 2 },
		"outer-momentum 1: must be from 0 to 0.999999"},
	{func(c *Config) { c.Outer, c.Nodes = "sum", 2 }, `outer "sum": choose one of mean, nesterov`},
	{func(c *Config) { c.OuterLR, c.Nodes = 0.5, 2 },
		"outer-lr 0.5 has no effect with outer mean: use outer nesterov, or leave outer-lr out"},
	{func(c *Config) { c.Outer = "nesterov" },
		"outer nesterov has no effect with one node: add nodes 4, or start the job with mpirun or srun, or leave " +
			"outer out"},
	{func(c *Config) { c.Rounds = "4" }, "rounds 4 has no effect with one node"},
	{func(c *Config) { c.Mode, c.Workers, c.Nodes = MustMode("delayed:3"), 1, 2 },
		"mode delayed:3 on 2 nodes: one process simulates all workers"},
	{func(c *Config) { c.OnDivergence, c.Nodes = Rollback, 3 },
		"on-divergence rollback on 3 nodes: one node cannot go back alone; use stop"},
	{func(c *Config) { c.Limit = -5 }, "limit -5: must be from 1 to 2147483647, or all"},
	{func(c *Config) { c.Epochs = -1 }, "epochs -1: must be from 1 to 2147483647, or auto"},
	{func(c *Config) { c.Batch = -1 }, "batch -1: must be from 1 to 1048576, or auto"},
	{func(c *Config) { c.Batch = 1<<20 + 1 }, "batch 1048577: must be from 1 to 1048576"},
	{func(c *Config) { c.GlobalBatch = -8 }, "global-batch -8: must be from 1 to 4194304, or none"},
	{func(c *Config) { c.GlobalBatch = 1 << 23 }, "global-batch 8388608: must be from 1 to 4194304"},
	{func(c *Config) { c.Batch, c.GlobalBatch = 0, 66 },
		"global-batch 66 cannot be split over 4 workers: choose a multiple of 4"},
	{func(c *Config) { c.Batch, c.GlobalBatch, c.Nodes = 0, 64, 3 },
		"global-batch 64 cannot be split over 12 workers: choose a multiple of 12"},
	{func(c *Config) { c.AverageEvery = -1 }, "average-every -1: must be from 1"},
	{func(c *Config) { c.LR = -1 }, "lr -1: must be a positive number"},
	{func(c *Config) { c.LR = math.NaN() }, "lr NaN: must be a positive number"},
	{func(c *Config) { c.LR = math.Inf(1) }, "lr +Inf: must be a positive number"},
	{func(c *Config) { c.LR, c.LRMin = 0.01, 0.02 }, "lr-min 0.02: must be from 0 to lr, which is 0.01"},
	{func(c *Config) { c.LRMin = -1 }, "lr-min -1: must be from 0"},
	{func(c *Config) { c.L1 = -1e-5 }, "l1 -1e-05: must be from 0"},
	{func(c *Config) { c.L2 = math.NaN() }, "l2 NaN: must be from 0"},
	{func(c *Config) { c.Momentum = 1 }, "momentum 1: must be from 0 to 0.999999"},
	{func(c *Config) { c.Beta1 = 1.5 }, "beta1 1.5: must be from 0 to 0.999999"},
	{func(c *Config) { c.Beta2 = 0.9999999 }, "beta2 0.9999999: must be from 0 to 0.999999"},
	{func(c *Config) { c.Decay = 0 }, "decay 0: must be from 1e-12 to 1"},
	{func(c *Config) { c.Schedule, c.Decay = "exp", 1.1 }, "decay 1.1: must be from 1e-12 to 1"},
	{func(c *Config) { c.TargetLoss = -1 }, "target-loss -1: must be from 0"},
	{func(c *Config) { c.TargetAccuracy = 95 }, "target-accuracy 95: must be from 0 to 1"},
	{func(c *Config) { c.StopAfter = -1 }, "stop-after -1ns: must be a time such as 90s"},
	{func(c *Config) { c.StopAfter, c.Nodes = time.Second, 2 },
		"stop-after 1s on 2 nodes: each node has its own clock"},
	{func(c *Config) { c.Validation = "0" }, "validation 0: want a share of the training rows above 0 and below " +
		"1, such as 0.1, or a file"},
	{func(c *Config) { c.Validation = "10" }, "validation 10: want a share"},
	{func(c *Config) { c.Validation = "NaN" }, "validation NaN: want a share"},
	{func(c *Config) { c.Patience = 5 }, "patience 5 has no effect without validation: add validation 0.1, or " +
		"leave patience out"},
	{func(c *Config) { c.Validation, c.Patience = "0.1", -1 }, "patience -1: must be from 0"},
	{func(c *Config) { c.MaxRestarts = -1 }, "max-restarts -1: must be from 0"},
	{func(c *Config) { c.Average = "all" }, `average "all": choose one of weights, gradients`},
	{func(c *Config) { c.Optimizer = "Adam" }, `optimizer "Adam": choose one of sgd, momentum, adam, adagrad`},
	{func(c *Config) { c.OptimizerState = "own" }, `optimizer-state "own": choose one of private, shared`},
	{func(c *Config) { c.Schedule = "cos" }, `schedule "cos": choose one of auto, constant, cosine, step, exp, linear, cooldown`},
	{func(c *Config) { c.Partition = "fixed" }, `partition "fixed": choose one of dynamic, contiguous`},
	{func(c *Config) { c.Format = "json" }, `format "json": choose one of auto, idx, libsvm, csv, npy`},
	{func(c *Config) { c.Model = "cnn" }, `unknown model "cnn": the models are softmax`},
	{func(c *Config) { c.Loss = "mse" }, `unknown loss "mse": the losses are`},
	{func(c *Config) { c.GPU, c.Precision, c.Mode = "0", FP16, MustMode("atomic") },
		"precision fp16 with mode atomic: rows of"},
	{func(c *Config) { c.GPU, c.Precision, c.Optimizer = "0", FP16, "adam" }, "precision fp16 with optimizer adam: it"},
	{func(c *Config) { c.GPU, c.Precision, c.Batch = "0", FP16, 8 }, "precision fp16 with batch 8: a step has one"},
	{func(c *Config) { c.GPU, c.Precision, c.Batch = "0,1", FP16, 1 }, "precision fp16 with gpu 0,1: replicas"},
	{func(c *Config) { c.GPU, c.Precision, c.Batch, c.Nodes = "0", FP16, 1, 2 }, "precision fp16 on 2 nodes: what"},
	{func(c *Config) { c.Precision = FP16 }, "precision"},
	{func(c *Config) { c.SaveEvery = "" }, `save-every "": give a number of epochs (1), a time (30s, 5m) or auto`},
	{func(c *Config) { c.SaveEvery = "-1" }, `save-every "-1": give`},
	{func(c *Config) { c.SaveEvery = "0s" }, `save-every "0s": give`},
	{func(c *Config) { c.SaveEvery = "1.5" }, `save-every "1.5": give`},
	{func(c *Config) { c.Mode, c.Optimizer, c.OptimizerState = MustMode("sync"), "adam", "shared" },
		"optimizer-state shared with mode sync: each replica has its own optimizer state; leave optimizer-state " +
			"out"},
}

// Each refusal names the field as the flag is called, the value, and the cure.
func TestValidateRefuses(t *testing.T) {
	for _, c := range refusals {
		config := defaults()
		config.Workers = 4
		c.edit(&config)
		err := config.Validate()
		check.Error(t, err, c.says)
		if !errors.Is(err, ErrUsage) {
			t.Errorf("%v is not ErrUsage", err)
		}
	}
}

// TestDerived: what follows from the settings, which stay as they are.
func TestDerived(t *testing.T) {
	for _, x := range []struct {
		edit         func(c *Config)
		batch, steps int
	}{
		{func(c *Config) {}, 64, 0},
		{func(c *Config) { c.Batch = 0 }, 0, 0},
		{func(c *Config) { c.Batch, c.GlobalBatch = 0, 128 }, 32, 0},
		{func(c *Config) { c.Mode, c.AverageEvery = MustMode("sync"), 7 }, 64, 7},
		{func(c *Config) { c.Mode, c.Average = MustMode("sync"), "gradients" }, 64, 1},
		{func(c *Config) { c.LRMin, c.Schedule = c.LR, "cosine" }, 64, 0},
	} {
		c := defaults()
		c.Workers = 4
		x.edit(&c)
		same, err := c.Resolve()
		if err != nil || same != c || c.AskedBatch() != x.batch || c.Steps() != x.steps {
			t.Errorf("%+v, %v: batch %d, steps %d, want %d, %d", same, err, c.AskedBatch(), c.Steps(), x.batch, x.steps)
		}
	}
}

func TestSaveEvery(t *testing.T) {
	for text, want := range map[string]struct{ epochs, seconds float64 }{
		"0": {}, "1": {epochs: 1}, "25": {epochs: 25}, "30s": {seconds: 30}, "1m30s": {seconds: 90},
		"500ms": {seconds: 0.5},
	} {
		c := Config{SaveEvery: text}
		epochs, every, err := c.SavePeriod()
		if err != nil || float64(epochs) != want.epochs || every.Seconds() != want.seconds {
			t.Errorf("%s: %d epochs, %v, %v", text, epochs, every, err)
		}
	}
}

// TestBatchOfNodes: a global batch is divided among the workers of all nodes, whose number stays.
func TestBatchOfNodes(t *testing.T) {
	c := Default()
	c.Workers, c.Node, c.Nodes, c.GlobalBatch = 4, 2, 3, 96
	if c.AskedBatch() != 8 || c.AllWorkers() != 12 || c.Ranks() != 4 {
		t.Errorf("batch %d of %d workers, room for %d on each node", c.AskedBatch(), c.AllWorkers(), c.Ranks())
	}
	check.Error(t, c.MayScale(), "each keeps the workers that it began with", "stop the run")
	c.Nodes = 1
	if err := c.MayScale(); err != nil || c.AskedBatch() != 24 {
		t.Errorf("batch %d, %v", c.AskedBatch(), err)
	}
}

// defaults returns the defaults, with the batch that dense data have.
func defaults() Config {
	c := Default()
	c.Batch = 64
	return c
}
