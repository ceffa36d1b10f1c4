package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/cuda/start"
	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// settings is the flags of one command and which of them have a value. The sources
// are read from the highest to the lowest (command line, environment, file, the run
// to be resumed), and the first to give a flag a value wins.
type settings struct {
	command *cli.Command
	set     *flag.FlagSet
	given   map[string]bool
	origin  map[string]origin // of those that are given; the zero value: on the command line
}

// origin is where the value of a flag stands.
type origin struct {
	rank  rank
	place string // as errors name it
}

// rank orders sources: where two give a flag a value, the lower rank wins.
type rank int

const (
	onLine rank = iota
	inEnvironment
	inFile
	inRun // that is resumed
)

// placed returns an error with the place of the setting that it begins with, unless that is the command line.
func (s *settings) placed(err error) error {
	if !errors.Is(err, config.ErrUsage) {
		return err
	}
	name, _, _ := strings.Cut(err.Error(), " ")
	if from := s.origin[name]; from.place != "" {
		return fmt.Errorf("%s: %w", from.place, err)
	}
	return err
}

func newSettings(c *cli.Command) (*settings, error) {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	for _, f := range c.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	return &settings{command: c, set: set, given: map[string]bool{}, origin: map[string]origin{}}, nil
}

// arguments reads the command line. Flags and positional arguments, which it
// returns, come in any order; after -- all are positional.
func (s *settings) arguments(args []string) (positional []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(positional, args...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			positional = append(positional, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := s.set.Lookup(name)
		switch {
		case name == "h" || name == "help":
			if !hasValue && len(args) > 0 && (args[0] == "all" || s.set.Lookup(args[0]) != nil) {
				value = args[0]
			}
			return nil, helpAsked(value)
		case f == nil:
			return nil, usagef("unknown flag --%s%s (`%s --help all` lists the flags)", name, s.suggest("--", name),
				s.command.HelpName)
		case hasValue:
		case isBool(f) && len(args) > 0 && (args[0] == "true" || args[0] == "false"):
			value, args = args[0], args[1:]
		case isBool(f):
			value = "true"
		case len(args) == 0 || strings.HasPrefix(args[0], "--"):
			return nil, usagef("--%s needs a value", name)
		default:
			value, args = args[0], args[1:]
		}
		if s.given[name] {
			return nil, usagef("--%s is given twice: %s and %s; leave one of them out", name, f.Value, value)
		}
		if err := s.assign(name, value); err != nil {
			return nil, usagef("--%s %v", name, err)
		}
	}
	return positional, nil
}

// synonyms are names that others have for flags, and the names here: the first that a command has is meant.
var synonyms = map[string][]string{
	"learning-rate": {"lr"}, "batch-size": {"batch"}, "hidden": {"model"}, "threads": {"workers"}, "jobs": {"workers"},
	"output": {"out", "run"},
	"device": {"gpu"}, "verbose": {"timing"}, "weight-decay": {"l2"},
}

// ourName returns the flag that is meant by a name, if others call it so; else the name.
func ourName(name string, flags []string) string {
	for _, here := range synonyms[strings.ReplaceAll(name, "_", "-")] {
		if slices.Contains(flags, here) {
			return here
		}
	}
	return name
}

// gone are flags that there were: what to do now, and the value without an effect, which old files have.
var gone = map[string]struct{ now, idle string }{
	"momentum-correction": {"it was taken out; try a lower --momentum with more workers", "false"},
	"mps": {"hogwild starts no Multi-Process Service any more; run " + start.Service +
		" first, so that the workers on a GPU run side by side", "false"},
	"dashboard-public": {"it was taken out; from another machine use ssh -L (docs/runs.md)", "false"},
	"limits": {"it was taken out; two runs at a time show what a machine can give (docs/asynchrony.md)",
		"false"},
	"average-state": {"it was taken out; each worker keeps the state of its optimizer", "keep"},
	"write":         {"it was taken out; a GPU adds to the weights, and stores those of cuts", "auto"},
	"cpu-workers": {"cores beside a GPU were taken out: 16 of them reach 7% of an H200; " +
		"give the number of workers on GPUs", "0"},
	"stale": {"it was taken out, for it changed next to nothing; --mode clock:equal:8 --rule RULE simulates such rules",
		"plain"},
}

// suggest says what became of a name that no flag of the command has, or asks whether another one is meant.
func (s *settings) suggest(prefix, name string) string {
	if was, ok := gone[name]; ok {
		return ": " + was.now
	}
	return human.Suggest(prefix, ourName(name, s.names()), s.names())
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// testData is the variable with the folder where tests look for data. It is not --data.
const testData = prefix + "DATA"

// noteTestData says that testData is not --data where no data was named: its user may have meant --data.
func (s *settings) noteTestData(stderr io.Writer) error {
	value := os.Getenv(testData)
	if value == "" || s.given["data"] {
		return nil
	}
	what := "environment variable " + testData + " is not --data: it names the folder where tests find data sets"
	if info, err := os.Stat(value); err != nil || !info.IsDir() {
		return usagef("%s; use --data %s, or unset it", what, value)
	}
	fmt.Fprintf(stderr, "hogwild: %s; this command does not read it\n", what)
	return nil
}

// environment reads HOGWILD_LR and its like: the flag's name in capitals. There is none for --data.
func (s *settings) environment() error {
	for _, name := range s.names() {
		key := variable(name)
		if value := os.Getenv(key); value != "" && name != "data" {
			if err := s.take(name, value, origin{inEnvironment, "environment variable " + key}); err != nil {
				return usagef("environment variable %s: %v", key, err)
			}
		}
	}
	return nil
}

// inherit gives the flags that have no value yet the values in c, which stand in that place.
func (s *settings) inherit(c *config.Config, place string) error {
	for setting := range config.All() {
		flag, text := setting.AsFlag(c)
		if err := s.take(flag, text, origin{inRun, place}); err != nil {
			return fmt.Errorf("%s: %s %w", place, flag, err)
		}
	}
	return nil
}

// take sets a flag that has no value yet, to one that stands elsewhere than on the command line.
func (s *settings) take(name, value string, from origin) error {
	if s.given[name] {
		return nil
	}
	s.origin[name] = from
	return s.assign(name, value)
}

// assign sets a flag. The error says what kind of value the flag takes.
func (s *settings) assign(name, value string) error {
	if err := s.set.Set(name, value); err != nil {
		if name == "workers" && strings.Contains(value, "pu:") { // gpu:4,cpu:2
			return fmt.Errorf("%q: %s", value, gone["cpu-workers"].now)
		}
		return fmt.Errorf("%q: %w", value, err)
	}
	s.given[name] = true
	return nil
}

// checkIdle refuses what the settings of a run may not be, and those without an effect that are
// not at their defaults, or were given all the same on the command line or in the environment.
func (s *settings) checkIdle(c *config.Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	for idle := range c.Idle(nil) {
		if now := s.given[idle.Setting] && s.origin[idle.Setting].rank < inFile; now || idle.Changed {
			return idle
		}
	}
	return nil
}

// typed reports whether a flag is on the command line.
func (s *settings) typed(name string) bool { return s.given[name] && s.origin[name].rank == onLine }

// only refuses flags on the command line that are not in flags: they have no effect there.
func (s *settings) only(with string, flags ...string) error {
	for _, name := range s.names() {
		if s.typed(name) && !slices.Contains(flags, name) {
			return usagef("--%s has no effect with %s: leave one of them out", name, with)
		}
	}
	return nil
}

func (s *settings) names() []string {
	var names []string
	s.set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

const prefix = "HOGWILD_" // of the names of all variables
