package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/saved"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

const predictHelp = `Usage: hogwild predict WEIGHTS|RUN --data PATH [--out FILE] [--proba]
       hogwild predict RUN --top K [--data PATH] [--seen in] [--out FILE]
       hogwild predict WEIGHTS --model MODEL --train PATH --data PATH [--out FILE] [--proba]

Predicts the class name or the value of each row of a data set with saved weights, or with a factor
model the value of each (row, column) pair. WEIGHTS is a weights.safetensors; for a run folder,
predict uses its last one. Inputs are scaled as in training, and columns of a CSV file are found by
name. Labels in the file are ignored. WEIGHTS of PyTorch (see hogwild eval --help) need --model, and
--train with the training data.

There is one prediction per row, in the order of the file; it is empty if the row lacks a value, or has an id that the
training data lacks, and a note on stderr counts these. Ids are written as in the file, below its own column names. CSV
is written to stdout as rows arrive. --out FILE makes FILE once the predictions are complete, and
replaces earlier predictions alone unless --force is given.

--top K writes the K best items for each user of a model that ranks, a line each, with scores: user,item,score. --data
then names a file of users, one a line; without it all users have some. What a user has in the training data is left
out, for which these are read again, unless --seen in is given. Of a knowledge graph, lines of --data are a head and a
relation, or ?, a relation and a tail, with tabs or commas between them; the columns are head,relation,tail,score.
The columns are prediction, then p_CLASS for each class with --proba; of pairs user,item,prediction.
In Python hogwild.load("RUN").predict(X) returns arrays.

FLAGS

Examples:
  hogwild predict runs/digits --data digits --out digits.csv
  hogwild predict runs/housing --data new.csv
  hogwild predict runs/films --top 10 --out best.csv
  tail -f new.csv | hogwild predict runs/spam --data - --proba
`

func predictCommand() *cli.Command {
	in := data.Inputs{Format: config.Auto}
	var out string
	var proba, force bool
	var top int
	var seen string
	var d saved.Description
	l := flagList{category: "Flags"}
	l.add(&in.Path, "data", "`PATH` file, folder of IDX files, or digits; - is stdin")
	l.asInTrain(&in.Format, "format")
	l.asInTrain(&in.Columns, "columns")
	l.add(&in.Target, "target", "`COLUMN` column of labels to ignore, by name or number; needed if columns have "+
		"no names")
	l.add(&top, "top", "`K` of a model that ranks: the K best items of each user, or entities that complete a fact")
	l.asInTrain(&seen, "seen")
	l.add(&out, "out", "`FILE` .csv file to write; stdout by default")
	l.add(&proba, "proba", "also print the probability of each class")
	forcing(&l, &force)
	describing(&l, &d)
	return verb(cli.Command{Name: "predict", Usage: "predict the class or value of each row", ArgsUsage: "WEIGHTS|RUN",
		Description: predictHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		switch {
		case len(args) != 1:
			return usagef("predict takes one weights file or run folder, and --data: hogwild predict runs/digits " +
				"--data digits")
		case top < 0:
			return usagef("--top %d: want 1 or more, or 0 for none", top)
		case top == 0 && seen != "":
			return usagef("--seen %s has no effect without --top 10", seen)
		case top > 0 && (in.Format != config.Auto || in.Columns != "" || in.Target != ""):
			return usagef("--format, --columns and --target have no effect with --top, whose file has a query a line")
		case top > 0 && proba:
			return usagef("--proba has no effect with --top, which writes scores: leave one of them out")
		case in.Path == "" && top == 0:
			return usagef("--data is missing: hogwild predict %s --data new.csv", human.ShellPath(args[0]))
		}
		d.Target = in.Target
		write := predictRows(in, proba)
		if top > 0 {
			write = predictBest(in.Path, top, config.Seen(seen))
		}
		return predict(args[0], d, in.Path, out, force, write, forPrograms(c.App.Writer), c.App.ErrWriter)
	})
}

// predictRows returns the predictor of the rows of a file.
func predictRows(in data.Inputs, proba bool) predictor {
	return func(s *saved.Saved, w io.Writer) (int, []string, error) {
		table := newPredictions(s, proba, w)
		notes, err := s.PredictFile(in, proba, func(rows *saved.Predictions) error {
			if table.rows == 0 { // nothing is printed above an error about the file as a whole
				if err := table.begin(rows.Heads); err != nil {
					return err
				}
			}
			return table.add(rows)
		})
		return table.rows, notes, err
	}
}

// predict writes the predictions for a file to the file out, or to stdout.
func predict(weights string, d saved.Description, in, out string, force bool, write predictor, stdout,
	stderr io.Writer) error {
	toFile := out != "" && out != "-"
	if toFile && filepath.Ext(out) != ".csv" {
		return usagef("--out %s: predictions are CSV: name a .csv file; in Python hogwild.load(RUN).predict(X) "+
			"returns arrays", out)
	}
	for _, input := range []string{weights, in} {
		if sameFile(out, input) {
			return usagef("--out %s: it is an input too; name another file", out)
		}
	}
	if toFile {
		if err := mayReplace("--out ", out, atomicfile.Predictions, force); err != nil {
			return err
		}
	}
	s, err := saved.OpenAs(weights, d)
	if err != nil {
		return err
	}
	var rows int
	var notes []string
	to := func(w io.Writer) (err error) {
		rows, notes, err = write(s, w)
		return err
	}
	if !toFile {
		err = to(stdout)
		if errors.Is(err, syscall.EPIPE) { // the reader has enough, as head does
			return nil
		}
	} else {
		err = replaceFile(out, atomicfile.Predictions, force, to)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "hogwild: %s\n", human.Visible(note))
	}
	if toFile {
		fmt.Fprintf(stderr, "%s: %s predictions\n", human.Visible(out), human.Count(int64(rows)))
	}
	return nil
}
