package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/data"
)

const dataMakeHelp = `Usage: hogwild data make NAME FILE [--seed N] [--limit N]

Writes synthetic data to a file, and its test rows, if it has any, to a second one beside it:
those of rcv1.libsvm to rcv1.test.libsvm. Names are those of --data, with synth: before them or not:

  rcv1 netflix jumbo dblife abdomen    with the sizes of the Hogwild! paper; a fraction
                                       may follow: rcv1:0.1
  sparse:ROWSxCOLSxNNZ                 NNZ non-zero values a row, two classes
  dense:ROWSxCOLS                      two classes
  linear:ROWSxCOLS                     a value, linear in the columns, under noise
  lowrank:ROWSxCOLSxENTRIESxRANK       entries of a matrix

The ending decides the format: .libsvm or .svm for rows with labels, .csv or .npy for
dense ones (the label is the last column) and for matrices and graphs (user, item,
rating; source, target, weight).

FLAGS

Examples:
  hogwild data make rcv1:0.1 rcv1.libsvm
  hogwild data make lowrank:1000x1000x50000x10 matrix.csv
  hogwild train --data matrix.csv --test matrix.test.csv --model factor:10 --lr 0.05 --epochs 40
`

func dataMakeCommand() *cli.Command {
	seed, limit := uint64(1), 0
	l := flagList{category: "Flags"}
	l.add(&cli.Uint64Flag{Name: "seed", Category: l.category, Destination: &seed, Value: seed, Usage: "`N` all numbers follow from it"})
	l.int(&limit, "limit", "`N` the first N training rows only")
	return &cli.Command{
		Name: "make", Usage: "synthetic data, written to a file", ArgsUsage: "NAME FILE", Description: dataMakeHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, _ *settings, args []string) error {
			if len(args) != 2 {
				return usagef("data make takes a name and a file: hogwild data make rcv1:0.1 rcv1.libsvm")
			}
			name := "synth:" + strings.TrimPrefix(args[0], "synth:")
			train, test, err := data.Load(data.Options{Path: name, Seed: seed, Limit: limit})
			if err != nil {
				return usagef("%v", err)
			}
			defer train.Close()
			defer test.Close()
			graph := train.Kind == data.Pairs && train.Shape == nil // its own test
			if err := writeSet(c, args[1], train); err != nil || graph {
				return err
			}
			ending := filepath.Ext(args[1])
			return writeSet(c, strings.TrimSuffix(args[1], ending)+".test"+ending, test)
		}),
	}
}

// writeSet writes a set and says so.
func writeSet(c *cli.Context, path string, s *data.Set) error {
	if err := data.WriteFile(path, s); err != nil {
		return usagef("%v", err)
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s: %d rows\n", path, s.Rows)
	return err
}
