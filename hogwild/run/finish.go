package run

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// finish ends a run: the workers, a round that was under way, the last snapshot,
// the report. What was trained is saved, unless the numbers diverged.
func (r *coordinator) finish() (rundir.Result, error) {
	r.pos.Seconds = r.seconds(control.Monotonic())
	within := r.opened != 0
	r.opened = 0
	r.age = time.Since(r.mirrored)
	r.halt()
	r.drain()
	if nan := r.diverged(); nan != nil {
		r.ended = nan
	} else if errors.Is(r.ended, errDone) {
		r.ended = nil
	}
	if within && !errors.Is(r.ended, config.ErrDiverged) {
		r.failed(r.saveWithin())
	}
	r.display.close()
	result := r.result()
	r.failed(r.saveResult(result))
	return result, r.ended
}

// saveResult writes result.json, unless the run failed in a way that leaves nothing to
// report.
func (r *coordinator) saveResult(res rundir.Result) error {
	if r.ended != nil && res.Stopped == "" {
		return nil
	}
	var text bytes.Buffer
	if err := res.WriteJSON(&text); err != nil {
		return err
	}
	if err := rundir.ReplaceFile(filepath.Join(r.dir, rundir.ResultFile), [][]byte{text.Bytes()}); err != nil {
		return fmt.Errorf("the result could not be saved: %w", err)
	}
	return nil
}

// failed adds an error to why the run ended; the device's first one is enough.
func (r *coordinator) failed(err error) {
	var was, is deviceError
	if err != nil && !(errors.As(err, &is) && errors.As(r.ended, &was)) {
		r.ended = errors.Join(r.ended, err)
	}
}

// drain takes in the evaluation under way, whatever it says.
func (r *coordinator) drain() {
	if r.busy {
		ended := r.ended
		r.settle()
		r.ended = ended
	}
}

// saveWithin saves a run that was stopped within an epoch, from the mirror if need be.
func (r *coordinator) saveWithin() error {
	_, done, lost, loss := r.world.Progress()
	defer func() { // only then: a resumed run counts the epoch's chunks again
		r.pos.Examples += int64(done)
		r.pos.Lost += int64(lost)
	}()
	if err := r.copyWithin(); err != nil {
		r.failed(err)
		return r.saveMirror()
	}
	e := rundir.EpochResult{Epoch: int(r.pos.Epoch), Seconds: r.pos.Seconds}
	scored := r.score(&e)
	if r.failed(scored); errors.Is(scored, config.ErrDiverged) {
		return nil
	}
	if done > 0 {
		e.TrainLoss = loss / float64(done)
	} else if r.last != nil {
		e.TrainLoss = r.last.TrainLoss
	}
	if scored == nil {
		r.last = &e
	}
	return r.snap.Save(r.dir, r.params, r.trained)
}

// copyWithin copies the run within an epoch.
func (r *coordinator) copyWithin() error {
	if err := r.finishRound(); err != nil {
		return err
	}
	r.within()
	return r.copyRun()
}

// finishRound takes the average of a round whose chunks were all done when the
// workers stopped: some had averaged their slice, others not.
func (r *coordinator) finishRound() error {
	if !r.world.Plan.Barrier {
		return nil
	}
	r.within()
	round := r.pos.Round
	if round == r.world.Plan.Rounds {
		return nil
	}
	for rank := range r.cfg.Workers {
		from, to := r.world.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := r.world.Chunk(i); state != control.ChunkDone && state != control.ChunkLost {
				return nil
			}
		}
	}
	_, averaged := r.world.Tickets(r.pos.Epoch, round)
	for rank := range r.cfg.Workers {
		if r.world.Barrier.Arrived(rank) >= averaged {
			continue
		}
		d, err := r.owner.Device(rank)
		if err == nil {
			err = d.Average(r.world.Round(r.pos.Epoch, round))
		}
		if err != nil {
			return onDevice(err)
		}
		r.world.Barrier.Arrive(rank, averaged)
	}
	return nil
}

// result is the report.
func (r *coordinator) result() rundir.Result {
	c := &r.cfg
	res := rundir.Result{Mode: c.Mode, Device: r.owner.Name(), Workers: c.Workers, Model: c.Model, Data: c.Data, Batch: c.Batch,
		Epochs: int(r.pos.Epoch) - 1, Examples: r.pos.Examples, Seconds: r.pos.Seconds,
		StartupSeconds: r.startup(), Restarts: r.pos.Restarts, LostExamples: r.pos.Lost, Seed: c.Seed,
		Parameters: int64(model.Size(r.params)), ValuesPerExample: r.train.ValuesPerRow(),
		Time: time.Now().UTC().Truncate(time.Second), Machine: rundir.ThisMachine(), Version: config.Version, Commit: rundir.Commit(), Run: r.dir, Stopped: r.stopped, Notes: r.notes(), CPU: vec.InstructionSet(), History: r.pos.History, Events: r.events}
	if res.Seconds > 0 {
		res.ExamplesPerSecond = float64(res.Examples) / res.Seconds
	}
	res.FlopsPerExample = model.Flops(r.first, res.ValuesPerExample)
	r.scores(&res)
	if o, ok := r.owner.(interface {
		GPUs() (uuids, names []string)
	}); ok { // not in host memory
		res.GPUs, res.Machine.GPUs = o.GPUs()
	}
	tell(&res, c)
	res.Instruments = r.instruments()
	res.PerWorker = r.workers()
	res.Shares = r.shares(res.PerWorker)
	for rank := range res.PerWorker { // over the time that it trained
		w := &res.PerWorker[rank]
		w.Rate = float64(w.Examples) / max(float64(r.world.Rank(rank, control.RankTrained))/1e9, 1e-9)
	}
	if c.Timing {
		res.Timing = r.timing()
	}
	return res
}

// scores sets why the run ended early and how well it predicts; of one that diverged, the
// losses are not numbers.
func (r *coordinator) scores(res *rundir.Result) {
	switch {
	case errors.Is(r.ended, config.ErrInterrupted):
		res.Stopped = "interrupted"
	case errors.Is(r.ended, config.ErrTerminated):
		res.Stopped = "terminated"
	case errors.Is(r.ended, config.ErrDiverged):
		res.Stopped, res.TrainLoss, res.TestLoss = "diverged", math.NaN(), math.NaN()
		return
	}
	if e := r.last; e != nil {
		res.TrainLoss, res.TestLoss = e.TrainLoss, e.TestLoss
		res.TestAccuracy, res.TestRMSE, res.TestR2 = e.TestAccuracy, e.TestRMSE, e.TestR2
	}
}

// startup is the time from the first worker's exec to the last worker's first
// step; workers that came too late for any do not count.
func (r *coordinator) startup() float64 {
	last := uint64(0)
	for rank := range r.cfg.Workers {
		last = max(last, r.world.Rank(rank, control.RankFirst))
	}
	return float64(max(last, r.started)-r.started) / 1e9
}

// timing says where the time went.
func (r *coordinator) timing() []string {
	lines := []string{fmt.Sprintf("loading the data %.3f s, start-up %.3f s, training %.3f s, gates between epochs %.3f s",
		r.loadTime.Seconds(), r.startup(), r.pos.Seconds, time.Since(r.watched).Seconds()-r.pos.Seconds)}
	for rank := range r.cfg.Workers {
		trained, waited := r.world.Rank(rank, control.RankTrained), r.world.Rank(rank, control.RankWaited)
		lines = append(lines, fmt.Sprintf("worker %d: training %.3f s, waiting %.3f s, %d steps, %d examples", rank,
			float64(trained)/1e9, float64(waited)/1e9, r.world.Rank(rank, control.RankSteps), r.world.Rank(rank, control.RankExamples)))
	}
	return lines
}

// notes are what the user should know of the data, the device and the processor.
func (r *coordinator) notes() []string {
	return slices.Concat(r.train.Notes, r.owner.Notes(), faultNotes(VerifyLoops(false)))
}

// header is what the display shows at the top.
func (r *coordinator) header() []string {
	c, m := &r.cfg, r.train.Meta
	what := fmt.Sprintf("%d x %d %s", m.Rows, m.Features, m.Kind)
	if n := len(m.Classes); n > 0 {
		what += fmt.Sprintf(", %d classes", n)
	}
	head := []string{fmt.Sprintf("%s on %s (%s), test set of %d", c.Model, c.Data, what, r.test.Rows),
		fmt.Sprintf("%s, %d workers, batch %d, %s, lr %g; run folder %s", c.Mode, c.Workers, c.Batch, c.Optimizer, c.LR, r.dir)}
	for _, note := range r.notes() {
		head = append(head, "note: "+note)
	}
	return head
}

// show renews the display, and once a second the metrics.
func (r *coordinator) show() {
	s := r.status()
	r.display.status(s)
	if time.Since(r.second) >= time.Second {
		r.second = time.Now()
		lr := plan.NewSchedule(&r.cfg.Config, r.cfg.Tuning.LR, r.train.Rows).At(s.Examples)
		err := errors.Join(r.metrics.Second(s), r.board.Second(s, r.instruments(), lr))
		if err != nil && r.ended == nil {
			r.ended = err
		}
	}
}

// status is the run at this moment.
func (r *coordinator) status() rundir.Status {
	epoch := int(r.world.Get(control.WordEpoch))
	s := rundir.Status{Kind: "second", Epoch: epoch, Epochs: r.cfg.Epochs, Seconds: r.seconds(control.Monotonic()),
		Total: int64(r.world.Plan.N) * int64(r.cfg.Epochs), Last: r.last}
	_, done, _, _ := r.world.Progress()
	s.Examples = r.pos.Examples
	if r.opened != 0 {
		s.Examples += int64(done)
	}
	passed := max(time.Since(r.looked).Seconds(), 1e-3)
	r.looked = time.Now()
	s.Workers = r.workers()
	for rank := range s.Workers {
		w := &s.Workers[rank]
		w.Rate = float64(w.Examples-r.rates[rank]) / passed
		r.rates[rank] = w.Examples
		s.Rate += w.Rate
	}
	return s
}

// workers is each of them at this moment, but for its speed.
func (r *coordinator) workers() []rundir.WorkerStatus {
	var all []rundir.WorkerStatus
	for rank := range r.cfg.Workers {
		w := rundir.WorkerStatus{Rank: rank, PID: int(r.world.Rank(rank, control.RankPID)),
			State:    control.StateNames[r.world.Rank(rank, control.RankState)%uint64(len(control.StateNames))],
			Examples: int64(r.world.Rank(rank, control.RankExamples)), Restarts: r.restarts[rank]}
		if r.gone[rank] {
			w.State = control.StateNames[control.StateGone] // whatever its stand-in is doing
		}
		w.Instruments = r.mem.Records[rank].Instruments(float64(r.world.Rank(rank, control.RankWaited)) / 1e9)
		w.StalenessHistogram = nil // of each worker and each second it is too much
		all = append(all, w)
	}
	return all
}

// instruments are those of all workers together.
func (r *coordinator) instruments() *control.Instruments {
	sum, waited := make(control.Record, control.RecordWords), uint64(0)
	for rank, one := range r.mem.Records {
		sum.Plus(one)
		waited += r.world.Rank(rank, control.RankWaited)
	}
	return sum.Instruments(float64(waited) / 1e9)
}

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

// tell writes to the result what the law has made of the run.
func tell(r *rundir.Result, c *tuning.Job) {
	l := c.Tuning
	r.Lambda, r.Knee, r.LRUsed, r.Centered, r.BiasStep = l.Lambda, l.Knee, l.LR, l.Center, l.BiasStep
	r.LRCapped, r.Merge = l.Capped, c.MergeText()
	if c.Optimizer == "momentum" {
		r.MomentumUsed = l.Momentum
	}
	r.Rate = strings.Join(l.Changes(c), "; ")
}

// shares adds up the workers of each device, in the order of ranks; nil if there is one
// device only.
func (r *coordinator) shares(workers []rundir.WorkerStatus) (all []rundir.Share) {
	total := int64(0)
	for _, w := range workers {
		device := r.owner.Where(w.Rank)
		i := slices.IndexFunc(all, func(s rundir.Share) bool { return s.Device == device })
		if i < 0 {
			i = len(all)
			all = append(all, rundir.Share{Device: device})
		}
		all[i].Examples += w.Examples
		total += w.Examples
	}
	if len(all) < 2 {
		return nil
	}
	for i := range all {
		all[i].Share = float64(all[i].Examples) / float64(max(total, 1))
	}
	return all
}

// release gives back what a dead worker had: its chunks, its locks, its turn.
func (r *coordinator) release(rank int) {
	r.mem.FreeLocks(rank)
	r.mem.PassTicket(rank)
	r.world.Release(rank)
}
