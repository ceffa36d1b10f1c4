package config

import (
	"regexp"
	"strconv"
	"strings"

	"hogwild/hogwild/model"
)

// conflict is two things that cannot be had together. Names in braces stand for values: see fill.
type conflict struct {
	one, other func(known) bool
	say        string
}

// refuse returns the first of the conflicts that the settings have.
func (c *Config) refuse(all []conflict) error {
	k := known{c, nil}
	for _, x := range all {
		if x.one(k) && x.other(k) {
			return Usage("%s", braces.ReplaceAllStringFunc(x.say, c.fill))
		}
	}
	return nil
}

var braces = regexp.MustCompile(`{[a-z-]+}`)

// fill returns the value of a setting whose name is in braces, or the number of nodes, or of examples asked for.
func (c *Config) fill(name string) string {
	switch name = strings.Trim(name, "{}"); name {
	case "nodes":
		return strconv.Itoa(c.Nodes)
	case "asked-batch":
		return strconv.Itoa(c.AskedBatch())
	}
	return c.Text(name)
}

// together is what a mode, several nodes, a program, rows of half precision and the solver dual cannot be had with.
var together = []conflict{
	{known.simulated, known.gpu, "mode {mode} is simulated on one core; leave gpu out"},
	{known.waits, func(k known) bool { return k.gpu() && k.Workers > 1 },
		"mode {mode} with gpu: kernels of several workers would wait for each other on the GPU and could deadlock; " +
			"use workers 1, with any number of steps in-flight"},
	{known.simulated, func(k known) bool { return k.stateful() && (k.Rule.Kind >= Clip || Whole(k.MergeEvery) > 1) },
		"optimizer {optimizer} with mode clock: clip, dc, delayed-nesterov and merge-every are defined for plain " +
			"sgd; use optimizer sgd"},
	{known.simulated, func(k known) bool { return k.Workers > 1 },
		"workers {workers} with mode {mode}: one worker simulates all of them, so that runs repeat exactly; leave " +
			"workers out"},
	{known.atomic, known.shared,
		"optimizer-state shared with mode {mode}: only updates of weights are atomic, not those of the optimizer's " +
			"state; use optimizer-state private, or mode locked"},
	{known.simulated, func(k known) bool { _, every, _ := k.SavePeriod(); return every > 0 },
		"save-every {save-every} with mode {mode}: a snapshot within an epoch would apply delayed updates early; " +
			"give a number of epochs"},

	{known.grid, known.stateful, "optimizer {optimizer} with mode {mode}: its steps are plain ones; use sgd"},
	{known.grid, func(k known) bool { return k.GlobalBatch > 0 || k.Batch > 1 },
		"batch and global-batch with mode {mode}: it trains entry by entry; leave them out"},
	{known.grid, func(k known) bool { return k.Partition == "contiguous" },
		"partition contiguous with mode {mode}: any worker takes any block; use dynamic"},
	{known.grid, func(k known) bool { return k.GradientDelay > 0 },
		"gradient-delay with mode {mode}: nobody waits between read and write; use async"},
	{known.grid, known.gpu, "gpu {gpu} with mode {mode}: blocks are trained on cores; leave gpu out"},
	{known.grid, known.program, "program with mode {mode}: it trains model factor alone; use async or sync"},
	{known.grid, known.several, "several nodes with mode {mode}: blocks share the memory of one; use one node"},

	{known.several, known.simulated,
		"mode {mode} on {nodes} nodes: one process simulates all workers of a run; use one node"},
	{known.several, func(k known) bool { return k.OnDivergence == Rollback },
		"on-divergence {on-divergence} on {nodes} nodes: one node cannot go back alone; use stop, then resume the " +
			"run with a lower lr"},
	{known.several, func(k known) bool { return k.StopAfter > 0 },
		"stop-after {stop-after} on {nodes} nodes: each node has its own clock; send node 0 a SIGTERM, which saves " +
			"the job"},

	{known.program, func(k known) bool { return strings.TrimSpace(k.Program) == "" },
		`program "{program}": name a command, e.g. 'python3 step.py'`},
	{known.program, func(k known) bool { return !k.Mode.Traits().Fused },
		"mode {mode} with program: the program writes to the weights with plain stores; use async or sync"},
	{known.program, func(k known) bool { return k.stateful() && !k.AveragesGradients() },
		"optimizer {optimizer} with program: use one of torch.optim in the program, or mode sync with average " +
			"gradients"},
	{known.program, known.several,
		"program on {nodes} nodes: a program trains on one machine; start it without nodes and mpi"},

	{known.fp16, func(k known) bool { return !k.Mode.Traits().Racy },
		"precision fp16 with mode {mode}: rows of half precision are written by racy stores; use mode async, or " +
			"precision fp32"},
	{known.fp16, known.stateful,
		"precision fp16 with optimizer {optimizer}: it trains by plain SGD; use optimizer sgd, or precision fp32"},
	{known.fp16, func(k known) bool { return k.AskedBatch() > 1 },
		"precision fp16 with batch {asked-batch}: a step has one rating; use batch 1, or precision fp32"},
	{known.fp16, func(k known) bool { return k.severalGPUs() },
		"precision fp16 with gpu {gpu}: replicas on other GPUs are of single precision; name one, e.g. gpu 0, or use " +
			"precision fp32"},
	{known.fp16, known.several,
		"precision fp16 on {nodes} nodes: what a round changes is added in single precision; use one node, or " +
			"precision fp32"},

	{known.ascends, func(k known) bool { return !k.Mode.Traits().Free },
		"mode {mode} with solver dual: use async or atomic"},
	{known.ascends, known.gpu, "gpu {gpu} with solver dual: it computes on cores; leave gpu out"},
	{known.ascends, known.program,
		"program with solver dual: it trains linear models that are built in; leave program out"},
	{known.ascends, known.nodes,
		"nodes with solver dual: a dual variable belongs to a row of one machine; leave nodes out"},
	{known.ascends, func(k known) bool { return k.L2 <= 0 },
		"l2 0 with solver dual: the dual problem needs l2 above 0, e.g. l2 1e-4"},
	{known.ascends, func(k known) bool { return k.L1 != 0 }, "l1 with solver dual: leave l1 out"},
	{known.ascends, known.stateful,
		"optimizer {optimizer} with solver dual: it has steps of its own; leave optimizer out"},
	{known.ascends, func(k known) bool { return k.AskedBatch() != 1 && k.Batch+k.GlobalBatch != 0 },
		"batch {asked-batch} with solver dual: a step is on one row; leave batch out"},
	{known.ascends, func(k known) bool { return k.Init != "" },
		"init with solver dual: it starts at zero, or with resume; leave init out"},
	{known.ascends, func(k known) bool { return k.Center == "on" }, "center on with solver dual: leave center out"},

	{known.sync, func(k known) bool { return k.gpu() && k.InFlight > k.Workers },
		"in-flight {in-flight} with mode {mode}: each of the {workers} workers keeps one step in flight, so that " +
			"runs repeat exactly; leave in-flight out"},
	{known.sync, func(k known) bool { return k.weights() && k.shared() },
		"optimizer-state shared with mode {mode}: each replica has its own optimizer state; leave optimizer-state " +
			"out"},
}

// CheckFamily refuses what cannot be had with a family of models, on rows that may be weighted.
func (c *Config) CheckFamily(f *model.Family, weighted bool) error {
	if c.Mode.Grid > 0 && !f.Entries && !f.Chunks {
		return Usage("mode %s: model %s has no rows and columns whose entries can be trained apart; use model "+
			"factor:32, or mode sync", c.Mode, c.Model)
	}
	if weighted && !f.Weighs {
		return Usage("model %s does not weigh rows: leave weight and class-weight out", c.Model)
	}
	if weighted && (known{c, nil}).gpu() {
		return Usage("gpu %s: rows with weights are trained on cores; leave gpu out, or weight and class-weight", c.GPU)
	}
	if c.Precision == FP16 && !f.Halves {
		return Usage("precision fp16: model %s has no rows that a GPU stores in half precision; use model factor:32, "+
			"or leave precision out", c.Model)
	}
	if f.Chunks {
		return c.refuse(onChunks)
	}
	if f.Projects {
		return c.refuse(onSimplex)
	}
	return nil
}

// onChunks is what cannot be had with a model whose steps are on chunks of rows.
var onChunks = []conflict{
	{known.gpu, known.gpu, "gpu {gpu}: model {model} is trained on cores; leave gpu out"},
	{func(k known) bool { return !k.stepsByRow() }, func(k known) bool { return k.RowOptimizer != RowSGD },
		"model {model} takes steps of its own, which scale each row by its gradients, in mode async, blocks, or sync " +
			"with average weights, without optimizer, batch and gradient-delay; use these, or row-optimizer sgd"},
}

// onSimplex is what a model would leave its simplexes by: only a step of plain SGD ends with a projection.
var onSimplex = []conflict{
	{known.sync, func(k known) bool { return !k.weights() },
		"average gradients: model {model} projects its weights after each local step; use average weights"},
	{known.several, func(k known) bool { return k.Outer == "nesterov" },
		"outer nesterov: model {model} keeps its weights on simplexes, which steps beyond a mean would leave; use " +
			"outer mean"},
	{known.simulated, func(k known) bool { return k.Rule.Kind >= Compensate || Whole(k.MergeEvery) > 1 },
		"mode clock: model {model} keeps its weights on simplexes, which the rules dc and delayed-nesterov, and " +
			"local steps, would leave; use another rule, without merge-every"},
	{known.stateful, known.stateful, "optimizer {optimizer}: model {model} trains by projected SGD; use sgd"},
}
