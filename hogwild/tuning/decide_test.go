package tuning

import (
	"cmp"
	"fmt"
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// dense are facts of bytes of ten even classes; words of short sparse rows of two; values of a regression; even of
// dense inputs that gain nothing by centring.
var (
	denseFacts = Facts{Kind: data.Bytes, Rows: 60000, Features: 784, Weights: 7850, RawLambda: 40, CenteredLambda: 5,
		RowNorm: 60, Squares: 60, Curvature: .1}
	evenFacts = Facts{Kind: data.Bytes, Rows: 60000, Features: 784, Weights: 7850, RawLambda: 5, RowNorm: 60,
		Squares: 60, Curvature: .1}
	rawFacts = Facts{Kind: data.Bytes, Rows: 60000, Features: 784, Weights: 7850, RawLambda: 40, RowNorm: 100,
		Squares: 1700, Curvature: .1}
	wordFacts = Facts{Kind: data.Sparse, Rows: 25000, Features: 90000, Weights: 90001, HasStepper: true,
		SupportsCopy:   true,
		FeaturesLambda: .025, RawLambda: .05, RowNorm: 1, Squares: .0025, Curvature: .25}
	valueFacts = Facts{Kind: data.Floats, Rows: 20000, Features: 8, Weights: 9, RawLambda: 4, RowNorm: 200,
		Squares: 20, Curvature: 2}
	noFacts = Facts{Kind: data.Bytes, Rows: 60000, Features: 784, Weights: 50000}
)

// curved returns denseFacts of a network with a curvature.
func curved(g float64) Facts {
	f := denseFacts
	f.Newton = g
	return f
}

// Models, and the loss and batch that they have.
var (
	softmax  = func(c *config.Config) { c.Model, c.Loss = "softmax", "cross-entropy" }
	logistic = func(c *config.Config) { c.Model, c.Loss, c.Batch = "logistic", "logistic", 1 }
	linear   = func(c *config.Config) { c.Model, c.Loss = "linear", "squared" }
	mlp      = func(c *config.Config) { c.Model, c.Loss = "mlp:64", "cross-entropy" }
)

// synced returns an edit to softmax by this many workers whose replicas are averaged.
func synced(workers int, edit func(*config.Config)) func(*config.Config) {
	return func(c *config.Config) {
		softmax(c)
		if c.Mode, c.Workers = config.MustMode("sync"), workers; edit != nil {
			edit(c)
		}
	}
}

// decisions are settings, facts and cores, and what comes of them. A dozen of the rows were worked out by hand from
// the formulas of limit.go, and the rest recorded and looked over.
var decisions = []struct {
	name  string
	facts Facts
	cores int
	edit  func(c *config.Config)
	want  string // steps in flight, limit, longest rate, rate, momentum, hold, capped
}{
	{"two workers within", denseFacts, 2, func(c *config.Config) { softmax(c) }, "2 78.5 1.71 0.01 0.9 314 false"},
	{"cores bound async", denseFacts, 2, func(c *config.Config) { softmax(c); c.Workers = 32 },
		"2 78.5 1.71 0.01 0.9 12 false"},
	{"cores bound atomic", denseFacts, 4, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode = 32,
			config.MustMode("atomic")
	}, "4 78.5 1.71 0.01 0.9 12 false"},
	{"workers below the cores", denseFacts, 64, func(c *config.Config) { softmax(c); c.Workers = 3 },
		"3 78.5 1.71 0.01 0.9 219 false"},
	{"ordered counts all workers", denseFacts, 2, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode = 32,
			config.MustMode("ordered")
	}, "32 78.5 1.71 0.01 0.9 12 false"},
	{"locked counts all workers", denseFacts, 2, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode = 32,
			config.MustMode("locked")
	}, "32 78.5 1.71 0.01 0.9 12 false"},
	{"sync has one", denseFacts, 8, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR = 8,
			config.MustMode("sync"), 9
	}, "1 0.0873 1.71 9 0.9 1 false"},
	{"one worker is never capped", denseFacts, 8, func(c *config.Config) { softmax(c); c.Workers, c.LR = 1, 1e3 },
		"1 0.000785 1.71 1e+03 0.9 0 false"},
	{"delayed:0 is never capped", denseFacts, 8, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR = 1,
			config.MustMode("delayed:0"), 1e3
	}, "1 0.000785 1.71 1e+03 0.9 0 false"},
	{"delayed", denseFacts, 1, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR = 1,
			config.MustMode("delayed:131"), .1
	}, "132 7.85 1.71 0.0238 0.9 0 true"},
	{"delayed at random", denseFacts, 1, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR = 1, config.MustMode("delayed:geometric:131"), .1
	}, "132 7.85 1.71 0.0238 0.9 0 true"},
	{"beyond the limit, not lowered", denseFacts, 1, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR = 1,
			config.MustMode("delayed:19"), .1
	}, "20 7.85 1.71 0.1 0.9 0 false"},
	{"cap off", denseFacts, 1, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Mode, c.LR, c.LRCap = 1, config.MustMode("delayed:131"), .1, "off"
	}, "132 7.85 1.71 0.1 0.9 0 false"},
	{"raw inputs", rawFacts, 1,
		func(c *config.Config) { softmax(c); c.Workers, c.Mode = 1, config.MustMode("delayed:131") },
		"132 9.82 0.244 0.00297 0.9 0 true"},
	{"the batch is the step's bound", denseFacts, 2, func(c *config.Config) { softmax(c); c.Batch, c.LR = 1, .5 },
		"2 1.2 0.167 0.167 0.9 6 true"},
	{"a batch of eight", denseFacts, 2, func(c *config.Config) { softmax(c); c.Batch, c.LR = 8, .5 },
		"2 1.57 0.842 0.5 0.9 6 false"},
	{"a batch of 64", denseFacts, 2, func(c *config.Config) { softmax(c); c.Batch, c.LR = 64, 10 },
		"2 0.0785 1.71 1.57 0.9 1 true"},
	{"noise of single examples", denseFacts, 64, func(c *config.Config) {
		softmax(c)
		c.Batch, c.LR, c.Workers = 1, .05,
			64
	}, "64 15.7 0.167 0.0491 0.9 1 true"},
	{"perceptron", denseFacts, 8, func(c *config.Config) { mlp(c); c.Workers, c.LR = 8, .1 },
		"8 7.85 0.853 0.1 0.9 5 false"},
	{"perceptron, long steps", denseFacts, 8, func(c *config.Config) { mlp(c); c.Workers, c.LR, c.Batch = 8, 1, 1 },
		"8 0.785 0.0833 0.0833 0.9 1 true"},
	{"a curved perceptron at its limit", curved(1), 8, func(c *config.Config) { mlp(c); c.Workers, c.LR = 8, .1 },
		"8 7.85 0.853 0.1 0.9 2 false"},
	{"keeps its rate up to eight times", curved(1), 62, func(c *config.Config) { mlp(c); c.Workers, c.LR = 62, .1 },
		"62 7.85 0.853 0.1 0.9 1 false"},
	{"is lowered to eight times that", curved(1), 80, func(c *config.Config) { mlp(c); c.Workers, c.LR = 80, .1 },
		"80 7.85 0.853 0.0785 0.9 1 true"},
	{"below a step, eight keep the rate", curved(20), 8, func(c *config.Config) { mlp(c); c.Workers, c.LR = 8, .1 },
		"8 0.393 0.853 0.1 0.9 1 false"},
	{"and sixteen are lowered to them", curved(20), 16, func(c *config.Config) { mlp(c); c.Workers, c.LR = 16, .1 },
		"16 0.393 0.853 0.05 0.9 1 true"},
	{"far below, to 24 times", curved(60), 8, func(c *config.Config) { mlp(c); c.Workers, c.LR = 8, .1 },
		"8 0.131 0.853 0.0393 0.9 1 true"},
	{"and not where noise sets it", curved(.1), 64, func(c *config.Config) {
		mlp(c)
		c.Workers, c.LR, c.Batch = 64, .05,
			1
	}, "64 21 0.0833 0.05 0.9 6 false"},
	{"on a GPU, too", curved(1), 8, func(c *config.Config) { mlp(c); c.GPU, c.InFlight, c.LR = "0", 80, .1 },
		"80 7.85 0.853 0.0785 0.9 0 true"},
	{"by itself to half of that", curved(1), 8, func(c *config.Config) { mlp(c); c.GPU, c.Batch, c.LR = "0", 0, .03 },
		"104 26.2 0.421 0.03 0.9 0 false"},
	{"words", wordFacts, 8, func(c *config.Config) { logistic(c); c.Workers = 8 }, "8 3.14e+03 4 0.01 0.9 2301 false"},
	{"words, long steps", wordFacts, 8, func(c *config.Config) { logistic(c); c.Workers, c.LR = 8, 10 },
		"8 2.92 4 4 0.9 2 true"},
	{"words, many in flight", wordFacts, 1, func(c *config.Config) {
		logistic(c)
		c.Workers, c.LR, c.Mode = 1, 1,
			config.MustMode("delayed:1023")
	}, "1024 31.4 4 0.123 0.9 0 true"},
	{"words merged rarely, eight workers", wordFacts, 8,
		func(c *config.Config) { logistic(c); c.Workers, c.MergeEvery = 8, "64" },
		"349 3.14e+03 4 0.01 0.9 2301 false"},
	{"words merged rarely, two workers", wordFacts, 8, func(c *config.Config) { logistic(c); c.MergeEvery = "512" },
		"512 3.14e+03 4 0.01 0.9 12566 false"},
	{"words merged rarely, on two cores", wordFacts, 2,
		func(c *config.Config) { logistic(c); c.Workers, c.MergeEvery = 8, "64" },
		"349 3.14e+03 4 0.01 0.9 2301 false"},
	{"hinge has no longest step", wordFacts, 8, func(c *config.Config) {
		c.Model, c.Loss, c.Batch, c.Workers = "hinge",
			"hinge", 1, 8
	}, "8 3.14e+03 0 0.01 0.9 2301 false"},
	{"regression", valueFacts, 2, func(c *config.Config) { linear(c) }, "2 4.91 0.0354 0.01 0.9 19 false"},
	{"regression, many in flight", valueFacts, 1,
		func(c *config.Config) { linear(c); c.Workers, c.Mode = 1, config.MustMode("delayed:131") },
		"132 4.91 0.0354 0.000744 0.9 0 true"},
	{"regression, single examples", valueFacts, 2, func(c *config.Config) { linear(c); c.Batch = 1 },
		"2 4.75 0.00125 0.00125 0.9 19 true"},
	{"l1 has no curvature", noFacts, 8, func(c *config.Config) { c.Model, c.Loss, c.Workers, c.LR = "l1", "l1", 8, 9 },
		"8 0 0 9 0.9 0 false"},
	{"adam", evenFacts, 8, func(c *config.Config) { softmax(c); c.Optimizer, c.Workers, c.LR = "adam", 8, 9 },
		"8 0 0 9 0.9 0 false"},
	{"adagrad", evenFacts, 8, func(c *config.Config) { softmax(c); c.Optimizer, c.Workers, c.LR = "adagrad", 8, 9 },
		"8 0 0 9 0.9 0 false"},
	{"momentum", evenFacts, 2, func(c *config.Config) { softmax(c); c.Optimizer = "momentum" },
		"2 7.85 0.171 0.01 0.9 31 false"},
	{"momentum, capped", evenFacts, 8, func(c *config.Config) {
		softmax(c)
		c.Optimizer, c.Workers, c.LR = "momentum",
			8, 1
	}, "8 0.0785 0.171 0.0393 0.9 1 true"},
	{"nothing known", noFacts, 8, func(c *config.Config) { c.Model, c.Workers, c.LR = "convnet", 8, 9 },
		"8 0 0 9 0.9 0 false"},
	{"a GPU, asked for", denseFacts, 2, func(c *config.Config) { softmax(c); c.GPU, c.InFlight, c.LR = "0", 40, .01 },
		"40 78.5 1.71 0.01 0.9 0 false"},
	{"a GPU, capped", denseFacts, 2, func(c *config.Config) { softmax(c); c.GPU, c.InFlight, c.LR = "0", 132, .5 },
		"132 1.57 1.71 0.0238 0.9 0 true"},
	{"a GPU, by itself", denseFacts, 2, func(c *config.Config) { softmax(c); c.GPU, c.Batch = "0", 0 },
		"132 78.5 0.842 0.01 0.9 0 false"},
	{"four nodes", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.LR = 4, .05 },
		"2 3.93 1.71 0.2 0.9 15 false"},
	{"four nodes at the limit", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.LR = 4, .2 },
		"2 2 1.71 0.393 0.9 8 false"},
	{"four nodes, the same rate", denseFacts, 2, func(c *config.Config) {
		softmax(c)
		c.Nodes, c.LR, c.AverageLR = 4,
			.05, "same"
	}, "2 15.7 1.71 0.05 0.9 62 false"},
	{"four nodes beyond the limit", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.LR = 4, .5 },
		"2 1.57 1.71 0.5 0.9 6 false"},
	{"four nodes, lowered as one", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.LR = 4, 10 },
		"2 0.0785 1.71 1.57 0.9 1 true"},
	{"forty nodes of one worker", denseFacts, 2, func(c *config.Config) {
		softmax(c)
		c.Workers, c.Batch, c.Nodes,
			c.LR = 1, 1, 40, .01
	}, "1 2.8 0.167 0.167 0.9 0 false"},
	{"nodes and late noise", denseFacts, 64, func(c *config.Config) {
		softmax(c)
		c.Batch, c.LR, c.Workers, c.Nodes = 1,
			.01, 64, 4
	}, "64 64 0.167 0.0123 0.9 5 false"},
	{"nodes with momentum", evenFacts, 2, func(c *config.Config) { softmax(c); c.Optimizer, c.Nodes = "momentum", 3 },
		"2 2.62 0.171 0.03 0.9 10 false"},
	{"nodes with adam", evenFacts, 8, func(c *config.Config) { softmax(c); c.Optimizer, c.Nodes = "adam", 4 },
		"2 0 0 0.01 0.9 0 false"},
	{"nodes with adam, scaled", evenFacts, 8,
		func(c *config.Config) { softmax(c); c.Optimizer, c.Nodes, c.AverageLR = "adam", 4, "scaled" },
		"2 0 0 0.04 0.9 0 false"},
	{"nodes with nesterov", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.Outer = 4, "nesterov" },
		"2 78.5 1.71 0.01 0.9 314 false"},
	{"nodes in mode sync", denseFacts, 2,
		func(c *config.Config) { softmax(c); c.Nodes, c.Mode = 4, config.MustMode("sync") },
		"1 9.82 1.71 0.08 0.9 39 false"},
	{"nodes with a global batch", denseFacts, 2,
		func(c *config.Config) { softmax(c); c.Nodes, c.Batch, c.GlobalBatch = 4, 0, 512 },
		"2 78.5 1.71 0.01 0.9 314 false"},
	{"four sync workers", denseFacts, 2, synced(4, func(c *config.Config) { c.LR = .05 }),
		"1 3.93 1.71 0.2 0.9 6 false"},
	{"one sync worker", denseFacts, 2, synced(1, nil), "1 78.5 1.71 0.01 0.9 0 false"},
	{"sync workers at the limit", denseFacts, 2, synced(4, func(c *config.Config) { c.LR = .3 }),
		"1 1 1.71 0.785 0.9 1 false"},
	{"sync workers at the limit of their steps", denseFacts, 2,
		synced(4, func(c *config.Config) { c.LR, c.Batch = .05, 1 }), "1 2.8 0.167 0.167 0.9 8 false"},
	{"sync at the same rate", denseFacts, 2, synced(4, func(c *config.Config) { c.AverageLR = "same" }),
		"1 78.5 1.71 0.01 0.9 138 false"},
	{"sync with adam", evenFacts, 2, synced(4, func(c *config.Config) { c.Optimizer = "adam" }),
		"1 0 0 0.01 0.9 0 false"},
	{"sync with adam, scaled", evenFacts, 2,
		synced(4, func(c *config.Config) { c.Optimizer, c.AverageLR = "adam", "scaled" }), "1 0 0 0.04 0.9 0 false"},
	{"sync with momentum", evenFacts, 2, synced(3, func(c *config.Config) { c.Optimizer = "momentum" }),
		"1 2.62 0.171 0.03 0.9 7 false"},
	{"sync, nothing known", noFacts, 2, synced(4, func(c *config.Config) { c.Model = "convnet" }),
		"1 0 0 0.01 0.9 0 false"},
	{"sync without a cap", denseFacts, 2, synced(4, func(c *config.Config) { c.LR, c.LRCap = 1, "off" }),
		"1 0.196 1.71 4 0.9 1 false"},
	{"sync with a global batch", denseFacts, 2, synced(4, func(c *config.Config) { c.Batch, c.GlobalBatch = 0, 256 }),
		"1 78.5 1.71 0.01 0.9 138 false"},
	{"four averaged gradients", denseFacts, 2,
		synced(4, func(c *config.Config) { c.LR, c.Batch, c.Average = .05, 1, "gradients" }),
		"1 3.93 0.533 0.2 0.9 6 false"},
	{"averaged gradients at the limit of their step", denseFacts, 2,
		synced(4, func(c *config.Config) { c.LR, c.Batch, c.Average = .2, 1, "gradients" }),
		"1 1.47 0.533 0.533 0.9 2 false"},
	{"averaged gradients at the limit of one step", denseFacts, 2,
		synced(4, func(c *config.Config) { c.LR, c.Average = .3, "gradients" }), "1 1 1.92 0.785 0.9 1 false"},
	{"averaged gradients of a global batch", denseFacts, 2,
		synced(4, func(c *config.Config) { c.Batch, c.GlobalBatch, c.Average = 0, 4, "gradients" }),
		"1 78.5 0.533 0.01 0.9 138 false"},
	{"nodes, nothing known", noFacts, 8, func(c *config.Config) { c.Model, c.Nodes = "convnet", 4 },
		"2 0 0 0.01 0.9 0 false"},
	{"nodes without a cap", denseFacts, 2, func(c *config.Config) { softmax(c); c.Nodes, c.LR, c.LRCap = 4, 1, "off" },
		"2 0.196 1.71 4 0.9 1 false"},
	{"a GPU, words", wordFacts, 2, func(c *config.Config) { logistic(c); c.GPU, c.Batch, c.LR = "0", 0, 1 },
		"124 31.4 4 1 0.9 0 false"},
}

// TestBiasHeld: at the bound the limit on steps in flight is a quarter of those that there are, and a bias whose steps
// are a fifth of lambda may be held back by five times as many. At a smaller rate there are more, on cores none.
func TestBiasHeld(t *testing.T) {
	c := config.Default()
	logistic(&c)
	c.GPU, c.Workers, c.Batch, c.LR, c.InFlight = "0", 2, 1, 1, 264
	choose := func() Tuning {
		l, err := Choose(&c, model.Spec{Name: c.Model, Loss: model.Loss(c.Loss), Bias: true}, wordFacts,
			Machine{Cores: 2, GPUs: h200})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	at := choose()
	if want := 264. / 4 * at.Lambda / at.BiasStep; !at.Capped || at.InFlight != 264 || at.BiasStep >= at.Lambda ||
		math.Abs(at.MaxBiasHeld-want) > 1e-9*want {
		t.Errorf("%+v, want a bias held back by %g steps", at, want)
	}
	if c.LR = at.LR / 2; math.Abs(choose().MaxBiasHeld-2*at.MaxBiasHeld) > 1e-9*at.MaxBiasHeld {
		t.Errorf("%g steps at half the rate, %g at the whole", choose().MaxBiasHeld, at.MaxBiasHeld)
	}
	if c.GPU = ""; choose().MaxBiasHeld != 0 {
		t.Errorf("%g steps on cores", choose().MaxBiasHeld)
	}
}

// TestDecide: settings, facts and cores in, decisions out.
func TestDecide(t *testing.T) {
	for _, x := range decisions {
		t.Run(x.name, func(t *testing.T) {
			c := config.Default()
			c.Batch, c.Workers, c.LR = 64, 2, 0.01
			x.edit(&c)
			spec := model.Spec{Name: c.Model, Loss: model.Loss(c.Loss), Bias: true}
			l, err := Choose(&c, spec, x.facts, Machine{Cores: x.cores, GPUs: h200})
			got := fmt.Sprintf("%d %.3g %.3g %.3g %.3g %d %t", l.InFlight, l.MaxInFlight, l.MaxLR, l.LR, l.Momentum,
				l.MaxLocalSteps, l.Capped)
			if got != x.want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, x.want)
			}
			center, lambda := x.facts.CenteredLambda > 0, cmp.Or(x.facts.CenteredLambda, x.facts.RawLambda)
			if step := cmp.Or(x.facts.FeaturesLambda, 1); l.Center != center || l.BiasStep != step ||
				l.Lambda != lambda || l.Raw != x.facts.RawLambda {
				t.Errorf("%+v of %+v", l, x.facts)
			}
		})
	}
}
