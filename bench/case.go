// Package bench measures the machine and the program on it. It starts the program and reads
// what that reports; of gradients and weights it knows nothing, of the folders of runs what
// package config says.
//
// Its files, each of which uses only those below it:
//
//	papertable.go what is published and what was measured, side by side
//	goals.go      accuracies on MNIST that a tutorial has, or that a speedrun trains to
//	claims.go     what publications say of two cases, rows of claims.yaml
//	asgd.go       runs of asynchronous SGD on a virtual clock
//	paperruns.go  runs of the Hogwild! paper
//	paper.go      the plans of hogwild reproduce, files in plans
//	finding.go    a statement of a publication, and whether what was measured agrees
//	published.go  figures that are published
//	export.go     what was measured, for spreadsheets and benchstat
//	summary.go    for people
//	columns.go    tables of cases
//	runner.go     each case with each seed, interleaved; results.json
//	progress.go   how far it is
//	search.go     the best learning rate of each case, by runs of its own
//	assemble.go   an Experiment from what its folder holds
//	trial.go      one run of a case, and what its folder holds of it
//	process.go    a run as a new process
//	fairness.go   what a reader must know before comparing
//	target.go     how soon cases reach a loss
//	best.go       the best cases of a sweep
//	speedup.go    cases beside their rivals
//	lists.go      results.json as earlier versions wrote it
//	figures.go    the numbers of a run
//	experiment.go what was measured
//	paired.go     of which repeats show a difference
//	gridfile.go   a Plan from a file
//	grid.go       cases with each point of a grid of settings
//	case.go       what is to be measured: a Plan of Cases
//	spread.go     medians and ranges of repeats
//
// Below it, page makes a report of an Experiment or of runs, live shows a run while it goes
// on, rivals has other programs for the same jobs and a script that interleaves their runs.
package bench

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
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
	// Clock has cases compared by the virtual time that they take to TargetLoss, rates chosen by it too.
	Clock  bool
	AtOnce int // runs at a time: more than one where no time is measured
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

// SameSettings reports whether two lists set the same flags to the same values, in whatever order.
func SameSettings(a, b []Setting) bool {
	sorted := func(s []Setting) []Setting {
		return slices.SortedFunc(slices.Values(s), func(a, b Setting) int { return cmp.Compare(a.Flag, b.Flag) })
	}
	return slices.Equal(sorted(a), sorted(b))
}

// without is a case's settings, less some of them.
func (c *Case) without(flags ...string) map[string]string {
	all := map[string]string{}
	for _, s := range c.Settings {
		all[s.Flag] = s.Value
	}
	for _, f := range flags {
		delete(all, f)
	}
	return all
}

// reads is what a case reads: other cases that read it with the same seed may map what was read.
func (c *Case) reads() string {
	var all []string
	for _, flag := range []string{"data", "test", "validation", "format", "target", "ignore", "weight", "columns",
		"missing", "scale", "limit", "min-count", "word-ngrams", "buckets"} {
		all = append(all, c.Value(flag))
	}
	return strings.Join(all, "\n")
}

// flags returns the flags of hogwild train that make a case, with a seed.
func (c *Case) flags(seed uint64) (args []string) {
	for _, s := range c.All() {
		if c.Launcher == "" || s.Flag != "nodes" {
			args = append(args, "--"+s.Flag+"="+s.Value)
		}
	}
	args = append(args, fmt.Sprintf("--seed=%d", seed))
	if c.Value("solver") == "" { // what is compared is SGD
		args = append(args, "--solver=sgd")
	}
	if c.Value(validation) == "" { // as in a search
		args = append(args, "--validation=none") // cases are compared by the test loss of each epoch
	}
	return args
}

// NodesWord stands in a launcher for the number of nodes.
const NodesWord = "{nodes}"

// SetLauncher makes a launcher start the nodes of all cases that have several.
func (p *Plan) SetLauncher(launcher string) error {
	switch some := false; {
	case launcher == "":
		return nil
	case !strings.Contains(launcher, NodesWord):
		return usage("launcher %q: it lacks %s, the number of nodes; e.g. 'mpirun -n %s'", launcher,
			NodesWord, NodesWord)
	default:
		for i := range p.Cases {
			if c := &p.Cases[i]; several(c.Value("nodes")) {
				c.Launcher, some = launcher, true
			}
		}
		if !some {
			return usage("launcher %q: no case has several nodes; set nodes, or leave launcher out", launcher)
		}
	}
	return nil
}

// several reports whether a value of nodes is more than one.
func several(nodes string) bool { return nodes != "" && nodes != "0" && nodes != "1" }

// Sets by which a search scores.
const (
	validation = "validation"
	training   = "training" // where no rows can be held out, as of the edges of a graph
)

// Search is how a case came to its learning rate.
type Search struct {
	Set    string           `json:"set"` // whose loss decides: validation rows', or training rows'
	Seeds  []uint64         `json:"seeds"`
	Rates  []float64        `json:"rates"`             // ascending, the same for all cases of a group
	Losses [][]human.Number `json:"losses"`            // for each rate, by seed; NaN: it diverged or failed
	LR     float64          `json:"lr"`                // the one with the least mean
	AtEdge bool             `json:"at_edge,omitempty"` // it is the least or the greatest
}

// Mean returns the mean of a rate's losses; infinite if one is missing.
func (s *Search) Mean(i int) float64 {
	sum := 0.0
	for _, x := range s.Losses[i] {
		sum += float64(x)
	}
	if !human.Finite(sum) {
		return math.Inf(1)
	}
	return sum / float64(len(s.Losses[i]))
}

// usage returns an error in what the user wrote.
func usage(format string, a ...any) error { return config.Usage(format, a...) }
