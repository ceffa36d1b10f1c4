package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Experiment is what was measured of a Plan, and results.json of its folder.
type Experiment struct {
	Kind    string         `json:"kind"` // bench, sweep or reproduce
	Name    string         `json:"name"`
	About   string         `json:"about,omitempty"`
	Command string         `json:"command"` // that repeats it
	Time    time.Time      `json:"time"`    // of the start
	Version string         `json:"version"`
	Commit  string         `json:"commit"`
	Machine rundir.Machine `json:"machine"`
	Seeds   []uint64       `json:"seeds"`
	Cases   []Measured     `json:"cases"`
	SameLR  bool           `json:"same_lr,omitempty"` // cases are compared at one learning rate, which was asked for
	Notes   []string       `json:"notes,omitempty"`   // what is not fair or not significant
}

// Measured is a case and its runs, one for each seed, in the order of Experiment.Seeds.
type Measured struct {
	Case
	Mode    string        `json:"mode"`
	Workers int           `json:"workers"`
	Nodes   int           `json:"nodes,omitempty"`
	Config  config.Config `json:"config"`
	// Targets are the test losses at which the cases of the group are compared: the first decides. Higher ones follow.
	Targets []human.Number `json:"target_losses,omitempty"`
	Runs    []Run          `json:"runs"`
	// Weights is the folder of the run whose weights were kept, as they are of the best cases of a sweep.
	Weights string `json:"weights,omitempty"`
}

// Run is a run of a case, and what came of it.
type Run struct {
	Seed     uint64               `json:"seed"`
	Took     float64              `json:"took"` // seconds of its process, starting and saving too
	Failed   string               `json:"failed,omitempty"`
	Diverged bool                 `json:"diverged,omitempty"` // and so it failed
	Result   *rundir.Result       `json:"result,omitempty"`   // nil: it failed
	History  []rundir.EpochResult `json:"history"`
	// how soon it had each of the targets, from the start of training, interpolated between the epochs' ends
	SecondsToTarget []human.Number `json:"seconds_to_target,omitempty"`
	EpochsToTarget  []human.Number `json:"epochs_to_target,omitempty"`
}

// asgdName begins the names of experiments on virtual clocks.
const asgdName = "asgd"

// clocked reports whether an experiment compares virtual times.
func clocked(e *Experiment) bool { return e.Kind == "reproduce" && strings.HasPrefix(e.Name, asgdName) }

// notRun stands for the reason of a failure where a run is missing.
const notRun = "not run"

// averages reports whether the mode of the case averages weights or gradients.
func (m *Measured) averages() bool {
	mode, _ := config.ParseMode(m.Mode) // of a case that was checked
	return mode.Traits().Barrier
}

// last returns the result of the last run that has one; an empty one if none has.
func (m *Measured) last() *rundir.Result {
	for _, r := range slices.Backward(m.Runs) {
		if r.Result != nil {
			return r.Result
		}
	}
	return &rundir.Result{}
}

// Target returns the test loss by which the cases of the group are compared; NaN: there is none.
func (m *Measured) Target() float64 {
	if len(m.Targets) == 0 {
		return math.NaN()
	}
	return float64(m.Targets[0])
}

// Rounds is how many rounds an epoch were asked for.
func (m *Measured) Rounds() string {
	if m.Nodes < 2 {
		return ""
	}
	return string(m.Config.Rounds)
}

// anyNodes reports whether a case has several nodes.
func anyNodes(cases []*Measured) bool {
	return slices.ContainsFunc(cases, func(c *Measured) bool { return c.Nodes > 1 })
}

// groups are the names of the groups, in the order of their first cases.
func (e *Experiment) groups() (names []string) {
	for _, c := range e.Cases {
		if !slices.Contains(names, c.Group) {
			names = append(names, c.Group)
		}
	}
	return names
}

// of is the cases of a group.
func (e *Experiment) of(group string) (cases []*Measured) {
	for i := range e.Cases {
		if c := &e.Cases[i]; c.Group == group {
			cases = append(cases, c)
		}
	}
	return cases
}

// find returns the case of a name behind its group's, with the most workers for *; nil: there is none.
func find(cases []*Measured, name string) *Measured {
	most := 0
	for _, c := range cases {
		most = max(most, c.Workers)
	}
	name = strings.Replace(name, "*", fmt.Sprint(most), 1)
	i := slices.IndexFunc(cases, func(c *Measured) bool { return c.Name == FolderName(c.Group+"-"+name) })
	if i < 0 {
		return nil
	}
	return cases[i]
}

// runs is how many of a case's repeats were run, whatever came of them.
func (m *Measured) runs() int {
	n := 0
	for _, r := range m.Runs {
		if r.Failed != notRun {
			n++
		}
	}
	return n
}
