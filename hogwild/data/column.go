package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxTexts is how many distinct texts a column may have to become features.
const maxTexts = 100

// column is what was found in the cells of one column of a CSV file.
type column struct {
	name           string // by the header, else its number
	numbers, texts int
	distinct       map[string]bool // cells that are not missing, at most maxTexts+1
	textLine       int             // where the first text stands
}

// feature is one input: the numbers of a column, or 1 where a text stands in it.
type feature struct {
	column int
	text   string
	oneHot bool
}

// see counts a cell.
func (c *column) see(line int, cell string) {
	if isMissing(cell) {
		return
	}
	if _, ok := cellNumber(cell); ok {
		c.numbers++
	} else if c.texts++; c.texts == 1 {
		c.textLine = line
	}
	if len(c.distinct) > maxTexts || c.distinct[cell] {
		return
	}
	if c.distinct == nil {
		c.distinct = map[string]bool{}
	}
	c.distinct[strings.Clone(cell)] = true
}

// isMissing says whether a cell stands for a value that is not known.
func isMissing(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		return cell == "?"
	}
	return len(cell) <= 4 && (strings.EqualFold(cell, "na") || strings.EqualFold(cell, "nan") || strings.EqualFold(cell, "null"))
}

// cellNumber is the number in a cell; it may be too large for a float32, or infinite.
func cellNumber(cell string) (float64, bool) {
	if c := cell[:min(1, len(cell))]; c > "9" && c != "i" && c != "I" {
		return 0, false // spares the error that ParseFloat would make of a text
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil || v != 0 // out of range is a number still
}

// name is what Meta.Columns calls the feature: the column, or column=text.
func (f *csvFile) name(x feature) string {
	if x.oneHot {
		return f.columns[x.column].name + "=" + x.text
	}
	return f.columns[x.column].name
}

// target is the column to predict.
func (f *csvFile) target(t *table, asked string, like *Meta) (int, error) {
	names := make([]string, len(f.columns))
	for j, c := range f.columns {
		names[j] = c.name
	}
	if asked != "" {
		j := slices.Index(names, asked)
		if n, err := strconv.Atoi(asked); j < 0 && err == nil && n >= 1 && n <= len(names) {
			j = n - 1
		}
		if j >= 0 {
			t.target = fmt.Sprintf("target %q", names[j])
			return j, nil
		}
		return 0, f.errorf("no column %q to predict; the columns are %s", asked, strings.Join(names, ", "))
	}
	if like != nil && like.Columns != nil {
		if unused := f.unused(*like); len(unused) == 1 {
			return unused[0], nil
		}
	}
	y, why := len(names)-1, "the last column"
	for j, name := range names {
		if slices.Contains([]string{"target", "label", "y", "class"}, strings.ToLower(name)) {
			y, why = j, "by its name"
			break
		}
	}
	t.target = fmt.Sprintf("target %q (%s; --target names another)", names[y], why)
	return y, nil
}

// unused are the columns that no feature of like comes from.
func (f *csvFile) unused(like Meta) []int {
	var unused []int
	for j, c := range f.columns {
		if !slices.ContainsFunc(like.Columns, func(x string) bool {
			return x == c.name || strings.HasPrefix(x, c.name+"=")
		}) {
			unused = append(unused, j)
		}
	}
	return unused
}

// features makes features of all columns but y.
func (f *csvFile) features(t *table, y int) []feature {
	var features []feature
	for j, c := range f.columns {
		switch {
		case j == y:
		case len(c.distinct) == 0:
			t.notef("left out column %q: it is empty", c.name)
		case c.texts == 0:
			features = append(features, feature{column: j})
		case len(c.distinct) > maxTexts:
			t.notef("left out column %q: texts (one in line %d), more than %d different ones", c.name, c.textLine, maxTexts)
		default:
			for _, text := range c.sorted() {
				features = append(features, feature{j, text, true})
			}
			t.notef("column %q became %d features, one for each text in it", c.name, len(c.distinct))
		}
	}
	return features
}

func (c *column) sorted() []string {
	var texts []string
	for text := range c.distinct {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// featuresOf finds the features of the training data among the columns.
func (f *csvFile) featuresOf(like Meta) ([]feature, error) {
	find := func(name string) int {
		return slices.IndexFunc(f.columns, func(c column) bool { return c.name == name })
	}
	var features []feature
	for _, name := range like.Columns {
		x := feature{column: find(name)}
		for at := 0; x.column < 0 && at < len(name); at++ {
			if name[at] == '=' {
				x = feature{find(name[:at]), name[at+1:], true}
			}
		}
		if x.column < 0 {
			return nil, f.errorf("no column %q, from which the training data has a feature", name)
		}
		features = append(features, x)
	}
	return features, nil
}
