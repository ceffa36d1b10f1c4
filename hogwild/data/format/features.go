package format

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"hogwild/internal/human"
)

// features makes features of all columns but y.
func (t *table) features(y int) ([]feature, error) {
	var features []feature
	var encoded []string
	n := t.Rows
	if t.header {
		n--
	}
	for j := range t.columns {
		c := &t.columns[j]
		if c.ignored {
			continue
		}
		err := t.stray(j)
		if err := t.refuse(err); err != nil {
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
		case c.isID(n) && len(t.columns) > 2:
			t.notef("left out column %s: its numbers are ids of the rows", name)
		case c.texts == 0:
			features = append(features, feature{column: j})
		case c.order != "":
			features = append(features, dateFeatures(j, c.dates.timed)...)
			t.notef("%s", c.dateNote())
		case c.leftOut() != "":
			t.notef("left out column %s: %s, e.g. %s in line %d%s", name, c.leftOut(), human.Quote(c.text), c.textLine,
				c.asNumbers())
		default:
			if len(c.distinct) > MaxTexts {
				t.Kind = Sparse
			}
			for _, text := range c.sorted() {
				features = append(features, feature{j, "", text, true})
			}
			encoded = append(encoded, fmt.Sprintf("%s (%s)", human.Name(c.name), count(len(c.distinct))))
		}
	}
	if len(encoded) > 0 {
		t.notef("one feature for each text of %s", Some(encoded))
	}
	return features, nil
}

// noteRatings notes that a table may be ratings or edges, without being named so: two columns of ids that recur and
// one of few different numbers, perhaps with a time, or names of edges' ends.
func (t *table) noteRatings() {
	var names []string
	for j := range t.columns {
		names = append(names, t.columns[j].name)
	}
	if ends, _ := known(names); ends[0] >= 0 && ends[1] >= 0 {
		t.notef("if its rows are the edges of a graph, say so: --model cut:10")
		return
	}
	var ids, values []string // of n cells with n/2 ids or less the first comes again after sqrt(n) of them, or about
	for j := range t.columns {
		c := &t.columns[j]
		k, cells := len(c.distinct), c.numbers+c.texts
		seconds := c.texts == 0 && !c.fractions &&
			(c.start > 5e8 && c.start < 3e9 || c.start > 5e11 && c.start < 3e12) // or thousandths
		switch {
		case seconds || c.order != "" || c.unnamed || c.isID(cells):
		case c.texts == 0 && k > 1 && k <= FewClasses:
			values = append(values, "value="+c.name)
		case !c.fractions && k > FewClasses && (k > MaxTexts || 2*k <= cells) && c.repeats > 0 &&
			c.repeats*c.repeats <= 2*cells:
			ids = append(ids, [...]string{"user=", "item="}[len(ids)%2]+c.name)
		default:
			return
		}
	}
	if len(ids) == 2 && len(values) == 1 {
		t.notef("if its rows are ratings of items by users, or counts of them, say so: --columns %s",
			human.ShellWord(CSVLine(append(ids, values...)...)))
	}
}

// dateFeatures returns the features of a column of dates: its year, a number, and 1 for the month, the day of the
// week and, if there are times, the hour.
func dateFeatures(column int, timed bool) []feature {
	features := []feature{{column: column, part: "year"}}
	each := func(part string, from, to int, text func(int) string) {
		for i := from; i <= to; i++ {
			features = append(features, feature{column, part, text(i), true})
		}
	}
	each("month", 1, 12, strconv.Itoa)
	each("weekday", 0, 6, func(i int) string { return time.Weekday(i).String() })
	if timed {
		each("hour", 0, 23, strconv.Itoa)
	}
	return features
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

// leftOut says why a column of texts makes no features; "" if it does.
func (c *column) leftOut() string {
	switch {
	case c.isNames():
		return "almost all its texts are unique"
	case c.kinds > MostTexts:
		return fmt.Sprintf("more than %s distinct text values", count(MostTexts))
	case c.full[0]:
		return fmt.Sprintf("more than %d distinct text values, some of more than %d bytes", MaxTexts, longText)
	case c.full[1]:
		return fmt.Sprintf("more than %d distinct numbers among its texts (put a letter before codes)", MaxTexts)
	}
	return ""
}

// asNumbers says how to make numbers of a column whose first text is one but for signs, e.g. 74.6% or $1,250.
func (c *column) asNumbers() string {
	if number := regexp.MustCompile(`^[-+]?[$€£]? ?[-+]?\d[\d,]*(\.\d*)? ?[%$€£]?$`); !number.MatchString(c.text) {
		return ""
	}
	return "; write its numbers without %, currency or thousands separators and they are used"
}
