package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

const (
	mostRepeats  = 1000 // more are a mistake
	quickRepeats = 3
)

// benchDefaults are what bench trains when nothing is said. Both sets are made in a fraction
// of a second, and trained in some tenths of one.
var benchDefaults = []bench.Case{
	{Name: "digits", Settings: values("data", "digits:20000", "model", "mlp:32", "lr", "0.1", "epochs", "10")},
	{Name: "sparse", Settings: values("data", "synth:rcv1:0.05", "model", "logistic", "lr", "0.5", "epochs", "20")},
}

const benchAbout = "Two small problems: a network on images of digits, whose every step writes all weights, " +
	"and logistic regression on sparse rows, whose steps seldom meet."

// values are settings, from flags each with its value behind it.
func values(words ...string) (all []bench.Setting) {
	for i := 0; i < len(words); i += 2 {
		all = append(all, bench.Setting{Flag: words[i], Value: words[i+1]})
	}
	return all
}

// plan makes the cases: those of the file, or the one of the flags, or the defaults, each
// in all modes and with all numbers of workers, but for what it says itself.
func (o *benchOptions) plan(s *settings) (p bench.Plan, err error) {
	bases, err := o.bases(s, &p)
	if err != nil {
		return p, err
	}
	for _, b := range bases {
		gpus, err := gpusOf(b)
		if err != nil {
			return p, err
		}
		modes, err := o.modeList(s, gpus)
		if err != nil {
			return p, err
		}
		workers, err := o.workerList(s, gpus)
		if err != nil {
			return p, err
		}
		cases, err := o.cross(b, modes, workers, len(bases) > 1)
		if err != nil {
			return p, err
		}
		p.Cases = append(p.Cases, cases...)
	}
	if o.out == "" {
		o.out = filepath.Join("runs", fmt.Sprintf("bench-%s-%s", time.Now().Format("20060102-150405"), p.Name))
	}
	p.Kind, p.Command = "bench", o.command(s)
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
		return usagef("--repeat %d: want from 1 to %d; or 0 with --floors, for the floors alone", o.repeat, mostRepeats)
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

// bases are what is to be trained, without modes and workers.
func (o *benchOptions) bases(s *settings, p *bench.Plan) ([]bench.Case, error) {
	var given []bench.Setting
	for _, name := range benchTrains {
		if s.given[name] {
			given = append(given, bench.Setting{Flag: name, Value: s.set.Lookup(name).Value.String()})
		}
	}
	switch {
	case o.config != "":
		return o.fileBases(given, p)
	case s.given["data"] || s.given["model"]:
		data, model := o.train.Data, o.train.Model
		p.Name = folderName(strings.Trim(filepath.Base(data)+"-"+model, "-"))
		return []bench.Case{{Name: p.Name, Settings: given}}, nil
	}
	p.Name, p.About = "small-sets", benchAbout
	var all []bench.Case
	for _, b := range benchDefaults {
		all = append(all, bench.Case{Name: b.Name, Settings: override(b.Settings, given)})
	}
	return all, nil
}

// override is settings with others in their places, or behind them.
func override(settings, by []bench.Setting) []bench.Setting {
	all := slices.Clone(settings)
	for _, b := range by {
		if i := slices.IndexFunc(all, func(s bench.Setting) bool { return s.Flag == b.Flag }); i >= 0 {
			all[i] = b
		} else {
			all = append(all, b)
		}
	}
	return all
}

// fileBases are the cases of the file, with the flags of the command line.
func (o *benchOptions) fileBases(given []bench.Setting, p *bench.Plan) ([]bench.Case, error) {
	text, err := os.ReadFile(o.config)
	if err != nil {
		return nil, usagef("reading the cases: %v", err)
	}
	if *p, err = readPlan(o.config, text); err != nil {
		return nil, err
	}
	bases := p.Cases
	p.Cases = nil
	for i, b := range bases {
		for _, g := range given {
			if has(b, g.Flag) {
				return nil, usagef("--%s: %s sets it already; leave one of them out", g.Flag, o.config)
			}
		}
		bases[i].Settings = override(b.Settings, given)
	}
	return bases, nil
}

// gpusOf is how many GPUs a base is to train on.
func gpusOf(b bench.Case) (int, error) {
	i := slices.IndexFunc(b.Settings, func(s bench.Setting) bool { return s.Flag == "gpu" })
	if i < 0 || b.Settings[i].Value == "" {
		return 0, nil
	}
	indices, choose, err := config.ReadGPUs(b.Settings[i].Value)
	return max(len(indices), choose), err
}

func has(c bench.Case, flag string) bool {
	return slices.ContainsFunc(c.Settings, func(s bench.Setting) bool { return s.Flag == flag })
}

// cross is a base in all modes and with all numbers of workers. These are a group; bases
// that say their modes themselves are one together, if they learn the same from the same.
// Where there are several bases the cases have their names in front of theirs.
func (o *benchOptions) cross(b bench.Case, modes, workers []string, several bool) (cases []bench.Case, err error) {
	for _, f := range []struct {
		flag, list, given string
		values            *[]string
	}{{"mode", "modes", o.modes, &modes}, {"workers", "workers", o.workers, &workers}} {
		if !has(b, f.flag) {
			continue
		}
		if f.given != "" {
			return nil, usagef("--%s: %s sets %s already; leave one of them out", f.list, o.config, f.flag)
		}
		*f.values = []string{""}
	}
	for _, m := range modes {
		workers := workers
		if strings.HasPrefix(m, "delayed") && !has(b, "workers") {
			workers = []string{"1"} // it plays them all
		}
		for _, w := range workers {
			c := bench.Case{Group: b.Name, Settings: slices.Clone(b.Settings)}
			if m == "" {
				c.Group = b.Group
			}
			var name []string // several: b.async-2, b-2 or b.async; else async-2
			if several || m == "" {
				name = append(name, b.Name)
			}
			if m != "" {
				c.Settings = append(c.Settings, bench.Setting{Flag: "mode", Value: m})
				name = append(name, m)
			}
			c.Name = strings.Join(name, ".")
			if w != "" {
				c.Settings = append(c.Settings, bench.Setting{Flag: "workers", Value: w})
				c.Name += "-" + w
			}
			if _, err := checkCase(c); err != nil {
				return nil, usagef("%v", err)
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// modeList reads --modes. On a GPU those are left out by default that it has with one
// worker only, or that are the same there as another.
func (o *benchOptions) modeList(s *settings, gpus int) ([]string, error) {
	if !s.given["modes"] {
		if gpus > 0 {
			return []string{"async", "sync"}, nil
		}
		return config.Modes, nil
	}
	return distinct("modes", strings.Split(o.modes, ","))
}

// workerList reads --workers: gpu:4,cpu:2 is one entry. GPUs have 1, 2 and 4 workers each by
// default, however many cores there are.
func (o *benchOptions) workerList(s *settings, gpus int) ([]string, error) {
	if !s.given["workers"] {
		if gpus > 0 {
			return []string{fmt.Sprint(gpus), fmt.Sprint(2 * gpus), fmt.Sprint(4 * gpus)}, nil
		}
		return upTo(runtime.NumCPU()), nil
	}
	var all []string
	for _, w := range strings.Split(o.workers, ",") {
		w = strings.TrimSpace(w)
		if n := len(all); n > 0 && strings.HasPrefix(w, "cpu:") && strings.HasPrefix(all[n-1], "gpu:") && !strings.Contains(all[n-1], ",") {
			all[n-1] += "," + w
			continue
		}
		if n, err := strconv.Atoi(w); err == nil && n < 1 || w == "" {
			return nil, usagef("--workers %q: want numbers from 1, as 1,2,4", o.workers)
		}
		all = append(all, w)
	}
	return distinct("workers", all)
}

// upTo is 1, 2, 4 ... and the number of cores.
func upTo(cores int) (all []string) {
	for n := 1; n < cores; n *= 2 {
		all = append(all, fmt.Sprint(n))
	}
	return append(all, fmt.Sprint(cores))
}

// distinct are the entries of a list, each of which may stand there once.
func distinct(flag string, list []string) ([]string, error) {
	for i, v := range list {
		list[i] = strings.TrimSpace(v)
		if list[i] == "" {
			return nil, usagef("--%s: an entry is empty; write them as in a,b", flag)
		}
		if slices.Contains(list[:i], list[i]) {
			return nil, usagef("--%s: %s is there twice", flag, list[i])
		}
	}
	return list, nil
}

// command is the command that measures the same, or goes on with it.
func (o *benchOptions) command(s *settings) string {
	words := []string{"hogwild", "bench"}
	for _, f := range s.command.Flags {
		name := f.Names()[0]
		v := s.set.Lookup(name)
		switch {
		case !s.given[name] || name == "out" || name == "json":
		case isBool(v):
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, v.Value.String())
		}
	}
	return commandLine(append(words, "--out", o.out)...)
}
