package rundir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hogwild/internal/human"
)

const (
	textWidth   = 80 // columns that tables of classes may take
	longestName = 16
	worst       = 3
)

// Text is the detail for people: of up to so many classes a table, with the confusion matrix if it
// fits, of more a line that names the worst ones.
func (d *Detail) Text(listed int) string {
	switch {
	case d == nil:
		return ""
	case d.Residuals != nil:
		return d.Residuals.text()
	case len(d.Classes) > listed:
		return d.worst()
	}
	table := d.table(true)
	if human.Widest(table) > textWidth {
		return d.table(false)
	}
	return table
}

// text is two lines of residuals.
func (r *Residuals) text() string {
	return fmt.Sprintf("residuals   mean %.4g, sd %.4g, MAE %.4g\n            min %.4g, 5%% %.4g, median %.4g, 95%% %.4g, max %.4g\n",
		r.Mean, r.SD, r.MAE, r.Min, r.P5, r.Median, r.P95, r.Max)
}

// table is a line for each class, with a column for each class that it was taken for, or not.
func (d *Detail) table(matrix bool) string {
	matrix = matrix && d.Confusion != nil
	head := []string{"class"}
	if matrix {
		for _, c := range d.Classes {
			head = append(head, cut(c.Class))
		}
	}
	rows := [][]string{append(head, "precision", "recall", "F1", "rows")}
	for i, c := range d.Classes {
		row := []string{cut(c.Class)}
		if matrix {
			for _, n := range d.Confusion[i] {
				row = append(row, fmt.Sprint(n))
			}
		}
		rows = append(rows, append(row, percent(c.Precision), percent(c.Recall), percent(c.F1), human.Count(int64(c.Rows))))
	}
	title := "Per class:"
	if matrix {
		title = "Per class, with the confusion matrix (a column for each predicted class):"
	}
	return title + "\n" + aligned(rows)
}

// worst names the classes with the lowest F1.
func (d *Detail) worst() string {
	order := slices.Clone(d.Classes)
	slices.SortStableFunc(order, func(a, b ClassFigures) int { return cmp.Compare(a.F1, b.F1) })
	var words []string
	for _, c := range order[:worst] {
		words = append(words, fmt.Sprintf("%s (%s)", cut(c.Class), percent(c.F1)))
	}
	return fmt.Sprintf("classes     %d, lowest F1: %s\n", len(d.Classes), strings.Join(words, ", "))
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// cut is a name, in one line and without its end if it is long.
func cut(name string) string {
	name = human.Name(name)
	if r := []rune(name); len(r) > longestName {
		return string(r[:longestName-3]) + "..."
	}
	return name
}

// aligned is rows of cells as lines: the first column on the left, the others on the right.
func aligned(rows [][]string) string {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", wide[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %*s", wide[i+1], cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
