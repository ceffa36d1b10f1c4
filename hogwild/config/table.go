package config

import (
	"cmp"
	"math"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/model"
)

// builtIn are the names of data that need no file.
var builtIn = strings.Fields("digits synth:rcv1 synth:netflix synth:jumbo synth:dblife synth:abdomen synth:sparse: " +
	"synth:ranked: synth:dense: synth:linear: synth:lowrank:")

// table is the settings in the order of the help.
var table = append([]Group{
	{"Workers and data", []Setting{
		{Name: "workers", Usage: "`N` worker processes; auto: one per core, or per GPU", Zero: "auto",
			most: maxWorkers},
		{Name: "data", Usage: "`PATH` file, folder of IDX or .npy files, - for standard input, digits, or synth:NAME " +
			"(see data make)",
			Hints: builtIn},
		{Name: "test", Usage: "`PATH` test data, or none: train on all rows (default: the data set's own test split, " +
			"else a held-out sixth)",
			Hints: builtIn},
		{Name: "validation", Usage: "`FILE` validation data, a share of the training rows, e.g. 0.1, or none: the " +
			"test set is then used only at the end (default: 0.1 for networks without --epochs, else none)",
			check: (*Config).checkValidation,
			needs: []need{
				// all edges of a graph are cut
				{"model", "", false, func(k known) bool { return !k.family().Whole || !k.validated() }},
			}},
		{Name: "format", Usage: "`FORMAT` auto, idx, libsvm, csv, npy, ratings, lists (of what users liked) or text",
			Words: strings.Fields("auto idx libsvm csv npy ratings lists text"),
			needs: []need{
				{"data", "", false, func(k known) bool { return k.Test != "" || !k.format("digits", "synth") }},
			}},
		{Name: "target", Usage: "`COLUMN` column of a CSV file to predict, by name or number",
			needs: []need{
				{"data", "use CSV (format csv) or .npy data", false,
					func(k known) bool { return k.format("", "csv", "npy") }},
			}},
		{Name: "ignore", Usage: "`COLUMNS` of a CSV file to leave out, by name or number, separated by commas",
			needs: []need{
				{"data", "use CSV data (format csv)", false, func(k known) bool { return k.format("", "csv") }},
			}},
		{Name: "weight", Usage: "`COLUMN` of a CSV file by which the losses of the training rows are multiplied, by " +
			"name or number; it is no input",
			needs: []need{
				{"data", "use CSV data (format csv)", false, func(k known) bool { return k.format("", "csv") }},
			}},
		{Name: "class-weight", Usage: "`HOW` weights of classes: balanced, or NAME=WEIGHT between commas",
			Hints: words(data.Balanced),
			needs: []need{
				{"data", "use data with classes", false, func(k known) bool {
					return k.data == nil || k.data.Classes != nil
				}},
			}},
		{Name: "columns", Usage: "`COLUMNS` of ratings or edges, by name or number: user=NAME,item=NAME,value=NAME " +
			"or source=NAME,target=NAME,weight=NAME (default: by their names, or else the first three); of a table " +
			"for model text: label=NAME,text=NAME",
			needs: []need{
				{"model", "use model factor:32, cut or text:100, or format ratings", false, func(k known) bool {
					return k.data == nil || k.data.Entries() ||
						k.data.Text != nil && k.data.Text.Columns != nil
				}},
			}},
		{Name: "missing", Usage: "`HOW` missing values in a CSV file: fill (with the column's mean or most common " +
			"text), drop (such rows) or error",
			Words: words(format.Fill, format.Drop, format.Refuse),
			needs: []need{
				{"data", "use CSV data (format csv)", false, func(k known) bool { return k.format("", "csv") }},
			}},
		{Name: "limit", Usage: "`N` train on the first N rows only", Zero: "all",
			most: math.MaxInt32},
		{Name: "scale", Usage: "`HOW` scaling of inputs: auto (bytes by 255, numeric columns to mean 0 and standard " +
			"deviation 1, sparse rows not), none, unit, standard or MEAN,STD",
			Hints: strings.Fields("auto none unit standard"),
			needs: []need{
				{"data", "use none", false, func(k known) bool {
					return k.Scale == "none" || k.data == nil || !k.data.Entries()
				}},
			}},
	}},
	{"Model", []Setting{
		{Name: "model", Usage: "`MODEL` softmax, logistic, hinge, squared-hinge, linear, l1, mlp:256,128, convnet, " +
			"conv:SHAPE, factor:32, bpr:64, warp:64, cut, word2vec:100, text:100 or kge:complex:128 (default: " +
			"depends on the data)",
			Hints: strings.Fields("softmax logistic hinge squared-hinge linear l1 mlp: convnet conv: factor: bpr: " +
				"warp: cut word2vec: text: kge:complex: kge:distmult: kge:transe: kge:rotate:"),
			needs: []need{
				{"program", "", false, func(k known) bool { return k.built() || k.Model == model.ProgramName }},
			}},
		{Name: "program", Usage: "`COMMAND` program that trains a model of its own, in place of --model: 'python3 " +
			"step.py' (see docs/programs.md)"},
		{Name: "loss", Usage: "`LOSS` cross-entropy, logistic, hinge, squared-hinge, squared or l1 (default: depends " +
			"on the model)",
			Hints: strings.Fields("cross-entropy logistic hinge squared-hinge squared l1"),
			needs: []need{{"program", "", false, known.built}}},
		{Name: "bias", Flag: "no-bias", Usage: "train without bias terms",
			needs: []need{{"program", "", false, known.built}}},
		{Name: "biases", Usage: "factor: add a bias for each row and column (default: if --model is left out)",
			needs: []need{
				{"model", "use model factor:32", false, func(k known) bool {
					return k.Model == "" || k.family().Entries && !k.family().Ranks
				}},
			}},
		{Name: "center", Usage: "`HOW` centring (subtracting the means of the inputs): auto, on or off",
			Words: words(Auto, On, Off),
			needs: []need{{"program", "", false, func(k known) bool { return k.built() || k.Center == "off" }}}},
		{Name: "bias-step", Usage: "`HOW` shorter steps of the bias on short sparse rows: auto or off",
			Words: words(Auto, Off),
			needs: []need{{"program", "", false, known.built}}},
		{Name: "l2", Usage: "`X` add X/2 times the sum of squared weights to the mean loss (default: 0; chosen from " +
			"the data for ratings without --model)",
			most: math.MaxFloat32,
			needs: []need{
				{"model", "", false, func(k known) bool { return !k.family().OfText() }},
			}},
		{Name: "l1", Usage: "`X` add X times the sum of absolute weights to the mean loss",
			most: math.MaxFloat32,
			needs: []need{
				{"program", "", false, known.built},
				{"model", "use l2", false, func(k known) bool { return k.family().L1 }},
			}},
		{Name: "init", Usage: "`FILE` start from these weights: a run folder (by the names of words, columns, " +
			"classes and ids), safetensors, or a state_dict of torch.save (.pt)",
			needs: []need{
				{"resume", "", false, func(k known) bool { return k.Resume == "" }}, // which starts from the snapshot
			}},
		{Name: "init-partial", Usage: "take the tensors of --init that fit by name and shape",
			needs: []need{{"init", "add init FILE", false, func(k known) bool { return k.Init != "" }}}},
	}},
	tableOfText,
	tableOfRanks,
	{"Mode", []Setting{
		{Name: "mode", Usage: "`MODE` how workers update the shared weights: async (no locks), sync (averaged), " +
			"atomic, locked, ordered, clock:SPEEDS (simulated, see --rule), delayed:K or blocks (repeatable)",
			Hints: append(Modes[:len(Modes):len(Modes)], "clock:equal:", "clock:sqrt:", "clock:exp:", "delayed:",
				"delayed:geometric:", "blocks")},
		{Name: "rule", Usage: "`RULE` mode clock: what is done with late gradients: plain, inverse, adaptive, tail, " +
			"drop:R, rennala:B, minibatch, quorum:Q, clip:C, dc:L (see docs/clock.md)",
			Hints: RuleHints,
			needs: []need{
				{"mode", "use mode clock:equal:8", false, known.simulated},
			}},
		{Name: "average", Usage: "`WHAT` sync averages: weights after local steps, or gradients",
			Words: words(Weights, Gradients),
			needs: []need{{"mode", "use mode sync", true, known.sync}}},
		{Name: "average-every", Usage: "`N` local steps between two averagings, or epoch", Zero: "epoch",
			Hints: strings.Fields("epoch"),
			most:  math.MaxInt32,
			needs: []need{
				{"mode", "use mode sync", true, known.sync},
				{"average", "use average weights", true, func(k known) bool {
					return k.weights() ||
						k.AverageEvery == 1
				}},
			}},
		{Name: "average-lr", Usage: "`HOW` learning rate of workers that sync averages, and of nodes: scaled (lr x " +
			"their number, within the stable limit), same, or auto: scaled with sgd and momentum where a limit is " +
			"known",
			Words: words(Auto, Scaled, Same),
			needs: []need{
				// Same is how a rate is that nothing scales.
				{"mode", "use mode sync, or several nodes", false, func(k known) bool {
					return k.sync() || k.nodes() ||
						k.AverageLR == "same"
				}},
				{"global-batch", "use batch", false, func(k known) bool {
					return k.GlobalBatch == 0 ||
						k.AverageLR == "same"
				}},
			}},
		{Name: "batch", Usage: "`N` examples per worker and step; auto: 64, fewer on small sets, 1 on sparse rows " +
			"and pairs",
			Zero:  "auto",
			Hints: strings.Fields("auto"),
			most:  maxBatch,
			needs: []need{{"global-batch", "", false, func(k known) bool { return k.GlobalBatch == 0 }}}},
		{Name: "global-batch", Usage: "`N` examples per step of all workers together, instead of --batch", Zero: "none",
			check: func(c *Config) error {
				return fromOne("global-batch", c.GlobalBatch, c.AllWorkers()*maxBatch, "none")
			},
			needs: []need{{"batch", "", false, func(k known) bool { return k.Batch == 0 }}}},
		{Name: "partition", Usage: "`HOW` assignment of examples: dynamic (to the next free worker) or contiguous " +
			"(fixed shares)",
			Words: words(Dynamic, Contiguous)},
		{Name: "merge-every", Usage: "`M` async: local steps on a copy of the weights between two merges; auto; 1: " +
			"update in place; clock: local steps of a gradient",
			Hints: strings.Fields("auto"),
			check: (*Config).checkMerge,
			needs: []need{
				// 1 is in place, which is how other modes write anyway.
				{"mode", "use mode async", false, func(k known) bool {
					return k.Mode.Traits().Copies || k.simulated() || k.ascends() ||
						k.MergeEvery == "1"
				}},
				{"program", "", false, func(k known) bool {
					return k.built() || k.MergeEvery == "1" || k.severalGPUs()
				}},
			}},
		{Name: "gradient-delay", Usage: "`TIME` artificial delay of each gradient, e.g. 100ns: for experiments",
			check: (*Config).checkGradientDelay,
			needs: []need{
				{"gpu", "", false, func(k known) bool { return !k.gpu() }},
				{"mode", "", false, func(k known) bool { return !k.simulated() }},
				{"program", "", false, known.built},
			}},
	}},
	{"GPU", []Setting{
		{Name: "gpu", Usage: "`N` keep the weights on GPU N; several GPUs: 0,1; choose by free memory: auto or " +
			"auto:2 (default: host memory)",
			Hints: strings.Fields("auto auto: 0"),
			check: (*Config).checkGPU},
		{Name: "gpu-mem-free", Usage: "`SIZE` free memory that auto requires of a GPU, e.g. 4GiB",
			check: (*Config).checkFreeMemory,
			needs: []need{
				{"gpu", "use gpu auto", false,
					func(k known) bool { _, choose, err := ReadGPUs(k.GPU); return err == nil && choose > 0 }},
			}},
		{Name: "in-flight", Usage: "`N` steps in flight on the GPUs at once; auto: depends on the model", Zero: "auto",
			most: 1 << 16,
			needs: []need{
				{"gpu", "add gpu 0", false, known.gpu},
				{"program", "", false, known.built},
			}},
		{Name: "precision", Usage: "`NUMBERS` on the GPUs: auto: products of perceptrons in tf32, on tensor cores; " +
			"fp32: single precision; fp16: the rows of factor stored in half precision",
			Words: words(Auto, FP32, FP16),
			needs: []need{
				{"gpu", "add gpu 0", false, known.gpu},
				{"program", "", false, known.built},
			}},
	}},
	{"Optimizer", []Setting{
		{Name: "solver", Usage: "`HOW` auto: sgd, and where a linear regression ends above its optimum, that; sgd " +
			"alone; or dual: coordinate ascent, for hinge, squared hinge and logistic with l2 on sparse rows",
			Words: words(Auto, PlainSGD, Dual)},
		{Name: "epochs", Usage: "`N` passes over the data; auto: 10, up to 200 on small sets", Zero: "auto",
			Hints: strings.Fields("auto"),
			most:  math.MaxInt32},
		{Name: "lr", Usage: "`X` learning rate; auto: from the curvature of the loss on the data", Zero: "auto",
			Hints: strings.Fields("auto"),
			check: func(c *Config) error { return positive("lr", cmp.Or(c.LR, 1)) },
			needs: []need{
				{"solver", "use solver sgd", false, func(k known) bool { return !k.ascends() || k.LR == ascentRate }},
			}},
		{Name: "lr-cap", Usage: "`HOW` cap of the learning rate by the steps in flight: auto or off",
			Words: words(Auto, Off),
			needs: []need{
				// Off holds where nothing is capped.
				{"optimizer", "use sgd or momentum", false, func(k known) bool {
					return !k.Optimizer.Adaptive() ||
						k.LRCap == "off"
				}},
				{"mode", "", false, func(k known) bool { return !k.sync() || k.LRCap == "off" }},
				{"program", "", false, func(k known) bool { return k.built() || k.LRCap == "off" }},
			}},
		{Name: "optimizer", Usage: "`NAME` sgd, momentum, adam or adagrad",
			Words: words(SGD, Momentum, Adam, AdaGrad)},
		{Name: "momentum", Usage: "`X` momentum coefficient, for momentum",
			most:  maxShare,
			needs: []need{{"optimizer", "use optimizer momentum", true, known.momentum}}},
		{Name: "beta1", Usage: "`X` decay of the first moment, for adam",
			most:  maxShare,
			needs: []need{{"optimizer", "use optimizer adam", true, known.adam}}},
		{Name: "beta2", Usage: "`X` decay of the second moment, for adam",
			most:  maxShare,
			needs: []need{{"optimizer", "use optimizer adam", true, known.adam}}},
		{Name: "optimizer-state", Usage: "`WHOSE` optimizer state: private (one per worker) or shared",
			Words: words(Private, Shared),
			needs: []need{{"optimizer", "use momentum, adam or adagrad", true, known.stateful}}},
		{Name: "schedule", Usage: "`NAME` learning rate schedule: constant, cosine, step, exp, linear, or cooldown, " +
			"linear over the second half; auto: constant, for words and text linear, for perceptrons with --epochs " +
			"and the automatic rate cooldown",
			Words: words(Auto, Constant, Cosine, Stepwise, Exp, Linear, Cooldown)},
		{Name: "lr-min", Usage: "`X` final learning rate of the schedule",
			check: (*Config).CheckLRMin,
			needs: []need{
				{"schedule", "use cosine, linear, cooldown, step or exp", false,
					func(k known) bool { return k.falls() }},
			}},
		{Name: "decay", Usage: "`X` factor of the learning rate per epoch, for step and exp",
			least: 1e-12, most: 1,
			needs: []need{
				{"schedule", "use step or exp", true, func(k known) bool {
					return k.Schedule == "step" ||
						k.Schedule == "exp"
				}},
			}},
	}},
}, tableOfRuns...)
