package bench

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// WriteText writes the floors as a table, a line each: the median, and in brackets the
// smallest and the largest value.
func (f *Floors) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s, %d cores, %s, %s, %s\n", f.CPU, f.Cores, f.Kernel, f.Go, f.Time.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(out, "median of %d repeats (smallest to largest)\n\n", repeats)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "FLOOR\tUNIT\tONE CORE\tTOGETHER\tWHAT IT BOUNDS\n")
	for i := 0; i < len(f.Floors); i++ {
		one := f.Floors[i]
		single, together := one.cell(), ""
		if one.Cores > 1 {
			single, together = "", single
		} else if i+1 < len(f.Floors) && f.Floors[i+1].Name == one.Name {
			i++
			together = f.Floors[i].cell()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.Name, one.Unit, single, together, one.Means)
	}
	return w.Flush()
}

func (f *Floor) cell() string {
	return fmt.Sprintf("%s (%s to %s)", short(f.Median), short(f.Min), short(f.Max))
}

// short is a number of about three digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || a == 0:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
