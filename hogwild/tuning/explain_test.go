package tuning

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// TestFewSteps: the warning of a short run whose steps in flight nothing else judges.
func TestFewSteps(t *testing.T) {
	convnet := func(c *config.Config) { c.Model, c.Loss = "convnet", "cross-entropy" }
	for _, x := range []struct {
		name  string
		facts Facts
		rows  int
		edit  func(*config.Config)
		says  string // "": nothing
	}{
		{"as measured", noFacts, 2944, convnet, "46 steps in all with 8 in flight, and no limit of these is known " +
			"here: the loss may stay well above one worker's; try a lower --workers, more --epochs or " +
			"a smaller --batch"},
		{"two workers", noFacts, 2000, func(c *config.Config) { convnet(c); c.Workers = 2 },
			"32 steps in all with 2 in flight"},
		{"two workers, more steps", noFacts, 2944, func(c *config.Config) { convnet(c); c.Workers = 2 }, ""},
		{"one worker", noFacts, 640, func(c *config.Config) { convnet(c); c.Workers = 1 }, ""},
		{"a step too few", noFacts, 159 * 64, convnet, "159 steps in all with 8 in flight"},
		{"as many as it takes", noFacts, 160 * 64, convnet, ""},
		{"in several epochs", noFacts, 2000, func(c *config.Config) { convnet(c); c.Epochs = 5 }, ""},
		{"a smaller batch", noFacts, 2944, func(c *config.Config) { convnet(c); c.Batch = 16 }, ""},
		{"factor", Facts{Kind: "pairs"}, 2944, func(c *config.Config) { c.Model, c.Loss = "factor:8", "squared" },
			"46 steps"},
		{"program", Facts{}, 2944, func(c *config.Config) { c.Model, c.Program = model.ProgramName, "python3 step.py" },
			"46 steps"},
		{"adam", evenFacts, 2944, func(c *config.Config) { softmax(c); c.Optimizer = "adam" }, "46 steps"},
		{"of two nodes", noFacts, 5888, func(c *config.Config) { convnet(c); c.Nodes = 2 }, "46 steps"},
		{"on a GPU", noFacts, 2944, func(c *config.Config) { convnet(c); c.GPU, c.InFlight = "0", 32 },
			"46 steps in all with 32 in flight, and no limit of these is known here: the loss may stay well above " +
				"one worker's; try a lower --in-flight"},
		{"a program on several GPUs", Facts{}, 2944, func(c *config.Config) {
			c.Model, c.GPU, c.Layout, c.MergeEvery = model.ProgramName, "0,1", new(model.Layout), "4"
		}, "46 steps in all with 32 in flight, and no limit of these is known here: the loss may stay well above " +
			"one worker's; try a lower --merge-every"},
		{"thousands", noFacts, 64000, func(c *config.Config) { convnet(c); c.GPU, c.InFlight = "0", 512 }, ""},
		{"sync", noFacts, 2944, func(c *config.Config) { convnet(c); c.Mode = config.MustMode("sync") }, ""},
		{"simulated", noFacts, 2944,
			func(c *config.Config) { convnet(c); c.Workers, c.Mode = 1, config.MustMode("delayed:7") }, ""},
		{"a known limit", denseFacts, 2944, softmax, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := config.Default()
			c.Batch, c.Workers, c.LR, c.Epochs = 64, 8, 0.01, 1
			x.edit(&c)
			x.facts.Rows = x.rows
			got, err := Choose(&c, model.Spec{Name: c.Model, Loss: model.Loss(c.Loss), Bias: true}, x.facts,
				Machine{Cores: 8})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join((&Job{c, got}).Header(), "\n")
			if x.says == "" && strings.Contains(text, "in all") || !strings.Contains(text, x.says) {
				t.Errorf("it says %q, want %q", text, x.says)
			}
		})
	}
}
