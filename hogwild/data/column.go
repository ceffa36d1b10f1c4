package data

import (
	"encoding/csv"
	"fmt"
	"math"
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
	kinds          int             // texts in distinct
	repeats        bool            // a value of distinct occurs twice
	first, last    float64         // of numbers that count up by 1
	jumps          bool            // they do not
	fractions      bool            // or are no whole numbers
	dates          dates
	order          string // of the dates that all texts are, see dateOrders; else ""
	ignored        bool
}

// feature is one input: the numbers of a column, or 1 where a text stands in it.
type feature struct {
	column int
	part   string // of a date
	text   string
	oneHot bool
}

// see counts a cell, and returns how many bytes it keeps of it.
func (c *column) see(line int, cell string) (kept int64) {
	if isMissing(cell) {
		return 0
	}
	v, isNumber := cellNumber(cell)
	if isNumber {
		c.numbers++
		c.countUp(v)
	} else {
		if c.texts++; c.texts == 1 {
			c.textLine, c.text = line, strings.Clone(cell)
			kept = int64(len(cell))
		}
		c.dates.see(cell)
	}
	if len(c.distinct) > maxTexts {
		return kept
	}
	if c.distinct[cell] {
		c.repeats = true
		return kept
	}
	if c.distinct == nil {
		c.distinct = map[string]bool{}
	}
	c.distinct[strings.Clone(cell)] = true
	if !isNumber {
		c.kinds++
	}
	return kept + int64(len(cell)) + textBytes
}

// textBytes is about what a text takes in a map beside its bytes.
const textBytes = 64

// countUp notices whether the numbers count the rows. Without a header the first comes last.
func (c *column) countUp(v float64) {
	switch c.fractions = c.fractions || v != math.Trunc(v); {
	case c.numbers == 1:
		c.first, c.last = v, v
	case v == c.last+1:
		c.last = v
	case v == c.first-1:
		c.first = v
	default:
		c.jumps = true
	}
}

// namesID is the name of a column of ids.
var namesID = regexp.MustCompile(`(^|[_ .-])[iI][dD]$|[a-z]I[dD]$|^(index|Index|Unnamed: 0)$`)

// isID says whether the whole numbers of a column tell n rows apart and mean nothing else: they count them from 0
// or 1, or are all different as far as was looked, under a name for ids.
func (c *column) isID(n int) bool {
	if c.numbers < n || c.texts > 0 || c.fractions || n <= fewClasses {
		return false
	}
	counts := !c.jumps && (c.first == 0 || c.first == 1)
	return counts || namesID.MatchString(c.name) && !c.repeats
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
	name := f.columns[x.column].name
	if x.part != "" {
		name += "." + x.part
	}
	if x.oneHot {
		name += "=" + x.text
	}
	return name
}

// target is the column to predict.
func (f *csvFile) target(t *table, asked string, like *Meta) (int, error) {
	names := f.names()
	if asked == "" && like != nil && slices.Contains(names, like.Target) {
		asked = like.Target
	}
	if asked != "" {
		if j := f.find(asked); j >= 0 {
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

// find is the column of a name, else of a number from 1; -1 if there is none.
func (f *csvFile) find(asked string) int {
	j := slices.IndexFunc(f.columns, func(c column) bool { return c.name == asked })
	if n, err := strconv.Atoi(asked); j < 0 && err == nil && n >= 1 && n <= len(f.columns) {
		j = n - 1
	}
	return j
}

// ignore marks the columns of a list, between commas, that make no features.
func (f *csvFile) ignore(list string, y int) error {
	if list == "" {
		return nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	names, err := r.Read()
	if err != nil {
		return fmt.Errorf("data: ignore %s: want names of columns between commas; one that has a comma needs quotes", human.Quote(list))
	}
	for _, name := range names {
		switch j := f.find(name); {
		case j < 0:
			return f.errorf("no column %s to ignore; the columns are %s", human.Quote(name), some(f.names()))
		case j == y:
			return f.errorf("column %s is the target: it cannot be ignored; --target names another", human.Quote(name))
		default:
			f.columns[j].ignored = true
		}
	}
	return nil
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
		}) && like.Dates[c.name] == "" {
			unused = append(unused, j)
		}
	}
	return unused
}

// features makes features of all columns but y.
func (f *csvFile) features(t *table, y int) ([]feature, error) {
	var features []feature
	var encoded []string
	n := f.lines
	if f.header {
		n--
	}
	for j := range f.columns {
		c := &f.columns[j]
		if c.ignored {
			continue
		}
		err := f.stray(j)
		if err := f.refuse(err); err != nil {
			return nil, err
		}
		switch name := human.Quote(c.name); {
		case j == y || err != nil:
		case len(c.distinct) == 0:
			t.notef("left out column %s: it is empty", name)
		case 20*(c.numbers+c.texts) < n:
			t.notef("left out column %s: only %s of %s rows have a value", name, count(c.numbers+c.texts), count(n))
		case j == 0 && c.unnamed && c.texts == 0:
			t.notef("left out the first column: it has no name, and so is taken for row numbers")
		case c.isID(n) && len(f.columns) > 2:
			t.notef("left out column %s: its numbers are ids of the rows", name)
		case c.texts == 0:
			features = append(features, feature{column: j})
		case c.order != "":
			features = append(features, dateFeatures(j, c.dates.timed)...)
			t.notef("%s", c.dateNote())
		case len(c.distinct) > maxTexts:
			t.notef("left out column %s: more than %d distinct text values, e.g. %s in line %d%s", name, maxTexts, human.Quote(c.text), c.textLine, c.asNumbers())
		case c.isNames():
			t.notef("left out column %s: almost all its texts are unique, e.g. %s in line %d", name, human.Quote(c.text), c.textLine)
		default:
			for _, text := range c.sorted() {
				features = append(features, feature{j, "", text, true})
			}
			encoded = append(encoded, fmt.Sprintf("%s (%s)", human.Name(c.name), count(len(c.distinct))))
		}
	}
	if len(encoded) > 0 {
		t.notef("one feature for each text of %s", some(encoded))
	}
	return features, nil
}

// dateNote says what becomes of a column of dates.
func (c *column) dateNote() string {
	parts, order := "year, month and weekday", ""
	if c.dates.timed {
		parts = "year, month, weekday and hour"
	}
	if c.order == monthFirst {
		order = ", taken as month/day/year"
	}
	return fmt.Sprintf("column %s holds dates%s: its features are %s", human.Quote(c.name), order, parts)
}

// asNumbers is what makes numbers of a column whose first text is one but for signs, e.g. 74.6% or $1,250.
func (c *column) asNumbers() string {
	if number := regexp.MustCompile(`^[-+]?[$€£]? ?[-+]?\d[\d,]*(\.\d*)? ?[%$€£]?$`); !number.MatchString(c.text) {
		return ""
	}
	return "; write its numbers without %, currency or thousands separators and they are used"
}

// stray is an error if column j has texts among more numbers than texts: as texts the
// numbers would become a feature each. Many different texts are no mistake: the column has codes, such as tickets.
func (f *csvFile) stray(j int) error {
	c := &f.columns[j]
	if c.texts == 0 || c.numbers <= c.texts || c.kinds > 10 && 20*c.texts > c.numbers {
		return nil
	}
	what := fmt.Sprintf("text, but the other %s values are numbers", count(c.numbers))
	if c.texts > 1 {
		what = fmt.Sprintf("the first of %s texts, but the other %s values are numbers", count(c.texts), count(c.numbers))
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
	number := map[string]int{}
	for j := range f.columns {
		c := &f.columns[j]
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
			return nil, f.errorf("no column %s, which is a feature of the training data; the columns are %s", human.Quote(name), some(f.names()))
		}
		features = append(features, x)
	}
	return features, nil
}

// datePart is the column of dates that a feature comes from, and the part; "" if it is no such feature.
func (m *Meta) datePart(name string) (column, part, text string) {
	if at := strings.LastIndexByte(name, '.'); at >= 0 && m.Dates[name[:at]] != "" {
		part, text, _ = strings.Cut(name[at+1:], "=")
		if slices.Contains(dateParts, part) {
			return name[:at], part, text
		}
	}
	return "", "", ""
}
