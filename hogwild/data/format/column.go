package format

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// MaxTexts is how many distinct texts a column may have for rows to be dense, MostTexts for it to become features.
const MaxTexts, MostTexts = 100, 1 << 16

// longText is how many bytes none of a column's texts have, if there are more than MaxTexts of them: others are prose.
const longText = 100

// FewClasses is how many different whole numbers are taken for classes whichever they are.
const FewClasses = 20

// column is what was found in the cells of one column of a CSV file.
type column struct {
	name           string // by the header, else its number
	unnamed        bool   // in a header that names others
	numbers, texts int
	nulls          int            // words that are missing values in a column of numbers or dates, and texts in others
	distinct       map[string]int // cells that are not missing, by which came first
	full           [2]bool        // no more texts, and no more numbers, are wanted in it
	textLine       int            // where the first text stands
	text           string         // the first text
	kinds          int            // texts in distinct
	repeats        int            // how many there were in distinct when a value of it came again; 0 if none did
	start          float64        // the first number
	first, last    float64        // of numbers that count up by 1
	jumps          bool           // they do not
	fractions      bool           // or are no whole numbers
	codes          bool           // a number is not written as float64 would be: 007, or one of more than 2^53
	marks          marks
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

// see counts a cell.
func (c *column) see(line int, x *cell) {
	v, isNumber, isNull := x.v, x.plain, false
	if !isNumber {
		if isMissing(x.text) {
			return
		}
		v, isNumber = Number(x.text)
		isNull = isNullWord(x.text)
	}
	if isNull {
		c.nulls++
	} else if isNumber {
		c.numbers++
		c.countUp(v)
		c.codes = c.codes || (x.text[0] == '0' || len(x.text) > 15) && isCode(x.text)
	} else {
		if c.texts++; c.texts == 1 {
			c.textLine, c.text = line, string(x.text)
		}
		c.dates.see(string(x.text))
	}
	if !isNull {
		c.marks.see(x, v, isNumber)
	}
	remember(c, x.text, isNumber)
}

// remember adds a cell to distinct, unless it is there or there are enough, and returns how many bytes that keeps.
func remember[T string | []byte](c *column, text T, isNumber bool) (kept int64) {
	full := &c.full[0]
	if isNumber {
		full = &c.full[1]
	}
	if *full {
		return 0
	}
	if _, again := c.distinct[string(text)]; again {
		c.repeats = cmp.Or(c.repeats, len(c.distinct))
		return 0
	}
	if c.distinct == nil {
		c.distinct = map[string]int{}
	}
	c.distinct[string(text)] = len(c.distinct)
	if isNumber {
		*full = len(c.distinct)-c.kinds > MaxTexts
	} else {
		c.kinds++
		*full = c.kinds > MostTexts || c.kinds > MaxTexts && len(text) > longText
	}
	return int64(len(text)) + textBytes
}

// join adds what was found in later rows, as if they were seen one by one, and returns how many bytes it keeps of it.
func (c *column) join(d *column) (kept int64) {
	if c.numbers+c.texts+c.nulls == 0 {
		d.name, d.unnamed = c.name, c.unnamed
		*c, kept = *d, int64(len(d.text))
		for text := range c.distinct {
			kept += int64(len(text)) + textBytes
		}
		return kept
	}
	if c.texts == 0 {
		c.textLine, c.text, kept = d.textLine, d.text, int64(len(d.text))
	}
	c.joinNumbers(d)
	c.codes = c.codes || d.codes
	c.marks.join(&d.marks)
	c.nulls += d.nulls
	c.texts, c.dates.timed = c.texts+d.texts, c.dates.timed || d.dates.timed
	for i, n := range d.dates.fit {
		c.dates.fit[i] += n
	}
	texts := make([]string, len(d.distinct))
	for text, i := range d.distinct {
		texts[i] = text
	}
	for i := 0; i <= len(texts) && c.full != [2]bool{true, true}; i++ {
		if i > 0 && i == d.repeats {
			c.repeats = cmp.Or(c.repeats, i)
		}
		if i < len(texts) {
			_, number := Number(texts[i])
			kept += remember(c, texts[i], number)
		}
	}
	return kept
}

// settleNulls makes missing values of the words that are some in a column of numbers or dates, and texts of others.
func (c *column) settleNulls() {
	if c.texts > c.numbers && c.order == "" {
		c.texts += c.nulls
		return
	}
	for text := range c.distinct {
		if c.nulls > 0 && isNullWord(text) {
			delete(c.distinct, text)
			c.kinds--
		}
	}
}

// textBytes is about what a text takes in a map without its bytes.
const textBytes = 64

// countUp notices whether the numbers count the rows. Without a header the first comes last.
func (c *column) countUp(v float64) {
	switch c.fractions = c.fractions || v != math.Trunc(v); {
	case c.numbers == 1:
		c.start, c.first, c.last = v, v, v
	case v == c.last+1:
		c.last = v
	case v == c.first-1:
		c.first = v
	default:
		c.jumps = true
	}
}

// joinNumbers counts on with numbers that count up, or down, throughout.
func (c *column) joinNumbers(d *column) {
	switch c.fractions = c.fractions || d.fractions; {
	case d.numbers == 0:
	case c.numbers == 0:
		c.start, c.first, c.last, c.jumps = d.start, d.first, d.last, d.jumps
	case !d.jumps && d.start == d.first && d.first == c.last+1:
		c.last = d.last
	case !d.jumps && d.start == d.last && d.last == c.first-1:
		c.first = d.first
	default:
		c.jumps = true
	}
	c.numbers += d.numbers
}

// isCode says whether a number that begins with 0, or is long, has digits alone: 007, or more than float64 surely
// holds.
func isCode(number []byte) bool {
	return len(number) > 1 && bytes.IndexByte(number, '.') < 0 && // most have a point, which is found at once
		len(bytes.Trim(number, "-0123456789")) == 0
}

// namesID is the name of a column of ids.
var namesID = regexp.MustCompile(`(^|[_ .-])[iI][dD]$|[a-z]I[dD]$|^(index|Index|Unnamed: 0)$`)

// isID says whether the whole numbers of a column tell n rows apart and mean nothing else: they count them from 0
// or 1, or are all different as far as was looked, under a name for ids.
func (c *column) isID(n int) bool {
	if c.numbers < n || c.texts > 0 || c.fractions || n <= FewClasses {
		return false
	}
	counts := !c.jumps && (c.first == 0 || c.first == 1)
	return counts || namesID.MatchString(c.name) && c.repeats == 0
}

// name returns what Meta.Columns calls the feature: the column, or column=text.
func (t *table) name(x feature) string {
	name := t.columns[x.column].name
	if x.part != "" {
		name += "." + x.part
	}
	if x.oneHot {
		name += "=" + x.text
	}
	return name
}

// target returns the column to predict.
func (t *table) target(asked string) (int, error) {
	names, like := t.names(), t.o.Like
	if asked == "" && like != nil && slices.Contains(names, like.Target) {
		asked = like.Target
	}
	if asked != "" {
		if j := t.find(asked); j >= 0 {
			t.Labels, t.Target = "target "+human.Quote(names[j]), names[j]
			return j, nil
		}
		return 0, t.Errorf("no column %s to predict; the columns are %s", human.Quote(asked), Some(names))
	}
	if like != nil && like.Columns != nil {
		if unused := t.unused(like); len(unused) == 1 {
			return unused[0], nil
		}
	}
	y, why := len(names)-1, "the last column"
	if t.columns[y].ignored && y > 0 { // the rows' weights
		y--
	}
	for j, name := range names {
		if slices.Contains([]string{"target", "label", "y", "class"}, strings.ToLower(name)) {
			y, why = j, "by its name"
			break
		}
	}
	t.Labels, t.Target = fmt.Sprintf("target %s (%s; --target names another)", human.Quote(names[y]), why), names[y]
	return y, nil
}

// find returns the column of a name, else of a number from 1; -1 if there is none.
func (t *table) find(asked string) int {
	j := slices.IndexFunc(t.columns, func(c column) bool { return c.name == asked })
	if n, err := strconv.Atoi(asked); j < 0 && err == nil && n >= 1 && n <= len(t.columns) {
		j = n - 1
	}
	return j
}

// ignore marks the columns of a list, between commas, that make no features.
func (t *table) ignore(list string, y int) error {
	if list == "" {
		return nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	names, err := r.Read()
	if err != nil {
		return fmt.Errorf("data: ignore %s: want names of columns between commas; one that has a comma needs quotes",
			human.Quote(list))
	}
	for _, name := range names {
		switch j := t.find(name); {
		case j < 0:
			return t.Errorf("no column %s to ignore; the columns are %s", human.Quote(name), Some(t.names()))
		case j == y:
			return t.Errorf("column %s is the target: it cannot be ignored; --target names another", human.Quote(name))
		default:
			t.columns[j].ignored = true
		}
	}
	return nil
}

// partsOf returns the parts that --columns names, with a column each.
func partsOf(columns string) (parts [][2]string, err error) {
	r := csv.NewReader(strings.NewReader(columns))
	r.LazyQuotes = true
	cells, err := r.Read()
	for _, cell := range cells {
		part, name, _ := strings.Cut(cell, "=")
		parts = append(parts, [2]string{part, name})
	}
	return parts, err
}

func (t *table) names() []string {
	names := make([]string, len(t.columns))
	for j, c := range t.columns {
		names[j] = c.name
	}
	return names
}

// areNumbers says whether more cells of a column are numbers, with whatever marks, than texts.
func (c *column) areNumbers() bool { return c.numbers+c.marked() > c.texts-c.marked() }

// marked returns how many cells are numbers with marks, which see takes for texts.
func (c *column) marked() int {
	n := &c.marks.n
	return n[decimalComma] + n[groupComma] + n[groupsComma] + n[groupsPoint]
}

// stray returns an error if column j has texts among more numbers than texts: as texts the
// numbers would become a feature each. Many different texts are no mistake: the column has codes, such as tickets.
func (t *table) stray(j int) error {
	c := &t.columns[j]
	if c.texts == 0 || c.numbers <= c.texts || c.kinds > 10 && 20*c.texts > c.numbers {
		return nil
	}
	what := fmt.Sprintf("text, but the other %s values are numbers", count(c.numbers))
	if c.texts > 1 {
		what = fmt.Sprintf("the first of %s texts, but the other %s values are numbers", count(c.texts),
			count(c.numbers))
	}
	return fmt.Errorf("data: %s:%d: column %s (number %d): %s is %s: correct it, or leave the cell empty if the "+
		"value is missing (put a letter before the codes of a category)",
		t.Path, c.textLine, human.Quote(c.name), j+1, human.Quote(c.text), what)
}

// isNames says whether the texts of a column tell rows apart, as names do: there are some
// number of them, and on average they do not occur twice.
func (c *column) isNames() bool {
	return len(c.distinct) > FewClasses && 2*len(c.distinct) > c.numbers+c.texts
}

func (c *column) sorted() []string {
	var texts []string
	for text := range c.distinct {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// refuse returns an error that makes a file useless for training, unless the file is only described: then it
// is a problem to be told.
func (t *table) refuse(err error) error {
	if err == nil || !t.o.Lenient {
		return err
	}
	says := "problem: " + strings.TrimPrefix(err.Error(), "data: ")
	if len(t.problems) < 5 && !slices.Contains(t.problems, says) { // a file is read more than once
		t.problems = append(t.problems, says)
	}
	return nil
}

// unused returns the columns that no feature of like comes from.
func (t *table) unused(like *Known) []int {
	var unused []int
	for j, c := range t.columns {
		if !slices.ContainsFunc(like.Columns, func(x string) bool {
			return x == c.name || strings.HasPrefix(x, c.name+"=")
		}) && like.Dates[c.name] == "" {
			unused = append(unused, j)
		}
	}
	return unused
}
