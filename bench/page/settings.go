package page

import (
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

// apartFromRun are the settings that say where a run is kept and which of the repeats it
// is, but not how it trains.
var apartFromRun = []string{"run", "seed", "resume", "save-every", "hang-timeout", "node-timeout", "mpi"}

// compareSettings is the settings that are not the defaults in all things alike, and a table
// of those in which the things differ; nil if in none.
func compareSettings[T any](things []T, name column[T], of func(T) config.Config) (same []bench.Setting, differ *Table) {
	if len(things) == 0 {
		return nil, nil
	}
	columns := []column[T]{name}
	defaults := bench.Settings(config.Default())
	for i, s := range bench.Settings(of(things[0])) {
		value := func(thing T) string { return bench.Settings(of(thing))[i].Value }
		switch {
		case slices.Contains(apartFromRun, s.Flag):
		case slices.ContainsFunc(things, func(t T) bool { return value(t) != s.Value }):
			columns = append(columns, column[T]{s.Flag, value})
		case s.Value != defaults[i].Value:
			same = append(same, s)
		}
	}
	if len(columns) > 1 {
		differ = table(things, columns...)
	}
	return same, differ
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
