package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// MostSeeds of an experiment: more are a mistake.
const MostSeeds = 10_000

// Of the documents of an experiment file each has a grid; what is the same for all stands in
// the first one.
var (
	gridKeys = []string{"base", "grid", "cases", "names"}
	planKeys = slices.Concat([]string{"name", "about"}, gridKeys, []string{"seeds", "target-loss", "launcher"})
)

// gridFile is an experiment file while it is read.
type gridFile struct {
	path     string
	flags    Flags
	grouped  bool // it names the groups itself
	launcher string
}

// ReadPlan reads an experiment file: what is common to all cases, a grid or a list of
// what they differ in, and the seeds. Every case is checked as `hogwild train` would
// check it; without flags, settings are taken as they stand. Errors match config.ErrUsage and
// say file, line and column.
func ReadPlan(path string, text []byte, flags Flags) (p Plan, err error) {
	if flags == nil {
		flags = anyFlags{}
	}
	f := &gridFile{path: path, flags: flags}
	base := filepath.Base(path)
	p = Plan{Kind: "sweep", Seeds: FirstSeeds(1),
		Name: cmp.Or(FolderName(strings.TrimSuffix(base, filepath.Ext(base))), "experiment")}
	documents, err := config.Documents(path, text)
	if err != nil {
		return p, err
	}
	if len(documents) == 0 {
		return p, usage("%s: the file is empty; `hogwild sweep --help` shows an example", path)
	}
	var grids []Grid
	for i, entries := range documents {
		known := planKeys
		if i > 0 {
			known = gridKeys
		}
		g, err := f.document(&p, entries, known)
		if err != nil {
			return p, err
		}
		grids = append(grids, g)
	}
	if p.Cases, err = Cross(grids, flags); err != nil {
		return p, err
	}
	if !f.grouped {
		setGroups(p.Cases)
	}
	if err := p.SetLauncher(f.launcher); err != nil {
		return p, usage("%s: %v", path, err)
	}
	return p, nil
}

func (f *gridFile) errorf(at *token.Token, format string, a ...any) error {
	return usage("%s: %s", config.Place(f.path, at), fmt.Sprintf(format, a...))
}

// document reads a grid, and into the plan what else the file says.
func (f *gridFile) document(p *Plan, entries []config.Entry, known []string) (g Grid, err error) {
	g = Grid{path: f.path}
	values := map[string]ast.Node{}
	for _, e := range entries {
		key := e.Key.Value
		if !slices.Contains(known, key) {
			return g, f.errorf(e.Key, "unknown key %q%s (keys: %s; flags of `hogwild train` go under base, grid or "+
				"cases)",
				key, human.Suggest("", key, known), strings.Join(known, ", "))
		}
		values[key] = e.Value
	}
	for _, key := range known { // in this order: what is under grid may not stand under base, and so on
		if n := values[key]; n != nil {
			if err := f.key(p, &g, key, n); err != nil {
				return g, err
			}
		}
	}
	if n := values["names"]; n != nil {
		if err := f.checkNames(&g, n.GetToken()); err != nil {
			return g, err
		}
	}
	if values["cases"] == nil { // one, to which no line adds anything
		g.Cases, g.at = []Case{{}}, []*token.Token{entries[0].Key}
		for _, key := range []string{"grid", "base", "seeds", "name", "about"} {
			if n := values[key]; n != nil {
				g.at[0] = n.GetToken()
				break
			}
		}
	}
	return g, nil
}

// checkNames refuses names of cases with a $flag that none of them sets: nothing would stand there.
func (f *gridFile) checkNames(g *Grid, at *token.Token) error {
	known := []string{"name"}
	for _, settings := range slices.Concat([][]Setting{g.Base}, g.Axes) {
		for _, s := range settings {
			known = append(known, s.Flag)
		}
	}
	for _, c := range g.Cases {
		for _, s := range c.Settings {
			known = append(known, s.Flag)
		}
	}
	var err error
	os.Expand(g.Names, func(flag string) string {
		if err == nil && !slices.Contains(known, flag) {
			err = f.errorf(at, "names: no case sets $%s%s (use $name and flags that cases set, in braces if they "+
				"have a hyphen: ${average-every})",
				flag, human.Suggest("$", flag, known))
		}
		return ""
	})
	return err
}

// key reads what stands behind a key.
func (f *gridFile) key(p *Plan, g *Grid, key string, n ast.Node) (err error) {
	t := n.GetToken()
	switch key {
	case "name":
		p.Name, err = f.name(n)
	case "about":
		switch n := n.(type) {
		case *ast.StringNode:
			p.About = n.Value
		case *ast.LiteralNode: // more than one line
			p.About = strings.Join(strings.Fields(n.Value.Value), " ")
		default:
			return f.errorf(t, "about: want text")
		}
	case "names":
		if n.Type() != ast.StringType {
			return f.errorf(t, "names: want text, e.g. $name-$mode-$workers")
		}
		g.Names = t.Value
	case "base":
		g.Base, err = f.settings(n, "base: want flags of `hogwild train`, e.g. {data: digits, epochs: 3}")
	case "grid":
		g.Axes, err = f.axes(g, n)
	case "cases":
		err = f.cases(g, n)
	case "seeds":
		p.Seeds, err = f.seeds(n)
	case "target-loss":
		if p.TargetLoss, err = strconv.ParseFloat(t.Value, 64); err != nil ||
			!(p.TargetLoss > 0 && p.TargetLoss < 1e30) {
			return f.errorf(t, "target-loss: %q: want a positive number", t.Value)
		}
	case "launcher":
		if n.Type() != ast.StringType {
			return f.errorf(t, "launcher: want a command in quotes, e.g. 'mpirun -n %s'", NodesWord)
		}
		f.launcher = t.Value
	}
	return err
}

// inNames is what names of experiments and cases are made of: they become folders.
var inNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._=,+:-]*$`)

// name checks a name that the file gives.
func (f *gridFile) name(n ast.Node) (string, error) {
	t := n.GetToken()
	if n.Type() != ast.StringType && n.Type() != ast.IntegerType || !inNames.MatchString(t.Value) ||
		len(t.Value) > longestName {
		return "", f.errorf(t, "name %q: want a letter or digit, then letters, digits or ._=,+:-, at most %d "+
			"characters (it names a folder)", t.Value, longestName)
	}
	return t.Value, nil
}

// seeds are a list, or how many there are.
func (f *gridFile) seeds(n ast.Node) (seeds []uint64, err error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		t := n.GetToken()
		count, err := strconv.Atoi(t.Value)
		if err != nil || count < 1 || count > MostSeeds {
			return nil, f.errorf(t, "seeds: want a list, e.g. [1, 2, 3], or a count from 1 to %d", MostSeeds)
		}
		return FirstSeeds(count), nil
	}
	if len(list.Values) == 0 {
		return nil, f.errorf(n.GetToken(), "seeds: the list is empty; remove it to use seed 1")
	}
	for _, v := range list.Values {
		t := v.GetToken()
		seed, err := strconv.ParseUint(t.Value, 10, 64)
		if err != nil {
			return nil, f.errorf(t, "seeds: %q: want a whole number, 0 or more", t.Value)
		}
		if slices.Contains(seeds, seed) {
			return nil, f.errorf(t, "seeds: %d is listed twice", seed)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

// settings are lines of `flag: value`; want is what to say of anything else.
func (f *gridFile) settings(n ast.Node, want string) (all []Setting, err error) {
	entries, ok := config.Entries(n)
	if !ok {
		return nil, f.errorf(n.GetToken(), "%s", want)
	}
	for _, e := range entries {
		s, err := f.flags.Read(f.path, e)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// axes are flags with lists of values.
func (f *gridFile) axes(g *Grid, n ast.Node) (axes [][]Setting, err error) {
	entries, ok := config.Entries(n)
	if !ok {
		return nil, f.errorf(n.GetToken(), "grid: want flags of `hogwild train` with lists, e.g. {lr: [0.01, 0.1], "+
			"workers: [1, 2]}")
	}
	for _, e := range entries {
		list, ok := e.Value.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			return nil, f.errorf(e.Key, "%s: want a list of values, e.g. [0.01, 0.1]; settings common to all cases "+
				"go under base", e.Key.Value)
		}
		var axis []Setting
		for _, v := range list.Values {
			s, err := f.flags.Read(f.path, config.Entry{Key: e.Key, Value: v})
			if err != nil {
				return nil, err
			}
			axis = append(axis, s)
		}
		if has(g.Base, axis[0].Flag) {
			return nil, f.errorf(e.Key, "%s: also set under base; remove one", e.Key.Value)
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// cases are a list of flags each, with a name and a group if they say them.
func (f *gridFile) cases(g *Grid, n ast.Node) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return f.errorf(n.GetToken(), "cases: want a list, e.g. [{mode: async}, {mode: sync, average-every: 1}]")
	}
	for _, v := range list.Values {
		entries, ok := config.Entries(v)
		if !ok {
			return f.errorf(v.GetToken(), "cases: want flags of `hogwild train`, e.g. {mode: sync, average-every: 1}")
		}
		var c Case
		at := v.GetToken()
		for i, e := range entries {
			if i == 0 {
				at = e.Key
			}
			if err := f.inCase(g, &c, e); err != nil {
				return err
			}
		}
		g.Cases, g.at = append(g.Cases, c), append(g.at, at)
	}
	return nil
}

// inCase reads a line of a case.
func (f *gridFile) inCase(g *Grid, c *Case, e config.Entry) (err error) {
	switch e.Key.Value {
	case "name":
		c.Name, err = f.name(e.Value)
		return err
	case "group":
		c.Group, err = f.name(e.Value)
		f.grouped = true
		return err
	}
	s, err := f.flags.Read(f.path, e)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(g.Axes, func(axis []Setting) bool { return axis[0].Flag == s.Flag }) {
		return f.errorf(e.Key, "%s: also set in the grid; remove one", s.Flag)
	}
	c.Settings = append(c.Settings, s)
	return nil
}

func has(settings []Setting, flag string) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool { return s.Flag == flag })
}
