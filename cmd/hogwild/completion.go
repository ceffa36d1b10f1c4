package main

import (
	"embed"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
)

const completionHelp = `Usage: hogwild completion bash|zsh|fish

Prints a script for shell completion of commands, flags, their values and files. To install it:

  bash   echo 'source <(hogwild completion bash)' >> ~/.bashrc
  zsh    echo 'source <(hogwild completion zsh)' >> ~/.zshrc       (after compinit)
  fish   hogwild completion fish > ~/.config/fish/completions/hogwild.fish

FLAGS
Examples:
  source <(hogwild completion bash)
      for this shell session only
`

//go:embed completion
var completionScripts embed.FS

func completionCommand() *cli.Command {
	return verb(cli.Command{Name: "completion", Usage: "print a script for shell completion",
		ArgsUsage: "bash|zsh|fish", Description: completionHelp},
		func(c *cli.Context, _ *settings, args []string) error {
			const want = "completion takes a shell, bash, zsh or fish, e.g. source <(hogwild completion bash)"
			if len(args) != 1 {
				return usagef(want)
			}
			script, err := completionScripts.ReadFile("completion/hogwild." + args[0])
			if err != nil {
				return usagef("%q: "+want, args[0])
			}
			_, err = c.App.Writer.Write(script)
			return err
		})
}

// completeCommand returns `hogwild complete -- WORD...`, which the scripts call: it lists what the last word may
// become, a line each, with a tab before what it is. The line ":files" stands for names of files, ":folders" for names
// of folders.
func completeCommand() *cli.Command {
	return &cli.Command{Name: "complete", Hidden: true, Action: func(c *cli.Context) error {
		words := c.Args().Slice()
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		if len(words) == 0 {
			words = []string{""}
		}
		last := words[len(words)-1]
		for _, a := range completions(c.App.Commands, words[:len(words)-1], last) {
			if strings.HasPrefix(a.word, last) || a == files || a == folders {
				fmt.Fprintf(c.App.Writer, "%s\t%s\n", a.word, a.about)
			}
		}
		return nil
	}}
}

// completed is a word that may stand somewhere, and what it is.
type completed struct{ word, about string }

var files, folders = completed{":files", "file"}, completed{":folders", "folder"}

// completions lists what may stand in the place of the word last, which follows before.
func completions(commands []*cli.Command, before []string, last string) (all []completed) {
	help := len(before) > 0 && before[0] == "help"
	if help {
		before = before[1:]
	}
	var c *cli.Command
	for len(before) > 0 && len(commands) > 0 {
		if c = find(commands, before[0]); c == nil {
			return nil
		}
		before, commands = before[1:], c.Subcommands
	}
	if len(commands) > 0 {
		for _, c := range commands {
			if !c.Hidden {
				all = append(all, completed{c.Name, c.Usage})
			}
		}
		if c == nil && !help {
			all = append(all, completed{"help", "help for a command"}, completed{"--help", "list of commands"},
				completed{"--version", "print version, commit, CPU loops and CUDA support"})
		}
		return all
	}
	if help {
		return []completed{{"all", "show all flags"}}
	}
	s, err := newSettings(c)
	if err != nil {
		return nil
	}
	return s.completions(before, last)
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.Name == name && !c.Hidden {
			return c
		}
	}
	return nil
}

// completions returns the completions within a command: a flag, the value of one, or an argument.
func (s *settings) completions(before []string, last string) (all []completed) {
	if name, _, ok := strings.Cut(last, "="); ok && strings.HasPrefix(name, "--") {
		return s.values(strings.TrimPrefix(name, "--"), name+"=", last)
	}
	if n := len(before) - 1; n >= 0 && strings.HasPrefix(before[n], "--") && !strings.Contains(before[n], "=") {
		name := strings.TrimPrefix(before[n], "--")
		if name == "help" {
			return []completed{{"all", "show all flags"}}
		}
		if f := s.set.Lookup(name); f != nil && !isBool(f) {
			return s.values(name, "", last)
		}
	}
	switch arguments := s.command.ArgsUsage; {
	case strings.HasPrefix(last, "-") || arguments == "":
		for _, group := range helpOf(s.command).groups(s.command, s.set) {
			for _, f := range group.flags {
				_, about := describe(f)
				all = append(all, completed{"--" + f.Name, about})
			}
		}
		return append(all, completed{"--help", "what the command does"})
	case arguments == strings.ToLower(arguments): // the words themselves
		for word := range strings.SplitSeq(arguments, "|") {
			all = append(all, completed{word, ""})
		}
		return all
	}
	return []completed{files}
}

// values lists the values of a flag, each after the text before. Of a list it completes the
// last entry.
func (s *settings) values(name, before, last string) (all []completed) {
	f := s.set.Lookup(name)
	if f == nil {
		return nil
	}
	kind, _ := flag.UnquoteUsage(f)
	if i := strings.LastIndexByte(last, ','); i >= 0 && kind == "LIST" {
		before = last[:i+1]
	}
	for _, word := range slices.Concat(choices[name], config.Choices(name)) {
		all = append(all, completed{before + word, ""})
	}
	switch kind {
	case "FILE", "PATH":
		all = append(all, files)
	case "DIR", "FOLDER":
		all = append(all, folders)
	}
	return all
}

// choices are the words of flags that are no settings.
var choices = map[string][]string{"modes": config.Modes}
