package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// caseFlags is what a grid has to know of the flags of train.
type caseFlags struct{}

// trainSettings returns the flags of train, all at their defaults.
func trainSettings() (*trainOptions, *settings, error) {
	o := &trainOptions{Config: config.Default()}
	s, err := newSettings(&cli.Command{Name: "train", Flags: o.flags()})
	return o, s, err
}

// ours are the flags of train that are not a case's to set.
var ours = map[string]string{
	"seed":       "seeds are the same for all cases; write them at the top: seeds: [1, 2, 3]",
	"run":        "an experiment names its run folders itself; leave it out",
	"resume":     "runs of an experiment start from scratch; leave it out",
	"config":     "write the settings themselves here",
	"save-every": "an experiment keeps no snapshots; leave it out",
	"json":       "leave it out: `hogwild sweep --json` prints the results",
	"quiet":      "leave it out: runs of an experiment are quiet",
	"dashboard":  "runs of an experiment have no dashboard; leave it out",
	"cpuprofile": "all runs would write the same file; leave it out",
	"trace":      "all runs would write the same file; leave it out",
}

// Read returns the setting that one line makes.
func (caseFlags) Read(path string, e config.Entry) (bench.Setting, error) {
	if why := ours[e.Key.Value]; why != "" {
		return bench.Setting{}, usagef("%s: %s: %s", config.Place(path, e.Key), e.Key.Value, why)
	}
	_, s, err := trainSettings()
	if err != nil {
		return bench.Setting{}, err
	}
	flag, text, err := s.put(path, e)
	return bench.Setting{Flag: flag, Value: text}, err
}

// Check sees whether train would take the flags of a case, and returns all its flags as a text, which is the same for
// two cases that are equal, however they are written.
func (caseFlags) Check(c bench.Case) (string, error) {
	o, s, err := trainSettings()
	if err != nil {
		return "", err
	}
	for _, v := range c.Settings {
		if err := s.assign(v.Flag, v.Value); err != nil {
			return "", fmt.Errorf("--%s %v", v.Flag, err)
		}
	}
	o.Nodes = o.localNodes
	if err := s.checkIdle(&o.Config); err != nil {
		return "", err
	}
	if err := o.checkHere(); err != nil {
		return "", err
	}
	o.Config, _ = o.Resolve() // it is valid
	gpus, err := gpusOf(c)
	if err != nil {
		return "", err
	}
	if o.Workers < gpus {
		return "", fmt.Errorf("gpu %s: each GPU needs at least one worker; use --workers %d or more", o.GPU, gpus)
	}
	var all strings.Builder
	s.set.VisitAll(func(f *flag.Flag) { fmt.Fprintf(&all, "%s=%s\n", f.Name, f.Value) })
	return all.String(), nil
}

// gpusOf returns how many GPUs a case is to train on.
func gpusOf(c bench.Case) (int, error) {
	text := c.Value("gpu")
	if text == "" {
		return 0, nil
	}
	indices, choose, err := config.ReadGPUs(text)
	return max(len(indices), choose), err
}

// distinct returns the entries of a flag's list, which may have each of them once.
func distinct(flag string, list []string) ([]string, error) {
	for i, v := range list {
		list[i] = strings.TrimSpace(v)
		if list[i] == "" {
			return nil, usagef("--%s: an entry is empty; write a list like a,b", flag)
		}
		if slices.Contains(list[:i], list[i]) {
			return nil, usagef("--%s: %s is listed twice", flag, list[i])
		}
	}
	return list, nil
}
