package ability_test

import (
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
)

// drawn counts how often first weights were drawn in this process.
var drawn int

// unconnected is the softmax model with two tensors more, which it does not use, and one that no step shall change.
type unconnected struct{ model.Model }

func (u unconnected) Params() []model.Param {
	return append(slices.Clone(u.Model.Params()), model.Param{Name: "head.weight", Shape: []int{3, 5}},
		model.Param{Name: "head.bias", Shape: []int{3}},
		model.Param{Name: "scale", Shape: []int{1}, Fixed: true})
}

func (u unconnected) Init(w []float32, seed uint64) {
	drawn++
	n := model.Size(u.Model.Params())
	u.Model.Init(w[:n], seed)
	for i := range w[n:] {
		w[n+i] = 1 / float32(3+i)
	}
}

func (u unconnected) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	return u.Model.Grad(w[:model.Size(u.Model.Params())], b, g)
}

func (u unconnected) Eval(w []float32, b *data.Batch) model.Score {
	return u.Model.Eval(w[:model.Size(u.Model.Params())], b)
}

func init() {
	model.Register("unconnected", func(m data.Meta) (model.Model, error) {
		softmax, err := model.New(model.Options{Name: "softmax", Bias: true}, m)
		return unconnected{softmax}, err
	})
}

// TestUnused: tensors that no gradient reaches are named once, in every mode, and the result keeps them through a
// resume. A new run draws its first weights once, and one that is resumed does not.
func TestUnused(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"async":     func(c *config.Config) {},
		"momentum":  func(c *config.Config) { c.Optimizer = config.Momentum },
		"saves":     func(c *config.Config) { c.SaveEvery = "1ms" }, // within the epoch
		"weights":   func(c *config.Config) { c.Mode, c.AverageEvery = config.MustMode("sync"), 3 },
		"gradients": func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" },
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Epochs = "unconnected", 3, 2
			edit(&c)
			drawn = 0
			got := runtest.Train(t, c)
			want := []string{"head.weight", "head.bias"}
			const line = "head.weight, head.bias received no gradient in the first epoch, or one too small to " +
				"matter: they are as initialised"
			if !slices.Equal(got.Unused, want) || !slices.Equal(got.Events, []string{line}) {
				t.Errorf("unused %q, events %q", got.Unused, got.Events)
			}
			if drawn != 1 {
				t.Errorf("first weights were drawn %d times", drawn)
			}
			if name != "async" {
				return
			}
			c, drawn = runtest.Resumed(c), 0
			c.Epochs = 3
			if got = runtest.Train(t, c); !slices.Equal(got.Unused, want) || len(got.Events) > 0 || drawn != 0 {
				t.Errorf("resumed: unused %q, events %q; first weights were drawn %d times", got.Unused, got.Events,
					drawn)
			}
		})
	}
}

// TestNothingLearnt: where no tensor changes, the learning rate may be why.
func TestNothingLearnt(t *testing.T) {
	c := configtest.Quick(t)
	c.LR, c.Epochs = 1e-30, 1
	c.Model = "mlp:8"
	if got := runtest.Train(t, c); len(got.Unused) != 4 || len(got.Events) != 1 ||
		!strings.HasPrefix(got.Events[0], "the first epoch has changed no weight: ") {
		t.Errorf("unused %q, events %q", got.Unused, got.Events)
	}
}

// TestNoneUnused: of our own models no tensor is named, whatever form the weights have.
func TestNoneUnused(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"centred":         func(c *config.Config) { c.Center = "on" },
		"centred, merged": func(c *config.Config) { c.Center, c.Workers = "on", 2 },
		"mlp":             func(c *config.Config) { c.Model = "mlp:16,8" },
		"convnet":         func(c *config.Config) { c.Model, c.Data = "conv:4@5p2d,16d", "digits:500" },
		"factor": func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.LR = "synth:lowrank:30x40x3000x3", "factor:3", 1, 0.02
		},
		"graph":  func(c *config.Config) { c.Data, c.Model, c.Batch, c.LR = "synth:dblife:0.002", "cut:10", 1, 0.1 },
		"sparse": func(c *config.Config) { c.Data = "synth:rcv1:0.01" },
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Epochs = 1
			edit(&c)
			if got := runtest.Train(t, c); len(got.Unused) > 0 || len(got.Events) > 0 {
				t.Errorf("unused %q, events %q", got.Unused, got.Events)
			}
		})
	}
}
