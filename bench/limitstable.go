package bench

import (
	"fmt"
	"io"

	"hogwild/internal/human"
)

// WriteText writes the limits as a table, a line each: the median, and in brackets the
// smallest and the largest value.
func (f *Limits) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s, %d cores, %s, %s, %s\n", f.CPU, f.Cores, f.Kernel, f.Go, f.Time.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(out, "median of %d repeats (range)\n\n", repeats)
	rows := [][]string{{"LIMIT", "UNIT", "ONE CORE", "ALL CORES", "BOUNDS"}}
	for i := 0; i < len(f.Limits); i++ {
		one := f.Limits[i]
		single, together := one.cell(), ""
		if one.Cores > 1 {
			single, together = "", single
		} else if i+1 < len(f.Limits) && f.Limits[i+1].Name == one.Name {
			i++
			together = f.Limits[i].cell()
		}
		rows = append(rows, []string{one.Name, one.Unit, single, together, one.Means})
	}
	_, err := io.WriteString(out, aligned(rows))
	return err
}

func (f *Limit) cell() string {
	return fmt.Sprintf("%s (%s to %s)", human.Short(f.Median), human.Short(f.Min), human.Short(f.Max))
}
