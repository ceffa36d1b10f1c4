package data

import (
	"fmt"
	"slices"
)

// supportsTask refuses a task that the rows of a cache are not for.
func (s *Set) supportsTask(task, path string) error {
	is := "values"
	switch {
	case s.Kind == Pairs && len(s.Shape) == 2:
		is = "triples"
	case s.Kind == Pairs:
		is = "edges"
	case s.Classes != nil:
		is = "classes"
	}
	if task == "" || task == is {
		return nil
	}
	return fmt.Errorf("data: %s holds %s, and the model takes %s: choose another model, or convert the data again "+
		"with --task %s", path, is, task, task)
}

// compatible is an error unless the rows are inputs of a model that was trained on rows like those of
// m. Bytes are scaled when they are read: as m says from then on.
func (s *Set) compatible(m *Meta, path string) error {
	switch {
	case s.Kind != m.Kind || s.Features != m.Features:
		return fmt.Errorf("data: %s has %s features (%s), the training data %s (%s)", path, count(s.Features), s.Kind,
			count(m.Features), m.Kind)
	case !slices.Equal(s.Classes, m.Classes):
		return fmt.Errorf("data: %s: its classes are not those of the training data: name the file that it was "+
			"converted from", path)
	case !slices.Equal(s.Columns, m.Columns):
		return fmt.Errorf("data: %s: its columns are not those of the training data: name the file that it was "+
			"converted from", path)
	case s.Kind == Pairs && !slices.EqualFunc(s.IDs, m.IDs, slices.Equal[[]uint32]):
		return fmt.Errorf("data: %s: its ids are not those of the training data: name the file that it was converted "+
			"from", path)
	case s.Kind == Bytes:
		s.Scale, s.Mul, s.Add = m.Scale, m.Mul, m.Add
	case !s.ScaledAlike(m):
		return fmt.Errorf("data: %s: its rows are scaled in another way than the training data: name the file that "+
			"it was converted from", path)
	}
	return nil
}
