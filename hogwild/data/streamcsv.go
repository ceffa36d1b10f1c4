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
	var reader *csvInputs
	return f.rowsFrom(r, func(line int, cells []string) error {
		if reader == nil {
			f.columns = make([]column, len(cells))
			for j := range cells {
				f.columns[j].name = strconv.Itoa(j + 1)
			}
			features, header, err := s.features(f, slices.Clone(cells))
			if err != nil {
				return err
			}
			reader = newCSVInputs(f, features)
			if header {
				return nil
			}
		}
		return reader.row(s, line, cells)
	})
}

// csvInputs are the features in the cells of a row.
type csvInputs struct {
	*csvFile
	features int
	x        []float32
	columns  []csvColumn // those that features come from
}

// csvColumn is a column that is one feature, or one for each of some texts.
type csvColumn struct {
	number  int
	feature int
	texts   map[string]int // the feature of each; nil of a column of numbers
}

func newCSVInputs(f *csvFile, features []feature) *csvInputs {
	in := &csvInputs{csvFile: f, x: make([]float32, len(features))}
	for j, x := range features {
		if !x.oneHot {
			in.columns = append(in.columns, csvColumn{number: x.column, feature: j})
			continue
		}
		if n := len(in.columns); n == 0 || in.columns[n-1].number != x.column { // those of one column are neighbours
			in.columns = append(in.columns, csvColumn{number: x.column, texts: map[string]int{}})
		}
		in.columns[len(in.columns)-1].texts[x.text] = j
	}
	return in
}

// row appends a row to the stream.
func (in *csvInputs) row(s *stream, line int, cells []string) error {
	clear(in.x)
	for _, c := range in.columns {
		cell := cells[c.number]
		if isMissing(cell) {
			return s.gap(fmt.Sprintf("%s:%d: column %s has no value", in.path, line, human.Quote(in.csvFile.columns[c.number].name)))
		}
		if c.texts == nil {
			v, err := in.number(line, cells, c.number)
			if err != nil {
				return err
			}
			in.x[c.feature] = float32(v)
		} else if j, ok := c.texts[cell]; ok {
			in.x[j] = 1
		} else {
			if s.unseen == nil {
				s.unseen = map[string]int{}
			}
			s.unseen[in.csvFile.columns[c.number].name]++
		}
	}
	return s.dense(in.x)
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
	if slices.Contains(s.Like.Notes, noteHeader) {
		return nil, false // numbers, if they are, are names
	}
	for _, name := range s.Like.Columns {
		name, _, oneHot := strings.Cut(name, "=")
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
