// Package bench measures the machine and the program on it. It starts the program and reads
// what that reports; of gradients and weights it knows nothing, of the folders of runs what
// package config says.
//
// Top down:
//
//	runner.go      each case with each seed, interleaved, by new processes
//	progress.go    how far it is
//	search.go      the best learning rate of each case, by runs of its own
//	papertable.go  what is published and what was measured, side by side
//	verdicts.go    which statements of the paper hold
//	summary.go     what was measured, for people
//	tutorial.go    the plan and the findings of hogwild reproduce tutorial
//	paperruns.go   the runs of hogwild reproduce paper
//	published.go   what is published
//	paper.go       the plan of hogwild reproduce paper; the plans are files in plans
//	gridfile.go    cases from a file
//	grid.go        cases, each with each point of a grid
//	yaml.go        the entries of such files
//	fairness.go    what makes a comparison unfair
//	gobench.go     results for benchstat
//	csv.go         results for spreadsheets
//	columns.go     results in tables
//	shares.go      what a case reaches of what the machine does
//	nodes.go       what several nodes spend on each other
//	assemble.go    runs to results.json
//	target.go      the time to a loss
//	best.go        which case is best
//	speedup.go     speed-ups, and whether repeats show them
//	finding.go     a statement, and the judgement of it
//	experiment.go  Experiment, Measured
//	paired.go      tests of paired repeats
//	trial.go       one run
//	process.go     its process
//	errors.go      why an experiment ends
//	case.go        what is to be measured: a Plan of Cases
//	spread.go      numbers of several repeats
//	limits.go      what this machine does at best, by loops as plain as those that training needs
//
// Below it, page makes a report of an Experiment or of runs, live shows a run while it goes
// on, rivals has other programs for the same jobs and a script that interleaves their runs.
package bench

import (
	"reflect"
	"slices"
	"strings"

	"hogwild/hogwild/config"
)

// Case is one way to train: settings of hogwild train, by the names of its flags.
type Case struct {
	Name     string    `json:"name"`            // unique in its experiment, and fit for a folder: async-4
	Group    string    `json:"group,omitempty"` // cases of one group are compared: they learn the same from the same
	Settings []Setting `json:"settings"`
	// Launcher starts the nodes of a case with several: a shell command in which {nodes} is their number, with
	// the program and its flags behind it. "": all are in one process.
	Launcher string `json:"launcher,omitempty"`
	// Chosen are settings that are not the user's: the learning rate at which the case is compared, and what keeps it.
	Chosen []Setting `json:"chosen,omitempty"`
	Search *Search   `json:"search,omitempty"` // that has found it; nil: none
	Of     string    `json:"-"`                // in a search, the case whose rate is searched for
}

// All is the settings with those that were chosen.
func (c *Case) All() []Setting { return Override(c.Settings, c.Chosen) }

// Setting is a flag of hogwild train and its value.
type Setting struct {
	Flag  string `json:"flag"` // without dashes
	Value string `json:"value"`
}

// Settings is the names and values of a configuration, in its order, as config.yaml has
// them.
func Settings(c config.Config) (all []Setting) {
	for f := range reflect.TypeFor[config.Config]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			all = append(all, Setting{Flag: name, Value: c.Text(name)})
		}
	}
	return all
}

// Plan is what is to be measured: each case once with every seed.
type Plan struct {
	Kind    string // bench, sweep or reproduce
	Name    string // of the experiment
	About   string // a sentence for the report
	Command string // that repeats it
	Cases   []Case
	Seeds   []uint64 // a repeat each
	// TargetLoss is the test loss to which times are taken; 0: by group, see Experiment.
	TargetLoss float64
	// Search is with how many seeds the learning rates of cases that are compared are searched for; 0: with none.
	// SameLR has them compared at one rate.
	Search int
	SameLR bool
	Limits *Limits // what the machine can do, if it was measured
	Notes  []string
}

// FirstSeeds are 1 to n: the seeds of n repeats.
func FirstSeeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i) + 1
	}
	return seeds
}

// Value is a setting of a case; "": it is not set.
func (c *Case) Value(flag string) string {
	for _, s := range c.Settings {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}

// Override is settings with others in their places, or behind them.
func Override(settings, by []Setting) []Setting {
	all := slices.Clone(settings)
	for _, b := range by {
		if i := slices.IndexFunc(all, func(s Setting) bool { return s.Flag == b.Flag }); i >= 0 {
			all[i] = b
		} else {
			all = append(all, b)
		}
	}
	return all
}

// several reports whether a value of nodes is more than one.
func several(nodes string) bool { return nodes != "" && nodes != "0" && nodes != "1" }

// Search is how a case came to its learning rate.
type Search struct {
	Set    string     `json:"set"` // whose loss decides: that of validation rows, or of training rows
	Seeds  []uint64   `json:"seeds"`
	Rates  []float64  `json:"rates"`             // ascending, the same for all cases of a group
	Losses [][]Number `json:"losses"`            // for each rate, by seed; NaN: it diverged or failed
	LR     float64    `json:"lr"`                // the one with the least mean
	AtEdge bool       `json:"at_edge,omitempty"` // it is the least or the greatest
}

// NodesWord stands in a launcher for the number of nodes.
const NodesWord = "{nodes}"

// Sets by which a search scores.
const (
	validation = "validation"
	training   = "training" // where no rows can be held out, as of the edges of a graph
)

// notRun stands for the reason of a failure where a run is missing.
const notRun = "not run"
