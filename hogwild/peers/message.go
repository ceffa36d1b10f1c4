package peers

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
)

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

// reasonOf returns the reason that an error stands for.
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

// stops returns the error with which another node has ended the job; nil if none has.
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
			return config.Reported{Err: fmt.Errorf("%w on %s", err, who)}
		}
	}
	return config.Reported{Err: fmt.Errorf("%s ended the job: see the message there", who)}
}

// ended reports whether somebody ends the job.
func (s *message) ended() bool { return s.stops() != nil }

// interrupted reports whether the job ends because of a signal, and of nothing else.
func (s *message) interrupted() bool {
	return s.ended() && s[sayStop+reasonDiverged] == 0 && s[sayStop+reasonFailed] == 0
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

// begin starts an epoch with nothing done, or, in barrier mode, after this round of the workers.
func (l *lastRound) begin(epoch uint64, round int) {
	l.at, l.examples, l.loss = roundAt{epoch: epoch, round: round}, 0, 0
	clear(l.done)
}
