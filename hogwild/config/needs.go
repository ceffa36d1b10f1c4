package config

import (
	"slices"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// A setting without an effect is refused, from any source: a flag, the environment, a file or a program.

// need is what a setting needs to have an effect.
type need struct {
	beside string // the setting that decides it; "": that the run is alone
	cure   string // what to set instead; "": one of the two has to go
	stated bool   // asks for something with its default value too, if it is given
	met    func(known) bool
}

// known is what decides: the settings, and what the data are once they have been read.
type known struct {
	*Config
	data *data.Meta // nil: not yet
}

func (k known) sync() bool     { return k.Mode.Traits().Barrier }
func (k known) weights() bool  { return k.Average != "gradients" }
func (k known) gpu() bool      { return k.GPU != "" }
func (k known) stateful() bool { return k.Optimizer.Slots() > 0 }
func (k known) momentum() bool { return k.Optimizer == Momentum }
func (k known) nesterov() bool { return k.Outer == "nesterov" || k.Rule.Kind == DelayedNesterov }
func (k known) adam() bool     { return k.Optimizer == Adam }
func (k known) ascends() bool  { return k.Solver == Dual }
func (k known) program() bool  { return k.Program != "" }
func (k known) shared() bool   { return k.stateful() && k.OptimizerState == "shared" }
func (k known) built() bool    { return k.Program == "" } // the model is built in, or a Go program's

// falls reports whether the learning rate does.
func (k known) falls() bool {
	return k.Schedule != "constant" && (k.Schedule != "auto" || k.family().Schedule != "")
}

func (k known) nodes() bool   { return k.Nodes > 0 } // 1 if it was asked for
func (k known) several() bool { return k.Nodes > 1 }

// The traits of the mode that others are refused with.
func (k known) simulated() bool { return k.Mode.Traits().Simulated }
func (k known) waits() bool     { return k.Mode.Traits().Locks || k.Mode.Traits().Ordered }
func (k known) fp16() bool      { return k.Precision == FP16 }
func (k known) atomic() bool    { return k.Mode.Traits().Atomic }
func (k known) grid() bool      { return k.Mode.Grid > 0 }

// NoValidation is the Validation of a run that trains on all rows, whatever the model.
const NoValidation = "none"

func (k known) validated() bool { return k.Validation != "" && k.Validation != NoValidation }

// family returns the model's family; model.Own while the model is not known.
func (k known) family() *model.Family { return model.FamilyOf(k.Model) }

// format reports whether the data are in one of the formats; "" while the format is not known.
func (k known) format(formats ...string) bool {
	is := ""
	if k.data != nil {
		is = k.data.Format
	}
	return slices.Contains(formats, is)
}

// startNodes is how a run becomes one of several nodes.
const startNodes = "add nodes 4, or start the job with mpirun or srun"
