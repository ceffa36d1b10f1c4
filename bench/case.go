// Package bench measures the machine and the program on it. It starts the program and reads
// what that reports; of gradients and weights it knows nothing, of the folders of runs what
// package config says.
//
// An experiment, in reading order:
//
//	case.go                       what is to be measured: a Plan of Cases
//	nodes.go                      cases of several nodes, and what these spend on each other
//	grid.go gridfile.go yaml.go   cases, each with each point of a grid, from a file or from flags
//	search.go                     the best learning rate of each, by runs of its own
//	runner.go process.go trial.go each case with each seed, interleaved, by new processes
//	progress.go                   how far it is
//	experiment.go assemble.go     what was measured: results.json
//	spread.go speedup.go target.go fairness.go   what may be said of it, and by the tests
//	paired.go                     of which repeats show a difference
//	columns.go summary.go csv.go gobench.go   in tables, for people, spreadsheets and benchstat
//	paper.go tutorial.go          the plans of hogwild reproduce, files in plans; published.go
//	                              what is published, paperruns.go, finding.go, papertable.go
//	                              the two side by side
//
// limits.go is what this machine does at best, by loops as plain as those that training needs, shares.go what a case
// reaches of it.
//
// Below it, page makes a report of an Experiment or of runs, live shows a run while it goes
// on, rivals has other programs for the same jobs and a script that interleaves their runs.
package bench

import (
	"reflect"
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
