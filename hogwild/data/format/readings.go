package format

import (
	"bytes"

	"hogwild/internal/human"
)

// findMarks decides how the numbers of each column are written, by all its cells: groups of three digits in each
// cell with the mark, along with different whole numbers below 1000, are thousands, and other digits behind one mark
// decimals. What may be both is told by the other columns, else it is a doubt.
func (t *table) findMarks() (notes []string) {
	t.marks, t.doubts = make([]string, len(t.columns)), make([]string, len(t.columns))
	var europe, america bool
	var decimals, points, commas []string
	for j := range t.columns {
		if c := &t.columns[j]; c.areNumbers() {
			europe = europe || c.marks.n[decimalComma]+c.marks.n[groupsPoint] > 0
			america = america || c.marks.n[decimalPoint]+c.marks.n[groupsComma] > 0
		}
	}
	for j := range t.columns {
		c := &t.columns[j]
		is, sure := t.o.Like.marks(c.name), true
		if n := &c.marks.n; is == "" && c.areNumbers() {
			is, sure = c.marks.reading(europe, america, t.comma, t.o.Like != nil)
			if !sure {
				is, t.doubts[j] = "", c.marks.doubt()
			}
			switch name := human.Name(c.name); {
			case is == european && n[groupPoint]+n[groupsPoint] > 0:
				points = append(points, name+" ("+c.marks.example+" is "+c.marks.as(is)+")")
				if n[decimalComma]+n[groupComma] == 0 {
					break
				}
				fallthrough
			case is == european:
				decimals = append(decimals, name)
			case is == american:
				commas = append(commas, name+" ("+c.marks.example+" is "+c.marks.as(is)+")")
			}
		}
		if t.marks[j] = is; is != "" && t.Marks == nil {
			t.Marks = map[string]string{}
		}
		if is != "" {
			t.Marks[c.name] = is
		}
	}
	for _, k := range []struct {
		of    string
		names []string
	}{{"decimal commas", decimals}, {"points between thousands", points}, {"commas between thousands", commas}} {
		if len(k.names) > 0 {
			notes = append(notes, "numbers with "+k.of+": "+Some(k.names))
		}
	}
	return notes
}

// marks returns how the training data writes the numbers of a column; "" if as Go does.
func (k *Known) marks(column string) string {
	if k == nil {
		return ""
	}
	return k.Marks[column]
}

// checkDoubts refuses columns that can be read in two ways.
func (t *table) checkDoubts(used func(j int) bool) error {
	for j, doubt := range t.doubts {
		if doubt == "" || !used(j) {
			continue
		}
		name, instead := human.Quote(t.columns[j].name), ", or leave the column out: --ignore "+
			human.ShellWord(t.columns[j].name)
		if t.o.Triples {
			instead = ""
		}
		err := t.refuse(t.Errorf("column %s: %s, as far as its cells tell: write its numbers without marks between "+
			"thousands and with decimal points%s", name, doubt, instead))
		if err != nil {
			return err
		}
	}
	return nil
}

// seeHead looks at the first rows, and returns the first of all, which is left out if it is a header, or may be.
func (t *table) seeHead(header bool) (first []string) {
	c, n := cells{table: t, text: t.head, end: len(t.head), width: len(t.columns)}, 0
	c.each(func(row []cell) {
		n++
		if c.takeExtra(); row == nil || len(c.row) != len(t.columns) && !t.o.Triples {
			return
		}
		t.columns = append(t.columns, make([]column, max(0, len(c.row)-len(t.columns)))...)
		for j := range c.row {
			if c.row[j].text = bytes.TrimSpace(c.row[j].text); n > 1 || !header {
				t.columns[j].see(n, &c.row[j])
			}
		}
		if n == 1 {
			first, c.width = c.texts(), len(c.row)
		}
	})
	return first
}
