package format

import "bytes"

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
