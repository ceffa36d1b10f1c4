package run

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
)

// startRounds begins the rounds with other nodes.
func (r *epochs) startRounds() (err error) {
	r.rounds, err = r.peers.Start(Core{Job: &r.job, Block: r.block, Mem: r.mem, Owner: r.owner,
		Ask:      func(call func() error) error { return onDevice(r.ask(r.patience, call)) },
		Complete: r.complete,
		Diverged: func(what error) error { return divergence{what, r.lowerRate()} },
	}, r.resumed, &r.position)
	return err
}

// settleJob decides what the run decides for itself, the same on all nodes.
func (r *task) settleJob(own error) error {
	var data []string
	if own == nil {
		data = []string{r.train.Checksum, r.test.Checksum, fmt.Sprint(r.train.Rows)}
	}
	note, err := r.peers.Settle(&r.job, data, own, r.choose)
	if note != "" {
		r.report.Event("%s", note)
	}
	return err
}

// lostPeers adds to an error that the connection to other nodes is lost what to do.
func (r *task) lostPeers(err error) error { return r.peers.Lost(err, r.ownFolder()) }

// ownFolder is the run folder; "" on nodes that have none.
func (r *task) ownFolder() string {
	if r.folder == nil {
		return ""
	}
	return r.dir
}

// tell ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (r *task) tell(err error) { _ = r.peers.Together(func() error { return err }) }

// lastRound takes one with the other nodes, after the workers have stopped.
func (r *epochs) lastRound() error {
	var diverged error // while they stopped
	if errors.Is(r.ended, config.ErrDiverged) {
		diverged = r.ended
	}
	return r.rounds.Last(r.position.Epoch, diverged)
}

// progressOfAll is progress of all nodes.
func (r *epochs) progressOfAll() (left, done, lost int, loss float64) {
	done, lost, loss, several := r.rounds.Progress()
	if !several {
		return r.progress()
	}
	at := &r.position
	return 0, done + at.BaseDone, lost + at.Base - at.BaseDone, loss + at.BaseLoss
}
