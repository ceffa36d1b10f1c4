package core

import (
	"context"
	"errors"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/display"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
)

// Coordinator is what an ability may ask for.
type Coordinator interface {
	// Tell has all abilities hear of an event.
	Tell(Event) error
	// CopyWeights copies the weights where they are.
	CopyWeights() error
	// Change gives the run another job and, if that has another number of workers, starts or ends some. No worker has a
	// chunk, or the plan stays as it is. It returns why the run ends.
	Change(to tuning.Job, start control.Start) error
	// FinishRound takes the average of a round whose chunks were all done when the workers stopped.
	FinishRound() error
	// Kill ends processes at once.
	Kill(...*workers.Process)
	// Died takes in that a worker has ended.
	Died(*workers.Exit) error
	// SaveNow saves the weights that are in host memory.
	SaveNow()
	// Interrupt ends the run as a signal does.
	Interrupt(why error)
}

// Run is how far a run is, why its workers wait, and why it ends.
type Run struct {
	*Memory
	Options  Options
	Peers    Peers       // the other nodes of the job
	Do       Coordinator // what it is to do
	Hooks    Hooks
	Rounds   Rounds            // with the other nodes
	Inbox    chan func() error // calls of other goroutines, which the coordinator makes: they return why the run ends
	Resumed  *rundir.Snapshot  // nil: it begins
	Position rundir.Position
	Copy     rundir.Snapshot // of it, in host memory: it is evaluated and saved while workers train on
	Before   float64         // wall time of the runs that this one resumes, in seconds
	Opened   uint64          // monotonic: when the epoch was opened, 0 between epochs
	Last     *rundir.EpochResult
	Every    time.Duration // between two Ticks
	Ended    error         // why the run is over; nil while it goes on
	Why      string        // for the report, where that is no error: it has reached a target, say
	Over     bool          // all of it was trained before this call of Run: what is missing is the report
	Late     bool          // the run was interrupted, and did not wait for the score of its last weights
	Ending   chan struct{} // closed when the run ends, while its workers train
	Closed   chan struct{} // closed when all is given back
	waits    Wait
	paused   pause
}

// New returns a run that has not begun.
func New(c config.Config, o Options, of Coordinator) *Run {
	silenced, giveUp := context.WithCancelCause(context.Background())
	t := &Task{Job: tuning.Job{Asked: c}, Report: display.Reporter{Display: display.New(o.Progress, o.Quiet)}}
	m := &Memory{Task: t, Patience: answerTime, Silenced: silenced, giveUp: giveUp}
	return &Run{Memory: m, Options: o, Peers: o.peers(), Do: of, Rounds: alone{}, Inbox: make(chan func() error),
		Every: 200 * time.Millisecond, Ending: make(chan struct{}), Closed: make(chan struct{})}
}

// Wait is why workers wait before their next chunk.
type Wait int

const (
	ToSave   Wait = 1 << iota // so that the run can be saved within the epoch
	ToPause                   // as a user asked
	ToChange                  // since another number of workers needs another form of the weights
)

// Hold has workers wait before their next chunk, until nothing has them wait any more: see LetGo.
func (r *Run) Hold(why Wait) {
	if r.waits&why != 0 {
		return
	}
	r.waits |= why
	r.Block.Set(control.WordPause, 1)
	r.Block.Tick()
	r.Block.Call() // they may all be waiting already
}

// LetGo lets workers continue, unless something else has them wait.
func (r *Run) LetGo(why Wait) {
	if p := &r.paused; why == ToPause && p.since != 0 {
		p.lasted, p.since = p.lasted+control.Monotonic()-p.since, 0
	}
	if r.waits &^= why; r.waits != 0 {
		return
	}
	r.Block.Set(control.WordPause, 0)
	r.Block.Tick()
}

// Waits reports whether something has workers wait.
func (r *Run) Waits(why Wait) bool { return r.waits&why != 0 }

// pause is what a user's pause takes of the time.
type pause struct {
	since  uint64 // monotonic ns: all wait; 0: not yet
	lasted uint64 // ns, of earlier pauses in the open epoch
}

// NotePause takes note of when all wait: the time from then on is none of training.
func (r *Run) NotePause() {
	if r.Waits(ToPause) && r.paused.since == 0 && r.Opened != 0 && r.Quiet() {
		r.paused.since = control.Monotonic()
	}
}

// Open takes note that an epoch is open.
func (r *Run) Open(at uint64) {
	r.Opened, r.paused.lasted = at, 0
	if r.paused.since != 0 {
		r.paused.since = at
	}
}

// Seconds returns the time spent training until now, boundaries and pauses left out.
func (r *Run) Seconds(now uint64) float64 {
	if r.Opened == 0 {
		return r.Position.Seconds
	}
	from := max(r.Opened, r.began()) + r.paused.lasted // the first epoch begins when a worker does
	if since := r.paused.since; since != 0 {
		now = min(now, max(since, from)) // nobody trains
	}
	if from > now {
		return r.Position.Seconds
	}
	return r.Position.Seconds + float64(now-from)/1e9
}

// Wall returns the time since then, boundaries and pauses included, and that of the runs which this one resumes.
func (r *Run) Wall() float64 {
	now := control.Monotonic()
	return r.Before + float64(now-min(now, r.began()))/1e9
}

// Within sets the position to where the open epoch is.
func (r *Run) Within() {
	p := &r.Block.Plan
	r.Position.Within, r.Position.Round = true, 0
	for r.Position.Round < p.Rounds && r.RoundDone(r.Position.Round) {
		r.Position.Round++
	}
}

// Progress adds up the open epoch, with what was trained before it was cut anew.
func (r *Run) Progress() (left, done, lost int, loss float64) {
	p := &r.Position
	left, done, lost, loss = r.Block.Progress()
	return left, done + p.BaseDone, lost + p.Base - p.BaseDone, loss + p.BaseLoss
}

// ProgressOfAll is Progress of all nodes.
func (r *Run) ProgressOfAll() (left, done, lost int, loss float64) {
	done, lost, loss, several := r.Rounds.Progress()
	if !several {
		return r.Progress()
	}
	at := &r.Position
	return 0, done + at.BaseDone, lost + at.Base - at.BaseDone, loss + at.BaseLoss
}

// Status returns the run as it was shown last or, with now, at this moment.
func (r *Run) Status(now bool) rundir.Status {
	if r.Hooks.Status == nil {
		return rundir.Status{}
	}
	return r.Hooks.Status(now)
}

// ApplyChange makes the change of the job that is to come, if there is one and it may be made now. It returns why the
// run ends.
func (r *Run) ApplyChange() error {
	if r.Hooks.Change == nil {
		return nil
	}
	return r.Hooks.Change.Apply(r)
}

// Examples returns how many have been trained, those of the open epoch included if the run is within one.
func (r *Run) Examples() int64 {
	if !r.Position.Within {
		return r.Position.Examples
	}
	_, done, _, _ := r.Progress()
	return r.Position.Examples + int64(done)
}

// Past returns the run up to now.
func (r *Run) Past() *rundir.Past {
	return &rundir.Past{History: r.Position.History, Examples: r.Examples()}
}

// Failed adds an error to why the run ended; the device's first one is enough.
func (r *Run) Failed(err error) {
	var was, is DeviceError
	if err != nil && !(errors.As(err, &is) && errors.As(r.Ended, &was)) {
		r.Ended = errors.Join(r.Ended, err)
	}
}

// ErrDone ends a run that came to its end.
var ErrDone = errors.New("done")

// Stop returns ErrDone, and has the report say why a run came to its end.
func (r *Run) Stop(why string) error {
	r.Why = why
	return ErrDone
}

// Several reports whether the run is one node of a job.
func (r *Run) Several() bool { return r.Peers.Name() != "" }
