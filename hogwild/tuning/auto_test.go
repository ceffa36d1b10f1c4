package tuning

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// What is left to the program follows from the facts, by formulas worked out by hand; what the user gave stays.
func TestSettle(t *testing.T) {
	few := Facts{Kind: data.Floats, Rows: 300, Features: 8, RawLambda: 4, RowNorm: 12, Trace: 9,
		Squares: 20, Curvature: 2}
	long := few
	long.RowNorm, long.RawLambda, long.Trace, long.Squares = 1e12, 4e8, 4e8, 1e17
	network := func(c *config.Config) { linear(c); c.Model = "mlp:8" }
	for _, c := range []struct {
		name   string
		facts  Facts
		edit   func(*config.Config)
		lr     float64
		epochs int
		says   string
	}{
		// .25 (pi/2)/h, over lambda and 8 steps in flight: .3927/(.1 5 8)
		{"large set", denseFacts, softmax, .098, 10, "lr 0.098, 10 epochs"},
		// 4 examples a step: .3927/(2 4 8) = .0061, the noise allows .02 2 4/(2 9) = .0089; 9000 4/300 = 120
		{"small set", few, linear, .0061, 120, "lr 0.0061, 120 epochs (a small set: 300 rows)"},
		{"few epochs given", few, func(c *config.Config) { linear(c); c.Epochs = 30 }, .0061, 30,
			"lr 0.0061 (meant for 120 epochs: fewer learn less, and --tune finds a rate for them)"},
		{"rate given", few, func(c *config.Config) { linear(c); c.LR = .5 }, .5, 120, "120 epochs"},
		{"both given", few, func(c *config.Config) { linear(c); c.LR, c.Epochs = .5, 7 }, .5, 7, ""},
		{"batch given", few, func(c *config.Config) { linear(c); c.Batch = 1 }, .0022, 30, "lr 0.0022"},
		{"momentum", few, func(c *config.Config) { linear(c); c.Optimizer = "momentum" }, .00061, 120, "lr 0.00061"},
		{"adam", few, func(c *config.Config) { linear(c); c.Optimizer = "adam" }, .01, 120, "lr 0.01"},
		{"nothing known", noFacts, func(c *config.Config) { c.Model = "convnet" }, .01, 10, "lr 0.01, 10 epochs"},
		// .25 (pi/2)/2, over 4e8 and 8; R2 allows .25 2 4/(2 (1e12 + 3 4e8))
		{"raw inputs", long, func(c *config.Config) { linear(c); c.Scale = "none" }, 1e-12, 120,
			"scale the inputs with --scale standard"},
		{"scaled inputs", long, linear, 1e-12, 120, "lr 1e-12, 120 epochs (a small set"},
		{"network", few, network, .0061, 120, "lr 0.0061"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config.Default()
			c.edit(&cfg)
			spec := model.Spec{Name: cfg.Model, Loss: model.Loss(cfg.Loss), Bias: true}
			says := strings.Join(Settle(&cfg, spec, c.facts), ", ")
			if math.Abs(cfg.LR-c.lr) > 1e-9*c.lr || cfg.Epochs != c.epochs || !strings.Contains(says, c.says) ||
				c.says == "" && says != "" {
				t.Errorf("lr %g, %d epochs, %q; want %g, %d, %q", cfg.LR, cfg.Epochs, says, c.lr, c.epochs, c.says)
			}
			for _, workers := range []int{1, 64} { // a comparison of workers is one of nothing else
				other := config.Default()
				c.edit(&other)
				other.Workers = workers
				Settle(&other, spec, c.facts)
				if other.LR != cfg.LR || other.Epochs != cfg.Epochs {
					t.Errorf("%d workers: lr %g, %d epochs", workers, other.LR, other.Epochs)
				}
			}
			if again := cfg; len(Settle(&again, spec, c.facts)) > 0 || again != cfg {
				t.Errorf("settled again, %+v is %+v", cfg, again)
			}
		})
	}
}

func TestSettleRatings(t *testing.T) {
	m := &data.Meta{Kind: data.Pairs, Rows: 50000, Features: 2000, Shape: []int{800, 1200},
		Targets: data.Spread{Mean: 3.5, Deviation: 1.1}}
	c := config.Default()
	// 1.1 (.1 + 5/50)
	if says := SettleRatings(&c, m); !c.Biases || c.L2 != .22 || !slices.Equal(says, []string{"biases", "l2 0.22"}) {
		t.Errorf("%t, l2 %g, %q", c.Biases, c.L2, says)
	}
	named := config.Default()
	named.Model = "factor:8"
	if says := SettleRatings(&named, m); named.Biases || named.L2 != 0 || says != nil {
		t.Errorf("a model with a name: %t, l2 %g, %q", named.Biases, named.L2, says)
	}
	// Ten times the values: a tenth of the rate, as products of factors are ten times as large.
	for deviation, want := range map[float32]float64{1: .01, 10: .001} {
		c := config.Default()
		spec := model.Spec{Name: "factor:8", Loss: model.Squared, Deviation: deviation}
		if Settle(&c, spec, Facts{Kind: data.Pairs, Rows: 50000}); c.LR != want || c.Epochs != 50 {
			t.Errorf("deviation %g: lr %g, %d epochs", deviation, c.LR, c.Epochs)
		}
	}
}

// A rate that is lowered by more than a hundred times is a sign of raw inputs.
func TestTooSmall(t *testing.T) {
	for _, c := range []struct {
		used float64
		says bool
	}{{.01, false}, {1e-3, false}, {9e-5, true}} {
		j := Job{Asked: configtest.Dense(), Used: Tuning{LR: c.used, InFlight: 8, Batch: 64, Capped: true}}
		if says := strings.Contains(strings.Join(j.Changes(), ""),
			"scale the inputs with --scale standard"); says != c.says {
			t.Errorf("lr 0.01 -> %g: %q", c.used, j.Changes())
		}
	}
}
