package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/internal/machine"
)

const (
	mostRepeats  = 1000 // more are a mistake
	quickRepeats = 3
)

// plan makes the cases: the file's, or the one of the flags, or two small sets, each in all modes and with all numbers
// of workers, but for what it says itself.
func (o *benchOptions) plan(s *settings) (p bench.Plan, err error) {
	if p, err = o.bases(s); err != nil {
		return p, err
	}
	var grids []bench.Grid
	for _, base := range p.Cases {
		if decays(base) {
			base.Settings = bench.Override(base.Settings, axis("schedule", string(o.train.Schedule)))
		}
		of, err := o.grids(s, base, len(p.Cases) > 1)
		if err != nil {
			return p, err
		}
		grids = append(grids, of...)
	}
	if p.Cases, err = bench.Cross(grids, caseFlags{}); err != nil {
		return p, err
	}
	if err := p.SetLauncher(o.launcher); err != nil {
		return p, fmt.Errorf("--%w", err)
	}
	if o.out == "" {
		o.out = filepath.Join("runs", fmt.Sprintf("bench-%s-%s", time.Now().Format("20060102-150405"), p.Name))
	}
	p.Kind, p.Command = "bench", s.again(o.out, "bench")
	err = o.finish(s, &p)
	return p, err
}

// finish says how often, and to which loss.
func (o *benchOptions) finish(s *settings, p *bench.Plan) error {
	if o.quick && !s.given["repeat"] {
		o.repeat = quickRepeats
	}
	switch {
	case o.repeat < 1 || o.repeat > mostRepeats:
		return usagef("--repeat %d: want 1 to %d", o.repeat, mostRepeats)
	case s.given["target-loss"] && !(o.target > 0 && o.target < 1e30):
		return usagef("--target-loss %g: want a positive number", o.target)
	}
	if s.given["target-loss"] {
		p.TargetLoss = o.target
	}
	if len(p.Seeds) < 2 || s.given["repeat"] || o.quick {
		p.Seeds = bench.FirstSeeds(o.repeat)
	}
	return nil
}

// bases returns a plan of what is to be trained, without modes and workers.
func (o *benchOptions) bases(s *settings) (p bench.Plan, err error) {
	var given []bench.Setting
	for _, name := range benchTrains {
		if s.given[name] {
			given = append(given, bench.Setting{Flag: name, Value: s.set.Lookup(name).Value.String()})
		}
	}
	switch {
	case o.config != "":
		text, err := config.ReadYAML(o.config)
		if err != nil {
			return p, usagef("--config %s: %v", o.config, cause(err))
		}
		if p, err = bench.ReadPlan(o.config, text, caseFlags{}); err != nil {
			return p, err
		}
	case s.given["data"] || s.given["model"] || s.given["program"]:
		name := bench.FolderName(strings.Trim(filepath.Base(o.train.Data)+"-"+o.train.Model, "-"))
		if s.given["program"] { // it may have data of its own
			name = bench.FolderName(o.train.Program)
		}
		return bench.Plan{Name: name, Cases: []bench.Case{{Name: name, Settings: given}}}, nil
	default:
		if p, err = bench.BuiltInPlan("small-sets", nil, caseFlags{}); err != nil {
			return p, err
		}
	}
	for i, c := range p.Cases {
		for _, g := range given {
			if o.config != "" && c.Value(g.Flag) != "" {
				return p, usagef("--%s: %s sets it already; leave one of them out", g.Flag, o.config)
			}
		}
		p.Cases[i].Settings = bench.Override(c.Settings, given)
	}
	return p, nil
}

// grids returns a base in all modes and with all numbers of workers, but for what it says itself. The results are a
// group; bases that say their modes themselves are one together, if they learn the same from the same. Where there are
// several bases, cases have their names in front of theirs.
func (o *benchOptions) grids(s *settings, base bench.Case, several bool) (grids []bench.Grid, err error) {
	gpus, err := gpusOf(base)
	if err != nil {
		return nil, err
	}
	modes, err := o.modeList(s, base, gpus)
	if err != nil {
		return nil, err
	}
	workers, err := o.workerList(s, gpus)
	if err != nil {
		return nil, err
	}
	ownMode, ownWorkers := base.Value("mode") != "", base.Value("workers") != ""
	switch {
	case ownMode && o.modes != "":
		return nil, usagef("--modes: %s sets mode already; leave one of them out", o.config)
	case ownWorkers && o.workers != "":
		return nil, usagef("--workers: %s sets workers already; leave one of them out", o.config)
	}
	g := bench.Grid{Names: "$name"}
	if ownMode {
		modes = []string{base.Value("mode")}
	} else {
		base.Group = base.Name
		if g.Names = "$mode"; several {
			g.Names = "$name.$mode"
		}
	}
	if !ownWorkers {
		g.Names += "-$workers"
	}
	g.Cases = []bench.Case{base}
	for _, mode := range modes {
		g.Axes = [][]bench.Setting{axis("mode", mode)}
		m, _ := config.ParseMode(mode) // what is none is refused with its case
		switch {
		case ownWorkers:
		case !ownMode && m.Traits().Simulated:
			g.Axes = append(g.Axes, axis("workers", "1")) // it plays them all
		default:
			g.Axes = append(g.Axes, axis("workers", workers...))
		}
		of, err := o.nodeGrids(s, g)
		if err != nil {
			return nil, err
		}
		grids = append(grids, of...)
	}
	return grids, nil
}

// decays reports whether a case gets the default schedule: it names none itself, takes the schedule's steps and trains
// all of its epochs.
func decays(c bench.Case) bool {
	has := func(flag string) bool { return c.Value(flag) != "" }
	return !slices.ContainsFunc([]string{"schedule", "program", "target-loss", "target-accuracy"}, has) &&
		c.Value("solver") != string(config.Dual) && !model.FamilyOf(c.Value("model")).OfText()
}

// nodeGrids returns a grid for each number of nodes that was asked for, with the rounds where there are several; the
// grid itself if none was.
func (o *benchOptions) nodeGrids(s *settings, g bench.Grid) (grids []bench.Grid, err error) {
	counts, err := o.nodeList(s)
	if err != nil {
		return nil, err
	}
	for _, flag := range []string{"nodes", "rounds"} {
		if s.given[flag] && g.Cases[0].Value(flag) != "" {
			return nil, usagef("--%s: %s sets %s already; leave one of them out", flag, o.config, flag)
		}
	}
	if len(counts) == 0 {
		return []bench.Grid{g}, nil
	}
	var rounds []string
	if s.given["rounds"] {
		if rounds, err = distinct("rounds", strings.Split(o.rounds, ",")); err != nil {
			return nil, err
		}
	}
	for _, n := range counts {
		of := g
		of.Names += ",nodes=$nodes"
		of.Axes = append(slices.Clone(g.Axes), axis("nodes", fmt.Sprint(n)))
		if n > 1 && len(rounds) > 0 {
			of.Names += ",rounds=$rounds"
			of.Axes = append(of.Axes, axis("rounds", rounds...))
		}
		grids = append(grids, of)
	}
	return grids, nil
}

// nodeList reads --nodes; empty without it.
func (o *benchOptions) nodeList(s *settings) (counts []int, err error) {
	var list []string
	if s.given["nodes"] {
		if list, err = distinct("nodes", strings.Split(o.nodes, ",")); err != nil {
			return nil, err
		}
	}
	for _, text := range list {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, usagef("--nodes %q: want numbers from 1, e.g. 1,2,4", o.nodes)
		}
		counts = append(counts, n)
	}
	if several := len(counts) > 0 && slices.Max(counts) > 1; s.given["rounds"] && !several {
		return nil, usagef("--rounds %s has no effect without several nodes: add --nodes 2, or leave --rounds out",
			o.rounds)
	}
	return counts, nil
}

func axis(flag string, values ...string) (all []bench.Setting) {
	for _, v := range values {
		all = append(all, bench.Setting{Flag: flag, Value: v})
	}
	return all
}

// modeList reads --modes. On a GPU those are left out by default that it has with one
// worker only, or that are the same there as another; with a program those that it cannot have.
func (o *benchOptions) modeList(s *settings, base bench.Case, gpus int) ([]string, error) {
	if !s.given["modes"] {
		if gpus > 0 || base.Value("program") != "" {
			return []string{"async", "sync"}, nil
		}
		if s.given["nodes"] {
			return []string{"async"}, nil
		}
		return config.Modes, nil
	}
	return distinct("modes", strings.Split(o.modes, ","))
}

// workerList reads --workers. GPUs have 1, 2 and 4 workers each by default, however many cores there are.
func (o *benchOptions) workerList(s *settings, gpus int) ([]string, error) {
	if !s.given["workers"] {
		if gpus > 0 {
			return []string{fmt.Sprint(gpus), fmt.Sprint(2 * gpus), fmt.Sprint(4 * gpus)}, nil
		}
		if counts, err := o.nodeList(s); err != nil || len(counts) > 0 {
			return []string{fmt.Sprint(max(1, machine.Cores()/max(1, slices.Max(append(counts, 1)))))}, err
		}
		return upTo(machine.Cores()), nil
	}
	var all []string
	for _, w := range strings.Split(o.workers, ",") {
		w = strings.TrimSpace(w)
		if n, err := strconv.Atoi(w); err == nil && n < 1 || w == "" {
			return nil, usagef("--workers %q: want numbers from 1, e.g. 1,2,4", o.workers)
		}
		all = append(all, w)
	}
	return distinct("workers", all)
}

// upTo returns 1, 2, 4 ... and the number of cores.
func upTo(cores int) (all []string) {
	for n := 1; n < cores; n *= 2 {
		all = append(all, fmt.Sprint(n))
	}
	return append(all, fmt.Sprint(cores))
}

// benchTrains are the flags of train that bench takes as well.
var benchTrains = []string{"data", "test", "model", "program", "limit", "scale", "batch", "epochs", "lr", "schedule",
	"optimizer", "momentum", "gpu"}
