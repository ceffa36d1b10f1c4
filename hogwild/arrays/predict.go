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
	at, err := s.room(&p.Rows, format.NewBudget(0))
	if err != nil {
		return err
	}
	if at.room == nil {
		return config.Usage("predictions need the rows as they were before they were scaled, not a data set")
	}
	defer at.room.Close()
	if err := s.fill(at); err != nil {
		return err
	}
	rows, err := at.room.Rows()
	if err != nil {
		return config.Usage("%w", err)
	}
	var values, probabilities []float32
	notes, err := model.PredictFile(data.Inputs{Memory: rows}, p.Proba, func(piece *saved.Predictions) error {
		values, probabilities = append(values, piece.Values...), append(probabilities, piece.Probabilities...)
		return nil
	})
	if err != nil {
		return err
	}
	return s.finish(&done{Notes: notes}, shm.Bytes(append(values, probabilities...)))
}
