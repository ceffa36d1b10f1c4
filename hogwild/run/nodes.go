package run

import (
	"errors"

	"hogwild/hogwild/config"
)

// lostPeers adds to an error that the connection to other nodes is lost what to do.
func (r *saver) lostPeers(err error) error { return r.Peers.Lost(err, r.ownFolder()) }

// ownFolder is the run folder; "" on nodes that have none.
func (r *saver) ownFolder() string {
	if r.Folder == nil {
		return ""
	}
	return r.Dir
}

// tell ends the job on the other nodes, at the end of an epoch, because of an error that only this node has.
func (r *saver) tell(err error) { _ = r.Peers.Together(func() error { return err }) }

// lastRound takes one with the other nodes, after the workers have stopped.
func (r *saver) lastRound() error {
	var diverged error // while they stopped
	if errors.Is(r.Ended, config.ErrDiverged) {
		diverged = r.Ended
	}
	return r.Rounds.Last(r.Position.Epoch, diverged)
}
