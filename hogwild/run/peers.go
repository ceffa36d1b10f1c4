package run

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
)

// A job on several nodes is one coordinator on each, with its own workers. They train different
// chunks of each epoch, and take rounds: all add up how far their weights have come from a common
// anchor, the mean moves the anchor, and each corrects its weights by what the others have learned.
// Workers train on meanwhile. The last round of an epoch begins when all have trained their chunks:
// after it the weights are the same on every node.
//
// Nodes speak in meetings. In each a node says whether its next round is due; the round takes place
// once it is due on all of them. A node whose round is not due calls in all the same, every beat: a
// slow node is not a silent one, and a stop travels fast.

// peers are the other nodes, as this one sees them. Nil: the run is alone.
type peers struct {
	engine  nodes.Engine
	place   nodes.Place
	outer   *nodes.Outer
	memory  []float32     // the engine's: the differences, and behind them the bits of done chunks
	copied  []float32     // the weights when they were last copied, then what corrects them; in barrier mode the weights themselves
	beat    time.Duration // between two meetings at most
	stop    atomic.Int64  // why this node ends the job: see the reasons
	wake    chan struct{} // a meeting may be due
	met     chan meeting  // how the meetings of the open epoch have ended
	active  bool          // met is still to come
	final   message       // in the meeting in which the job has ended
	over    bool          // the connection is lost
	inOrder bool          // all nodes have come to their end

	// Of the goroutine that holds the meetings.
	counted int           // examples of the open epoch that earlier rounds had
	rounds  int           // of the open epoch so far
	ended   time.Time     // when the last round did
	cost    time.Duration // of that round, from when it was due on all nodes
	idle    time.Time     // since when workers wait for other nodes; zero: they do not

	mu    sync.Mutex // of what follows, and of the anchor
	heard message    // in the last meeting
	last  lastRound
	total rundir.Nodes
}

// lastRound is how far all nodes together were in the last round: with the anchor, what node 0 saves
// when the job fails.
type lastRound struct {
	at       roundAt
	done     []bool  // by chunk of the whole epoch
	examples float64 // of the epoch
	loss     float64 // of an example, on average
}

// roundAt is where in an epoch a round takes place.
type roundAt struct {
	epoch    uint64
	round    int  // barrier mode: after this round of the workers
	quiet    bool // no worker of this node trains
	complete bool // nor of any other: the epoch is done
}

// begin is an epoch of which nothing is done, or, in barrier mode, so many rounds of the workers less one.
func (l *lastRound) begin(epoch uint64, round int) {
	l.at, l.examples, l.loss = roundAt{epoch: epoch, round: round}, 0, 0
	clear(l.done)
}

// meeting is how the meetings of an epoch have ended: all chunks are trained on all nodes, or the job ends.
type meeting struct {
	said message
	err  error
}

// message is what a node says in a meeting, added up.
type message [sayWords]float64

// The words of a message.
const (
	sayReady    = iota // its next round is due
	sayComplete        // all its chunks of the epoch are done
	sayNew             // examples since the last round
	sayDone            // examples of the epoch, their losses, and examples lost with a worker
	sayLoss
	sayLost
	sayStop  // a word for each reason
	sayWho   = sayStop + reasons
	sayWords = sayWho + 1
)

// Why a node ends the job, for all.
const (
	reasonNone = iota
	reasonInterrupted
	reasonTerminated
	reasonHangup
	reasonDiverged
	reasonFailed
	reasons
)

// reasonOf is the reason that an error is.
func reasonOf(err error) int64 {
	switch {
	case errors.Is(err, config.ErrInterrupted):
		return reasonInterrupted
	case errors.Is(err, config.ErrTerminated):
		return reasonTerminated
	case errors.Is(err, config.ErrHangup):
		return reasonHangup
	case errors.Is(err, config.ErrDiverged):
		return reasonDiverged
	}
	return reasonFailed
}

// stops is the error with which another node has ended the job; nil if none has.
func (s *message) stops() error {
	total := 0.0
	for _, n := range s[sayStop : sayStop+reasons] {
		total += n
	}
	if total == 0 {
		return nil
	}
	who := "several nodes"
	if total == 1 {
		who = fmt.Sprintf("node %d", int(s[sayWho])-1)
	}
	for reason, err := range map[int]error{reasonDiverged: config.ErrDiverged, reasonInterrupted: config.ErrInterrupted,
		reasonTerminated: config.ErrTerminated, reasonHangup: config.ErrHangup} {
		if s[sayStop+reason] > 0 {
			return byAnother{fmt.Errorf("%w on %s", err, who)}
		}
	}
	return byAnother{fmt.Errorf("%s ended the job: see the message there", who)}
}

// byAnother is an error that another node reports.
type byAnother struct{ error }

func (e byAnother) Unwrap() error        { return e.error }
func (e byAnother) Is(target error) bool { return target == config.ErrReported }

// newPeers are those of an engine; nil if there are none.
func newPeers(e nodes.Engine, timeout time.Duration) *peers {
	if e == nil || e.Place().Nodes < 2 {
		return nil
	}
	return &peers{engine: e, place: e.Place(), beat: min(time.Second, timeout/4), wake: make(chan struct{}, 1), met: make(chan meeting, 1)}
}

// first tells whether this node has the run folder: the only one of a run that is alone, else node 0.
func (p *peers) first() bool { return p == nil || p.place.Node == 0 }

// velocity is a copy of that of the outer step; nil if there is none.
func (p *peers) velocity() []float32 {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.outer.Velocity)
}

// ends is where the meetings of an epoch tell their end. A run that is alone has none.
func (p *peers) ends() <-chan meeting {
	if p == nil {
		return nil
	}
	return p.met
}

// called wants a meeting soon: something has changed.
func (p *peers) called() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// say is this node's part of a meeting, and what all have said.
func (p *peers) say(mine message) (message, error) {
	if reason := p.stop.Load(); reason != reasonNone {
		mine[sayStop+reason], mine[sayWho] = 1, float64(1+p.place.Node)
	}
	err := p.engine.Sum(mine[:])
	return mine, err
}

// together returns when all nodes have come to it and f has returned on each. Meanwhile they meet
// every beat: however long f takes, none is silent.
func (p *peers) together(f func() error) error {
	done := make(chan struct{})
	var failed error
	var panicked any
	go func() {
		defer close(done)
		debug.SetPanicOnFault(true) // the caller may guard against data that cannot be read: see data.Guard
		defer func() {
			if panicked = recover(); panicked != nil {
				p.stop.CompareAndSwap(reasonNone, reasonFailed)
			}
		}()
		if failed = f(); failed != nil {
			p.stop.CompareAndSwap(reasonNone, reasonOf(failed))
		}
	}()
	for {
		var mine message
		select {
		case <-done:
			mine[sayReady] = 1
		case <-time.After(p.beat):
		}
		all, err := p.say(mine)
		if stops := all.stops(); err == nil && stops != nil {
			err = stops
		}
		if err != nil {
			if <-done; panicked != nil {
				panic(panicked) // where the caller of Run can recover
			}
			return cmp.Or(failed, err)
		}
		if all[sayReady] == float64(p.place.Nodes) {
			return nil
		}
	}
}

// during is f, which may take long on some nodes. Its error is this node's alone; that of a lost connection comes with
// the next call.
func (p *peers) during(f func() error) (err error) {
	if p == nil {
		return f()
	}
	_ = p.together(func() error { err = f(); return nil })
	return err
}
