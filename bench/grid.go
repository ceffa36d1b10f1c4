package bench

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"

	"hogwild/hogwild/config"
)

// Grid is cases, each with each point of a grid of settings, on top of what all share.
type Grid struct {
	Base  []Setting
	Axes  [][]Setting // of a flag each, all its values: the first flag changes slowest
	Cases []Case      // at least one, which may have no settings
	// Names is what cases are called: $mode, $workers and so on stand for their settings, $name
	// for the name in Cases. "": that name and what else varies.
	Names string

	path string         // of the file that has it; "": none
	at   []*token.Token // where it has each of Cases
}

// Flags is what a grid has to know of the flags of hogwild train.
type Flags interface {
	// Read is the setting that a line of a file makes.
	Read(path string, e config.Entry) (Setting, error)
	// Check refuses a case that train would refuse. What it returns is the same for two cases
	// that are equal, however they are written.
	Check(Case) (string, error)
}

// anyFlags takes settings as they stand.
type anyFlags struct{}

func (anyFlags) Read(_ string, e config.Entry) (Setting, error) {
	return Setting{e.Key.Value, e.Value.GetToken().Value}, nil
}

func (anyFlags) Check(c Case) (string, error) { return c.Name, nil }

// mostCases of an experiment: more are a mistake.
const mostCases = 10_000

// point is a case in the making.
type point struct {
	Case
	grid   *Grid
	varied []Setting // all but the base
	own    int       // of varied, from Grid.Cases: the first
	at     *token.Token
}

// Cross makes the cases of grids, with a name each. It refuses cases that train would refuse,
// and cases of one group that are equal.
func Cross(grids []Grid, flags Flags) (cases []Case, err error) {
	var points []point
	for i := range grids {
		points = append(points, grids[i].points()...)
		if len(points) > mostCases {
			return nil, points[0].errorf("the grid has more than %d cases; remove some values", mostCases)
		}
	}
	varies := varying(points)
	taken, equal := map[string]bool{}, map[string]string{} // the latter by group and what all flags come to
	for _, p := range points {
		c := p.Case
		if c.Name = p.caseName(varies); c.Name == "" {
			return nil, p.errorf("names: %q gives this case an empty name; use letters, digits, $name and flags that "+
				"the case sets", p.grid.Names)
		}
		if taken[c.Name] && p.Name != "" {
			return nil, p.errorf("two cases are both named %s", c.Name)
		}
		c.Name = free(c.Name, taken)
		if slices.ContainsFunc(c.Settings, func(s Setting) bool { return s.Flag == "validation" }) {
			return nil, p.errorf("case %s: validation: an experiment compares test losses after each epoch, but a "+
				"run with a validation set has only the last; remove validation", c.Name)
		}
		all, err := flags.Check(c)
		if err != nil {
			return nil, p.errorf("case %s: %v", c.Name, err)
		}
		all += "\n" + c.Group
		if other, ok := equal[all]; ok {
			return nil, p.errorf("the cases %s and %s are identical; remove one", other, c.Name)
		}
		taken[c.Name], equal[all] = true, c.Name
		cases = append(cases, c)
	}
	return cases, nil
}

// errorf is a mistake of the user, with its place if a file has it.
func (p *point) errorf(format string, a ...any) error {
	text := fmt.Sprintf(format, a...)
	if p.at != nil {
		text = config.Place(p.grid.path, p.at) + ": " + text
	}
	return usage("%s", text)
}

// points are the cases of a grid, without their names.
func (g *Grid) points() (list []point) {
	for i, c := range g.Cases {
		p := point{Case: c, grid: g, varied: c.Settings, own: len(c.Settings)}
		if g.path != "" {
			p.at = g.at[i]
		}
		list = append(list, p)
	}
	for _, axis := range g.Axes {
		var next []point
		for _, p := range list {
			for _, s := range axis {
				q := p
				q.varied = append(slices.Clone(p.varied), s)
				next = append(next, q)
			}
		}
		if list = next; len(list) > mostCases { // they would not fit in memory
			return list
		}
	}
	for i := range list {
		list[i].Settings = Override(g.Base, list[i].varied)
	}
	return list
}

// varying returns which flags do not have the same value at all points.
func varying(points []point) map[string]bool {
	first, count, varies := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, p := range points {
		for _, s := range p.varied {
			if count[s.Flag]++; count[s.Flag] == 1 {
				first[s.Flag] = s.Value
			}
			varies[s.Flag] = varies[s.Flag] || first[s.Flag] != s.Value
		}
	}
	for flag, n := range count {
		varies[flag] = varies[flag] || n < len(points)
	}
	return varies
}

// caseName is the name that Grid.Names makes, or the one given and what else varies.
func (p *point) caseName(varies map[string]bool) string {
	if p.grid.Names != "" {
		return FolderName(os.Expand(p.grid.Names, func(flag string) string {
			if flag == "name" {
				return p.Name
			}
			return p.Value(flag)
		}))
	}
	var parts []string
	if p.Name != "" {
		parts = append(parts, p.Name)
	}
	for i, s := range p.varied {
		switch {
		case !varies[s.Flag] || p.Name != "" && i < p.own:
		case s.Flag == "mode" && i < p.own:
			parts = append(parts, s.Value) // next to the names of other cases: async, averaged
		default:
			parts = append(parts, s.Flag+"="+s.Value)
		}
	}
	return cmp.Or(FolderName(strings.Join(parts, ",")), "base")
}

// longestName leaves room for a seed behind it in the name of a folder.
const longestName = 160

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._=,+-]+`)

// FolderName is a text as a folder may be called; "" if nothing is left of it.
func FolderName(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(text, "-"), "-.")
	return name[:min(len(name), longestName)]
}

// free is a name that is not taken: as such, or with a number behind it.
func free(name string, taken map[string]bool) string {
	for i, try := 2, name; ; i++ {
		if !taken[try] {
			return try
		}
		try = fmt.Sprintf("%s-%d", name, i)
	}
}

// taught are the flags that say what is to be learned from what: test losses compare
// only where these are the same.
var taught = []string{"data", "test", "format", "target", "ignore", "weight", "class-weight", "columns", "missing",
	"limit", "model", "program", "loss"}

// setGroups gives the cases that compare one group. If all do, it has no name.
func setGroups(cases []Case) {
	points := make([]point, len(cases))
	for i, c := range cases {
		points[i].grid = &Grid{}
		for _, flag := range taught {
			if j := slices.IndexFunc(c.Settings, func(s Setting) bool { return s.Flag == flag }); j >= 0 {
				points[i].varied = append(points[i].varied, c.Settings[j])
			}
		}
	}
	varies := varying(points)
	for i := range points {
		if slices.ContainsFunc(taught, func(flag string) bool { return varies[flag] }) {
			cases[i].Group = points[i].caseName(varies)
		}
	}
}
