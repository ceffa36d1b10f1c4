package page

import (
	"slices"

	"hogwild/internal/human"
)

// devicesOf is what each device has trained, of runs on several; nil if there are none.
func devicesOf(all []*run) *Table {
	t := &Table{Heads: []string{"device", "examples", "examples/s", "share of the examples"}}
	for _, r := range all {
		if r.Result == nil {
			continue
		}
		seconds := max(r.last().Seconds, r.now().Seconds)
		for _, s := range r.Result.Shares {
			row := []string{s.Device, human.Count(s.Examples), numberText(float64(s.Examples)/seconds, human.Rate), human.Share(s.Share)}
			if len(all) > 1 {
				row = slices.Insert(row, 0, r.name)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	if len(all) > 1 {
		t.Heads = slices.Insert(t.Heads, 0, "run")
	}
	return t
}
