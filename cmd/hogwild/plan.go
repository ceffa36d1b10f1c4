package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// Limits of an experiment file: more is a mistake.
const (
	mostCases = 10_000
	mostSeeds = 10_000
)

// planKeys are what an experiment file may say, each once.
var planKeys = []string{"name", "about", "base", "grid", "cases", "seeds", "target-loss"}

// choice is a flag of train with a value, and where the file says so.
type choice struct {
	flag, value string
	at          *token.Token
}

// planFile is an experiment file while it is read.
type planFile struct {
	path  string
	keys  map[string]ast.Node
	base  []choice
	grid  [][]choice // of each key, all its values
	cases []draft    // one without choices if the file lists none
}

// draft is a case in the making.
type draft struct {
	name    string // "": made from what varies
	choices []choice
	own     int // of the choices, those that are not of the grid: the first
	at      *token.Token
}

// readPlan reads an experiment file: what is common to all cases, a grid or a list of
// what they differ in, and the seeds. Every case is checked as `hogwild train` would
// check it. Errors match config.ErrUsage and say file, line and column.
func readPlan(path string, text []byte) (bench.Plan, error) {
	f := &planFile{path: path, keys: map[string]ast.Node{}}
	p := bench.Plan{Kind: "sweep", Seeds: []uint64{1}}
	entries, err := mapping(path, text)
	if err != nil {
		return p, err
	}
	if len(entries) == 0 {
		return p, usagef("%s: it is empty; `hogwild sweep --help` shows an example", path)
	}
	for _, e := range entries {
		key := e.Key.GetToken()
		if !slices.Contains(planKeys, key.Value) {
			return p, f.errorf(key, "unknown key %q%s (an experiment has %s; flags of `hogwild train` stand under base, grid and cases)",
				key.Value, suggest("", key.Value, planKeys), strings.Join(planKeys, ", "))
		}
		f.keys[key.Value] = e.Value
	}
	for _, read := range []func(*bench.Plan) error{f.readHead, f.readSeeds, f.readBase, f.readGrid, f.readCases, f.combine} {
		if err := read(&p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (f *planFile) errorf(at *token.Token, format string, a ...any) error {
	return usagef("%s: %s", place(f.path, at), fmt.Sprintf(format, a...))
}

// inNames is what names of experiments and cases are made of: they become folders.
var inNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._=,+:-]*$`)

// longestName leaves room for a seed behind it in the name of a folder.
const longestName = 160

// readName checks a name that the file gives.
func (f *planFile) readName(n ast.Node) (string, error) {
	t := n.GetToken()
	if n.Type() != ast.StringType && n.Type() != ast.IntegerType || !inNames.MatchString(t.Value) || len(t.Value) > longestName {
		return "", f.errorf(t, "name %q: it names a folder: want letters, digits and ._=,+:- behind a letter or digit, %d at most", t.Value, longestName)
	}
	return t.Value, nil
}

// readHead reads name, about and target-loss.
func (f *planFile) readHead(p *bench.Plan) (err error) {
	base := filepath.Base(f.path)
	p.Name = cmp.Or(folderName(strings.TrimSuffix(base, filepath.Ext(base))), "experiment")
	if n := f.keys["name"]; n != nil {
		if p.Name, err = f.readName(n); err != nil {
			return err
		}
	}
	if n := f.keys["about"]; n != nil {
		switch n := n.(type) {
		case *ast.StringNode:
			p.About = n.Value
		case *ast.LiteralNode: // more than one line
			p.About = strings.Join(strings.Fields(n.Value.Value), " ")
		default:
			return f.errorf(n.GetToken(), "about: want a sentence")
		}
	}
	if n := f.keys["target-loss"]; n != nil {
		t := n.GetToken()
		if p.TargetLoss, err = strconv.ParseFloat(t.Value, 64); err != nil || !(p.TargetLoss > 0 && p.TargetLoss < 1e30) {
			return f.errorf(t, "target-loss: %q: want a positive number", t.Value)
		}
	}
	return nil
}

// readSeeds reads a list of seeds, or how many there are.
func (f *planFile) readSeeds(p *bench.Plan) error {
	n := f.keys["seeds"]
	if n == nil {
		return nil
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		t := n.GetToken()
		count, err := strconv.Atoi(t.Value)
		if err != nil || count < 1 || count > mostSeeds {
			return f.errorf(t, "seeds: want a list, as [1, 2, 3], or how many, from 1 to %d", mostSeeds)
		}
		p.Seeds = bench.FirstSeeds(count)
		return nil
	}
	if len(list.Values) == 0 {
		return f.errorf(n.GetToken(), "seeds: the list is empty; leave it out for seed 1 alone")
	}
	p.Seeds = nil
	for _, v := range list.Values {
		t := v.GetToken()
		seed, err := strconv.ParseUint(t.Value, 10, 64)
		if err != nil {
			return f.errorf(t, "seeds: %q: want a whole number, not negative", t.Value)
		}
		if slices.Contains(p.Seeds, seed) {
			return f.errorf(t, "seeds: %d is there twice", seed)
		}
		p.Seeds = append(p.Seeds, seed)
	}
	return nil
}

// read is the choice that one line makes.
func (f *planFile) read(key *token.Token, value ast.Node) (choice, error) {
	if why := ours[key.Value]; why != "" {
		return choice{}, f.errorf(key, "%s: %s", key.Value, why)
	}
	_, s, err := trainSettings()
	if err != nil {
		return choice{}, err
	}
	flag, text, err := s.put(f.path, key, value)
	return choice{flag, text, key}, err
}

// ours are the flags of train that are not a case's to set.
var ours = map[string]string{
	"seed":       "the seeds of all cases stand at the top: seeds: [1, 2, 3]",
	"run":        "an experiment makes the run folders itself; leave it out",
	"resume":     "each run of an experiment starts anew; leave it out",
	"config":     "write the settings themselves here",
	"save-every": "an experiment keeps no snapshots; leave it out",
	"json":       "leave it out: `hogwild sweep --json` prints the results",
	"quiet":      "leave it out: runs of an experiment are quiet",
	"dashboard":  "nobody would be told its address; leave it out",
	"cpuprofile": "all runs would write the same file; leave it out",
	"trace":      "all runs would write the same file; leave it out",
}

// trainSettings are the flags of train, all at their defaults.
func trainSettings() (*trainOptions, *settings, error) {
	o := &trainOptions{Config: config.Default()}
	s, err := newSettings(&cli.Command{Name: "train", Flags: o.flags()})
	return o, s, err
}

// readChoices reads lines of `flag: value`.
func (f *planFile) readChoices(entries []*ast.MappingValueNode) (all []choice, err error) {
	for _, e := range entries {
		c, err := f.read(e.Key.GetToken(), e.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (f *planFile) readBase(*bench.Plan) error {
	n := f.keys["base"]
	if n == nil {
		return nil
	}
	entries, err := pairs(f.path, n, "base: want flags of `hogwild train`, as {data: digits, epochs: 3}")
	if err == nil {
		f.base, err = f.readChoices(entries)
	}
	return err
}

func (f *planFile) readGrid(*bench.Plan) error {
	n := f.keys["grid"]
	if n == nil {
		return nil
	}
	entries, err := pairs(f.path, n, "grid: want flags of `hogwild train` with lists, as {lr: [0.01, 0.1], workers: [1, 2]}")
	if err != nil {
		return err
	}
	for _, e := range entries {
		key := e.Key.GetToken()
		list, ok := e.Value.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			return f.errorf(key, "%s: want a list of values, as [0.01, 0.1]; what is the same for all stands under base", key.Value)
		}
		var axis []choice
		for _, v := range list.Values {
			c, err := f.read(key, v)
			if err != nil {
				return err
			}
			axis = append(axis, c)
		}
		if find(f.base, axis[0].flag) >= 0 {
			return f.errorf(key, "%s: it stands under base too; leave one of them out", key.Value)
		}
		f.grid = append(f.grid, axis)
	}
	return nil
}

func (f *planFile) readCases(*bench.Plan) error {
	n := f.keys["cases"]
	if n == nil {
		f.cases = []draft{{at: f.start()}}
		return nil
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return f.errorf(n.GetToken(), "cases: want a list, as [{mode: async}, {mode: sync, average-every: 1}]")
	}
	for _, v := range list.Values {
		d, err := f.readCase(v)
		if err != nil {
			return err
		}
		f.cases = append(f.cases, d)
	}
	return nil
}

func (f *planFile) readCase(n ast.Node) (d draft, err error) {
	entries, err := pairs(f.path, n, "cases: want flags of `hogwild train`, as {mode: sync, average-every: 1}")
	if err != nil {
		return d, err
	}
	d.at = n.GetToken()
	var settings []*ast.MappingValueNode
	for i, e := range entries {
		if i == 0 {
			d.at = e.Key.GetToken()
		}
		if e.Key.GetToken().Value != "name" {
			settings = append(settings, e)
		} else if d.name, err = f.readName(e.Value); err != nil {
			return d, err
		}
	}
	if d.choices, err = f.readChoices(settings); err != nil {
		return d, err
	}
	d.own = len(d.choices)
	for _, axis := range f.grid {
		if i := find(d.choices, axis[0].flag); i >= 0 {
			return d, f.errorf(d.choices[i].at, "%s: it stands in the grid too; leave one of them out", d.choices[i].flag)
		}
	}
	return d, nil
}

// start is where the experiment begins: to name a place for what no line alone says.
func (f *planFile) start() *token.Token {
	for _, key := range []string{"grid", "base", "seeds", "name", "about"} {
		if n := f.keys[key]; n != nil {
			return n.GetToken()
		}
	}
	return &token.Token{Position: &token.Position{Line: 1, Column: 1}}
}

func find(all []choice, flag string) int {
	return slices.IndexFunc(all, func(c choice) bool { return c.flag == flag })
}
