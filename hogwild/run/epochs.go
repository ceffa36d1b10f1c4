package run

import (
	"errors"
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/internal/human"
)

// epochs is how far the run is, why it ended, and why its workers wait.
type epochs struct {
	*shared
	rounds     Rounds           // with the other nodes
	resumed    *rundir.Snapshot // nil: it begins
	position   rundir.Position
	before     float64 // wall time of the runs that this one resumes, in seconds
	opened     uint64  // monotonic: when the epoch was opened, 0 between epochs
	last       *rundir.EpochResult
	secondHalf float64 // mean loss of the second half of the last epoch
	unreported bool    // all of it was trained before this call of Run: what is missing is the report
	ended      error   // why the run is over; nil while it goes on
	stopped    string
	unmoved    []int      // the first epoch: tensors that no gradient has changed so far; see watchTensors
	pausing    bool       // workers wait, or soon will, so that the run can be saved within an epoch
	halted     suspension // they wait, as a user asked
	scaling    *scaling   // another number of them, still to come
}

// seconds is the time spent training until now, boundaries left out.
func (r *epochs) seconds(now uint64) float64 {
	if r.opened == 0 {
		return r.position.Seconds
	}
	from := max(r.opened, r.began()) + r.halted.lasted // the first epoch begins when a worker does
	if since := r.halted.since; since != 0 {
		now = min(now, max(since, from)) // nobody trains
	}
	if from > now {
		return r.position.Seconds
	}
	return r.position.Seconds + float64(now-from)/1e9
}

// wall is the time since then, boundaries and pauses included, and that of the runs which this one resumes.
func (r *epochs) wall() float64 {
	now := control.Monotonic()
	return r.before + float64(now-min(now, r.began()))/1e9
}

// within sets the position to where the open epoch is.
func (r *epochs) within() {
	p := &r.block.Plan
	r.position.Within, r.position.Round = true, 0
	for r.position.Round < p.Rounds && r.roundDone(r.position.Round) {
		r.position.Round++
	}
}

// progress adds up the open epoch, with what was trained before it was cut anew.
func (r *epochs) progress() (left, done, lost int, loss float64) {
	p := &r.position
	left, done, lost, loss = r.block.Progress()
	return left, done + p.BaseDone, lost + p.Base - p.BaseDone, loss + p.BaseLoss
}

// cut takes note of what the open epoch has come to after so many rounds, before the rest is cut
// anew.
func (r *epochs) cut(rounds int) {
	p := &r.position
	_, done, _, loss := r.block.Progress()
	p.Base, p.BaseDone, p.BaseLoss = r.block.Plan.Covered(rounds), p.BaseDone+done, p.BaseLoss+loss
}

// past is the run up to now.
func (r *epochs) past() *rundir.Past {
	p := &r.position
	past := &rundir.Past{History: p.History, Examples: p.Examples}
	if p.Within {
		_, done, _, _ := r.progress()
		past.Examples += int64(done)
	}
	return past
}

// mayContinue refuses to resume a run that has come to its end. If it was killed before it could report, it has
// ended already, and is concluded.
func (r *epochs) mayContinue(at *rundir.Position) error {
	done, why := int(at.Epoch)-1, score.Stop(&r.job.Asked, at.History)
	if r.back == nil && !at.Within && (done == r.job.Asked.Epochs || why != "") && !(r.peers.First() && concluded(r.job.Asked.Resume, done)) {
		r.stopped, r.unreported = why, true
		r.report.Say(fmt.Sprintf("resume %s: all of it is trained; what is missing is the report", r.job.Asked.Resume))
		return nil
	}
	if done >= r.job.Asked.Epochs {
		are := "s are"
		if done == 1 {
			are = " is"
		}
		return config.Usage("resume %s: its %d epoch%s done; raise --epochs to train further", r.job.Asked.Resume, done, are)
	}
	return score.CheckPatience(&r.job.Asked, at.History)
}

// concluded reports whether the run in a folder has reported its end, after so many epochs.
func concluded(folder string, epochs int) bool {
	was, err := rundir.Glance(folder)
	return err == nil && was.Result != nil && was.Result.Epochs == epochs && was.Ended() == rundir.Done
}

// finishRound takes the average of a round whose chunks were all done when the
// workers stopped: some had averaged their slice, others not.
func (r *epochs) finishRound() error {
	if !r.block.Plan.Barrier {
		return nil
	}
	r.within()
	round := r.position.Round
	if round == r.block.Plan.Rounds {
		return nil
	}
	for rank := range r.job.Asked.Workers {
		from, to := r.block.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := r.block.Chunk(i); state != control.ChunkDone && state != control.ChunkLost {
				return nil
			}
		}
	}
	_, averaged := r.block.Tickets(r.position.Epoch, round)
	for rank := range r.job.Asked.Workers {
		if r.block.Barrier.Arrived(rank) >= averaged {
			continue
		}
		if err := r.ask(r.patient(), func() error {
			d, err := r.owner.Device(rank)
			if err == nil {
				err = d.Average(r.block.Round(r.position.Epoch, round))
			}
			return err
		}); err != nil {
			return onDevice(err)
		}
		r.block.Barrier.Arrive(rank, averaged)
	}
	return nil
}

// suspension is a pause that a user asked for: workers wait before their next chunk.
type suspension struct {
	asked  bool
	since  uint64 // monotonic ns: all wait; 0: not yet
	lasted uint64 // ns, of earlier pauses in the open epoch
}

// opened takes note that an epoch was opened.
func (s *suspension) opened(at uint64) {
	s.lasted = 0
	if s.since != 0 {
		s.since = at
	}
}

// notePause takes note of when all wait: the time from then on is none of training.
func (r *epochs) notePause() {
	if r.halted.asked && r.halted.since == 0 && r.opened != 0 && r.quiet() {
		r.halted.since = control.Monotonic()
	}
}

// letGo lets workers continue, unless something else has them wait.
func (r *epochs) letGo() {
	waits := r.scaling != nil && r.scaling.at == paused
	if r.halted.asked || r.pausing || waits {
		return
	}
	r.block.Set(control.WordPause, 0)
	r.block.Tick()
}

// failed adds an error to why the run ended; the device's first one is enough.
func (r *epochs) failed(err error) {
	var was, is deviceError
	if err != nil && !(errors.As(err, &is) && errors.As(r.ended, &was)) {
		r.ended = errors.Join(r.ended, err)
	}
}

// divergence is the error of numbers that diverged: what did, and what to do.
type divergence struct {
	what error
	cure string
}

func (d divergence) Error() string {
	return fmt.Sprintf("%v: %v; %s", config.ErrDiverged, d.what, d.cure)
}

func (d divergence) Is(target error) bool { return target == config.ErrDiverged }

func (d divergence) Unwrap() error { return d.what }

// diverged is the error of the first rank whose loss was not finite.
func (r *epochs) diverged() error {
	for rank := range r.workers.Most() {
		if step := r.block.Rank(rank, control.RankFailStep); step != 0 {
			e := &device.NotFiniteError{Step: int64(step), Loss: floatOf(r.block.Rank(rank, control.RankFailLoss)),
				LR: floatOf(r.block.Rank(rank, control.RankFailRate))}
			return divergence{fmt.Errorf("worker %d: %w", rank, e), r.lowerRate()}
		}
	}
	return nil
}

// finite is the error of a weight i that is not; i is -1 if all are.
func (r *epochs) finite(i int, value float32, e *rundir.EpochResult) error {
	if i < 0 {
		return nil
	}
	return divergence{fmt.Errorf("weight %d is %v after epoch %d, learning rate %g", i, value, e.Epoch, e.LR), r.lowerRate()}
}

// lowerRate is what to do after the numbers diverged.
func (r *epochs) lowerRate() string {
	rate := "--lr"
	if r.ownRate() {
		rate = "learning rate in the program's optimizer"
	}
	return "try a lower " + rate + " (" + r.lastGood() + ")"
}

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

// errDone ends a run that came to its end.
var errDone = errors.New("done")

// scaling is a change of the number of workers that is still to come.
type scaling struct {
	job tuning.Job
	at  occasion
}

// occasion is when the number of workers may change.
type occasion int

const (
	atOnce  occasion = iota // async: all workers take chunks of one list
	paused                  // async: the shared weights change their form, while workers wait before their next chunk
	atRound                 // sync: the rest of the epoch is cut anew, after a round
	atEpoch                 // the cut of the epoch belongs to the number of workers
)

// says returns when that is, for people.
func (at occasion) says() string {
	switch at {
	case atRound:
		return "after this round"
	case atEpoch:
		return "when this epoch ends"
	}
	return "now"
}

// openFolder makes the run folder, unless it is there, and what belongs in it from the start. Of several nodes only the
// first has one.
func (r *epochs) openFolder() error {
	if !r.peers.First() {
		return nil
	}
	if err := r.makeFolder(); err != nil {
		return err
	}
	r.dir, r.job.Asked.Run = r.folder.Path, r.folder.Path
	if r.job.Asked.Resume != r.dir && r.back == nil && rundir.HasSnapshot(r.dir) {
		return fmt.Errorf("%s holds a run already: resume it with --resume %s", r.dir, human.ShellWord(r.dir))
	}
	var past *rundir.Past
	if r.job.Asked.Resume != "" || r.back != nil {
		past = r.past()
	}
	return r.folder.Open(r.job.Asked, past)
}
