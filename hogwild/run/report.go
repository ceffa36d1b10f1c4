package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/display"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
	"hogwild/internal/atomicfile"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
)

// view is what people are told of all this.
type view struct {
	*scorer
	shown shown
}

// shown is what was shown last, and when.
type shown struct {
	latest   rundir.Status
	rates    []display.Speed // of each worker
	looked   time.Time
	second   time.Time // when the last second was written
	loadTime time.Duration
	started  uint64    // monotonic: the first worker's exec
	first    int       // workers that the run began with
	watched  time.Time // since when they are watched
}

// result is the report.
func (r *view) result() rundir.Result {
	c, p := &r.job.Asked, &r.position
	res := rundir.Result{Mode: c.Mode.String(), Device: r.owner.Name(), Workers: c.Workers, Model: c.Model, Program: c.Program,
		Data: c.Data, Batch: r.job.Used.Batch, Seed: c.Seed, Init: p.Init,
		Epochs: int(p.Epoch) - 1, Examples: p.Examples, Seconds: p.Seconds, StartupSeconds: r.startup(),
		Restarts: p.Restarts, LostExamples: p.Lost, Rollbacks: p.Rollbacks, DiscardedExamples: p.Discarded,
		Parameters: int64(model.Size(r.params)), ValuesPerExample: r.train.ValuesPerRow(),
		Time: time.Now().UTC().Truncate(time.Second), Machine: rundir.ThisMachine(), CPU: vec.InstructionSet(),
		Version: config.Version, Commit: rundir.Commit(), Run: r.dir, Stopped: r.stopped, Notes: r.notes(), History: p.History, Events: r.report.Events()}
	if res.Seconds > 0 {
		res.ExamplesPerSecond = float64(res.Examples) / res.Seconds
	}
	if res.WallSeconds = r.position.Wall; res.WallSeconds > 0 {
		res.WallRate = float64(res.Examples) / res.WallSeconds
	}
	res.FlopsPerExample = model.Flops(r.first, res.ValuesPerExample)
	r.scores(&res)
	if o, ok := r.owner.(interface {
		GPUs() (uuids, names []string)
	}); ok { // not in host memory
		res.GPUs, res.Machine.GPUs = o.GPUs()
	}
	res.Nodes = r.rounds.Result()
	tell(&res, &r.job)
	res.LeastInFlight = r.limit.least
	if r.ownRate() && strings.HasPrefix(res.Auto, "lr ") { // that it never sees
		_, res.Auto, _ = strings.Cut(res.Auto, ", ")
	}
	if last := r.last; last != nil && c.Sample == 0 && r.ended == nil {
		res.Warning = r.judge.Warning(c, res.History, last, r.ownRate())
	}
	res.Instruments = r.instruments()
	if f := r.flight(res.Instruments); f != nil {
		res.InFlight, res.InFlightSeen = f.expected, f.seen
	}
	res.PerWorker, res.Scales, res.Unused = r.workerStatus(), r.position.Scales, r.position.Unused
	res.Shares = r.shares(res.PerWorker)
	for rank := range res.PerWorker { // over the time that it trained
		w := &res.PerWorker[rank]
		w.Rate = float64(w.Examples) / max(float64(r.block.Rank(rank, control.RankTrained))/1e9, 1e-9)
	}
	if r.options.Timing {
		res.Timing = r.timing()
	}
	return res
}

// tell writes to the result what was decided for the run.
func tell(r *rundir.Result, c *tuning.Job) {
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
func (r *view) scores(res *rundir.Result) {
	switch ended := r.ended; {
	case config.Interruption(ended) != nil:
		res.Stopped = config.Interruption(ended).Error()
	case errors.Is(ended, config.ErrDiverged):
		res.Stopped, res.TrainLoss, res.TestLoss = rundir.StoppedDiverged, math.NaN(), math.NaN()
		return
	case ended != nil:
		res.Stopped, res.Error = rundir.StoppedFailed, ended.Error()
		res.TrainLoss, res.TestLoss = math.NaN(), math.NaN()
	}
	if r.validation != nil {
		res.TestLoss = math.NaN() // until the run has come to its end: see testEnd
	}
	if e := r.last; e != nil {
		res.TrainLoss, res.TestLoss, res.Validation = e.TrainLoss, e.TestLoss, e.Validation
		res.TestAccuracy, res.TestRMSE, res.TestR2, res.Metrics = e.TestAccuracy, e.TestRMSE, e.TestR2, e.Metrics
		res.TrainMetrics = e.TrainMetrics
	}
	if best := rundir.Best(r.position.History); best != nil {
		res.BestEpoch, res.TrainLoss, res.Validation, res.Metrics = best.Epoch, best.TrainLoss, best.Validation, best.Metrics
	}
}

// startup is the time from the first worker's exec to the last worker's first
// step; workers that came too late for any do not count.
func (r *view) startup() float64 {
	last := uint64(0)
	for rank := range r.shown.first {
		last = max(last, r.block.Rank(rank, control.RankFirst))
	}
	return float64(max(last, r.shown.started)-r.shown.started) / 1e9
}

// timing says where the time went.
func (r *view) timing() []string {
	lines := []string{fmt.Sprintf("loading the data %.3f s, start-up %.3f s, training %.3f s, between epochs %.3f s",
		r.shown.loadTime.Seconds(), r.startup(), r.position.Seconds, time.Since(r.shown.watched).Seconds()-r.position.Seconds)}
	for rank := range r.workers.Most() {
		trained, waited := r.block.Rank(rank, control.RankTrained), r.block.Rank(rank, control.RankWaited)
		lines = append(lines, fmt.Sprintf("worker %d: training %.3f s, waiting %.3f s, %d steps, %d examples", rank,
			float64(trained)/1e9, float64(waited)/1e9, r.block.Rank(rank, control.RankSteps), r.block.Rank(rank, control.RankExamples)))
	}
	return lines
}

// notes are what the user should know of the data, the device and the processor.
func (r *view) notes() []string {
	device, _ := askFor(r.shared, r.patient(), func() ([]string, error) { return r.owner.Notes(), nil }) // one that hangs has none
	notes := slices.Clone(r.train.Notes)
	for _, note := range r.test.Notes {
		notes = append(notes, "test set: "+note)
	}
	if r.validation != nil {
		for _, note := range r.validation.Notes {
			notes = append(notes, "validation set: "+note)
		}
	}
	return slices.Concat(notes, device, loops.Notes(loops.Known()))
}

// header is what the display shows at the top.
func (r *view) header() []string {
	c, m := &r.job.Asked, r.train.Meta
	what := fmt.Sprintf("%d x %d %s, %s", m.Rows, m.Features, m.Kind, m.ScaleText())
	if n := len(m.Classes); n > 0 {
		what += fmt.Sprintf(", %d classes", n)
	}
	if r.validation != nil {
		what += fmt.Sprintf("), validation set of %d (%s", r.validation.Rows, c.Validation)
	}
	on := fmt.Sprintf("%s (%s), test set of %d", c.Data, what, r.test.Rows)
	if m.Kind == data.Indices {
		on = fmt.Sprintf("its own data of %d examples, test set of %d", m.Rows, c.Layout.TestRows)
	}
	head := []string{fmt.Sprintf("%s on %s", cmp.Or(c.Program, c.Model), on),
		fmt.Sprintf("%s, %s, batch %d, %s, lr %g; run folder %s", c.Mode, rundir.WorkersText(c.Nodes, c.Workers),
			r.job.Used.Batch, c.Optimizer, c.LR, r.dir)}
	for _, note := range r.notes() {
		head = append(head, "note: "+note)
	}
	return head
}

// show renews the display, and once a second the metrics.
func (r *view) show() {
	s := r.status()
	r.shown.latest = s
	r.report.Status(s)
	if time.Since(r.shown.second) >= time.Second && r.stepped() { // programs may take long to start
		r.shown.second = time.Now()
		lr := plan.NewSchedule(&r.job.Asked, r.job.Used.LR, r.train.Rows).At(s.Examples)
		r.report.Wrote(r.folder.Second(s, r.instruments(), lr))
	}
}

// stepped reports whether a worker has taken a step.
func (r *view) stepped() bool {
	return slices.ContainsFunc(r.workers.Running(), func(p *workers.Process) bool { return r.block.Rank(p.Rank, control.RankFirst) != 0 })
}

// status is the run at this moment.
func (r *view) status() rundir.Status {
	epoch := int(r.block.Get(control.WordEpoch))
	s := rundir.Status{Kind: "second", Epoch: epoch, Epochs: r.job.Asked.Epochs, Seconds: r.seconds(control.Monotonic()),
		Total: int64(r.block.Plan.N) * int64(r.job.Asked.Epochs), Last: r.last, Rollbacks: r.position.Rollbacks}
	_, done, _, loss := r.progressOfAll()
	s.Examples = r.position.Examples
	if r.opened != 0 {
		s.Examples += int64(done)
		if done > 0 {
			mean := loss / float64(done)
			s.TrainLoss = &mean
			s.TrainMetrics = r.trainMetrics()
		}
	}
	passed := max(time.Since(r.shown.looked).Seconds(), 1e-3)
	r.shown.looked = time.Now()
	s.Workers = slices.DeleteFunc(r.workerStatus(), func(w rundir.WorkerStatus) bool {
		return w.State == stateLeft
	})
	for i := range s.Workers {
		w := &s.Workers[i]
		w.Rate = r.shown.rates[w.Rank].Next(w.Examples, passed)
		s.Rate += w.Rate
	}
	return s
}

// stateLeft is that of a worker that has ended because there are fewer now.
const stateLeft = "left"

// workerStatus is each of them at this moment, but for its speed.
func (r *view) workerStatus() []rundir.WorkerStatus {
	var all []rundir.WorkerStatus
	for rank := range r.workers.Most() {
		w := rundir.WorkerStatus{Rank: rank, PID: int(r.block.Rank(rank, control.RankPID)),
			State:    control.StateNames[r.block.Rank(rank, control.RankState)%uint64(len(control.StateNames))],
			Examples: int64(r.block.Rank(rank, control.RankExamples)), Restarts: r.workers.Restarts(rank)}
		switch {
		case r.workers.Gone(rank):
			w.State = control.StateNames[control.StateGone] // whatever its stand-in is doing
		case r.workers.Left(rank):
			w.State = stateLeft
		case r.workers.Leaving(rank): // there may be more again, and it stays
			w.State = "leaving"
		}
		w.Instruments = r.mem.Records[rank].Instruments(float64(r.block.Rank(rank, control.RankWaited)) / 1e9)
		w.StalenessHistogram = nil // of each worker and each second it is too much
		all = append(all, w)
	}
	return all
}

// testEnd evaluates the weights of a run that has come to its end in detail: with a validation
// set those of the best epoch, for which test rows are used here and nowhere else. It computes
// on the host, wherever the weights were trained. An interrupted run is not kept waiting by it.
func (r *view) testEnd(res *rundir.Result) error {
	if r.ended != nil || r.job.Asked.Sample > 0 {
		return nil
	}
	if r.evaluator != nil {
		return r.testBest(res)
	}
	models := make([]model.Model, machine.Cores())
	for i := range models {
		var err error
		if models[i], err = model.New(r.job.Asked.ModelOptions(), r.train.Meta); err != nil {
			return err
		}
	}
	w := r.copy.Plain(r.trained)
	if r.copy.Best != nil {
		w = r.copy.Best
		s, err := score.Evaluate(models, w, r.test)
		if err != nil {
			return err
		}
		res.TestLoss, res.TestAccuracy, res.TestRMSE, res.TestR2 = s.Loss, s.Accuracy, s.RMSE, s.R2
	}
	var err error
	res.Detail, err = score.Detail(models, w, r.test, r.spec.Loss, res.TestLoss)
	return err
}

// saveResult writes result.json, and the run once more if its folder was removed after the last save.
func (r *view) saveResult(res *rundir.Result) error {
	r.due = false
	return r.keep(func() error {
		if r.due && r.good {
			if err := r.saveCopy(); err != nil {
				return err
			}
		}
		res.Run = r.dir
		var text bytes.Buffer
		if err := res.WriteJSON(&text); err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(r.dir, rundir.ResultFile), text.Bytes()); err != nil {
			return fmt.Errorf("the result could not be saved: %w", err)
		}
		return nil
	})
}

// testBest has a program test the weights of the best epoch, where a validation set has chosen it; and the last ones, where they have no
// score, since the run was interrupted before.
func (r *view) testBest(res *rundir.Result) error {
	w := r.copy.Best
	if w == nil && math.IsNaN(res.TestLoss) {
		w = r.copy.Plain(r.trained)
	}
	if w == nil {
		return nil
	}
	sum, err := r.scoreOn(w, r.test)
	switch {
	case err == nil && r.late:
		err = r.cause()
		res.Stopped = config.Interruption(err).Error()
	case err == nil && sum.N > 0:
		s := score.Of("test", sum, false)
		res.TestLoss, res.TestAccuracy, res.Metrics = s.Loss, s.Accuracy, s.Metrics
	}
	return err
}
