package bench

import (
	"fmt"
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Figure is a number of a run, and how tables, files and reports show it.
type Figure struct {
	Name   string // with underscores, as in JSON
	Head   string // of its column
	Text   func(float64) string
	Unit   string             // of Go's benchmark format; "": not written there
	Better string             // higher or lower
	get    func(*Run) float64 // NaN: it has none
}

// Figures of the table of all cases, in its order. Seconds are ns/op in benchmarks.
var (
	Rate = &Figure{"examples_per_second", "examples/s", human.Rate, "examples/s", "higher",
		of(func(r *rundir.Result) float64 { return r.ExamplesPerSecond })}
	Seconds = &Figure{"seconds", "training, s", human.Short, "", "lower",
		of(func(r *rundir.Result) float64 { return positive(r.Seconds) })}
	SecondsToTarget = secondsTo(0)
	EpochsToTarget  = &Figure{"epochs_to_target", "epochs", human.Short, "epochs-to-target", "lower",
		toTarget(0, func(r *Run) []human.Number { return r.EpochsToTarget })}
	TrainLoss = &Figure{"train_loss", "train loss", human.Loss, "train-loss", "lower",
		of(func(r *rundir.Result) float64 { return r.TrainLoss })}
	TestLoss = &Figure{"test_loss", "test loss", human.Loss, "test-loss", "lower",
		of(func(r *rundir.Result) float64 { return r.TestLoss })}
	TestAccuracy = &Figure{"test_accuracy", "accuracy", human.Accuracy, "accuracy", "higher",
		of(func(r *rundir.Result) float64 { return float64(human.NumberOf(r.TestAccuracy)) })}
	TestRMSE = &Figure{"test_rmse", "RMSE", human.Loss, "rmse", "lower",
		of(func(r *rundir.Result) float64 { return float64(human.NumberOf(r.TestRMSE)) })}
	TestR2 = &Figure{"test_r2", "R²", human.Loss, "r2", "higher",
		of(func(r *rundir.Result) float64 { return float64(human.NumberOf(r.TestR2)) })}
	Staleness = &Figure{"staleness_mean", "staleness", threeDigits, "staleness", "lower",
		sampled(func(in *control.Instruments) float64 { return in.StalenessMean })}
	LostUpdates = &Figure{"lost_updates", "lost updates", human.Share, "lost-updates", "lower",
		sampled(func(in *control.Instruments) float64 { return in.LostUpdates })}
	Conflicts = &Figure{"conflicts", "conflicts", human.Share, "conflicts", "lower",
		sampled(func(in *control.Instruments) float64 { return in.Conflicts })}
	BarrierWait = &Figure{"barrier_wait_seconds", "wait, s", human.Short, "", "lower",
		instrument(func(*control.Instruments) bool { return true },
			func(in *control.Instruments) float64 { return in.BarrierWait })}
	Startup = &Figure{"startup_seconds", "start-up, s", human.Short, "", "lower",
		of(func(r *rundir.Result) float64 { return r.StartupSeconds })}
	LRUsed = &Figure{"lr_used", "LR", human.Plain, "", "",
		of(func(r *rundir.Result) float64 { return positive(r.LRUsed) })}

	caseFigures = []*Figure{Rate, Seconds, SecondsToTarget, EpochsToTarget, TrainLoss, TestLoss, TestAccuracy, TestRMSE,
		TestR2, Staleness, LostUpdates, Conflicts, BarrierWait, Startup, LRUsed}
)

// Figures of the same table where a case has several nodes. A node gives RoundBytes to be summed in a round.
// Communication is the share of the training time in which a round was on its way: workers train meanwhile, except in
// the last round of an epoch. In Waiting the workers of node 0 waited for rounds and other nodes.
var (
	NodeRounds = &Figure{"node_rounds", "taken", human.Short, "", "",
		ofNodes(func(n *rundir.Nodes) float64 { return float64(n.Rounds) })}
	RoundBytes = &Figure{"bytes_per_round", "bytes a round", func(x float64) string { return human.Bytes(int64(x)) },
		"", "", ratio(nodeBytes, NodeRounds)}
	SumSeconds = &Figure{"sum_seconds", "in sums, s", human.Short, "", "lower",
		ofNodes(func(n *rundir.Nodes) float64 { return n.SumSeconds })}
	WaitSeconds = &Figure{"wait_seconds", "waited, s", human.Short, "", "lower",
		ofNodes(func(n *rundir.Nodes) float64 { return n.WaitSeconds })}
	Communication = &Figure{"communication_share", "communication", human.Share, "", "lower",
		ratio(SumSeconds, Seconds)}
	Waiting = &Figure{"waiting_share", "waiting", human.Share, "", "lower", ratio(WaitSeconds, Seconds)}

	nodeFigures = []*Figure{NodeRounds, RoundBytes, SumSeconds, WaitSeconds, Communication, Waiting}
)

// Figures that the table does not have.
var (
	Examples = &Figure{Name: "examples",
		get: of(func(r *rundir.Result) float64 { return positive(float64(r.Examples)) })}
	WallSeconds = &Figure{Name: "wall_seconds",
		get: of(func(r *rundir.Result) float64 { return positive(r.WallSeconds) })}
	StalenessP99 = &Figure{Name: "staleness_p99", Head: "staleness, p99", Text: human.Short,
		get: sampled(func(in *control.Instruments) float64 { return float64(in.StalenessP99) })}
	LostBelow = &Figure{Name: "lost_updates_below", Text: human.Share, get: instrument(
		func(in *control.Instruments) bool { return in.LostSamples > 0 },
		func(in *control.Instruments) float64 { return in.LostBelow })}
	nodeBytes = &Figure{Name: "node_bytes", get: ofNodes(func(n *rundir.Nodes) float64 { return float64(n.Bytes) })}
	// Command is the time of the process, from its start to its end.
	Command = &Figure{Name: "took", get: func(r *Run) float64 {
		if r.Failed != "" || r.Took == 0 { // which older results do not have
			return math.NaN()
		}
		return r.Took
	}}
)

// Of returns the figure of each run of a case; a run that missed its target is behind all others there.
func (f *Figure) Of(c *Measured) []float64 {
	all := make([]float64, len(c.Runs))
	for i := range all {
		all[i] = f.get(&c.Runs[i])
	}
	return all
}

// Late is Of with +Inf for runs that diverged or ended without the figure: they are behind all others. Those that
// failed in another way tell nothing.
func (f *Figure) Late(c *Measured) []float64 {
	behind := *f
	behind.get = late(f.get)
	return behind.Of(c)
}

func late(get func(*Run) float64) func(*Run) float64 {
	return func(r *Run) float64 {
		x := get(r)
		if !human.Finite(x) && (r.Failed == "" || r.Diverged) {
			return math.Inf(1)
		}
		return x
	}
}

// of returns a figure of results, which runs that failed do not have.
func of(get func(*rundir.Result) float64) func(*Run) float64 {
	return func(r *Run) float64 {
		if r.Result == nil || r.Failed != "" {
			return math.NaN()
		}
		return get(r.Result)
	}
}

// positive returns NaN for 0, which stands for a number that is not known.
func positive(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return x
}

// instrument returns a figure of the instruments of runs that have enough.
func instrument(enough func(*control.Instruments) bool, get func(*control.Instruments) float64) func(*Run) float64 {
	return of(func(r *rundir.Result) float64 {
		if r.Instruments == nil || !enough(r.Instruments) {
			return math.NaN()
		}
		return get(r.Instruments)
	})
}

// sampled returns a figure that samples of steps have shown.
func sampled(get func(*control.Instruments) float64) func(*Run) float64 {
	return instrument(func(in *control.Instruments) bool { return in.StalenessSamples > 0 }, get)
}

func ofNodes(get func(*rundir.Nodes) float64) func(*Run) float64 {
	return of(func(r *rundir.Result) float64 {
		if r.Nodes == nil {
			return math.NaN()
		}
		return get(r.Nodes)
	})
}

func ratio(a, to *Figure) func(*Run) float64 {
	return func(r *Run) float64 { return a.get(r) / to.get(r) }
}

// secondsTo returns how long runs took to one of the targets.
func secondsTo(target int) *Figure {
	return &Figure{"seconds_to_target", "time to target", shortTime, "s-to-target", "lower",
		toTarget(target, func(r *Run) []human.Number { return r.SecondsToTarget })}
}

// toTarget is a figure of a target, which is +Inf for runs that missed it.
func toTarget(target int, times func(*Run) []human.Number) func(*Run) float64 {
	return late(func(r *Run) float64 {
		if list := times(r); target < len(list) {
			return float64(list[target])
		}
		return math.NaN()
	})
}

func threeDigits(x float64) string { return fmt.Sprintf("%.3g", x) }
