package rundir

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/internal/human"
)

const (
	textWidth   = 80 // columns that tables of classes may take
	longestName = 40
	shortName   = 16 // at most, where the confusion matrix would not fit else
	worst       = 3
)

// Text returns the detail for people: of up to listed classes a table, with the confusion matrix if it fits, of more a
// line that names the worst ones.
func (d *Detail) Text(listed int) string {
	switch {
	case d == nil:
		return ""
	case d.Residuals != nil:
		return d.Residuals.text() + d.Ranked.text()
	case len(d.Classes) == 0:
		return d.Ranked.text()
	case len(d.Classes) > listed:
		return d.worst()
	}
	for _, longest := range []int{longestName, shortName} {
		if table := d.table(true, longest); human.Widest(table) <= textWidth {
			return table
		}
	}
	return d.table(false, longestName)
}

// unevenFrom is the share of the largest class from which accuracy alone says little.
const unevenFrom = 2. / 3

// ScoreLines returns the lines about two classes, or uneven ones, that stand below the accuracy.
func (d *Detail) ScoreLines() (text string) {
	if d == nil || len(d.Classes) == 0 {
		return ""
	}
	if r := d.Ranking; r != nil {
		text = fmt.Sprintf("AUC         %.4f; average precision %.4f for %s, %.4f for %s\n", r.AUC,
			r.AveragePrecision[0], human.Quote(d.Classes[0].Class), r.AveragePrecision[1],
			human.Quote(d.Classes[1].Class))
	}
	rows, entropy := 0, 0.0
	for _, c := range d.Classes {
		rows += c.Rows
	}
	most := slices.MaxFunc(d.Classes, func(a, b ClassFigures) int { return cmp.Compare(a.Rows, b.Rows) })
	if float64(most.Rows) < unevenFrom*float64(rows) {
		return text
	}
	text += fmt.Sprintf("uneven      always predicting %s has accuracy %s", human.Quote(most.Class),
		human.Accuracy(float64(most.Rows)/float64(rows)))
	if d.LogLoss != nil {
		for _, c := range d.Classes {
			if p := float64(c.Rows) / float64(rows); p > 0 {
				entropy -= p * math.Log(p)
			}
		}
		text += fmt.Sprintf("; log loss %s, of the shares of classes alone %s", human.Loss(*d.LogLoss),
			human.Loss(entropy))
	}
	return text + "\n"
}

// text returns two lines of residuals.
func (r *Residuals) text() string {
	return fmt.Sprintf("residuals   mean %.4g, sd %.4g, MAE %.4g\n            min %.4g, 5%% %.4g, median %.4g, 95%% "+
		"%.4g, max %.4g\n",
		r.Mean, r.SD, r.MAE, r.Min, r.P5, r.Median, r.P95, r.Max)
}

// table returns a line for each class, with a column for each class that it was taken for, or not.
func (d *Detail) table(matrix bool, longest int) string {
	matrix = matrix && d.Confusion != nil
	head, names := []string{"class"}, d.names(longest)
	if matrix {
		head = append(head, names...)
	}
	rows := [][]string{append(head, "precision", "recall", "F1", "rows")}
	for i, c := range d.Classes {
		row := []string{names[i]}
		if matrix {
			for _, n := range d.Confusion[i] {
				row = append(row, fmt.Sprint(n))
			}
		}
		rows = append(rows, append(row, percent(c.Precision), percent(c.Recall), percent(c.F1),
			human.Count(int64(c.Rows))))
	}
	title := "Per class:"
	if matrix {
		title = "Per class, with the confusion matrix (a column for each predicted class):"
	}
	return title + "\n" + human.AlignedRight(rows)
}

// worst names the classes with the lowest F1.
func (d *Detail) worst() string {
	var order []int
	for i := range d.Classes {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Classes[a].F1, d.Classes[b].F1) })
	var words []string
	for _, i := range order[:worst] {
		words = append(words, fmt.Sprintf("%s (%s)", d.names(longestName)[i], percent(d.Classes[i].F1)))
	}
	return fmt.Sprintf("classes     %d, lowest F1: %s\n", len(d.Classes), strings.Join(words, ", "))
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// names returns the names of the classes, in one line each and without their middle if they have more than longest
// letters. What would be called the same has its number.
func (d *Detail) names(longest int) (names []string) {
	taken := map[string]bool{}
	for i, c := range d.Classes {
		name := human.Name(c.Class)
		if r, end := []rune(name), (longest-3)/2; len(r) > longest {
			if name = string(r[:longest-3-end]) + "..." + string(r[len(r)-end:]); taken[name] {
				number := fmt.Sprintf("...#%d", i+1)
				name = string(r[:longest-len(number)]) + number
			}
		}
		taken[name] = true
		names = append(names, name)
	}
	return names
}
