package format

import (
	"bytes"
	"cmp"
	"math"
)

// mark is how a number is written that has commas or points.
type mark int

const (
	noMark       mark = iota
	decimalComma      // 3,5
	decimalPoint      // 3.5
	groupComma        // 12,345: thousands, or three decimals
	groupPoint        // 12.345
	groupsComma       // 1,234,567 or 1,234.5
	groupsPoint       // 1.234.567 or 1.234,5
	markKinds
)

// markOf looks at a cell; noMark of a whole number, and of no number.
func markOf(cell []byte) mark {
	if n := bytes.IndexAny(cell, "eE"); n > 0 && n < len(cell)-1 && len(bytes.Trim(cell[n+1:], "+-0123456789")) == 0 {
		switch k := markOf(cell[:n]); k { // before an exponent there are no thousands
		case groupComma:
			return decimalComma
		case groupPoint:
			return decimalPoint
		default:
			return k
		}
	}
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		cell = cell[1:]
	}
	commas, points, at := bytes.Count(cell, []byte(",")), bytes.Count(cell, []byte(".")), bytes.LastIndexAny(cell, ",.")
	switch {
	case at < 0 || len(cell) == commas+points || len(bytes.Trim(cell, "0123456789.,")) > 0:
		return noMark
	case commas == 0 && areGroups(cell, '.'):
		return groupPoint + mark(min(points-1, 1))*(groupsPoint-groupPoint)
	case points == 0 && areGroups(cell, ','):
		return groupComma + mark(min(commas-1, 1))*(groupsComma-groupComma)
	case commas == 0 && points == 1:
		return decimalPoint
	case points == 0 && commas == 1:
		return decimalComma
	case commas == 1 && cell[at] == ',' && areGroups(cell[:at], '.'):
		return groupsPoint
	case points == 1 && cell[at] == '.' && areGroups(cell[:at], ','):
		return groupsComma
	}
	return noMark
}

// areGroups says whether the digits of a number have the mark between thousands.
func areGroups(number []byte, between byte) bool {
	parts := bytes.Split(number, []byte{between})
	for i, part := range parts {
		if i > 0 && len(part) != 3 || i == 0 && (len(part) < 1 || len(part) > 3 || part[0] == '0') {
			return false
		}
	}
	return true
}

// marks count how the numbers of a column are written.
type marks struct {
	n           [markKinds]int
	example     string // the first that has groups
	small       int    // whole numbers without a mark below 1000
	least, most float64
	large       int // and the others
}

// see counts a cell, which is a number or a text.
func (m *marks) see(x *cell, v float64, number bool) {
	if x.plain && m.n[decimalPoint] > 0 {
		return // there is no more to learn
	}
	k := noMark
	if !x.plain || bytes.IndexByte(x.text, '.') >= 0 {
		k = markOf(x.text)
		m.n[k]++
	}
	switch {
	case k >= groupComma && m.example == "":
		m.example = string(x.text)
	case k > noMark || !number:
	case math.Abs(v) >= 1000:
		m.large++
	case m.small == 0:
		m.small, m.least, m.most = 1, v, v
	default:
		m.small, m.least, m.most = m.small+1, min(m.least, v), max(m.most, v)
	}
}

func (m *marks) join(d *marks) {
	for k, n := range d.n {
		m.n[k] += n
	}
	if m.example == "" {
		m.example = d.example
	}
	if m.small > 0 && d.small > 0 {
		m.least, m.most = min(m.least, d.least), max(m.most, d.most)
	} else if d.small > 0 {
		m.least, m.most = d.least, d.most
	}
	m.small, m.large = m.small+d.small, m.large+d.large
}

// The values of Known.Marks.
const (
	european = "1.234,5"
	american = "1,234.5"
)

// enoughGroups is how many cells with groups of points show, between commas, that none has decimals that end in 0.
const enoughGroups = 20

// reading returns how a column is written, and whether that is sure; europe and america say what other columns have.
func (m *marks) reading(europe, america bool, separator byte, known bool) (is string, sure bool) {
	commas, points, decimals := m.n[groupComma]+m.n[groupsComma], m.n[groupPoint], m.n[decimalPoint]
	wholes := m.large == 0 && m.least < m.most // as columns with groups have them
	switch isEuropean, isAmerican := m.n[decimalComma]+m.n[groupsPoint] > 0, m.n[groupsComma] > 0; {
	case isEuropean:
		return european, !isAmerican && decimals == 0
	case isAmerican, commas > 0 && decimals > 0:
		return american, true
	case commas > 0 && (points > 0 || m.large > 0):
		return "", false
	case commas > 0 && europe == america:
		return american, wholes
	case commas > 0 && europe:
		return european, !wholes
	case commas > 0:
		return american, true
	case points == 0, decimals > 0:
		return "", true
	case europe && !america:
		return european, m.large == 0
	case known, separator == ',' && (america || points < enoughGroups):
		return "", true
	case wholes:
		return european, !america
	}
	return "", separator != ';' || america
}

// doubt returns what is said of a column that can be read in two ways.
func (m *marks) doubt() string {
	if m.example == "" {
		return "some of its numbers have decimal commas, others decimal points"
	}
	return m.example + " may be " + m.as(european) + " or " + m.as(american)
}

// as returns the example as a country writes it.
func (m *marks) as(is string) string {
	return cmp.Or(string(plainNumber(nil, []byte(m.example), is)), m.example)
}

// plainNumber appends a number as Go reads it, if it is one with such marks, else nothing.
func plainNumber(to, cell []byte, is string) []byte {
	drop, point := byte(','), byte('.')
	switch k := markOf(cell); {
	case is == european && k != noMark && k != decimalPoint && k != groupsComma:
		drop, point = '.', ','
	case is == american && (k == groupComma || k == groupsComma):
	default:
		return to
	}
	for _, c := range cell {
		switch c {
		case drop:
		case point:
			to = append(to, '.')
		default:
			to = append(to, c)
		}
	}
	return to
}
