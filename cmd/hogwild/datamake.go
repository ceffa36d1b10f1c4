package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/internal/atomicfile"
)

const dataMakeHelp = `Usage: hogwild data make NAME FILE [--seed N] [--limit N] [--force]

Writes synthetic data to FILE, and its test rows, if there are any, beside it: with rcv1.libsvm,
to rcv1.test.libsvm. Files that are there stay unless --force is given. NAME is as in --data, with or without the prefix synth:

  rcv1 netflix jumbo dblife abdomen    data with the sizes of the Hogwild! paper's sets,
                                       or a fraction of them: rcv1:0.1
  sparse:ROWSxCOLSxNNZ                 two classes, NNZ non-zero values per row
  dense:ROWSxCOLS                      two classes
  linear:ROWSxCOLS                     regression: linear in the columns, plus noise
  lowrank:ROWSxCOLSxENTRIESxRANK       entries of a low-rank matrix

The extension of FILE sets the format: .libsvm or .svm for rows with labels; .csv or .npy for
dense rows (the label is the last column), matrices and graphs (user, item, rating; source,
target, weight).

FLAGS

Examples:
  hogwild data make rcv1:0.1 rcv1.libsvm
  hogwild data make lowrank:1000x1000x50000x10 matrix.csv
  hogwild train --data matrix.csv --test matrix.test.csv --model factor:10 --lr 0.05 --epochs 40
`

func dataMakeCommand() *cli.Command {
	seed, limit, force := uint64(1), 0, false
	l := flagList{category: "Flags"}
	l.add(&seed, "seed", "`N` seed of the random numbers")
	l.count(&limit, "limit", "`N` the first N training rows only")
	l.add(&force, "force", "replace files that are there")
	return verb(cli.Command{Name: "make", Usage: "write synthetic data to a file", ArgsUsage: "NAME FILE",
		Description: dataMakeHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) != 2 {
			return usagef("data make takes a name and a file: hogwild data make rcv1:0.1 rcv1.libsvm")
		}
		ending := filepath.Ext(args[1])
		beside := strings.TrimSuffix(args[1], ending) + ".test" + ending
		for _, path := range []string{args[1], beside} {
			if err := mayReplace("", path, atomicfile.Made, force); err != nil {
				return err
			}
		}
		name := "synth:" + strings.TrimPrefix(args[0], "synth:")
		train, test, err := data.Load(data.Options{Path: name, Seed: seed, Limit: limit})
		if err != nil {
			return usagef("%v", err)
		}
		defer train.Close()
		defer test.Close()
		ctx, stop := config.UntilSignal(context.Background())
		defer stop()
		graph := train.Graph() // its own test
		if err := writeSet(ctx, c.App.Writer, args[1], train); err != nil || graph {
			return err
		}
		return writeSet(ctx, c.App.Writer, beside, test)
	})
}

// writeSet writes a set and says so.
func writeSet(ctx context.Context, stdout io.Writer, path string, s *data.Set) error {
	err := data.WriteFile(ctx, path, s)
	switch {
	case config.Interruption(err) != nil:
		return err
	case err != nil:
		return usagef("%v", err)
	}
	_, err = fmt.Fprintf(stdout, "%s: %d rows\n", path, s.Rows)
	return err
}
