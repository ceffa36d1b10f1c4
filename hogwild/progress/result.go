package progress

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// result writes the report.
func (a *ability) result(r *core.Run, res *rundir.Result) {
	c, p := &r.Job.Asked, &r.Position
	*res = rundir.Result{Mode: c.Mode.String(), Device: r.Mem.Traits.Name, Workers: c.Workers, Model: c.Model,
		Program: c.Program,
		Data:    c.Data, Batch: r.Job.Used.Batch, Seed: c.Seed, Init: p.Init,
		Epochs: int(p.Epoch) - 1, Examples: p.Examples, Seconds: p.Seconds, StartupSeconds: a.startup(r),
		Restarts: p.Restarts, LostExamples: p.Lost, Rollbacks: p.Rollbacks, DiscardedExamples: p.Discarded,
		Parameters: int64(model.Size(r.Task.Params)), ValuesPerExample: r.Task.Train.ValuesPerRow(),
		Time: time.Now().UTC().Truncate(time.Second), Machine: rundir.ThisMachine(), CPU: vec.InstructionSet(),
		Version: config.Version, Commit: rundir.Commit(), Run: r.Dir, Stopped: r.End.Reason, Notes: notes(r),
		History: p.History, Events: r.Report.Events()}
	if res.Seconds > 0 {
		res.ExamplesPerSecond = float64(res.Examples) / res.Seconds
	}
	if res.WallSeconds = r.Position.Wall; res.WallSeconds > 0 {
		res.WallRate = float64(res.Examples) / res.WallSeconds
	}
	res.Rows = rows(&r.Task.Sets)
	res.FlopsPerExample = model.Flops(r.Task.Model, res.ValuesPerExample)
	scores(r, res)
	if res.GPUs, res.Machine.GPUs = r.Mem.Traits.UUIDs, r.Mem.Traits.Names; !r.Mem.Traits.SharesCores {
		res.InFlight = r.Job.Used.InFlight // on cores it is looked at: see package elastic
	}
	res.Nodes = r.Rounds.Result()
	decided(res, &r.Job)
	if r.Mem.OwnRate() && strings.HasPrefix(res.Auto, "lr ") { // that it never sees
		_, res.Auto, _ = strings.Cut(res.Auto, ", ")
	}
	if last := r.Last; last != nil && c.Sample == 0 && r.End.Err == nil {
		res.Warning = r.Task.Judge.Warning(c, res.History, last, r.Mem.OwnRate())
	}
	if r.End.Err == nil && !strings.HasPrefix(r.End.Reason, "target") {
		res.Missed = missed(c, res.History)
	}
	res.Instruments = r.Mem.Instruments()
	res.PerWorker, res.Scales, res.Unused = workerStatus(r), r.Position.Scales, r.Position.Unused
	res.Shares = shares(r, res.PerWorker)
	for rank := range res.PerWorker { // over the time that it trained
		w := &res.PerWorker[rank]
		w.StepTimes = r.Mem.Weights.Records[rank].StepTimes()
		w.Rate = float64(w.Examples) / max(float64(r.Mem.Block.Rank(rank, control.RankTrained))/1e9, 1e-9)
	}
	if r.Options.Timing {
		res.Timing = a.timing(r)
	}
}

// missed says which target a run has not reached.
func missed(c *config.Config, history []rundir.EpochResult) string {
	gap, s := math.NaN(), rundir.Scores{Loss: math.NaN()}
	for i := range history {
		s = history[i].Judged()
		if g, ok := history[i].TrainMetrics["relative_gap"]; ok {
			gap = g
		}
	}
	switch {
	case c.TargetGap > 0:
		return fmt.Sprintf("target gap %g: the last one measured is %.2g", c.TargetGap, gap)
	case c.TargetLoss > 0:
		return fmt.Sprintf("target loss %g: the %s loss is %.4g", c.TargetLoss, s.Set, s.Loss)
	case c.TargetAccuracy > 0 && s.Accuracy != nil:
		return fmt.Sprintf("target accuracy %g: the %s accuracy is %.4g", c.TargetAccuracy, s.Set, *s.Accuracy)
	}
	return ""
}

// rows returns the numbers of rows that were read for the sets.
func rows(s *data.Sets) *rundir.Rows {
	if s.Train.OfProgram() {
		return nil
	}
	n := &rundir.Rows{Read: s.Train.Read, Train: s.Train.Rows, Test: s.Test.Rows}
	if s.Validation != nil {
		n.Validation = s.Validation.Rows
	}
	if s.Test.Checksum != s.Train.Checksum {
		n.TestRead = s.Test.Read
	}
	return n
}

// decided writes to the result what was decided for the run.
func decided(r *rundir.Result, c *tuning.Job) {
	l := c.Used
	r.Lambda, r.Curvature, r.MaxInFlight, r.MaxLR = l.Lambda, l.Curvature, l.MaxInFlight, l.MaxLR
	r.LRUsed, r.LRCapped, r.Centered, r.BiasStep = l.LR, l.Capped, l.Center, l.BiasStep
	r.Merge, r.Auto = c.MergeText(), c.Used.Auto
	if c.Asked.Optimizer == config.Momentum {
		r.MomentumUsed = l.Momentum
	}
	r.Rate = strings.Join(c.Changes(), "; ")
}

// scores sets why the run ended early and how well it predicts; of one that diverged, the
// losses are not numbers.
func scores(r *core.Run, res *rundir.Result) {
	switch ended := r.End.Err; {
	case config.Interruption(ended) != nil:
		res.Stopped = config.Interruption(ended).Error()
	case errors.Is(ended, config.ErrDiverged):
		res.Stopped, res.TrainLoss, res.TestLoss = rundir.StoppedDiverged, math.NaN(), math.NaN()
		return
	case ended != nil:
		res.Stopped, res.Error = rundir.StoppedFailed, ended.Error()
		res.TrainLoss, res.TestLoss = math.NaN(), math.NaN()
	}
	if r.Task.Validation != nil {
		res.TestLoss = math.NaN() // until the run has come to its end: see Reported
	}
	if e := r.Last; e != nil {
		res.TrainLoss, res.Tested, res.Validation = e.TrainLoss, e.Tested, e.Validation
		res.Metrics, res.TrainMetrics = e.Metrics, e.TrainMetrics
	}
	if best := rundir.Best(r.Position.History); best != nil && !r.Task.Spec.Family().Chunks {
		res.BestEpoch, res.TrainLoss, res.Validation, res.Metrics = best.Epoch, best.TrainLoss, best.Validation,
			best.Metrics
	}
}

// startup returns the time from the first worker's exec to the last worker's first
// step; workers that came too late for any do not count.
func (a *ability) startup(r *core.Run) float64 {
	last := uint64(0)
	for rank := range a.first {
		last = max(last, r.Mem.Block.Rank(rank, control.RankFirst))
	}
	return float64(max(last, a.started)-a.started) / 1e9
}

// timing says where the time went.
func (a *ability) timing(r *core.Run) []string {
	lines := []string{fmt.Sprintf("loading the data %.3f s, start-up %.3f s, training %.3f s, between epochs %.3f s",
		a.trainingSince.Sub(a.reading).Seconds(), a.startup(r), r.Position.Seconds,
		time.Since(a.trainingSince).Seconds()-r.Position.Seconds)}
	for rank := range r.Mem.Workers.Capacity() {
		trained, waited := r.Mem.Block.Rank(rank, control.RankTrained), r.Mem.Block.Rank(rank, control.RankWaited)
		lines = append(lines, fmt.Sprintf("worker %d: training %.3f s, waiting %.3f s, %d steps, %d examples", rank,
			float64(trained)/1e9, float64(waited)/1e9, r.Mem.Block.Rank(rank, control.RankSteps),
			r.Mem.Block.Rank(rank, control.RankExamples)))
	}
	return lines
}
