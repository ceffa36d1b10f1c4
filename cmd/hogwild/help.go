package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsHere is the line of a command's Description that writeHelp replaces by the
// table of its flags.
const flagsHere = "FLAGS\n"

// writeHelp writes the text of a command, and in it its flags: a group for each
// Category, in the order in which they are listed.
func writeHelp(w io.Writer, s *settings) error {
	head, tail, _ := strings.Cut(s.command.Description, flagsHere)
	var groups []string
	lines := map[string]string{}
	for _, f := range s.command.Flags {
		group := f.(cli.CategorizableFlag).GetCategory()
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		lines[group] += flagLine(s.set.Lookup(f.Names()[0]))
	}
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for i, group := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n%s", group, lines[group])
	}
	_, err := io.WriteString(w, tail)
	return err
}

// flagLine is one flag: its name, what it takes (the usage begins with that, in
// backquotes), what it does and its default.
func flagLine(f *flag.Flag) string {
	value, usage := flag.UnquoteUsage(f)
	usage = strings.TrimPrefix(usage, value+" ")
	name := strings.TrimSpace("--" + f.Name + " " + value)
	switch f.DefValue {
	case "", "0", "0s", "false":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf("  %-23s %s\n", name, usage)
}
