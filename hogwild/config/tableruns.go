package config

import "math"

// tableOfRuns is the rest of the table: settings that do not change what is trained.
var tableOfRuns = []Group{
	{"Several nodes", []Setting{
		{Name: "mpi", Usage: "`HOW` auto: be one node of the job that mpirun or srun has started, if one has; on: be " +
			"one, or fail; off: a run of its own",
			Words: words(Auto, On, Off)},
		{Name: "rounds", Usage: "`N` rounds of averaging between nodes in an epoch, or auto: communication takes " +
			"under a fifth of the time",
			check: (*Config).checkRounds,
			needs: []need{{"", startNodes, false, known.nodes}}},
		{Name: "outer", Usage: "`HOW` how a round applies the mean of the nodes' changes: mean (adds it) or nesterov " +
			"(DiLoCo)",
			Words: words(Mean, Nesterov),
			needs: []need{{"", startNodes, false, known.nodes}}},
		{Name: "outer-lr", Usage: "`X` learning rate of --outer nesterov",
			check: func(c *Config) error { return positive("outer-lr", c.OuterLR) },
			needs: []need{{"outer", "use outer nesterov", true, known.nesterov}}},
		{Name: "outer-momentum", Usage: "`X` momentum of --outer nesterov",
			most:  maxShare,
			needs: []need{{"outer", "use outer nesterov", true, known.nesterov}}},
		{Name: "node-timeout", Usage: "`TIME` save and end the job if a node is silent for TIME",
			check: (*Config).checkNodeTimeout,
			needs: []need{{"", startNodes, false, known.nodes}}},
	}},
	{"Run", []Setting{
		{Name: "seed", Usage: "`N` seed of the order of examples and of the initial weights"},
		{Name: "target-loss", Usage: "`X` stop when the validation loss is X or less (without --validation, the test " +
			"loss)", Zero: "none",
			most: math.MaxFloat32},
		{Name: "target-accuracy", Usage: "`X` stop when the validation accuracy is X or more (without --validation, " +
			"the test accuracy)",
			Zero:  "none",
			check: (*Config).checkTargetAccuracy},
		{Name: "target-gap", Usage: "`X` dual: stop when the duality gap is X of the objective or less", Zero: "none",
			most: 1,
			needs: []need{
				{"solver", "use solver dual", false, known.ascends},
			}},
		{Name: "stop-after", Usage: "`TIME` stop, saved, so long after the first worker began to train, within an " +
			"epoch too; 0: never",
			check: (*Config).checkStopAfter},
		{Name: "patience", Usage: "`N` stop after N epochs without a better validation loss; 0: never (20 for " +
			"networks that hold out rows by themselves)",
			most: math.MaxInt32,
			needs: []need{
				{"validation", "add validation 0.1", false, func(k known) bool {
					return k.validated() ||
						k.HoldsOut()
				}},
			}},
		{Name: "run", Usage: "`DIR` run folder (default: runs/<time>-<name>)"},
		{Name: "save-every", Usage: "`N` epochs between snapshots, or a time: 30s; auto: so seldom that saving takes " +
			"2% of the time at most; 0: only at the end",
			check: func(c *Config) error { _, _, err := c.SavePeriod(); return err }},
		{Name: "resume", Usage: "`DIR` run folder to resume, with its settings"},
		{Name: "max-restarts", Usage: "`N` restarts in a row of a worker that dies or hangs; one that has trained " +
			"for a while has all again",
			most: math.MaxInt32},
		{Name: "max-memory", Usage: "`SIZE` memory that the data, also while they are read, and the weights may " +
			"take, e.g. 4GiB; auto: three quarters of the free memory",
			check: (*Config).checkMemory},
		{Name: "hang-timeout", Usage: "`TIME` replace a worker that is stopped or stuck for TIME; 0: never",
			check: (*Config).checkHangTimeout},
		{Name: "on-divergence", Usage: "`HOW` if training diverges: stop, or rollback (to the last good snapshot, " +
			"with half the learning rate, at most 3 times)",
			Words: words(Stop, Rollback)},
	}},
}
