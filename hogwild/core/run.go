// Package core is what a run is while it is carried out: what is trained on what, the memory that its processes share,
// and how far it is. The coordinator (package run) decides what happens next; abilities, each a package of its own,
// hear of it and answer.
//
//	run.go        Run: its parts, its abilities, how far it is, why its workers wait, and why it ends
//	event.go      the events that they hear
//	options.go    Options: of one call
//	peers.go      Peers: the other nodes of a job
//	diverged.go   the error of numbers that diverged
//	ask.go        calls of a device that may fail, or not answer
//	memory.go     Memory: what the processes share
//	task.go       Task: what is trained on what
package core

import (
	"context"
	"errors"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/display"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
)

// Run is how far a run is, why its workers wait, and why it ends. Its parts are named, so that r.Task.X and r.Mem.X say
// where X is; what is of the run itself is r.X.
type Run struct {
	Job      tuning.Job
	Task     Task
	Mem      *Memory
	Dir      string         // the run's folder
	Folder   *rundir.Folder // the same, locked; nil on nodes that have none
	Report   display.Reporter
	Options  Options
	Peers    Peers  // the other nodes of the job
	Rounds   Rounds // with the other nodes
	Hooks    Hooks
	Crew     Crew
	Saver    Saver
	Inbox    chan func() error // calls of other goroutines, which the coordinator makes: they return why the run ends
	Rollback *Rollback         // what it carries on from; nil: it is the first
	Resumed  *rundir.Snapshot  // nil: it begins
	Position rundir.Position
	Copy     rundir.Snapshot // of it, in host memory: it is evaluated and saved while workers train on
	Opened   uint64          // monotonic: when the epoch was opened, 0 between epochs
	Last     *rundir.EpochResult
	Every    time.Duration // between two Ticks
	End      End

	EarlierWall float64 // wall time of the runs that this one resumes, in seconds

	abilities []Ability
	waits     Wait
	paused    pause
}

// End is the end of a run.
type End struct {
	Err            error           // why the run is over; nil while it goes on
	Reason         string          // for the report, where that is no error: it has reached a target, say
	AlreadyTrained bool            // all of it was trained before this call of Run: what is missing is the report
	ScoreSkipped   bool            // the run was interrupted, and did not wait for the score of its last weights
	Interrupt      func(why error) // ends the run as a signal does
	Cause          func() error    // why it was interrupted
	Begun          chan struct{}   // closed when the run ends, while its workers train
	Done           chan struct{}   // closed when all is given back
}

// Ability is what a run can do besides training: early stopping, another number of workers, rollback and so on. It
// keeps its own state, and returns why the run ends, nil if it does not. The coordinator calls all abilities one after
// the other, in one goroutine; what goes on in others reaches it by Run.Inbox.
type Ability interface {
	Handle(*Run, Event) error
}

// Hooks are what one ability does for the coordinator, which calls it there. The ability sets its own; nil: no ability
// does it in this run.
type Hooks struct {
	Program  Program                      // computes the model where the device cannot
	Init     func() error                 // writes given weights over the first ones of a new run, in the plain form
	Compared func(changed []bool) bool    // takes which tensors changed since the last copy; true: compare the next one
	Status   func(now bool) rundir.Status // returns the run as it was shown last or, with now, at this moment
	Change   Change                       // of the job, still to come
	// Rollback returns how a run that has ended carries on, nil if it does not. It has trained this many examples,
	// diverged ones included.
	Rollback func(trained int64) *Rollback
}

// Program is a model that processes of their own compute, one with each worker and one that scores weights.
type Program interface {
	// Score returns the score of plain weights on a set, of no examples if there is none. With an epoch, the one that
	// it is of, it may return metrics of the whole set.
	Score(w []float32, set *data.Set, epoch int) (model.Score, map[string]float64, error)
	// Scores reports whether there are any.
	Scores() bool
	// Log returns the log of the process that computes for a worker.
	Log(rank int) *workers.Log
	// Died takes note that a worker has ended.
	Died(*workers.Exit)
	// Stop comes when the workers have been told to end, and waits for what programs do after their loops.
	Stop()
}

// Change is a change of the job that is still to come.
type Change interface {
	// Apply makes it if it may be made now: within an epoch, or between two. It returns why the run ends.
	Apply(*Run) error
}

// Crew is the workers of a run, as an ability may change them.
type Crew interface {
	// Change gives the run another job and, if that has another number of workers, starts or ends some. No worker has a
	// chunk, or the plan stays as it is. It returns why the run ends.
	Change(to tuning.Job, start control.Start) error
	// Kill ends processes at once.
	Kill(...*workers.Process)
	// Died takes in that a worker has ended.
	Died(*workers.Exit) error
}

// Saver is the copy of a run's weights, as an ability may ask for it.
type Saver interface {
	// CopyWeights copies the weights where they are.
	CopyWeights() error
	// SaveNow saves the weights that are in host memory.
	SaveNow()
}

// New returns a run that has not begun.
func New(c config.Config, o Options, abilities []Ability) *Run {
	hung, markHung := context.WithCancelCause(context.Background())
	r := &Run{Job: tuning.Job{Asked: c}, Options: o, Peers: o.peers(), Rounds: alone{}, Inbox: make(chan func() error),
		Report: display.Reporter{Display: display.New(o.Progress, o.Quiet)}, Every: 200 * time.Millisecond,
		End: End{Begun: make(chan struct{}), Done: make(chan struct{})}, abilities: abilities}
	r.Mem = &Memory{Job: &r.Job, DeviceTimeout: answerTime, Hung: hung, markHung: markHung}
	return r
}

// Notify has all abilities hear of an event. The first that ends the run does.
func (r *Run) Notify(e Event) error {
	for _, a := range r.abilities {
		if end := a.Handle(r, e); end != nil {
			return end
		}
	}
	return nil
}

// Wait is why workers wait before their next chunk.
type Wait int

const (
	ToSave   Wait = 1 << iota // so that the run can be saved within the epoch
	ToPause                   // as a user asked
	ToChange                  // since another number of workers needs another form of the weights
)

// Pause has workers wait before their next chunk, until nothing has them wait any more: see Resume.
func (r *Run) Pause(why Wait) {
	if r.waits&why != 0 {
		return
	}
	r.waits |= why
	r.Mem.Block.Set(control.WordPause, 1)
	r.Mem.Block.Tick()
	r.Mem.Block.Call() // they may all be waiting already
}

// Resume lets workers continue, unless something else has them wait.
func (r *Run) Resume(why Wait) {
	if p := &r.paused; why == ToPause && p.since != 0 {
		p.lasted, p.since = p.lasted+control.Monotonic()-p.since, 0
	}
	if r.waits &^= why; r.waits != 0 {
		return
	}
	r.Mem.Block.Set(control.WordPause, 0)
	r.Mem.Block.Tick()
}

// Paused reports whether something has workers wait.
func (r *Run) Paused(why Wait) bool { return r.waits&why != 0 }

// pause is what a user's pause takes of the time.
type pause struct {
	since  uint64 // monotonic ns: all wait; 0: not yet
	lasted uint64 // ns, of earlier pauses in the open epoch
}

// NotePause takes note of when all wait: the time from then on is none of training.
func (r *Run) NotePause() {
	if r.Paused(ToPause) && r.paused.since == 0 && r.Opened != 0 && r.Mem.Quiet() {
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
	from := max(r.Opened, r.Mem.began()) + r.paused.lasted // the first epoch begins when a worker does
	if since := r.paused.since; since != 0 {
		now = min(now, max(since, from)) // no worker trains
	}
	if from > now {
		return r.Position.Seconds
	}
	return r.Position.Seconds + float64(now-from)/1e9
}

// Wall returns the time since a worker was ready, boundaries and pauses included, and the time of the runs which this
// one resumes.
func (r *Run) Wall() float64 {
	now := control.Monotonic()
	return r.EarlierWall + float64(now-min(now, r.Mem.began()))/1e9
}

// Within sets the position to where the open epoch is.
func (r *Run) Within() {
	p := &r.Mem.Block.Plan
	r.Position.Within, r.Position.Round = true, 0
	for r.Position.Round < p.Rounds && r.Mem.RoundDone(r.Position.Round) {
		r.Position.Round++
	}
}

// Progress adds up the open epoch, with what was trained before it was cut anew.
func (r *Run) Progress() (left, done, lost int, loss float64) {
	p := &r.Position
	left, done, lost, loss = r.Mem.Block.Progress()
	return left, done + p.BaseDone, lost + p.Base - p.BaseDone, loss + p.BaseLoss
}

// ProgressOfAll returns Progress of all nodes.
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

// Examples returns how many examples have been trained, the open epoch's included if the run is within one.
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
	if err != nil && !(errors.As(err, &is) && errors.As(r.End.Err, &was)) {
		r.End.Err = errors.Join(r.End.Err, err)
	}
}

// ErrDone ends a run that came to its end.
var ErrDone = errors.New("done")

// Stop returns ErrDone, and has the report say why a run came to its end.
func (r *Run) Stop(why string) error {
	r.End.Reason = why
	return ErrDone
}

// Several reports whether the run is one node of a job.
func (r *Run) Several() bool { return r.Peers.Name() != "" }
