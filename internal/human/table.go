package human

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a table whose first column names the rows. One without heads has a name and a value a row.
type Table struct {
	Heads []string
	Rows  [][]string
}

// Column is a column of a table of things, as cases or runs; a cell is "" where there is nothing to say.
type Column[T any] struct {
	Head string
	Cell func(T) string
}

// Col is a column.
func Col[T any](head string, cell func(T) string) Column[T] { return Column[T]{head, cell} }

// TableOf has a row for each thing, and those columns in which there is anything; nil without rows.
func TableOf[T any](things []T, columns ...Column[T]) *Table {
	if len(things) == 0 {
		return nil
	}
	t := &Table{Rows: make([][]string, len(things))}
	for _, c := range columns {
		var cells []string
		for _, thing := range things {
			cells = append(cells, c.Cell(thing))
		}
		if !slices.ContainsFunc(cells, func(s string) bool { return s != "" }) {
			continue
		}
		t.Heads = append(t.Heads, c.Head)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// Text returns the table as lines. Columns for which a width has no room stand below the others, each with the same
// first one.
func (t *Table) Text(width int) string {
	rows := slices.Clone(t.Rows)
	if t.Heads != nil {
		rows = append([][]string{t.Heads}, rows...)
	}
	var parts []string
	for len(rows) > 0 && len(rows[0]) > 1 {
		n := len(rows[0])
		for n > 2 && Widest(Aligned(first(rows, n))) > width {
			n--
		}
		parts = append(parts, Aligned(first(rows, n)))
		for i, row := range rows {
			rows[i] = append(row[:1:1], row[n:]...)
		}
	}
	return strings.Join(parts, "\n")
}

// first is the first n cells of each row.
func first(rows [][]string, n int) (cut [][]string) {
	for _, row := range rows {
		cut = append(cut, row[:n])
	}
	return cut
}

// Aligned is rows of cells as lines, with columns two spaces apart.
func Aligned(rows [][]string) string { return aligned(rows, -1) }

// AlignedRight has all columns but the first on the right, as numbers stand.
func AlignedRight(rows [][]string) string { return aligned(rows, 1) }

func aligned(rows [][]string, side int) string {
	wide := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			if side > 0 || i < len(row)-1 { // nothing follows the last one
				wide[i] = max(wide[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i > 0 {
				line += fmt.Sprintf("  %*s", side*wide[i], cell)
			} else {
				line = fmt.Sprintf("%-*s", wide[0], cell)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
