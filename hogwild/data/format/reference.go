package format

import (
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// knownFeatures finds the features of the training data in a file whose first line is first, and whether that
// line is names.
func (t *table) knownFeatures(first []string) (features []feature, err error) {
	was, numbered := t.numbers()
	if numbered && t.o.Target == "" {
		t.renumber(was)
	}
	switch {
	case was == nil && numbered: // the training data had no columns
		t.header = slices.ContainsFunc(first, isText)
	case numbered:
		for j, cell := range first {
			t.header = t.header ||
				isText(cell) &&
					slices.ContainsFunc(was, func(n int) bool { return strconv.Itoa(n) == t.columns[j].name })
		}
	default:
		t.header = true
	}
	if was == nil {
		t.nameColumns(first)
	}
	target := -1
	if t.o.Target != "" {
		if target, err = t.target(t.o.Target); err != nil {
			return nil, err
		}
	}
	if t.o.Like.Columns == nil {
		features, err = t.inOrder(target)
	} else {
		features, err = t.featuresOf(t.o.Like)
	}
	if i := slices.IndexFunc(features, func(x feature) bool { return x.column == target }); err == nil && i >= 0 {
		err = t.Errorf("--target: the training data has a feature from column %s", human.Quote(t.columns[target].name))
	}
	return features, err
}

// numbers returns the columns that the training data has features of, if columns had no names: below zero
// if they are texts.
func (t *table) numbers() (columns []int, all bool) {
	if t.o.Like.Named {
		return nil, false // numbers, if they are, are names
	}
	for _, name := range t.o.Like.Columns {
		name, _, oneHot := strings.Cut(name, "=")
		if base, _, _ := t.o.Like.datePart(name); base != "" {
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
func (t *table) renumber(was []int) {
	labels, err := strconv.Atoi(t.o.Was)
	if err != nil || was == nil || len(t.columns) >= max(labels, slices.Max(was), -slices.Min(was)) {
		return
	}
	for j := labels - 1; j < len(t.columns); j++ {
		t.columns[j].name = strconv.Itoa(j + 2)
	}
}

// inOrder takes all columns as features, but the column of labels where there is one more.
func (t *table) inOrder(target int) ([]feature, error) {
	d, n := t.o.Like.Features, len(t.columns)
	if n == d+1 && target < 0 {
		asked := t.o.Was
		if _, err := strconv.Atoi(asked); err != nil {
			asked = ""
		}
		var err error
		if target, err = t.target(asked); err != nil {
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
		return nil, t.Errorf("%s columns without the labels, the model takes %s", count(len(features)), count(d))
	}
	return features, nil
}

// featuresOf finds the features of the training data among the columns.
func (t *table) featuresOf(like *Known) ([]feature, error) {
	number := map[string]int{}
	for j := range t.columns {
		c := &t.columns[j]
		c.order = like.Dates[c.name]
		number[c.name] = j
	}
	find := func(name string) int {
		if j, ok := number[name]; ok {
			return j
		}
		return -1
	}
	var features []feature
	for _, name := range like.Columns {
		x := feature{column: -1}
		if base, part, text := like.datePart(name); part != "" {
			x = feature{find(base), part, text, text != ""}
		} else {
			x.column = find(name)
		}
		for at := 0; x.column < 0 && x.part == "" && at < len(name); at++ {
			if name[at] == '=' {
				x = feature{find(name[:at]), "", name[at+1:], true}
			}
		}
		if x.column < 0 {
			return nil, t.Errorf("no column %s, which is a feature of the training data; the columns are %s",
				human.Quote(name), Some(t.names()))
		}
		features = append(features, x)
	}
	return features, nil
}

// datePart returns the column of dates that a feature comes from, and the part; "" if it is no such feature.
func (k *Known) datePart(name string) (column, part, text string) {
	if at := strings.LastIndexByte(name, '.'); at >= 0 && k.Dates[name[:at]] != "" {
		part, text, _ = strings.Cut(name[at+1:], "=")
		if slices.Contains(dateParts, part) {
			return name[:at], part, text
		}
	}
	return "", "", ""
}
