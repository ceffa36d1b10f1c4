package tuning_test

import (
	"errors"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/tuning"
)

func tuningOf(t *testing.T, c config.Config) tuning.Tuning {
	t.Helper()
	l, err := choose(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func choose(t *testing.T, c config.Config) (tuning.Tuning, error) {
	t.Helper()
	set, m := runtest.Begun(t, c)
	spec, err := model.Resolve(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return tuning.Choose(&c, spec, tuning.Measure(&c, spec, m, set), tuning.Machine{Cores: 2})
}

// TestBiasStep: of short sparse rows the bias's step is lambda of the features; of
// long ones, and of dense rows, it is 1.
func TestBiasStep(t *testing.T) {
	c := configtest.Dense()
	c.Model, c.Loss, c.Workers, c.Data = "logistic", "logistic", 2, runtest.SparseFile(t, 1)
	if l := tuningOf(t, c); l.BiasStep != 1 || l.Lambda < 1 {
		t.Errorf("rows of length %g: %+v", 3., l)
	}
	c.Data = runtest.SparseFile(t, .01)
	l := tuningOf(t, c)
	if !(l.BiasStep > 1e-5 && l.BiasStep < 1e-2) || !(l.Lambda >= l.BiasStep && l.Lambda <= 2*l.BiasStep) {
		t.Errorf("rows a hundredth as long: %+v; lambda of both together lies between that of one and of two", l)
	}
	if c.BiasStep = "off"; tuningOf(t, c).BiasStep != 1 {
		t.Error("the bias steps as the weights do, if bias-step is off")
	}
	c.BiasStep, c.Bias = "auto", false
	if l := tuningOf(t, c); l.BiasStep != 1 {
		t.Errorf("no bias, but a step: %+v", l)
	}
}

// TestTuningRefusals: what was asked for and cannot be is refused, with a cure.
func TestTuningRefusals(t *testing.T) {
	for want, edit := range map[string]func(*config.Config){
		"center on: centring needs plain sgd without l1, l2": func(c *config.Config) { c.L2 = .1 },
		"center on: a GPU does not centre sparse rows": func(c *config.Config) {
			c.GPU, c.Data,
				c.Model, c.Loss = "0", runtest.SparseFile(t, 1), "logistic", "logistic"
		},
		"center on: a model without bias cannot absorb the means": func(c *config.Config) { c.Bias = false },
		"center on: the model convnet": func(
			c *config.Config) {
			c.Model = "convnet"
		},
	} {
		c := configtest.Dense()
		c.Workers, c.Data, c.Model, c.Loss, c.Center = 2, "digits:300", "softmax", "cross-entropy", "on"
		edit(&c)
		if _, err := choose(t, c); !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
