package main

import (
	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/saved"
)

const evalHelp = `Usage: hogwild eval WEIGHTS|RUN [--data PATH] [--top K] [--json]
       hogwild eval WEIGHTS --model MODEL [--train PATH] --data PATH

Evaluates saved weights on a data set: loss, accuracy or error, and figures per class or of the
residuals. WEIGHTS is a weights.safetensors; for a run folder, eval uses the
weights of the last epoch. Inputs are scaled as in training. Of a run with --program give the folder:
eval starts its command then.
Without --data it evaluates the run's own test rows, which gives the loss in the run's report. With
--data it evaluates all rows of the file (of a folder, its test set).

--top K also counts labels among the K most probable classes: precision is their number / (K x lines),
recall their number / labels, as fasttext test has them. A line of text may have several labels.

WEIGHTS can also be safetensors of another program, or a state_dict that torch.save wrote (.pt, .pth;
read by PyTorch, in HOGWILD_PYTHON or python3).
Of a model that ranks it gives the figures of docs/rankings.md, of the K best items with --top K.
Such a file does not record its model and data: pass --model, and with --train the training data, from which
classes and scaling are taken (default: those of --data).

FLAGS

Examples:
  hogwild eval runs/digits
  hogwild eval runs/digits/weights.safetensors
      the best epoch of a run with --validation
  hogwild eval runs/digits --data digits:2000:7
  hogwild eval runs/a9a/weights.safetensors --data a9a.t --json
  hogwild eval runs/films --data new.csv --columns user=reader,item=title,value=stars
  hogwild eval net.pt --model mlp:128 --data mnist/
      weights of PyTorch
`

func evalCommand() *cli.Command {
	in := data.Options{Format: config.Auto}
	var json bool
	var top int
	var seen string
	var d saved.Description
	l := flagList{category: "Flags"}
	l.add(&in.Path, "data", "`PATH` file, folder of IDX or .npy files, - for standard input, or digits (default: "+
		"the run's test rows)")
	l.asInTrain(&in.Format, "format")
	l.asInTrain(&in.Columns, "columns")
	l.add(&in.Target, "target", "`COLUMN` target column of a CSV file, by name or number")
	l.add(&top, "top", "`K` also print precision and recall among the K most probable classes, or best items")
	l.asInTrain(&seen, "seen")
	l.add(&json, "json", "print the result as one JSON object")
	describing(&l, &d)
	return verb(cli.Command{Name: "eval", Usage: "evaluate saved weights", ArgsUsage: "WEIGHTS|RUN",
		Description: evalHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) != 1 {
			return usagef("eval takes one weights file or run folder: hogwild eval runs/digits")
		}
		if in.Path == "" && (in.Target != "" || in.Columns != "" || in.Format != config.Auto) {
			return usagef("--format, --target and --columns have no effect without --data: eval then reads the run's " +
				"data as the run did")
		}
		if top < 0 {
			return usagef("--top %d: want 1 or more, or 0 for none", top)
		}
		result, err := saved.EvalTop(args[0], d, in, top, config.Seen(seen))
		if err != nil {
			return err
		}
		return report(c.App.Writer, result, json)
	})
}

// describing adds the flags that say what weights of PyTorch do not.
func describing(l *flagList, d *saved.Description) {
	l.category = "Weights of PyTorch"
	l.add(&d.Model, "model", "`MODEL` model these weights belong to: softmax, mlp:128, convnet and so on")
	l.add(&d.Loss, "loss", "`LOSS` loss of the model, same as in train")
	l.add(&d.NoBias, "no-bias", "the model has no bias terms")
	l.add(&d.Train, "train", "`PATH` training data, for classes, columns and scaling")
	l.asInTrain(&d.Ignore, "ignore")
	l.add(&d.Scale, "scale", "`HOW` scaling of inputs, same as in train: auto, none, unit, standard or MEAN,STD")
}
