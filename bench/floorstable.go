package bench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"hogwild/internal/human"
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
	return fmt.Sprintf("%s (%s to %s)", human.Short(f.Median), human.Short(f.Min), human.Short(f.Max))
}
