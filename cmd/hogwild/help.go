package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/internal/human"
)

// helpText is the parts of a command's Description. A line that begins with FLAGS stands for
// the flags. Where it names some, these come first, and --help shows only them: the other
// flags, and the text up to the examples, follow with --help all.
type helpText struct {
	intro, details, examples string
	main                     []string // flags
}

func helpOf(c *cli.Command) (h helpText) {
	intro, rest, _ := strings.Cut(c.Description, "\nFLAGS")
	names, rest, _ := strings.Cut(rest, "\n")
	h.intro, h.main = intro+"\n", strings.Fields(names)
	h.details = rest
	if i := strings.Index(rest, "Examples:\n"); i >= 0 {
		h.details, h.examples = rest[:i], rest[i:]
	}
	return h
}

// flagGroup is flags under one title.
type flagGroup struct {
	title string
	flags []*flag.Flag
}

// groups returns the flags of a command: main ones if there are any, then a group for each Category, in the order in
// which they are listed.
func (h helpText) groups(c *cli.Command, set *flag.FlagSet) (all []flagGroup) {
	if len(h.main) > 0 {
		all = []flagGroup{{title: "Main flags"}}
		for _, name := range h.main {
			all[0].flags = append(all[0].flags, set.Lookup(name))
		}
	}
	for _, f := range c.Flags {
		name, title := f.Names()[0], f.(cli.CategorizableFlag).GetCategory()
		if slices.Contains(h.main, name) {
			continue
		}
		i := slices.IndexFunc(all, func(g flagGroup) bool { return g.title == title })
		if i < 0 {
			i, all = len(all), append(all, flagGroup{title: title})
		}
		all[i].flags = append(all[i].flags, set.Lookup(name))
	}
	return all
}

// writeHelp writes the help of a command: all of it, what one needs first, or one flag.
func writeHelp(w io.Writer, s *settings, about string) error {
	h, command := helpOf(s.command), strings.TrimPrefix(s.command.HelpName, "hogwild ")
	groups, more := h.groups(s.command, s.set), ""
	switch f := s.set.Lookup(about); {
	case f != nil:
		h, groups = helpText{}, []flagGroup{{"hogwild " + command, []*flag.Flag{f}}}
	case about != "" && about != "all" && about != "help":
		return usagef("%s has no flag --%s%s (`hogwild help %s all` lists the flags)", command, about,
			s.suggest("--", about), command)
	case len(h.main) > 0 && about != "all":
		more = fmt.Sprintf("\nAll %d flags: hogwild help %s all; one of them: hogwild help %s %s\n\n",
			len(s.command.Flags), command, command, h.main[0])
		groups, h.details = groups[:1], ""
	}
	var b bytes.Buffer
	b.WriteString(h.intro)
	for i, g := range groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:\n", g.title)
		for _, f := range g.flags {
			name, usage := describe(f)
			fmt.Fprintf(&b, "  %-23s %s\n", name, strings.Join(human.Wrap(usage, 73), "\n"+strings.Repeat(" ", 26)))
		}
	}
	b.WriteString(more + h.details + h.examples)
	return show(w, b.String())
}

// describe returns the name of a flag with what it takes (the usage begins with that, in backquotes), and what it does
// with its default.
func describe(f *flag.Flag) (name, usage string) {
	value, usage := flag.UnquoteUsage(f)
	usage = strings.TrimPrefix(usage, value+" ")
	name = strings.TrimSpace("--" + f.Name + " " + value)
	switch f.DefValue {
	case "", "0", "0s", "false", "none":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return name, usage
}

// named is a command that the user can type, with its whole name: "data info".
type named struct {
	name string
	*cli.Command
}

// typed lists the commands that the user can type; before is what stands before their names.
func typed(commands []*cli.Command, before string) (all []named) {
	for _, c := range commands {
		switch {
		case c.Hidden:
		case len(c.Subcommands) > 0:
			all = append(all, typed(c.Subcommands, before+c.Name+" ")...)
		default:
			all = append(all, named{before + c.Name, c})
		}
	}
	return all
}
