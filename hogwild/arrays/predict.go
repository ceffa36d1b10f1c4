package arrays

import (
	"fmt"
	"os"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/shm"
)

// predict has the rows filled in, unscaled and in their order, and sends the predictions.
func (s *session) predict(p *predict) error {
	model, err := s.model(p)
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
	return s.predictions(model, in, p.Proba)
}

// model opens the weights that came along. The words of a text lie next to them, in a folder made for that.
func (s *session) model(p *predict) (*saved.Saved, error) {
	var paths []string
	for _, i := range []*int{&p.Weights, p.Words} {
		if i == nil {
			return saved.Open(paths[0])
		}
		f, err := s.file(*i)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		paths = append(paths, fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}
	dir, remove, err := rundir.Temporary("hogwild-arrays-")
	if err != nil {
		return nil, err
	}
	defer remove()
	for i, name := range []string{rundir.WeightsFile, rundir.WordsFile} {
		if err := os.Symlink(paths[i], filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return saved.Open(filepath.Join(dir, rundir.WeightsFile))
}

// predictions sends the predictions of a model.
func (s *session) predictions(model *saved.Saved, in data.Inputs, proba bool) error {
	var values, probabilities []float32
	notes, err := model.PredictFile(in, proba, func(piece *saved.Predictions) error {
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
