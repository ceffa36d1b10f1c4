package main

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hogwild/bench"
)

// combine makes the cases of the plan: each of the list with each point of the grid, the
// first key slowest, on top of the base.
func (f *planFile) combine(p *bench.Plan) error {
	drafts := f.cases
	for _, axis := range f.grid {
		if len(drafts)*len(axis) > mostCases {
			return f.errorf(axis[0].at, "the grid has more than %d cases; take values out", mostCases)
		}
		var next []draft
		for _, d := range drafts {
			for _, c := range axis {
				next = append(next, draft{d.name, append(slices.Clone(d.choices), c), d.own, d.at})
			}
		}
		drafts = next
	}
	varies := varying(drafts)
	names, before := map[string]bool{}, map[string]string{} // the latter by what all flags come to
	for _, d := range drafts {
		c := bench.Case{Name: d.caseName(varies), Settings: override(settingsOf(f.base), settingsOf(d.choices))}
		if names[c.Name] && d.name != "" {
			return f.errorf(d.at, "two cases have the name %s", c.Name)
		}
		c.Name = free(c.Name, names)
		all, err := checkCase(c)
		if err != nil {
			return f.errorf(d.at, "%v", err)
		}
		if other, ok := before[all]; ok {
			return f.errorf(d.at, "the cases %s and %s are equal; leave one of them out", other, c.Name)
		}
		names[c.Name], before[all] = true, c.Name
		p.Cases = append(p.Cases, c)
	}
	setGroups(p.Cases)
	return nil
}

func settingsOf(choices []choice) (list []bench.Setting) {
	for _, c := range choices {
		list = append(list, bench.Setting{Flag: c.flag, Value: c.value})
	}
	return list
}

// checkCase sees whether train would take the flags of a case, and returns what all its
// flags come to: that of two cases which are equal is the same, however they are written.
func checkCase(c bench.Case) (string, error) {
	o, s, err := trainSettings()
	if err != nil {
		return "", err
	}
	for _, v := range c.Settings {
		if err := s.assign(v.Flag, v.Value); err != nil {
			return "", fmt.Errorf("case %s: --%s %v", c.Name, v.Flag, err)
		}
	}
	o.Bias = !o.noBias
	if err := o.Validate(); err != nil {
		return "", fmt.Errorf("case %s: %v", c.Name, err)
	}
	gpus, err := gpusOf(c)
	if err != nil {
		return "", fmt.Errorf("case %s: %v", c.Name, err)
	}
	if o.Workers-o.CPUWorkers < gpus {
		return "", fmt.Errorf("case %s: gpu %s: each GPU needs a worker at least; choose --workers from %d on", c.Name, o.GPU, gpus)
	}
	var all strings.Builder
	s.set.VisitAll(func(f *flag.Flag) { fmt.Fprintf(&all, "%s=%s\n", f.Name, f.Value) })
	return all.String(), nil
}

// varying tells which flags do not have the same value in all drafts.
func varying(drafts []draft) map[string]bool {
	first, count, varies := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, d := range drafts {
		for _, c := range d.choices {
			if count[c.flag]++; count[c.flag] == 1 {
				first[c.flag] = c.value
			}
			varies[c.flag] = varies[c.flag] || first[c.flag] != c.value
		}
	}
	for flag, n := range count {
		varies[flag] = varies[flag] || n < len(drafts)
	}
	return varies
}

// caseName is the name that the file gives, and what else varies.
func (d draft) caseName(varies map[string]bool) string {
	var parts []string
	if d.name != "" {
		parts = append(parts, d.name)
	}
	for i, c := range d.choices {
		if varies[c.flag] && (d.name == "" || i >= d.own) {
			parts = append(parts, c.flag+"="+c.value)
		}
	}
	if len(parts) == 0 {
		return "base"
	}
	return folderName(strings.Join(parts, ","))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._=,+:-]+`)

// folderName is a text as a folder may be called.
func folderName(text string) string {
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
var taught = []string{"data", "test", "format", "target", "limit", "model", "loss"}

// setGroups gives the cases that compare one group. If all do, it has no name.
func setGroups(cases []bench.Case) {
	var drafts []draft
	for _, c := range cases {
		var d draft
		for _, s := range c.Settings {
			if slices.Contains(taught, s.Flag) {
				d.choices = append(d.choices, choice{flag: s.Flag, value: s.Value})
			}
		}
		drafts = append(drafts, d)
	}
	varies := varying(drafts)
	for i, d := range drafts {
		slices.SortStableFunc(d.choices, func(a, b choice) int {
			return slices.Index(taught, a.flag) - slices.Index(taught, b.flag)
		})
		if slices.ContainsFunc(taught, func(flag string) bool { return varies[flag] }) {
			cases[i].Group = d.caseName(varies)
		}
	}
}
