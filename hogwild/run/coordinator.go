package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
)

// coordinator runs one job: it makes the shared memory, starts the workers, watches them,
// and collects. It trains nothing itself. Of the parts that it has, task is
// settled before any process starts.
type coordinator struct {
	task                 // what is to be done, and with what
	workers *workers.Set // the processes
	hang    *hang.Watch  // those of them that do not run
	scaling *scaling     // another number of them, still to come
	halted  suspension   // all of them wait, as a user asked
	remote  remote       // requests from other processes
	epochs  epochs       // how far the run is
	saver   saver        // the copy of the weights, evaluated and saved
	report  reporter     // what people are told
	limit   limit        // of steps in flight, as the run trains
	peers   Peers        // the other nodes of the job
	rounds  Rounds       // with them

	resumed *rundir.Snapshot // nil: it begins
	given   *rundir.Weights  // of --init, until they are the first ones

	back   *rollback    // what it carries on from; nil: it is the first
	next   *coordinator // carries on after divergence
	cancel context.CancelCauseFunc
	heed   func() // has a signal cancel the run

	after       []loopFailure   // see afterloop.go
	patience    time.Duration   // see ask
	interrupted <-chan struct{} // closed by a signal, or when the caller wants no more
	cause       func() error    // why it was
	silenced    context.Context // done once the GPU was waited for in vain; its cause is a silence
	giveUp      context.CancelCauseFunc
	anyNumber   bool       // the user named no number of workers
	replaced    *time.Time // when plain Go has replaced loops, after a worker had died in one; nil: they were not checked
}

// task is the job, and what it is carried out on: data, models, shared memory, folder.
type task struct {
	job         tuning.Job
	options     Options
	train, test *data.Set
	validation  *data.Set          // nil without one
	lent        bool               // the sets are the caller's
	owner       device.Owner       // of the device memory
	evaluator   *program.Evaluator // nil: the model is computed here
	scoreless   bool               // it could not answer
	late        bool               // the run was interrupted, and did not wait for its answer
	prints      *workers.Log       // of the evaluator
	watching    *hang.ProgramWatch // the evaluator
	setup       *device.Setup      // what it sees of the rest
	facts       tuning.Facts
	newton      *tuning.Newton // nil: no curvature is measured
	held        float64        // see tuning.Machine
	recounted   bool           // the steps in flight: see inflight.go
	first       model.Model    // makes the first weights
	params      []model.Param  // of the model that the run leaves behind
	trained     []model.Param  // of the model as it trains it: they differ by centring
	spec        model.Spec
	judge       *score.Judge
	block       *control.Block
	announced   control.Header // what workers are told
	mem         *control.Weights
	aside       sync.WaitGroup // goroutines that look into shared memory: all end before it is unmapped
	dir         string         // the run's folder
	folder      *rundir.Folder // the same, locked
}

// epochs is how far the run is, and why it ended.
type epochs struct {
	position   rundir.Position
	before     float64 // wall time of the runs that this one resumes, in seconds
	opened     uint64  // monotonic: when the epoch was opened, 0 between epochs
	last       *rundir.EpochResult
	secondHalf float64 // mean loss of the second half of the last epoch
	trained    bool    // all of it, before this call of Run: what is missing is the report
	ended      error   // why the run is over; nil while it goes on
	stopped    string
	unmoved    []int // the first epoch: tensors that no gradient has changed so far; see watchTensors
}

// saver is the copy of the weights in host memory: between two epochs it is taken, and
// evaluated and saved while workers train on.
type saver struct {
	copy      rundir.Snapshot
	copied    time.Time       // when the weights were last copied to host memory
	age       time.Duration   // of that copy when the run ended
	evaluated chan evaluation // at most one evaluation is in flight
	busy      bool
	paused    bool          // workers wait, or soon will, so that the run can be saved within an epoch
	whole     bool          // the copy has all that a snapshot needs
	captured  time.Time     // when it was made
	saved     time.Time     // when it was last saved, or the run began
	cost      time.Duration // of that
	counted   time.Time     // when the weights were last counted
	due       bool          // a save that found the copy in use, or failed, and is left to the next epoch boundary
	failing   bool          // the last save failed
	good      bool          // the copy is of the run's end, and is to be kept
	elsewhere error         // where the run is saved, if the folder cannot be written
}

// limit is what is known of the limit of steps in flight while the run trains: see curvature.go.
type limit struct {
	due   int           // the epoch after which it is next measured
	spent time.Duration // on all measurements
	least float64       // steps; 0: none was made
	said  bool          // that they are fewer than those in flight
}

// reporter is what people are told.
type reporter struct {
	display  *display
	behind   bool       // metrics could not be written
	mu       sync.Mutex // for events: those of the evaluator come from other goroutines
	events   []string
	latest   rundir.Status // as it was shown
	rates    []speed       // of each worker
	looked   time.Time
	second   time.Time // when the last second was written
	loadTime time.Duration
	started  uint64    // monotonic: the first worker's exec
	first    int       // workers that the run began with
	watched  time.Time // since when they are watched
	printed  sync.Once // people are told where programs print to
}

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

// says tells when that is.
func (at occasion) says() string {
	switch at {
	case atRound:
		return "after this round"
	case atEpoch:
		return "when this epoch ends"
	}
	return "now"
}

// suspension is a pause that a user asked for: workers wait before their next chunk.
type suspension struct {
	asked  bool
	since  uint64 // monotonic ns: all wait; 0: not yet
	lasted uint64 // ns, of earlier pauses in the open epoch
}

// remote takes requests from other processes, over the socket in the run folder, and hands them to
// the coordinator, which answers between its other events. A client that is slow, silent or wrong
// holds up nobody but itself.
type remote struct {
	listener *rundir.Listener
	orders   chan order
	deaf     chan struct{} // closed when the coordinator takes no more orders
	over     chan struct{} // closed when the run has ended
}

// order is a request that the coordinator is to answer.
type order struct {
	rundir.Request
	answer chan<- rundir.Answer // with room for one
}

func newRemote() remote {
	return remote{orders: make(chan order), deaf: make(chan struct{}), over: make(chan struct{})}
}

func newCoordinator(c config.Config, o Options) *coordinator {
	silenced, giveUp := context.WithCancelCause(context.Background())
	return &coordinator{peers: alone{}, rounds: alone{}, patience: answerTime, silenced: silenced, giveUp: giveUp, task: task{job: tuning.Job{Config: c}, options: o},
		remote: newRemote(),
		saver:  saver{evaluated: make(chan evaluation, 1)},
		report: reporter{display: newDisplay(o.Progress, o.Quiet)}}
}

// answerTime is how long a GPU may take for a copy of the weights.
const answerTime = time.Minute

// errDone ends a run that came to its end.
var errDone = errors.New("done")

// evaluation is what came of a snapshot: its test loss, and the saving of it.
type evaluation struct {
	result  rundir.EpochResult
	weights []rundir.Histogram // how those of each tensor lie, for TensorBoard
	newton  float64            // the curvature, see curvature.go; 0: it was not measured
	err     error
	saves   bool  // the copy was to be saved too
	unsaved error // why it could not be
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
func (d divergence) Unwrap() error        { return d.what }

// lowerRate is what to do after the numbers diverged.
func (r *task) lowerRate() string {
	rate := "--lr"
	if r.ownRate() {
		rate = "learning rate in the program's optimizer"
	}
	return "try a lower " + rate + " (" + r.lastGood() + ")"
}

// lastGood says what is left after the numbers diverged.
func (r *task) lastGood() string {
	if r.folder == nil {
		return "the last good snapshot is node 0's"
	}
	if !rundir.HasSnapshot(r.dir) {
		return "no snapshot was saved"
	}
	return "the last good snapshot is in " + r.dir
}

// loopFailure is how programs have failed after their loops.
type loopFailure struct {
	why string
	who []string
}

// rollback is what a coordinator knows of the one before it, which diverged.
type rollback struct {
	n        int    // of this call of Run: 1 is the first
	why      error  // what diverged
	from     string // the folder whose snapshot it continues from; "": the first weights
	auto     string // what was chosen where the user left it to the program
	examples int64  // trained until then
	workers  int    // that it had
	position rundir.Position
}
