package rundir

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
)

// Check refuses a snapshot that no run of these tensors has written: one that continued from it would read
// beyond its weights, or wait for ever for a chunk that no worker has.
func (s *Snapshot) Check(params, trained []model.Param) error {
	if err := s.check(params, trained); err != nil {
		return config.Usage("resume: the snapshot has %w: it is damaged, start a new run", err)
	}
	return nil
}

func (s *Snapshot) check(params, trained []model.Param) error {
	if n := model.Size(trained); len(s.W) != n {
		return fmt.Errorf("%d weights, the run has %d", len(s.W), n)
	}
	if n := model.Size(params); s.Best != nil && len(s.Best) != n {
		return fmt.Errorf("%d weights of the best epoch, want %d", len(s.Best), n)
	}
	if n := model.Size(trained); s.Outer != nil && len(s.Outer) != n {
		return fmt.Errorf("%d numbers of outer momentum, the run has %d weights", len(s.Outer), n)
	}
	if s.Pos.Epoch < 1 || s.Pos.Epoch > 1<<31 || s.Pos.Round < 0 || s.Pos.Examples < 0 {
		return fmt.Errorf("a position in epoch %d, round %d, after %d examples", s.Pos.Epoch, s.Pos.Round,
			s.Pos.Examples)
	}
	for i := 0; i < len(s.chunks); i += 2 {
		if !control.SavedChunk(s.chunks[i], s.Pos.Epoch) {
			return errors.New("a chunk that is neither free, done nor lost")
		}
	}
	return nil
}
