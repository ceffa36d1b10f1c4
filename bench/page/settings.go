package page

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// settings is the names and values of a configuration, in its order, as config.yaml has
// them.
func settings(c config.Config) (all []bench.Setting) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			all = append(all, bench.Setting{Flag: name, Value: fmt.Sprint(v.Field(i))})
		}
	}
	return all
}

// setting is the value of one setting; "" if a configuration has none of that name.
func setting(all []bench.Setting, flag string) string {
	for _, s := range all {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}

// apartFromRun are the settings that say where a run is kept and which of the repeats it
// is, but not how it trains.
var apartFromRun = []string{"run", "seed", "resume", "save-every"}

// changed is the settings that are not the defaults in all of the configurations alike,
// and the names of those in which the configurations differ.
func changed(configs []config.Config) (same []bench.Setting, differ []string) {
	if len(configs) == 0 {
		return nil, nil
	}
	defaults, first := settings(config.Default()), settings(configs[0])
	for i, s := range first {
		if slices.Contains(apartFromRun, s.Flag) {
			continue
		}
		alike := true
		for _, c := range configs[1:] {
			alike = alike && settings(c)[i].Value == s.Value
		}
		switch {
		case !alike:
			differ = append(differ, s.Flag)
		case s.Value != defaults[i].Value:
			same = append(same, s)
		}
	}
	return same, differ
}

// differences is a table of the settings in which configurations differ; nil if in none.
func differences(head string, names []string, configs []config.Config, differ []string) *Table {
	if len(differ) == 0 {
		return nil
	}
	t := &Table{Heads: append([]string{head}, differ...)}
	for i, c := range configs {
		row := []string{names[i]}
		for _, flag := range differ {
			row = append(row, setting(settings(c), flag))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// lines is settings as a file has them.
func lines(all []bench.Setting) string {
	var b strings.Builder
	for _, s := range all {
		value := s.Value
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(&b, "%s: %s\n", s.Flag, value)
	}
	return b.String()
}
