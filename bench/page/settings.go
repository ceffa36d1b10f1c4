package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// setting is the value of one setting; "" if a configuration has none of that name.
func setting(all []bench.Setting, flag string) string {
	for _, s := range all {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}

// Difference is a setting and its value in each run.
type Difference struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
}

// apartFromRun are the settings that say where a run is kept, but not how it trains.
var apartFromRun = []string{"run", "resume", "save-every", "hang-timeout", "node-timeout", "mpi"}

// compareSettings is the settings that are alike in n things and not the defaults, and those in which the things
// differ.
func compareSettings(n int, of func(i int) config.Config) (same []bench.Setting, differ []Difference) {
	var all [][]bench.Setting
	differ = []Difference{} // in JSON a list
	for i := range n {
		all = append(all, bench.Settings(of(i)))
	}
	for k, s := range bench.Settings(config.Default()) {
		d := Difference{Setting: s.Flag}
		for i := range n {
			d.Values = append(d.Values, all[i][k].Value)
		}
		switch alike := len(slices.Compact(slices.Clone(d.Values))); {
		case slices.Contains(apartFromRun, s.Flag):
		case alike > 1:
			differ = append(differ, d)
		case alike == 1 && d.Values[0] != s.Value:
			same = append(same, bench.Setting{Flag: s.Flag, Value: d.Values[0]})
		}
	}
	return same, differ
}

// lines is settings as a file has them.
func lines(all []bench.Setting) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s: %s\n", s.Flag, written(s.Value))
	}
	return b.String()
}

// written is a value as a file has it.
func written(value string) string { return cmp.Or(value, `""`) }
