package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
)

const manHelp = `Usage: hogwild man

Prints the manual page hogwild(1), generated from the commands and their flags.

FLAGS
Examples:
  hogwild man | man -l -
  hogwild man > ~/.local/share/man/man1/hogwild.1
`

// The writer of manual pages that cli has would make every worker set up a renderer of
// Markdown when it starts.
func manCommand() *cli.Command {
	return verb(cli.Command{Name: "man", Usage: "print the manual page", Description: manHelp},
		func(c *cli.Context, _ *settings, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q; man takes no arguments", args[0])
			}
			page, err := manual(c.App.Commands)
			if err != nil {
				return err
			}
			_, err = c.App.Writer.Write(page)
			return err
		})
}

const manEnd = `Each flag of a command has an environment variable, e.g. HOGWILD_LR for --lr; --data has none.
HOGWILD_CPU chooses the CPU loops: avx512, avx2, neon or go.

Exit status: 0 done; 1 failed; 2 a wrong flag, file or setting; 3 training diverged; 4 --target-gap
was missed; 130, 143 and 129 interrupted (Ctrl-C, SIGTERM, SIGHUP) and saved.
`

// manual returns hogwild(1) in the man macros of troff.
func manual(commands []*cli.Command) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH HOGWILD 1 \"\" \"hogwild %s\"\n.SH NAME\nhogwild \\- train a model with many processes and "+
		"no locks\n", config.Version)
	b.WriteString(".SH SYNOPSIS\n.B hogwild\n.I COMMAND\n[flags]\n.SH COMMANDS\n")
	for _, c := range typed(commands, "") {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", troff(c.name), troff(c.Usage))
	}
	for _, c := range typed(commands, "") {
		s, err := newSettings(c.Command)
		if err != nil {
			return nil, err
		}
		h := helpOf(c.Command)
		fmt.Fprintf(&b, ".SH HOGWILD %s\n", strings.ToUpper(troff(c.name)))
		prose(&b, h.intro)
		for _, g := range h.groups(c.Command, s.set) {
			fmt.Fprintf(&b, ".SS %s\n", troff(g.title))
			for _, f := range g.flags {
				name, usage := describe(f)
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", troff(name), troff(usage))
			}
		}
		prose(&b, h.details+h.examples)
	}
	b.WriteString(".SH ENVIRONMENT AND EXIT STATUS\n")
	prose(&b, manEnd)
	return b.Bytes(), nil
}

// verbatim is a paragraph whose lines stand as they are: usage, tables and examples.
var verbatim = regexp.MustCompile(`(?m)^(Usage:|  )`)

// prose writes the paragraphs of a help text.
func prose(b *bytes.Buffer, text string) {
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case part == "":
		case verbatim.MatchString(part):
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", troff(part))
		default:
			fmt.Fprintf(b, ".PP\n%s\n", troff(part))
		}
	}
}

var notASCII = regexp.MustCompile(`[^\x00-\x7f]`)

// troff escapes the control characters of a text, so that troff prints it as it is.
func troff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "~", `\(ti`, "^", `\(ha`).Replace(text)
	text = notASCII.ReplaceAllStringFunc(text, func(s string) string { return fmt.Sprintf(`\[u%04X]`, []rune(s)[0]) })
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
