// Command hogwild trains a model with several worker processes that share one set
// of weights. It knows flags, files of settings and exit statuses; what a run is,
// package run knows.
//
//	main.go         main, and the list of commands
//	report.go       hogwild report
//	man.go          the manual page
//	arrays.go       what the Python package starts
//	train.go        hogwild train
//	pythonpath.go   hogwild pythonpath
//	top.go          hogwild top
//	predict.go      hogwild predict
//	best.go         predictors, and the one of the best candidates
//	predictions.go  a file of predictions
//	scale.go        hogwild scale, pause, continue, stop
//	reproduce.go    hogwild reproduce
//	version.go      hogwild version
//	export.go       hogwild export
//	nearest.go      hogwild nearest
//	eval.go         hogwild eval, and what weights of other programs are of
//	doctor.go       hogwild doctor
//	devices.go      hogwild devices
//	gpu.go          the GPU build, which --gpu runs
//	hostchecks.go   what doctor looks at on a host
//	host.go         the host that it looks at
//	datamake.go     hogwild data make
//	datainfo.go     hogwild data info
//	dataget.go      hogwild data get
//	dataconvert.go  hogwild data convert
//	dashboard.go    --dashboard
//	completion.go   completion of the shell
//	runs.go         hogwild runs
//	bench.go        hogwild bench
//	benchrun.go     how it runs
//	benchplan.go    what it is to run
//	sweep.go        hogwild sweep
//	experiment.go   what all experiments share
//	output.go       files that are written
//	plan.go         settings of cases
//	config.go       files of settings
//	nodes.go        a node of a job
//	trainflags.go   the flags of train, and lists of others
//	action.go       how a command is carried out
//	environment.go  variables of the environment
//	help.go         help texts
//	answer.go       answers of commands, for people or as JSON
//	settings.go     flags, and where their values come from
//	errors.go       errors of use
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/internal/human"
	"hogwild/internal/self"
)

const rootHelp = `hogwild trains one model with many worker processes and no locks.

Usage: hogwild COMMAND [flags]

COMMANDS
Try:
  hogwild train --workers 8
  hogwild train --help
`

const dataHelp = `Usage: hogwild data info PATH [--json]
       hogwild data get NAME...
       hogwild data convert PATH --out FILE
       hogwild data make NAME FILE [--seed N] [--limit N]

  info        report rows, features, classes, format and checksum of a data file
  get         download public data sets: mnist, a9a, movielens-100k, ...
  convert     write data to a file that a run maps: opened in milliseconds, larger than memory
  make        write synthetic data of any size to a file
`

func main() {
	if workers.IsWorker() { // first of all: a worker starts in milliseconds
		os.Exit(worker.Main())
	}
	self.Probe()
	config.OutlivePipes()
	os.Exit(execute(os.Args[1:], outputTo(os.Stdout), os.Stderr))
}

// execute carries out the command in args, and returns the exit status. Results go to stdout; progress and errors go to
// stderr.
func execute(args []string, stdout, stderr io.Writer) int {
	a := app(stdout, stderr)
	if len(args) > 0 && args[0] == "help" {
		args = helpArguments(args[1:], a.Commands)
	}
	err := a.Run(append([]string{"hogwild"}, args...))
	switch {
	case errors.Is(err, config.ErrReported):
		// when one rank fails, its launcher kills the others: let the one that reports do so
		time.Sleep(time.Second / 2)
	case err != nil:
		fmt.Fprint(stderr, human.Shown(stderr, "hogwild: "+errorText(err, args)+"\n"))
	}
	return status(err)
}

// helpArguments returns the arguments that ask for help with a command, or about one word of it: train --help=lr.
func helpArguments(words []string, commands []*cli.Command) []string {
	n := 0
	for ; n < len(words); n++ {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == words[n] })
		if i < 0 {
			break
		}
		commands = commands[i].Subcommands
	}
	if len(commands) > 0 || n == len(words) { // of a group, or of no command
		return append(slices.Clone(words), "--help")
	}
	return append(slices.Clone(words[:n]), "--help="+strings.Join(words[n:], " "))
}

// errorText returns an error for a terminal. A name among the arguments begins no line of its own in it.
func errorText(err error, args []string) string {
	table := ""
	for _, line := range config.TableOf(err) {
		table += "\n" + line
	}
	text := strings.TrimSuffix(err.Error(), table)
	if p := (*fs.PathError)(nil); errors.As(err, &p) { // which begins with a system call
		text = strings.Replace(text, p.Error(), p.Path+": "+p.Err.Error(), 1)
	}
	for _, arg := range args {
		if _, value, is := strings.Cut(arg, "="); is && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if strings.Contains(arg, "\n") {
			text = strings.ReplaceAll(text, arg, strings.ReplaceAll(arg, "\n", `\n`))
		}
	}
	return human.Printable(human.BriefMessage(text)) + table
}

func app(stdout, stderr io.Writer) *cli.App {
	a := &cli.App{
		Name: "hogwild", Writer: stdout, ErrWriter: stderr,
		ExitErrHandler: func(*cli.Context, error) {}, // only main exits
		HideHelp:       true, HideVersion: true, SkipFlagParsing: true,
		Action: group(rootHelp),
		Commands: []*cli.Command{
			trainCommand(),
			evalCommand(),
			predictCommand(),
			exportCommand(),
			nearestCommand(),
			runsCommand(),
			topCommand(),
			scaleCommand(),
			pauseCommand(),
			continueCommand(),
			stopCommand(),
			reportCommand(),
			benchCommand(),
			sweepCommand(),
			{Name: "reproduce", Action: group(reproduceHelp), Subcommands: reproduceCommands()},
			{Name: "data", Action: group(dataHelp), Subcommands: []*cli.Command{dataInfoCommand(), dataGetCommand(),
				dataConvertCommand(), dataMakeCommand()}},
			devicesCommand(),
			doctorCommand(),
			completionCommand(),
			manCommand(),
			pythonPathCommand(),
			versionCommand(),
			arraysCommand(),
			{Name: "worker", Hidden: true, Action: workerByHand},
			faultPointsCommand(),
			echoCommand(),
			completeCommand(),
		},
	}
	disableParsing(a.Commands)
	return a
}

// disableParsing leaves to cli the table of commands and flags, and takes the arguments from
// it: it would stop at the first positional one, and answer a wrong flag with a
// page of help on stdout. See settings.
func disableParsing(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp, c.SkipFlagParsing = true, true
		disableParsing(c.Subcommands)
	}
}

// status returns the exit status that tells a script how the run ended.
func status(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, config.ErrUsage):
		return 2
	case errors.Is(err, config.ErrDiverged):
		return 3
	case errors.Is(err, config.ErrGap):
		return 4
	case errors.Is(err, config.ErrInterrupted):
		return 130
	case errors.Is(err, config.ErrTerminated):
		return 143
	case errors.Is(err, config.ErrHangup):
		return 129
	}
	return 1
}

// group returns the action of a command that has only commands under it.
func group(help string) cli.ActionFunc {
	return func(c *cli.Context) error {
		switch arg := c.Args().First(); arg {
		case "", "-h", "-help", "--help":
			return show(c.App.Writer, strings.Replace(help, "COMMANDS\n", commandTable(c.App.Commands), 1))
		case "-v", "-version", "--version":
			return thisVersion().WriteText(c.App.Writer)
		default:
			return unknownCommand(arg, c.Command.Subcommands)
		}
	}
}

// goneCommands are commands that there were: what to do now.
var goneCommands = map[string]string{
	"compare": "hogwild report RUN RUN shows runs side by side",
}

func unknownCommand(arg string, commands []*cli.Command) error {
	if now, ok := goneCommands[arg]; ok {
		return usagef("%s: it was taken out; %s", arg, now)
	}
	if strings.HasPrefix(arg, "-") {
		return usagef("%s before the command: flags follow it, as in: hogwild train %s", arg, arg)
	}
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return usagef("unknown command %q%s (hogwild --help lists the commands)", arg, human.Suggest("", arg, names))
}

func workerByHand(*cli.Context) error {
	return usagef("workers are started by `hogwild train`, which shares its memory with them; run that instead")
}

// commandTable returns a line for each command.
func commandTable(commands []*cli.Command) string {
	var b strings.Builder
	for _, c := range typed(commands, "") {
		fmt.Fprintf(&b, "  %-19s %s\n", c.name, c.Usage)
	}
	return b.String() + "\n"
}
