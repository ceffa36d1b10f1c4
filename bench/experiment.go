package bench

import (
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
	// Commands are how many seconds each run's process took from its start to its end, by case and seed.
	Commands map[string][]Number `json:"command_seconds,omitempty"`
	SameLR   bool                `json:"same_lr,omitempty"` // cases are compared at one learning rate, which was asked for
	Notes    []string            `json:"notes,omitempty"`   // what is not fair or not significant
}

// Measured is a case and its repeats: each list has one entry a seed, in the order of
// Experiment.Seeds, NaN (null in JSON) where the run failed or the figure does not exist.
type Measured struct {
	Case
	Mode     string        `json:"mode"`
	Workers  int           `json:"workers"`
	Device   string        `json:"device"`
	Batch    int           `json:"batch"` // of a worker's step; 0: no run has told
	Config   config.Config `json:"config"`
	Failed   []string      `json:"failed"`             // why a run failed; "" for those that did not
	Diverged []bool        `json:"diverged,omitempty"` // and whether by diverging; older results do not say
	Notes    []string      `json:"notes,omitempty"`    // of rundir.Result, of the last run: what the device has to say
	LRUsed   []Number      `json:"lr_used"`            // less than Config.LR where it was lowered for the steps in flight

	// What an example costs, as rundir.Result has it; 0: unknown.
	Parameters int64  `json:"parameters"`
	Values     Number `json:"values_per_example"` // stored inputs
	Flops      Number `json:"flops_per_example"`

	Examples          []Number `json:"examples"`
	Seconds           []Number `json:"seconds"` // of training
	ExamplesPerSecond []Number `json:"examples_per_second"`
	WallSeconds       []Number `json:"wall_seconds,omitempty"` // as rundir.Result has it; older results do not
	StartupSeconds    []Number `json:"startup_seconds"`
	TrainLoss         []Number `json:"train_loss"`
	TestLoss          []Number `json:"test_loss"`
	TestAccuracy      []Number `json:"test_accuracy"`
	TestRMSE          []Number `json:"test_rmse"`
	TestR2            []Number `json:"test_r2"`
	StalenessMean     []Number `json:"staleness_mean"`
	StalenessP99      []Number `json:"staleness_p99"`
	LostUpdates       []Number `json:"lost_updates"`
	LostBelow         []Number `json:"lost_updates_below,omitempty"` // older results have none
	Conflicts         []Number `json:"conflicts"`
	BarrierWait       []Number `json:"barrier_wait_seconds"`

	Reached           // the test loss by which the cases of the group are compared
	Further []Reached `json:"further_targets,omitempty"` // higher ones; older results have none

	// Of a job of several nodes, as rundir.Nodes has them; absent from cases without.
	Nodes       int      `json:"nodes,omitempty"`
	Library     string   `json:"library,omitempty"`
	NodeRounds  []Number `json:"node_rounds,omitempty"`
	NodeBytes   []Number `json:"node_bytes,omitempty"`
	SumSeconds  []Number `json:"sum_seconds,omitempty"`
	WaitSeconds []Number `json:"wait_seconds,omitempty"`

	Histories  [][]rundir.EpochResult `json:"histories"`                     // of each repeat
	Staleness  [][2]uint64            `json:"staleness_histogram,omitempty"` // least value, samples; of all repeats
	WorkerRate [][]Number             `json:"examples_per_second_by_worker"` // of each repeat, by rank
}

// Reached is how soon the repeats had a test loss, from the start of training, interpolated between the epochs' ends.
type Reached struct {
	Target          Number   `json:"target_loss"`
	SecondsToTarget []Number `json:"seconds_to_target"`
	EpochsToTarget  []Number `json:"epochs_to_target"`
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

// RoundBytes is what a node gave to be summed in a round, on average.
func (m *Measured) RoundBytes() []Number { return ratios(m.NodeBytes, m.NodeRounds) }

// Communication is the share of the training time in which a round was on its way. Workers train
// meanwhile, except in the last round of an epoch.
func (m *Measured) Communication() []Number { return ratios(m.SumSeconds, m.Seconds) }

// Waiting is the share of the training time in which the workers of node 0 waited for rounds and other nodes.
func (m *Measured) Waiting() []Number { return ratios(m.WaitSeconds, m.Seconds) }

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

// runs is how many of a case's repeats were run, whatever came of them.
func (c *Measured) runs() int {
	n := 0
	for _, why := range c.Failed {
		if why != notRun {
			n++
		}
	}
	return n
}

// Late is a list with +Inf for runs that ended without a figure: they missed the target, or diverged. Those that failed
// in another way tell nothing.
func (c *Measured) Late(list []Number) []Number {
	list = slices.Clone(list)
	for i, why := range c.Failed[:min(len(c.Failed), len(list))] {
		if !human.Finite(float64(list[i])) && (why == "" || i < len(c.Diverged) && c.Diverged[i]) {
			list[i] = Number(math.Inf(1))
		}
	}
	return list
}
