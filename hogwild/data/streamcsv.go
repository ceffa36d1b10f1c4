package data

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// csv streams the rows of a table. Features are found by the names of their columns, or,
// where the training data had none, by their numbers.
func (s *stream) csv(src *source, r *bufio.Reader) error {
	f := newCSVFile(src)
	return f.rowsFrom(r, func(line int, cells []string) error {
		if s.inputs == nil {
			f.columns = make([]column, len(cells))
			for j := range cells {
				f.columns[j].name = strconv.Itoa(j + 1)
			}
			features, header, err := s.features(f, slices.Clone(cells))
			if err != nil {
				return err
			}
			s.inputs = newInputs(f, features, s.Like.Fill)
			if header {
				return nil
			}
		}
		gap, err := s.inputs.row(line, cells)
		if err != nil {
			return err
		}
		if gap >= 0 {
			return s.gap(fmt.Sprintf("%s:%d: column %s has no value", f.path, line, human.Quote(f.columns[gap].name)))
		}
		return s.dense(s.inputs.x)
	})
}

// features finds those of the training data in a file whose first line is first, and tells
// whether that line is names.
func (s *stream) features(f *csvFile, first []string) (features []feature, header bool, err error) {
	was, numbered := s.numbers()
	if numbered && s.Target == "" {
		s.renumber(f, was)
	}
	switch {
	case was == nil && numbered: // the training data had no columns
		header = slices.ContainsFunc(first, isText)
	case numbered:
		for j, cell := range first {
			header = header || isText(cell) && slices.ContainsFunc(was, func(n int) bool { return strconv.Itoa(n) == f.columns[j].name })
		}
	default:
		header = true
	}
	if f.header = header; was == nil {
		f.nameColumns(first)
	}
	target := -1
	if s.Target != "" {
		if target, err = f.target(&table{}, s.Target, &s.Like); err != nil {
			return nil, false, err
		}
	}
	if s.Like.Columns == nil {
		features, err = s.inOrder(f, target)
	} else {
		features, err = f.featuresOf(s.Like)
	}
	if i := slices.IndexFunc(features, func(x feature) bool { return x.column == target }); err == nil && i >= 0 {
		err = f.errorf("--target: the training data has a feature from column %s", human.Quote(f.columns[target].name))
	}
	return features, header, err
}

func isText(cell string) bool {
	_, number := cellNumber(cell)
	return !number && !isMissing(cell)
}

// numbers are the columns that the training data has features of, if columns had no names: below zero
// those of texts.
func (s *stream) numbers() (columns []int, all bool) {
	if s.Like.Named {
		return nil, false // numbers, if they are, are names
	}
	for _, name := range s.Like.Columns {
		name, _, oneHot := strings.Cut(name, "=")
		if base, _, _ := s.Like.datePart(name); base != "" {
			name, oneHot = base, true
		}
		j, err := strconv.Atoi(name)
		if err != nil || j < 1 {
			return nil, false
		}
		if oneHot {
			j = -j
		}
		columns = append(columns, j)
	}
	return columns, true
}

// renumber gives the columns of a file without names the numbers that they have in the training
// data, if the file lacks the column of labels.
func (s *stream) renumber(f *csvFile, was []int) {
	t, err := strconv.Atoi(s.Was)
	if err != nil || was == nil || len(f.columns) >= max(t, slices.Max(was), -slices.Min(was)) {
		return
	}
	for j := t - 1; j < len(f.columns); j++ {
		f.columns[j].name = strconv.Itoa(j + 2)
	}
}

// inOrder takes all columns as features, but that of labels where there is one more.
func (s *stream) inOrder(f *csvFile, target int) ([]feature, error) {
	d, n := s.Like.Features, len(f.columns)
	if n == d+1 && target < 0 {
		asked := s.Was
		if _, err := strconv.Atoi(asked); err != nil {
			asked = ""
		}
		var err error
		if target, err = f.target(&table{}, asked, &s.Like); err != nil {
			return nil, err
		}
	}
	var features []feature
	for j := range n {
		if j != target {
			features = append(features, feature{column: j})
		}
	}
	if len(features) != d {
		return nil, f.errorf("%s columns without the labels, the model takes %s", count(len(features)), count(d))
	}
	return features, nil
}
