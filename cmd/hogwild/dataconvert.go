package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

const dataConvertHelp = `Usage: hogwild data convert PATH --out FILE [--test PATH] [--validation SHARE] [--scale HOW] ...

Reads data as train does and writes the decoded rows to FILE, a data cache: training rows, test rows
and, with --validation, validation rows. train --data FILE maps it instead of decoding the source,
which takes milliseconds, and gives the same results. A cache may be larger than memory: rows are
read from the disk while workers train.

What is decided here holds for every run on FILE: format, target, ignore, missing, scale, limit, the split
and the order in which rows lie, by --seed. train refuses settings that contradict it.

Neither the source nor FILE has to fit in memory. The folder of FILE needs room for twice its size
while it is written, and for the unpacked source if that is packed. At its first use by another
user, or on another machine, FILE is checked as a whole; so it is when it was written to.

FLAGS

Examples:
  hogwild data convert mnist/ --out mnist.hog
  hogwild data convert housing.csv --out housing.hog --target median_house_value --validation 0.1
  hogwild data convert digits --out digits.hog
  hogwild data convert corpus.txt.gz --out corpus.hog --task words
  hogwild train --data digits.hog --workers 8
`

const taskUsage = "`TASK` what is learnt: classes, values, triples (a matrix), likes (of users), edges (a graph), " +
	"facts (of a knowledge graph), words (of a corpus) or labels (of lines of text); decided by the data if left out"

func dataConvertCommand() *cli.Command {
	c := config.Default()
	var out, task string
	var force bool
	l := flagList{category: "Flags"}
	l.add(&out, "out", "`FILE` the data cache to write, such as mnist.hog")
	forcing(&l, &force)
	l.add(&c.Test, "test", "`PATH` test data, or none (default: the data set's own test split, else a held-out "+
		"sixth)")
	l.add(&c.Validation, "validation", "`FILE` validation data, or a share of the training rows, such as 0.1")
	l.settings(&c, "format", "target", "ignore", "weight", "columns", "missing", "positive")
	l.add(&c.Scale, "scale", "`HOW` scaling of inputs: auto, none, unit, standard or MEAN,STD")
	l.add(&task, "task", taskUsage)
	l.count(&c.MinCount, "min-count", "`N` with task words or labels: leave out words that occur less often")
	l.count(&c.WordNGrams, "word-ngrams", "`N` with task labels: sequences of up to N words are features, too")
	l.count(&c.Buckets, "buckets", "`N` with task labels: features that sequences of words are hashed to")
	l.count(&c.Limit, "limit", "`N` the first N training rows only")
	l.add(&c.Seed, "seed", "`N` seed of the split, of the order of rows, and of synthetic data")
	return verb(cli.Command{Name: "convert", Usage: "write data to a file that a run maps", ArgsUsage: "PATH",
		Description: dataConvertHelp, Flags: l.flags}, func(a *cli.Context, _ *settings, args []string) error {
		if len(args) != 1 || out == "" {
			return usagef("data convert takes data and the file to write: hogwild data convert mnist/ --out mnist.hog")
		}
		for _, in := range []string{args[0], c.Test, c.Validation} {
			if sameFile(out, in) {
				return usagef("--out %s: it is an input too; name another file", out)
			}
		}
		if err := mayReplace("--out ", out, atomicfile.Cache, force); err != nil {
			return err
		}
		c.Data = args[0]
		return convert(&c, task, out, a.App.Writer, a.App.ErrWriter)
	})
}

// convert writes the data of c to a cache, and says what is in it.
func convert(c *config.Config, task, out string, stdout, stderr io.Writer) error {
	ctx, stop := config.UntilSignal(context.Background())
	defer stop()
	c.Model = map[string]string{text.Words: "word2vec:1", text.Labels: "text:1"}[task]
	o := data.Options{Text: c.TextOptions(), Path: c.Data, Test: c.Test, Format: c.Format,
		Validation: data.ValidationOf(task, c.Validation, c.Data),
		Target:     c.Target, Ignore: c.Ignore, Weight: c.Weight, Columns: c.Columns,
		Missing: c.Missing, Positive: float32(c.Positive), Scale: c.Scale, Limit: c.Limit, Task: task, Seed: c.Seed}
	begun, tell := time.Now(), newTeller(stderr)
	r, err := data.Convert(ctx, o, out, c.CheckIdle, tell.tell)
	tell.end()
	switch {
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("%w: %s is not written", err, out)
	case err != nil:
		return config.Usage("%w", err)
	}
	fmt.Fprintf(stdout, "%s: %d training rows, ", out, r.Train.Rows)
	if r.Validation != nil {
		fmt.Fprintf(stdout, "%d validation rows, ", r.Validation.Rows)
	}
	fmt.Fprintf(stdout, "%d test rows; %.1f MB in %.1f s\n", r.Test.Rows, float64(r.Bytes)/1e6,
		time.Since(begun).Seconds())
	for _, note := range r.Train.Notes {
		fmt.Fprintf(stdout, "note: %s\n", note)
	}
	return nil
}

// teller shows on a terminal how far a long reading or writing is: a line, renewed twice a second.
type teller struct {
	live human.Live
	last time.Time
}

func newTeller(w io.Writer) *teller { return &teller{live: human.NewLive(w)} }

func (t *teller) tell(what string, done, total int) {
	if t.live.Size == nil || time.Since(t.last) < time.Second/2 {
		return
	}
	t.last = time.Now()
	_ = t.live.Draw(nil, fmt.Sprintf("%3.0f%% of %s", 100*float64(done)/float64(max(total, 1)), what))
}

// end takes the line away.
func (t *teller) end() { _ = t.live.Draw(nil) }
