package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/bench"
	"hogwild/internal/human"
)

const reproduceHelp = `Usage: hogwild reproduce paper [--quick] [flags]
       hogwild reproduce tutorial [--data mnist/] [flags]
       hogwild reproduce asgd [--quick] [--data mnist/] [flags]
       hogwild reproduce speedrun --data mnist/ [--quick] [flags]

  paper       the experiments of the Hogwild! paper, scaled to this machine
  tutorial    a published tutorial's synchronous SGD on MNIST
  asgd        papers on asynchronous SGD, on a virtual clock
  speedrun    MNIST to 98% and to 99% accuracy, as soon as two cores can
`

const reproducePaperHelp = `Usage: hogwild reproduce paper [--quick] [flags]

Repeats the experiments of the Hogwild! paper (Niu, Recht, Ré, Wright 2011), scaled to this machine,
on synthetic data with the shapes of the paper's sets. It compares Hogwild! (--mode async), AIG
(locked) and RR (ordered) on RCV1, Netflix, Jumbo, Abdomen and DBLife, with 1, 2, 4 ... workers up
to the number of cores (at most ten); and it repeats the paper's experiments with gradient delays
and averaged models. The report shows the paper's figures beside those measured here, and whether
they agree, differ or are undecided for each of the paper's statements. With fewer than five repeats
all are undecided.

Each case is trained at its best learning rate, which a search finds first, but for those with
delays, where speeds are compared. --same-lr trains all at the plan's rates. After each pass the rate
falls by a tenth, as the paper's.

With five repeats it takes two to four hours on two cores, about 20 minutes with --quick, and longer
on more cores because there are more worker counts. If it is interrupted, repeat the command to
continue.

FLAGS

Files in the folder: report.html, results.csv, results.json, results.txt (for benchstat),
runs/CASE.SEED and search/CASE.lr=RATE.SEED (run folders).

Examples:
  hogwild reproduce paper --quick
  hogwild reproduce paper --workers 1,2,4,8 --repeat 10
  hogwild reproduce paper --quick --size 0.01 --repeat 1
      a smoke test of a few minutes: its figures mean nothing
`

const reproduceTutorialHelp = `Usage: hogwild reproduce tutorial [--data mnist/] [flags]

Repeats a published tutorial that trains on one GPU: four workers with a quarter of MNIST each, a
small convolutional network, momentum SGD, and weights averaged after each of three epochs, for
test accuracies of 87, 92 and 93%. Here the workers are processes on CPU cores. For comparison, the
same network is also trained lock-free. The learning rate is the tutorial's, and constant. Without
--data it trains on the built-in digits, which are not MNIST.

FLAGS

Examples:
  hogwild reproduce tutorial --data mnist/
`

const reproduceAsgdHelp = `Usage: hogwild reproduce asgd [--quick] [--data mnist/] [flags]

Compares what papers on asynchronous SGD do with late gradients: delay-adaptive rates, Ringmaster
ASGD, Rennala SGD, Clipped ASGD, TAIL and others, beside plain asynchronous SGD and synchronous
minibatches. 16 virtual workers of equal and of unequal speeds (--mode clock, --rule) train a small
network. The report shows how much sooner each rule reaches a test loss than plain asynchronous SGD,
in virtual time, and whether that agrees with what the papers say.

All rules at some speeds try the same learning rates, with the same seeds, and each is compared at
the rate that is the first at the loss, on rows held out of the training set. Rates are constant, but
for rules that change them.

Virtual times do not depend on the machine: the same version gives the same figures on processors
with the same vector instructions. It takes about 20 minutes on two cores, about three with --quick.
If it is interrupted, repeat the command to continue.

FLAGS

Files in the folder: report.html, results.csv, results.json, results.txt (for benchstat),
runs/CASE.SEED and search/CASE.lr=RATE.SEED (run folders).

Examples:
  hogwild reproduce asgd --quick
  hogwild reproduce asgd --data mnist/
`

const reproduceSpeedrunHelp = `Usage: hogwild reproduce speedrun --data mnist/ [--quick] [flags]

Trains MNIST to 98% and to 99% test accuracy with settings that are fixed: two workers without
locks, and for comparison one worker. All 60,000 images are trained on, for a number of epochs
that is fixed too, and the learning rate falls linearly to 0; the test images judge only the end. Each
case is run with 40 seeds, five with --quick. The report shows the mean accuracy, the seeds that reach
the goal, the time of training and that of the whole command, and names published times on other
hardware. docs/results/speedrun.md has the rules.

It needs MNIST (hogwild data get mnist): no other images can be compared. It takes 18 minutes on
two cores, two or three with --quick. Let nothing else run meanwhile. If it is interrupted, repeat the
command to continue.

FLAGS

Files in the folder: report.html, results.csv, results.json, results.txt (for benchstat) and
runs/CASE.SEED (run folders).

Examples:
  hogwild reproduce speedrun --data mnist/
  hogwild reproduce speedrun --data mnist/ --quick
`

// speedrunSeeds is how often each case of a speedrun is run without --quick.
const speedrunSeeds = 40

// reproduceOptions are the flags of reproduce, which plans that are templates ask for.
type reproduceOptions struct {
	experimentFlags
	bench.PaperOptions
	Data    string // a folder with MNIST's four files; "": the built-in digits
	Limit   int    // first images; 0: all
	workers string
}

func reproduceCommands() []*cli.Command {
	return []*cli.Command{
		reproduceCommand("paper", "repeat the Hogwild! paper's experiments", reproducePaperHelp,
			(*reproduceOptions).paper, func(o *reproduceOptions, l *flagList) {
				o.Size = 1
				l.add(&o.Quick, "quick", "smaller sets, fewer epochs, and two seeds in the search: minutes instead "+
					"of hours")
				l.add(&o.Size, "size", "`X` times as many examples")
				l.add(&o.workers, "workers", "`N,M` worker counts (default: 1,2,4 ... up to the number of cores, "+
					"at most 10)")
				o.addSameLR(l)
			}),
		reproduceCommand("tutorial", "repeat a published tutorial's synchronous SGD", reproduceTutorialHelp,
			(*reproduceOptions).images, func(o *reproduceOptions, l *flagList) {
				l.add(&o.Data, "data",
					"`DIR` folder with the four IDX files of MNIST (default: the built-in digits)")
				l.add(&o.Limit, "limit", "`N` train on the first N images only")
				o.sameLR = true // the tutorial's
			}),
		reproduceCommand("asgd", "compare rules for late gradients on a virtual clock", reproduceAsgdHelp,
			(*reproduceOptions).images, func(o *reproduceOptions, l *flagList) {
				o.repeat = 10
				l.add(&o.Quick, "quick", "two spreads of speeds, fewer rules, and two seeds in the search")
				l.add(&o.Data, "data",
					"`DIR` folder with the four IDX files of MNIST (default: the built-in digits)")
			}),
		reproduceCommand("speedrun", "train MNIST to 98% and 99% as soon as can be", reproduceSpeedrunHelp,
			(*reproduceOptions).images, func(o *reproduceOptions, l *flagList) {
				o.repeat, o.sameLR = speedrunSeeds, true
				l.add(&o.Quick, "quick", "five runs of each case, unless --repeat says how many")
				l.add(&o.Data, "data", "`DIR` folder with the four IDX files of MNIST (required)")
			}),
	}
}

// reproduceCommand returns a command with the flags that all commands of reproduce have, and its own in front.
func reproduceCommand(name, usage, help string,
	do func(*reproduceOptions, string) (bench.Plan, error), own func(*reproduceOptions, *flagList)) *cli.Command {
	o := &reproduceOptions{experimentFlags: experimentFlags{repeat: 5}}
	l := flagList{category: "Flags"}
	own(o, &l)
	o.addTo(&l, "`N` runs of each case", "runs/reproduce-NAME")
	return &cli.Command{
		Name: name, Usage: usage, Description: help, Flags: l.flags,
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			switch {
			case len(args) > 0:
				return usagef("unexpected argument %q; reproduce %s takes flags only", args[0], name)
			case o.repeat < 1 || o.repeat > bench.MostSeeds:
				return usagef("--repeat %d: want 1 to %d", o.repeat, bench.MostSeeds)
			}
			p, err := do(o, name)
			if err != nil {
				return err
			}
			o.quick = o.Quick
			p.Command, p.Seeds = s.again(o.out, "reproduce", name), bench.FirstSeeds(o.repeat)
			o.out = cmp.Or(o.out, filepath.Join("runs", "reproduce-"+p.Name))
			return o.run(c.App.Writer, c.App.ErrWriter, p)
		}),
	}
}

// paper returns the plan of the paper.
func (o *reproduceOptions) paper(string) (bench.Plan, error) {
	for _, text := range strings.Split(o.workers, ",") {
		if o.workers == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || len(o.Workers) > 0 && n <= o.Workers[len(o.Workers)-1] ||
			len(o.Workers) == 0 && n != 1 {
			return bench.Plan{},
				usagef("--workers %q: want increasing numbers that start with 1 (serial), e.g. 1,2,4", o.workers)
		}
		o.Workers = append(o.Workers, n)
	}
	if len(o.Workers) == 1 {
		return bench.Plan{}, usagef("--workers %q: a speed-up needs several worker counts, e.g. 1,2,4", o.workers)
	}
	return bench.PaperPlan(o.PaperOptions, caseFlags{})
}

// images returns the plan of a command that trains on images. Its template asks for the flags.
func (o *reproduceOptions) images(name string) (bench.Plan, error) {
	or, speedrun := "; leave it out for the built-in digits", name == "speedrun"
	if speedrun {
		or = ""
	}
	info, err := os.Stat(o.Data)
	switch {
	case o.Limit < 0:
		return bench.Plan{}, usagef("--limit %d: want a positive number of images", o.Limit)
	case o.Data == "" && speedrun:
		return bench.Plan{}, usagef("reproduce speedrun needs MNIST: `hogwild data get mnist`, then --data mnist")
	case o.Data != "" && (err != nil || !info.IsDir()):
		return bench.Plan{}, usagef("--data %s: want a folder with the four IDX files of MNIST%s", o.Data, or)
	case speedrun && o.Quick && o.repeat == speedrunSeeds:
		o.repeat = 5
	}
	return bench.BuiltInPlan(name, o, caseFlags{})
}

// WriteText writes the table and the verdicts.
func (r reproduced) WriteText(w io.Writer) error { return r.WriteReproduction(w) }

// WriteJSON writes the results and the verdicts as one JSON object.
func (r reproduced) WriteJSON(w io.Writer) error {
	return human.WriteJSON(w, struct {
		*bench.Experiment
		Findings []bench.Finding `json:"findings"`
	}{r.Experiment, r.Findings()})
}
