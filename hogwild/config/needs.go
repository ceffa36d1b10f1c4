package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// A setting without an effect is refused, whoever gives it: a flag, the environment, a file or
// a program. The table needs is all that is known of it.

// need is what a setting needs to have an effect.
type need struct {
	setting string
	beside  string // the setting that decides it; "": that the run is alone
	cure    string // what to set instead; "": one of the two has to go
	stated  bool   // asks for something with its default value too, if it is given
	met     func(known) bool
}

// known is what decides: the settings, and what the data are once they have been read.
type known struct {
	*Config
	data *data.Meta // nil: not yet
}

func (k known) sync() bool     { return k.Mode.Kind == Sync }
func (k known) weights() bool  { return k.Average != "gradients" }
func (k known) gpu() bool      { return k.GPU != "" }
func (k known) stateful() bool { return k.Optimizer.Slots() > 0 }
func (k known) momentum() bool { return k.Optimizer == Momentum }
func (k known) adam() bool     { return k.Optimizer == Adam }
func (k known) built() bool    { return k.Program == "" } // the model is built in, or a Go program's
func (k known) nodes() bool    { return k.Nodes > 0 }     // 1 if it was asked for

func (k known) validated() bool { return k.Validation != "" && k.Validation != NoValidation }

// not tells whether the model is of none of the families; true while nobody knows the model.
func (k known) not(families ...model.Family) bool {
	for _, f := range families {
		if k.Model != "" && model.FamilyOf(k.Model) == f {
			return false
		}
	}
	return true
}

// format tells whether the data are in one of the formats; "" while nobody knows.
func (k known) format(formats ...string) bool {
	is := ""
	if k.data != nil {
		is = k.data.Format
	}
	return slices.Contains(formats, is)
}

var needs = []need{
	{"average", "mode", "use mode sync", true, known.sync},
	{"average-every", "mode", "use mode sync", true, known.sync},
	{"average-every", "average", "use average weights", true, func(k known) bool { return k.weights() || k.AverageEvery == 1 }},
	{"average-state", "mode", "use mode sync", true, known.sync},
	{"average-state", "average", "use average weights", true, known.weights},
	{"average-state", "optimizer", "use momentum, adam or adagrad", true, known.stateful},
	// Same is how a rate is that nothing scales.
	{"average-lr", "mode", "use mode sync, or several nodes", false, func(k known) bool { return k.sync() || k.nodes() || k.AverageLR == "same" }},
	{"average-lr", "global-batch", "use batch", false, func(k known) bool { return k.GlobalBatch == 0 || k.AverageLR == "same" }},
	{"batch", "global-batch", "", false, func(k known) bool { return k.GlobalBatch == 0 }},
	{"global-batch", "batch", "", false, func(k known) bool { return k.Batch == 0 }},
	// 1 is in place, which is how other modes write anyway.
	{"merge-every", "mode", "use mode async", false, func(k known) bool { return k.Mode.Kind == Async || k.MergeEvery == "1" }},
	{"gradient-delay", "gpu", "", false, func(k known) bool { return !k.gpu() }},
	{"gradient-delay", "mode", "", false, func(k known) bool { return k.Mode.Kind != Delayed }},

	{"gpu-mem-free", "gpu", "use gpu auto", false, func(k known) bool { _, choose, err := ReadGPUs(k.GPU); return err == nil && choose > 0 }},
	{"cpu-workers", "gpu", "add gpu 0", false, known.gpu},
	{"in-flight", "gpu", "add gpu 0", false, known.gpu},
	{"write", "gpu", "add gpu 0", false, known.gpu},
	{"mps", "gpu", "add gpu 0", false, known.gpu},

	{"momentum", "optimizer", "use optimizer momentum", true, known.momentum},
	{"momentum-correction", "optimizer", "use optimizer momentum", false, known.momentum},
	{"momentum-correction", "mode", "", false, func(k known) bool { return !k.sync() }}, // no step is stale there
	{"beta1", "optimizer", "use optimizer adam", true, known.adam},
	{"beta2", "optimizer", "use optimizer adam", true, known.adam},
	{"optimizer-state", "optimizer", "use momentum, adam or adagrad", true, known.stateful},
	{"patience", "validation", "add validation 0.1", false, func(k known) bool { return k.validated() || k.HoldsOut() }},
	{"validation", "model", "", false, func(k known) bool { return k.not(model.Cut) || !k.validated() }}, // all edges of a graph are cut
	{"lr-min", "schedule", "use cosine, linear, step or exp", false, func(k known) bool { return k.Schedule != "constant" }},
	{"decay", "schedule", "use step or exp", true, func(k known) bool { return k.Schedule == "step" || k.Schedule == "exp" }},
	// Off holds where nothing is capped.
	{"lr-cap", "optimizer", "use sgd or momentum", false, func(k known) bool { return !k.Optimizer.Adaptive() || k.LRCap == "off" }},
	{"lr-cap", "mode", "", false, func(k known) bool { return !k.sync() || k.LRCap == "off" }},

	{"rounds", "", startNodes, false, known.nodes},
	{"outer", "", startNodes, false, known.nodes},
	{"node-timeout", "", startNodes, false, known.nodes},
	{"outer-lr", "outer", "use outer nesterov", true, func(k known) bool { return k.Outer == "nesterov" }},
	{"outer-momentum", "outer", "use outer nesterov", true, func(k known) bool { return k.Outer == "nesterov" }},

	{"model", "program", "", false, func(k known) bool { return k.built() || k.Model == model.ProgramName }},
	{"loss", "program", "", false, known.built},
	{"bias", "program", "", false, known.built},
	{"l1", "program", "", false, known.built},
	{"center", "program", "", false, func(k known) bool { return k.built() || k.Center == "off" }},
	{"bias-step", "program", "", false, known.built},
	{"lr-cap", "program", "", false, func(k known) bool { return k.built() || k.LRCap == "off" }},
	{"in-flight", "program", "", false, known.built},
	{"write", "program", "", false, known.built},
	{"merge-every", "program", "", false, func(k known) bool { return k.built() || k.MergeEvery == "1" }},
	{"gradient-delay", "program", "", false, known.built},
	{"init", "resume", "", false, func(k known) bool { return k.Resume == "" }}, // which starts from the snapshot
	{"init-partial", "init", "add init FILE", false, func(k known) bool { return k.Init != "" }},
	{"biases", "model", "use model factor:32", false, func(k known) bool { return k.Model == "" || model.FamilyOf(k.Model) == model.Factor }},
	{"l1", "model", "use l2", false, func(k known) bool { return k.not(model.Cut, model.Factor) }},
	{"target", "data", "use CSV (format csv) or .npy data", false, func(k known) bool { return k.format("", "csv", "npy") }},
	{"ignore", "data", "use CSV data (format csv)", false, func(k known) bool { return k.format("", "csv") }},
	{"missing", "data", "use CSV data (format csv)", false, func(k known) bool { return k.format("", "csv") }},
	{"format", "data", "", false, func(k known) bool { return k.Test != "" || !k.format("digits", "synth") }},
	{"scale", "data", "use none", false, func(k known) bool { return k.Scale == "none" || k.data == nil || k.data.Kind != data.Pairs }},
}

// startNodes is how a run becomes one of several nodes.
const startNodes = "add nodes 4, or start the job with mpirun or srun"

// Idle is a setting without an effect. As an error it matches ErrUsage and says why, and what to do.
type Idle struct {
	Setting   string
	Changed   bool   // its value is not the default; one that is matters only if the user gave it
	Why, Cure string // "momentum 0.5 has no effect with optimizer sgd", "use optimizer momentum, or leave momentum out"
}

// Error says why and what to do.
func (i Idle) Error() string { return i.Why + ": " + i.Cure }

// Is makes the error an ErrUsage.
func (i Idle) Is(target error) bool { return target == ErrUsage }

// Idle are the settings that have no effect beside the others. What depends on the model or on
// the data is left out while Model is "" or m is nil.
func (c *Config) Idle(m *data.Meta) iter.Seq[Idle] {
	return func(yield func(Idle) bool) {
		byDefault := Default()
		for _, n := range needs {
			changed := c.Text(n.setting) != byDefault.Text(n.setting)
			if (changed || n.stated) && !n.met(known{c, m}) && !yield(n.idle(c, changed)) {
				return
			}
		}
	}
}

// CheckIdle refuses a setting that is not at its default and has no effect.
func (c *Config) CheckIdle(m *data.Meta) error {
	for idle := range c.Idle(m) {
		if idle.Changed {
			return idle
		}
	}
	return nil
}

// CheckData refuses a format or a target column that data read from path has no use for: CheckIdle for commands without a Config.
func CheckData(path, format, target string, m *data.Meta) error {
	c := Default()
	c.Data, c.Target = path, target
	if format != "" {
		c.Format = format
	}
	return c.CheckIdle(m)
}

// idle says why the setting has no effect, and what to do.
func (n need) idle(c *Config, changed bool) Idle {
	setting, beside := n.setting, "without "+n.beside
	if v := c.Text(n.setting); v != "true" {
		setting += " " + v
	}
	if n.beside == "" {
		beside = "with one node"
	} else if v := c.Text(n.beside); v != "" {
		beside = "with " + n.beside + " " + v
	}
	cure := "leave one of them out"
	if n.cure != "" {
		cure = fmt.Sprintf("%s, or leave %s out", n.cure, n.setting)
	}
	return Idle{n.setting, changed, setting + " has no effect " + beside, cure}
}

// Text is a setting as its flag takes it.
func (c *Config) Text(setting string) string {
	v, t := reflect.ValueOf(c).Elem(), reflect.TypeFor[Config]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != setting {
			continue
		}
		if word := zeros[setting]; word != "" && v.Field(i).IsZero() {
			return word
		}
		return fmt.Sprint(v.Field(i).Interface())
	}
	panic("config: no setting " + setting)
}
