package saved

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/machine"
)

// asks has rankings as asked for; 0 and "": as in the run.
func (s *Saved) asks(top int, seen config.Seen) error {
	switch {
	case seen != "" && seen != config.SeenIn && seen != config.SeenOut:
		return config.Usage("seen %q: choose one of in, out", seen)
	case seen != "" && !s.ranks():
		return config.Usage("seen %s has no effect with model %s, which ranks no candidates: leave seen out", seen,
			s.name)
	}
	s.config.Top, s.config.Seen = cmp.Or(top, s.config.Top), cmp.Or(seen, s.config.Seen)
	return nil
}

// models returns a model for each core.
func (s *Saved) models() ([]model.Model, error) {
	all := make([]model.Model, machine.Cores())
	for i := range all {
		var err error
		if all[i], err = model.New(s.config.ModelOptions(), s.meta); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readAgain reads the data of the run once more.
func (s *Saved) readAgain() (data.Sets, error) {
	if s.config.Data == "" {
		return data.Sets{}, &cured{s.path + " does not say which data it was tested on", "name it with --data"}
	}
	sets, err := s.config.ReadSets(data.Options{})
	if err != nil {
		return data.Sets{}, err
	}
	if sets.Train.Checksum != s.meta.Checksum {
		err = &cured{fmt.Sprintf("%s has changed since the run that saved %s", s.config.Data, s.path),
			"its test rows have, too: name a file with --data"}
	} else if !readAlike(&sets.Train.Meta, &s.meta) { // a data cache that was converted again
		err = &cured{fmt.Sprintf("%s has other rows, columns, classes or scaling than in the run that saved %s",
			s.config.Data, s.path), "name a file with --data"}
	}
	if err != nil {
		sets.Close()
		return data.Sets{}, err
	}
	return sets, nil
}

// readAlike reports whether two sets from one file have the same rows, features and classes, and one scaling.
func readAlike(a, b *data.Meta) bool {
	return a.Rows == b.Rows && a.Features == b.Features && slices.Equal(a.Classes, b.Classes) && a.ScaledAlike(b)
}

// cured is an error, and what to do.
type cured struct{ what, cure string }

func (e *cured) Error() string { return e.what + "; " + e.cure }

// reason returns what an error says, of a cured one without what to do.
func reason(err error) string {
	if e := (*cured)(nil); errors.As(err, &e) {
		return e.what
	}
	return err.Error()
}
