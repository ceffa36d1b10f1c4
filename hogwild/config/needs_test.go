package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"hogwild/hogwild/data"
	"hogwild/internal/check"
)

// contexts are settings that another may be given with; each letter of a row of TestNeeds is one of them.
var contexts = []struct{ letter, settings string }{
	{"a", "mode: async"}, {"t", "mode: atomic"}, {"l", "mode: locked"}, {"o", "mode: ordered"},
	{"d", "mode: delayed:3"},
	{"s", "mode: sync"}, {"g", "mode: sync\naverage: gradients"},
	{"M", "optimizer: momentum"}, {"A", "optimizer: adam"}, {"G", "optimizer: adagrad"},
	{"S", "mode: sync\noptimizer: adam"},
	{"c", "schedule: cosine"}, {"n", "schedule: linear"}, {"p", "schedule: step"}, {"e", "schedule: exp"},
	{"0", "gpu: \"0\""}, {"u", "gpu: auto:2"}, {"b", "batch: 16"}, {"B", "global-batch: 64"},
	{"N", "outer: nesterov"}, {"f", "model: factor:8"}, {"k", "model: cut:3"}, {"x", "model: softmax"},
}

// TestNeeds walks all pairs of a setting and a context: it has an effect in those named, or in
// all but those, and is refused in the others.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		setting, value string
		effect         string // letters; ^: all but these
		stated         bool   // its default has none either where it has none
	}{
		{"average", "gradients", "sSg", true}, {"average-every", "5", "sS", true},
		{"batch", "8", "^B", false}, {"global-batch", "8", "^b", false},
		{"merge-every", "8", "^tlosgS", false}, {"merge-every", "1", "^", false},
		{"gradient-delay", "1us", "^d0u", false},
		{"gpu-mem-free", "4GiB", "u", false}, {"in-flight", "4", "0u", false},
		{"momentum", "0.5", "M", true}, {"beta1", "0.5", "AS", true},
		{"beta2", "0.5", "AS", true},
		{"optimizer-state", "shared", "MAGS", true},
		{"lr-min", "0.001", "cnpe", false}, {"decay", "0.5", "pe", true}, {"lr-cap", "off", "^", false},
		{"average-lr", "scaled", "sSg", false}, {"average-lr", "same", "^", false}, {"rounds", "4", "", false},
		{"node-timeout", "1m", "", false}, {"outer", "nesterov", "", false},
		{"outer-lr", "0.5", "N", true}, {"outer-momentum", "0.5", "N", true},
		{"top", "5", "^xk", false}, {"seen", "in", "^xk", false},
		{"biases", "true", "^xk", false}, {"l1", "0.1", "^fk", false},
		// settings that always have one
		{"lr", "0.5", "^", false}, {"l2", "0.5", "^", false}, {"partition", "contiguous", "^", false},
		{"workers", "4", "^", false},
	} {
		for _, x := range contexts {
			if strings.HasPrefix(x.settings, c.setting+":") || c.setting == "average" && x.letter == "g" {
				continue
			}
			letters, all := strings.CutPrefix(c.effect, "^")
			effect := strings.Contains(letters, x.letter) != all
			of := fmt.Sprintf("%s %s beside %q", c.setting, c.value, x.settings)
			if idle := idleIn(t, x.settings)[c.setting]; (idle != nil) != (c.stated && !effect) ||
				idle != nil && idle.Changed {
				t.Errorf("the default instead of %s: %+v", of, idle)
			}
			idle := idleIn(t, x.settings, fmt.Sprintf("%s: %s", c.setting, c.value))[c.setting]
			if (idle == nil) != effect {
				t.Errorf("%s: %v, want an effect: %v", of, idle, effect)
			}
			if idle != nil && (!idle.Changed || !errors.Is(idle, ErrUsage) ||
				!strings.HasPrefix(idle.Error(), c.setting+" ") ||
				!strings.Contains(idle.Error(), " has no effect with") || !strings.Contains(idle.Cure, "leave ")) {
				t.Errorf("%s: %+v", of, idle)
			}
		}
	}
}

// idleIn returns the settings that are idle in a context, by their names.
func idleIn(t *testing.T, settings ...string) map[string]*Idle {
	t.Helper()
	c := Default()
	for _, text := range settings {
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*Idle{}
	for idle := range c.Idle(nil) {
		all[idle.Setting] = &idle
	}
	return all
}

// TestIdleIsRefused: Resolve refuses it, and so does a check of the data.
func TestIdleIsRefused(t *testing.T) {
	for _, c := range []struct {
		settings string
		data     *data.Meta
		says     string
	}{
		{"momentum: 0.5", nil, "momentum 0.5 has no effect with optimizer sgd: use optimizer momentum, or leave " +
			"momentum out"},
		{"momentum: 0.9", nil, ""}, // as config.yaml of each run has it
		{"{batch: 8, global-batch: 64}", nil, "batch 8 has no effect with global-batch 64: leave one of them out"},
		{"biases: true", nil, ""},
		{"{biases: true, model: softmax}", nil, "biases has no effect with model softmax: use model factor:32, or " +
			"leave biases out"},
		{"{target: y, data: a.svm}", &data.Meta{Format: "libsvm"},
			"target y has no effect with data a.svm: use CSV (format csv) or .npy data, or leave target out"},
		{"target: y", nil, ""}, {"target: y", &data.Meta{Format: "csv"}, ""},
		{"target: y", &data.Meta{Format: "npy"}, ""},
	} {
		config := Default()
		config.Workers = 4
		if err := yaml.Unmarshal([]byte(c.settings), &config); err != nil {
			t.Fatal(err)
		}
		err := config.Validate()
		if c.data != nil {
			err = config.CheckIdle(c.data)
		}
		if c.says == "" && err != nil {
			t.Errorf("%s: %v", c.settings, err)
		} else if c.says != "" {
			check.Error(t, err, c.says)
		}
	}
}
