package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/export"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/words"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

const exportHelp = `Usage: hogwild export WEIGHTS|RUN --to FORMAT [--out PATH]

Writes saved weights for other programs. WEIGHTS is a weights.safetensors; of a run folder, export
takes its last one. PyTorch loads weights.safetensors itself: docs/runs.md has the lines. WEIGHTS
of PyTorch (see hogwild eval --help) need --model and --train. In Python, hogwild.load("RUN").tensors
are the arrays.

  onnx      a graph, for ONNX Runtime and others: linear models, perceptrons, convolutional networks.
            Input "input": float32, a row of features each; of a convolutional network batch x
            channels x height x width. Outputs "logits", "label" (the class, counted from 0) and
            for the losses softmax and logistic "probabilities"; or "value"
  vec, bin  vectors of words as word2vec writes them, as text or binary: of the models word2vec and
            text, and of the entities of kge. gensim's KeyedVectors.load_word2vec_format loads both
  fasttext  a model.bin of fastText (version 12), which fasttext.load_model loads: of the model text

The scaling of the inputs is part of an ONNX file: inputs are those of the training data, not scaled
(bytes are 0 to 255). A missing sparse value is 0. Columns of texts and dates enter as numbers:
fill values, forms of dates and texts that training lacks are not in the file.

FLAGS
Without --out the file is written next to the weights, as weights.onnx; with --out - to standard
output. A file of another kind stays unless --force is given.

Examples:
  hogwild export runs/digits --to onnx
  hogwild export runs/digits/weights.safetensors --to onnx --out digits.onnx
  hogwild export runs/words --to bin --out words.bin
`

const (
	onnxFormat     = "onnx"
	vecFormat      = "vec"
	binFormat      = "bin"
	fastTextFormat = "fasttext"
)

var exportFormats = []string{onnxFormat, vecFormat, binFormat, fastTextFormat}

func init() { choices["to"] = exportFormats }

// exportKinds are the kinds of the files of formats that have one.
var exportKinds = map[string]atomicfile.Kind{onnxFormat: atomicfile.ONNX, vecFormat: atomicfile.Vectors,
	binFormat: atomicfile.Vectors, fastTextFormat: atomicfile.FastText}

func exportCommand() *cli.Command {
	var to, out string
	var force bool
	var d saved.Description
	l := flagList{category: "Flags"}
	l.add(&to, "to", "`FORMAT` onnx, vec, bin or fasttext")
	l.add(&out, "out", "`PATH` file to write; by default next to the weights")
	forcing(&l, &force)
	describing(&l, &d)
	return verb(cli.Command{Name: "export", Usage: "write weights for other programs", ArgsUsage: "WEIGHTS|RUN",
		Description: exportHelp, Flags: l.flags}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) != 1 || to == "" {
			return usagef("export takes one weights file or run folder, and a format: hogwild export runs/digits " +
				"--to onnx")
		}
		if to == "npy" {
			return usagef("--to npy: it was taken out; %s", export.Arrays)
		}
		if !slices.Contains(exportFormats, to) {
			return usagef("--to %s: want %s", to, strings.Join(exportFormats, ", "))
		}
		written, err := exportTo(forPrograms(c.App.Writer), weightsPath(args[0]), out, to, force, d)
		if err == nil {
			fmt.Fprintln(c.App.ErrWriter, human.Line(written))
		}
		return err
	})
}

// weightsPath returns the file of weights that a run folder has; another path is one, or is refused where it is read.
func weightsPath(path string) string {
	file := filepath.Join(path, rundir.WeightsFile)
	if _, err := os.Stat(file); err != nil {
		return path
	}
	return file
}

// exportTo writes the weights in the format, by default next to them, with "-" to standard output, and says what it has
// written.
func exportTo(stdout io.Writer, weights, out, format string, force bool,
	d saved.Description) (written string, err error) {
	if out == "" {
		out = strings.TrimSuffix(weights, filepath.Ext(weights))
		if out += "." + format; format == fastTextFormat {
			out = filepath.Join(filepath.Dir(weights), "model.bin")
		}
	}
	if sameFile(out, weights) {
		return "", usagef("--out %s: these are the weights; name another file", out)
	}
	replace := func(write func(io.Writer) error) error {
		return replaceFile(out, exportKinds[format], force, write)
	}
	if out == "-" {
		replace = func(write func(io.Writer) error) error { return write(stdout) }
	} else if err := mayReplace("--out ", out, exportKinds[format], force); err != nil {
		return "", err
	}
	if format == vecFormat || format == binFormat {
		v, err := words.Open(weights)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s: %s of %d numbers", out, human.Plural(len(v.Words), "vector"), v.K),
			replace(func(w io.Writer) error { return export.Vectors(w, v, format == vecFormat) })
	}
	s, err := saved.OpenAs(weights, d)
	if err != nil {
		return "", err
	}
	write := func(w io.Writer) error { return export.FastText(w, s) }
	if format == onnxFormat {
		file, err := export.ONNX(s)
		if err != nil {
			return "", err
		}
		write = func(w io.Writer) error {
			_, err := w.Write(file)
			return err
		}
	}
	return fmt.Sprintf("%s: model %s", out, s.Model()), replace(write)
}
