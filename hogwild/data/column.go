package data

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// maxTexts is how many distinct texts a column may have to become features.
const maxTexts = 100

// column is what was found in the cells of one column of a CSV file.
type column struct {
	name           string // by the header, else its number
	unnamed        bool   // in a header that names others
	numbers, texts int
	distinct       map[string]bool // cells that are not missing, at most maxTexts+1
	textLine       int             // where the first text stands
	text           string          // the first text
}

// feature is one input: the numbers of a column, or 1 where a text stands in it.
type feature struct {
	column int
	text   string
	oneHot bool
}

// see counts a cell, and returns how many bytes it keeps of it.
func (c *column) see(line int, cell string) (kept int64) {
	if isMissing(cell) {
		return 0
	}
	if _, ok := cellNumber(cell); ok {
		c.numbers++
	} else if c.texts++; c.texts == 1 {
		c.textLine, c.text = line, strings.Clone(cell)
		kept = int64(len(cell))
	}
	if len(c.distinct) > maxTexts || c.distinct[cell] {
		return kept
	}
	if c.distinct == nil {
		c.distinct = map[string]bool{}
	}
	c.distinct[strings.Clone(cell)] = true
	return kept + int64(len(cell)) + textBytes
}

// textBytes is about what a text takes in a map beside its bytes.
const textBytes = 64

// isMissing says whether a cell stands for a value that is not known: it is empty, ?, NA,
// N/A, NaN or null.
func isMissing(cell string) bool {
	switch {
	case len(cell) == 0:
		return true
	case len(cell) == 1:
		return cell[0] == '?'
	case len(cell) > 4 || cell[0]|0x20 != 'n': // of no word below
		return false
	}
	return strings.EqualFold(cell, "na") || strings.EqualFold(cell, "n/a") || strings.EqualFold(cell, "nan") || strings.EqualFold(cell, "null")
}

// cellNumber is the number in a cell; it may be too large for a float32, or infinite.
func cellNumber(cell string) (float64, bool) {
	if v, n, ok := parseNumber(cell); ok && n == len(cell) {
		return v, true
	}
	if cell == "" || cell[0] > '9' && cell[0]|0x20 != 'i' {
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
	names := f.names()
	if asked == "" && like != nil && slices.Contains(names, like.Target) {
		asked = like.Target
	}
	if asked != "" {
		j := slices.Index(names, asked)
		if n, err := strconv.Atoi(asked); j < 0 && err == nil && n >= 1 && n <= len(names) {
			j = n - 1
		}
		if j >= 0 {
			t.target, t.Target = "target "+human.Quote(names[j]), names[j]
			return j, nil
		}
		return 0, f.errorf("no column %s to predict; the columns are %s", human.Quote(asked), some(names))
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
	t.target, t.Target = fmt.Sprintf("target %s (%s; --target names another)", human.Quote(names[y]), why), names[y]
	return y, nil
}

func (f *csvFile) names() []string {
	names := make([]string, len(f.columns))
	for j, c := range f.columns {
		names[j] = c.name
	}
	return names
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
func (f *csvFile) features(t *table, y int) ([]feature, error) {
	var features []feature
	for j := range f.columns {
		c := &f.columns[j]
		if err := f.stray(j); err != nil {
			return nil, err
		}
		switch name := human.Quote(c.name); {
		case j == y:
		case len(c.distinct) == 0:
			t.notef("left out column %s: it is empty", name)
		case j == 0 && c.unnamed && c.texts == 0:
			t.notef("left out the first column: it has no name, and so is taken for row numbers")
		case c.texts == 0:
			features = append(features, feature{column: j})
		case len(c.distinct) > maxTexts:
			t.notef("left out column %s: more than %d different texts, e.g. %s in line %d%s", name, maxTexts, human.Quote(c.text), c.textLine, c.asNumbers())
		case c.isNames():
			t.notef("left out column %s: almost all its texts are unique, e.g. %s in line %d", name, human.Quote(c.text), c.textLine)
		default:
			for _, text := range c.sorted() {
				features = append(features, feature{j, text, true})
			}
			t.notef("one-hot encoded column %s: %d features", name, len(c.distinct))
		}
	}
	return features, nil
}

// asNumbers is what makes numbers of a column whose first text is one but for signs, e.g. 74.6% or $1,250.
func (c *column) asNumbers() string {
	if number := regexp.MustCompile(`^[-+]?[$€£]? ?[-+]?\d[\d,]*(\.\d*)? ?[%$€£]?$`); !number.MatchString(c.text) {
		return ""
	}
	return "; write its numbers without %, currency or thousands separators and they are used"
}

// stray is an error if column j has texts among more numbers than texts: as texts the
// numbers would become a feature each.
func (f *csvFile) stray(j int) error {
	c := &f.columns[j]
	if c.texts == 0 || c.numbers <= c.texts {
		return nil
	}
	what := fmt.Sprintf("a text among %s numbers", count(c.numbers))
	if c.texts > 1 {
		what = fmt.Sprintf("the first of %s texts among %s numbers", count(c.texts), count(c.numbers))
	}
	return fmt.Errorf("data: %s:%d: column %s (number %d): %s is %s: correct it, or leave the cell empty if the value is missing (put a letter before the codes of a category)",
		f.path, c.textLine, human.Quote(c.name), j+1, human.Quote(c.text), what)
}

// isNames says whether the texts of a column tell rows apart, as names do: there are some
// number of them, and on average they do not occur twice.
func (c *column) isNames() bool {
	return len(c.distinct) > fewClasses && 2*len(c.distinct) > c.numbers+c.texts
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
			return nil, f.errorf("no column %s, which is a feature of the training data; the columns are %s", human.Quote(name), some(f.names()))
		}
		features = append(features, x)
	}
	return features, nil
}
