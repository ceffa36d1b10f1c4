package arrays

import (
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/saved"
	"hogwild/shm"
)

// predict has the rows filled in, unscaled and in their order, and sends the predictions.
func (s *session) predict(p *predict) error {
	f, err := s.file(p.Weights)
	if err != nil {
		return err
	}
	defer f.Close()
	model, err := saved.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	if err := model.CheckPredict(p.Proba); err != nil {
		return err
	}
	in := data.Inputs{Path: p.Path, Format: p.Format}
	if p.Path == "" {
		var done func()
		if in.Memory, done, err = s.inputs(&p.Rows); err != nil {
			return err
		}
		defer done()
	}
	var values, probabilities []float32
	notes, err := model.PredictFile(in, p.Proba, func(piece *saved.Predictions) error {
		values, probabilities = append(values, piece.Values...), append(probabilities, piece.Probabilities...)
		return nil
	})
	if err != nil {
		return err
	}
	return s.finish(&done{Notes: notes}, shm.Bytes(append(values, probabilities...)))
}

// inputs has rows filled in, which are there until done is called.
func (s *session) inputs(r *rows) (in *data.Memory, done func(), err error) {
	at, err := s.room(r, format.NewBudget(0))
	if err != nil {
		return nil, nil, err
	}
	if at.room == nil {
		return nil, nil, config.Usage("predictions need the rows as they were before they were scaled, not a data set")
	}
	if err = s.fill(at); err == nil {
		if in, err = at.room.Rows(); err != nil {
			err = config.Usage("%w", err)
		}
	}
	if err != nil {
		at.room.Close()
	}
	return in, at.room.Close, err
}
