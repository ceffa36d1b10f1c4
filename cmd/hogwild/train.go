package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tune"
	"hogwild/internal/human"
)

var trainHelp = `Usage: hogwild train [flags]

Trains one model with several worker processes that share one set of weights in memory.
With --mode async (Hogwild!) all workers update it without locks; with --mode sync they train
replicas that are averaged. Weights, metrics and settings are saved in a run folder.

FLAGS data target test model workers mode lr epochs gpu resume

Modes:
` + config.ModeHelp() + `
Speeds of --mode clock, of N virtual workers:
` + config.SpeedsHelp + `
Rules for late gradients, --rule (tau: updates since a gradient was begun; n: workers; docs/clock.md):
` + config.RuleHelp + `
Precedence of a flag's value: the command line; the environment (HOGWILD_LR for --lr,
HOGWILD_AVERAGE_EVERY for --average-every; --data has none); the file of --config; the run of
--resume; the default. A setting without an effect is an error. If a flag takes the effect from
a setting of the file or the resumed run, that setting is dropped, with a message.

Without --lr, --epochs and --batch the run chooses them from the data and prints its choice.
docs/models.md has the rules, docs/results/defaults.md what they reach.

Before the run, hogwild estimates from the data how many steps in flight the learning rate allows
without a loss of accuracy. If there are far more, of networks eight times as many, it lowers the
rate (--lr-cap); it also centres the inputs where that helps (--center). --tune measures instead.
See docs/asynchrony.md.

--program trains a model of your own: any PyTorch module. hogwild starts the command once per worker;
the script calls hogwild.join(net), iterates over job.batches(), and calls job.step(loss). Workers,
restarts, snapshots, averaging and reports are the same. See docs/programs.md.

Several machines: mpirun or srun starts one hogwild train on each, all with the same flags. Each
trains its share of every epoch with its own workers, and --rounds times an epoch the nodes average
what they have learned. Node 0 reports, and has the run folder. It needs make mpi; --nodes N tries
the same on one machine without it. See docs/nodes.md.

Exit status: 0 done; 2 a wrong flag or file, or no such GPU; 3 training diverged; 4 --target-gap was
missed; 130, 143 and 129 interrupted (Ctrl-C, SIGTERM, SIGHUP) and saved; 1 any other error.

Examples:
  hogwild train --workers 8
      the built-in digits, eight processes
  hogwild train --data mnist/ --model mlp:128 --lr 0.1 --epochs 5
      a folder with the four IDX files of MNIST
  hogwild train --data mnist/ --validation 0.1 --patience 5 --epochs 100
      early stopping on a tenth of the training rows
  hogwild train --data a9a --test a9a.t --model logistic --batch 1 --l2 1e-4
      sparse data in LIBSVM format
  hogwild train --data housing.csv --target median_house_value --model linear
      regression on a column of a CSV file
  hogwild train --mode sync --workers 4 --average-every 1 --lr 0.1
      average the replicas after each step
  hogwild train --mode clock:slow:8,2,4 --rule drop:8 --lr-cap off
      what two of eight workers that are four times slower cost, simulated: the same bits each time
  hogwild train --data a9a --model logistic --batch 1 --workers 8 --tune
      find the best learning rate for eight workers first
  hogwild train --program 'python3 step.py' --data mnist/ --workers 4
      the PyTorch module of step.py, four processes on one set of weights
  hogwild train --gpu 0
      weights in the memory of the first GPU, which one worker fills (needs hogwild-cuda: make cuda)
  hogwild train --gpu auto:2 --gpu-mem-free 4GiB
      the two GPUs in least use, with the most free memory (hogwild devices lists GPUs)
  hogwild train --data mnist/ --epochs 50 --dashboard 127.0.0.1:0
      live training curves in a browser
  hogwild train --data mnist/ --model mlp:128 --init net.pt
      start from weights that torch.save wrote, or from those of a run folder
  hogwild train --resume runs/digits --epochs 20
      continue a run with its settings, up to epoch 20
`

func trainCommand() *cli.Command {
	o := &trainOptions{Config: config.Default()}
	return &cli.Command{
		Name: "train", Usage: "train a model", Description: trainHelp,
		Flags: o.flags(),
		Action: o.afterFirst(action(func(c *cli.Context, s *settings, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q; did you mean --data %s?", args[0], args[0])
			}
			for _, step := range []func() error{func() error { return o.files(s) },
				func() error { return s.noteTestData(c.App.ErrWriter) }, func() error { return o.tuned(s) },
				func() error { return o.give(s) }} {
				if err := step(); err != nil {
					return err
				}
			}
			return o.train(c.App.Writer, c.App.ErrWriter)
		})),
	}
}

// tuned refuses a learning rate along with --tune, which finds it; a file's is dropped.
func (o *trainOptions) tuned(s *settings) error {
	if !o.tune || o.LR == 0 || o.Resume != "" {
		return nil
	}
	why := fmt.Sprintf("lr %g has no effect with tune, which finds the learning rate", o.LR)
	if from := s.origin["lr"]; from.rank == inFile {
		o.dropped = append(o.dropped, fmt.Sprintf("%s: %s; the setting is ignored", from.place, why))
		return s.assign("lr", config.Zero("lr"))
	}
	return usagef("%s: leave one of them out", why)
}

// files gives the flags that have no value yet the values in the file of --config, then of the run to be resumed. Of
// these it drops what has no effect with what the command line and the environment say.
func (o *trainOptions) files(s *settings) error {
	if err := o.saved(s); err != nil || o.config == "" && o.Resume == "" {
		return err
	}
	alone, t, err := trainSettings()
	if err != nil {
		return err
	}
	alone.config, alone.Resume, alone.Snapshot = o.config, o.Resume, o.Snapshot
	if err := alone.saved(t); err != nil {
		return err
	}
	alone.Nodes = max(2, alone.Nodes) // the launcher says how many, not the file
	idle := map[string]bool{}         // whatever the command line says
	for i := range alone.Idle(nil) {
		idle[i.Setting] = idle[i.Setting] || i.Changed
	}
	return o.leaveOut(s, idle)
}

// leaveOut drops the settings of files and runs that have no effect, but not a file's that are idle in any case: these
// are refused with the others.
func (o *trainOptions) leaveOut(s *settings, idle map[string]bool) error {
	for i := range o.Idle(nil) {
		from := s.origin[i.Setting]
		if !i.Changed || from.rank < inFile || from.rank == inFile && idle[i.Setting] {
			continue
		}
		o.dropped = append(o.dropped, fmt.Sprintf("%s: %s; the setting is ignored", from.place, i.Why))
		if err := s.assign(i.Setting, s.set.Lookup(i.Setting).DefValue); err != nil {
			return err
		}
	}
	return nil
}

// saved reads the file of --config and the run to be resumed. Which node this is decides whether there is one.
func (o *trainOptions) saved(s *settings) error {
	if o.config != "" {
		if err := s.file(o.config); err != nil {
			return err
		}
	}
	if err := o.launched(); err != nil {
		return err
	}
	o.requeued()
	if o.Resume == "" {
		return nil
	}
	var err error
	if o.Snapshot == nil {
		o.Snapshot, err = rundir.ReadSnapshot(o.Resume)
	}
	if err != nil {
		return err
	}
	o.dropped = append(o.dropped, takenOut(o.Resume)...)
	saved := o.Snapshot.Resumed(o.Resume)
	saved.MPI = config.Default().MPI
	return s.inherit(&saved, o.Resume)
}

// train runs the training and reports. A run that was interrupted or diverged is reported too; its
// error, which decides the exit status, is returned all the same.
func (o *trainOptions) train(stdout, stderr io.Writer) error {
	err := toGPU(o.Config)
	if err != nil {
		return err
	}
	for _, line := range o.dropped {
		fmt.Fprint(stderr, human.Shown(stderr, human.Visible("hogwild: "+line+"\n")))
	}
	for _, begin := range companions {
		end, err := begin(o, stderr)
		if err != nil {
			return err
		}
		defer end()
	}
	o.Progress, o.Signals, o.Exits = stderr, true, true
	if err := o.joinJob(stderr); err != nil {
		return err
	}
	defer o.leaveJob()
	if o.tune {
		if o.Config, _, err = tune.Tune(context.Background(), o.Config, o.Options); err != nil {
			return err
		}
	}
	result, err := o.runNodes(context.Background())
	reported := errors.Is(err, config.ErrDiverged) || errors.Is(err, config.ErrElsewhere) ||
		errors.Is(err, config.ErrAfterLoop)
	if err != nil && config.Interruption(err) == nil && !reported {
		return err
	}
	if o.Peers != nil && !o.Peers.First() {
		return err
	}
	if result.Missed != "" && o.TargetGap > 0 {
		err = errors.Join(err, config.ErrGap)
	}
	result.ShownLive = !o.Quiet && human.Terminal(directly(stdout)) != nil && human.Terminal(stderr) != nil
	return errors.Join(err, report(stdout, result, o.json))
}
