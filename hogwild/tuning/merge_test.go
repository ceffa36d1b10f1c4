package tuning

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

func TestDensePeriod(t *testing.T) {
	for _, c := range []struct {
		what string
		edit func(*Job)
		kind data.Kind
		size int
		want int
	}{
		{"batch 64", func(c *Job) {}, data.Bytes, 7850, 8},
		{"batch 1", func(c *Job) { c.Used.Batch = 1 }, data.Floats, 7850, 128},
		{"within the limit", func(c *Job) { c.Used.Batch, c.Used.MaxLocalSteps = 1, 20 }, data.Floats, 7850, 20},
		{"near the limit", func(c *Job) { c.Used.MaxInFlight = 3 }, data.Bytes, 7850, 3},
		{"as told", func(c *Job) { c.Asked.MergeEvery = "3" }, data.Bytes, 7850, 3},
		{"a large one, centred", func(c *Job) { c.Asked.Model, c.Used.Center = "mlp:512", true },
			data.Bytes, 407050, 8},
		{"sparse data, centred", func(c *Job) { c.Used.Batch, c.Used.Center = 1, true }, data.Sparse, 7850, 128},
		{"sparse data", func(c *Job) {}, data.Sparse, 7850, 1},
		{"a large model", func(c *Job) {}, data.Bytes, 1 << 20, 1},
		{"a large model, as told", func(c *Job) { c.Asked.MergeEvery = "5" }, data.Bytes, 1 << 20, 5},
		{"adagrad", func(c *Job) { c.Asked.Optimizer = "adagrad" }, data.Bytes, 7850, 4},
		{"adagrad, three workers", func(c *Job) { c.Asked.Optimizer, c.Asked.Workers = "adagrad", 3 }, data.Bytes,
			7850, 1},
		{"adam", func(c *Job) { c.Asked.Optimizer = "adam" }, data.Bytes, 7850, 1},
		{"adam, as told", func(c *Job) { c.Asked.Optimizer, c.Asked.MergeEvery = "adam", "4" }, data.Bytes, 7850, 4},
		{"momentum, three workers, near the limit", func(c *Job) {
			c.Asked.Optimizer, c.Asked.Workers, c.Used.MaxInFlight = "momentum", 3, 3
		}, data.Bytes, 7850, 3},
		{"one state for all", func(c *Job) { c.Asked.Optimizer, c.Asked.OptimizerState = "adam", "shared" },
			data.Bytes, 7850, 1},
		{"one state for all, as told", func(c *Job) {
			c.Asked.Optimizer, c.Asked.OptimizerState, c.Asked.MergeEvery = "adam", "shared", "4"
		}, data.Bytes, 7850, 4},
		{"a perceptron", func(c *Job) { c.Asked.Model = "mlp:128" }, data.Bytes, 101770, 8},
		{"a small one of four, centred", func(c *Job) {
			c.Asked.Model, c.Asked.Workers, c.Used.Center = "mlp:8", 4,
				true
		}, data.Bytes, 6370, 4},
		{"one of four, centred", func(c *Job) { c.Asked.Model, c.Asked.Workers, c.Used.Center = "mlp:128", 4, true },
			data.Bytes, 101770, 4},
		{"held to one, centred", func(c *Job) { c.Used.MaxLocalSteps, c.Used.Center = 1, true }, data.Bytes, 7850, 2},
		{"near the limit, centred", func(c *Job) { c.Used.MaxInFlight, c.Used.Center = 1, true }, data.Bytes, 7850, 2},
		{"many perceptrons", func(c *Job) { c.Asked.Model, c.Asked.Workers = "mlp:128", 3 }, data.Bytes, 101770, 1},
		{"many perceptrons, as told", func(c *Job) {
			c.Asked.Model, c.Asked.Workers, c.Asked.MergeEvery = "mlp:128", 8,
				"2"
		}, data.Bytes, 101770, 2},
	} {
		cfg := AsAsked(configtest.Dense())
		cfg.Asked.Workers, cfg.Asked.Model = 2, "softmax"
		c.edit(cfg)
		if got := densePeriod(&cfg.Asked, model.Spec{Name: cfg.Asked.Model}, Facts{Kind: c.kind, Weights: c.size},
			cfg.Used); got != c.want {
			t.Errorf("%s: every %d, want %d", c.what, got, c.want)
		}
	}
}

// TestSparsePeriod: of a9a's and imdb's size and larger ones, by what the learning rate allows.
func TestSparsePeriod(t *testing.T) {
	for _, c := range []struct {
		what                string
		workers, hold, size int
		want                int
	}{
		{"no limit", 2, 0, 124, 256},
		{"a limit far away", 2, 1 << 30, 124, 256},
		{"two workers, within the limit", 2, 220, 124, 220},
		{"eight, within it", 8, 40, 124, 40},
		{"eight, far from it", 8, 400, 124, 64},
		{"many workers", 64, 400, 124, 16},
		{"a limit below that", 64, 5, 124, 5},
		{"a limit of one", 2, 1, 124, 1},
		{"words", 2, 0, 89528, 2048},
		{"words, within the limit", 2, 60, 89528, 60},
		{"words, too few steps for a merge of all", 2, 40, 89528, 1},
	} {
		cfg := configtest.Dense()
		cfg.Workers = c.workers
		if got := sparsePeriod(&cfg, c.size, c.hold); got != c.want {
			t.Errorf("%s: every %d, want %d", c.what, got, c.want)
		}
		if cfg.MergeEvery = "7"; sparsePeriod(&cfg, c.size, c.hold) != 7 {
			t.Errorf("%s: every %d, told 7", c.what, sparsePeriod(&cfg, c.size, c.hold))
		}
	}
}

// TestSlower: only what was measured to be slower is called so.
func TestSlower(t *testing.T) {
	for _, c := range []struct {
		what           string
		every, weights int
		edit           func(*config.Config, *Facts)
		want           bool
	}{
		{"w8a at 0.5", 6, 301, nil, true},
		{"w8a at 0.05", 69, 301, nil, false},
		{"a9a at 0.1", 9, 124, nil, false},
		{"in place", 1, 124, nil, true},
		{"4,000 weights", 24, 4001, nil, true},
		{"4,000 weights, enough steps", 32, 4001, nil, false},
		{"words", 1, 89528, nil, false},
		{"as told", 1, 124, func(c *config.Config, _ *Facts) { c.MergeEvery = "1" }, false},
		{"three workers", 6, 301, func(c *config.Config, _ *Facts) { c.Workers = 3 }, false},
		{"sync", 6, 301, func(c *config.Config, _ *Facts) { c.Mode = config.MustMode("sync") }, false},
		{"dense", 1, 301, func(_ *config.Config, f *Facts) { f.HasStepper = false }, false},
	} {
		cfg, f := configtest.Dense(), Facts{Kind: data.Sparse, Weights: c.weights, HasStepper: true, SupportsCopy: true}
		cfg.Workers = 2
		if c.edit != nil {
			c.edit(&cfg, &f)
		}
		l := Tuning{Batch: 1, LR: cfg.LR, MergeEvery: c.every, BiasMergeEvery: 1}
		if l.Slower = slower(&cfg, f, l); l.Slower != c.want {
			t.Errorf("%s: slower %v", c.what, l.Slower)
		}
		says := strings.Join((&Job{cfg, l}).Header(), "; ")
		if strings.Contains(says, "slower than one worker: --workers 1") != c.want {
			t.Errorf("%s: it says %q", c.what, says)
		}
	}
}

// TestMergeText: what is said of how workers write.
func TestMergeText(t *testing.T) {
	for _, c := range []struct {
		mode, gpu, told string
		every, bias     int
		want            string
	}{
		{"async", "", "auto", 8, 1, "async, merged every 8 local steps (auto)"},
		{"async", "", "3", 3, 1, "async, merged every 3 local steps"},
		{"async", "", "1", 1, 1, "async, in place"},
		{"async", "", "auto", 1, 1, "async, in place"},
		{"async", "", "auto", 1, 64, "async, in place, the bias merged every 64 local steps (auto)"},
		{"async", "0", "auto", 1, 1, ""},
		{"sync", "", "auto", 1, 1, ""},
		{"locked", "", "auto", 1, 1, ""},
	} {
		j := Job{Asked: configtest.Dense(), Used: Tuning{MergeEvery: c.every, BiasMergeEvery: c.bias}}
		j.Asked.Mode, j.Asked.GPU, j.Asked.MergeEvery = config.MustMode(c.mode), c.gpu, config.Count(c.told)
		if got := j.MergeText(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	j := Job{Asked: configtest.Dense(), Used: Tuning{MergeEvery: 256, HotRows: 64}}
	j.Asked.MergeEvery = "256"
	const want = "async, in place, the first 64 rows of each table merged every 256 local steps"
	if got := j.MergeText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	j.Used.HotRows, j.Used.RareMerge = 1064, 8
	if got := j.MergeText(); got != want+", the next 1,000 every 2,048" {
		t.Errorf("with two periods it says %q", got)
	}
}

// TestHotRows: what a model of ranked rows merges, and where it writes all of them in place.
func TestHotRows(t *testing.T) {
	for _, c := range []struct {
		what        string
		edit        func(*config.Config, *Facts)
		every, rows int
		rare        int
	}{
		{"two workers", nil, 512, 1024, 4},
		{"two, 8,000 words", func(_ *config.Config, f *Facts) { f.Features = 8000 }, 512, 500, 4},
		{"two, 1,000 words", func(_ *config.Config, f *Facts) { f.Features = 1000 }, 512, model.HotRows, 0},
		{"eight", func(c *config.Config, _ *Facts) { c.Workers = 8 }, 128, 256, 4},
		{"sixteen", func(c *config.Config, _ *Facts) { c.Workers = 16 }, 64, 128, 4},
		{"seventeen", func(c *config.Config, _ *Facts) { c.Workers = 17 }, 1, 0, 0},
		{"twice the rate", func(c *config.Config, _ *Facts) { c.LR = .05 }, 256, 512, 4},
		{"lines", func(c *config.Config, _ *Facts) { c.Model, c.LR = "text:50", .1 }, 8, model.HotRows, 0},
		{"lines, eight", func(c *config.Config, _ *Facts) { c.Model, c.LR, c.Workers = "text:50", .1, 8 }, 8,
			model.HotRows, 0},
		{"lines, at a rate of one", func(c *config.Config, _ *Facts) { c.Model, c.LR = "text:50", 1 }, 1, 0, 0},
		{"shared negatives", func(c *config.Config, _ *Facts) { c.ShareNegatives = true }, 512, model.HotRows, 0},
		{"CBOW, eight", func(c *config.Config, _ *Facts) { c.CBOW, c.Workers = true, 8 }, 128, model.HotRows, 0},
		{"as told", func(c *config.Config, _ *Facts) { c.MergeEvery = "64" }, 64, model.HotRows, 0},
		{"in place", func(c *config.Config, _ *Facts) { c.MergeEvery = "1" }, 1, 0, 0},
		{"one worker", func(c *config.Config, _ *Facts) { c.MergeEvery, c.Workers = "64", 1 }, 1, 0, 0},
	} {
		cfg, f := configtest.Dense(), Facts{Kind: data.Tokens, Features: 30000, Rows: 1 << 20, Weights: 1 << 20,
			HasStepper: true, HotRowsFirst: true}
		cfg.Model, cfg.Workers, cfg.Batch, cfg.MergeEvery, cfg.LR = "word2vec:50", 2, 1, "auto", .025
		if c.edit != nil {
			c.edit(&cfg, &f)
		}
		u, err := Choose(&cfg, model.Spec{Name: cfg.Model}, f, Machine{Cores: 2})
		if err != nil || u.MergeEvery != c.every || u.HotRows != c.rows || u.RareMerge != c.rare {
			t.Errorf("%s: every %d, %d rows, %d, %v; want %+v", c.what, u.MergeEvery, u.HotRows, u.RareMerge, err, c)
		}
	}
	cfg, f := configtest.Dense(), Facts{Kind: data.Tokens, HasStepper: true, HotRowsFirst: true}
	cfg.Model, cfg.Workers, cfg.Batch, cfg.MergeEvery, cfg.Optimizer = "word2vec:50", 2, 1, "64", "adam"
	spec := model.Spec{Options: model.Options{Name: "word2vec:50"}}
	if _, err := Choose(&cfg, spec, f, Machine{Cores: 2}); err == nil {
		t.Error("adam takes gradients, and merges nothing: merge-every 64 is not refused")
	}
}
