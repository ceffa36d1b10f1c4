package bench

import (
	"encoding/csv"
	"io"
	"strconv"

	"hogwild/internal/human"
)

// WriteCSV writes a line for each case: its settings, then medians and ranges. What does
// not exist is empty.
func (e *Experiment) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	flags := e.flags()
	heads := append([]string{"case", "group"}, flags...)
	heads = append(heads, "used_mode", "used_workers", "device", "runs", "failed", "parameters", "values_per_example",
		"flops_per_example", "target_test_loss")
	for _, m := range e.metrics() {
		heads = append(heads, m.name, m.name+"_low", m.name+"_high")
	}
	out.Write(append(heads, "speed_up", "speed_up_low", "speed_up_high"))
	for i := range e.Cases {
		out.Write(e.record(&e.Cases[i], flags))
	}
	out.Flush()
	return out.Error()
}

// record is the line of a case.
func (e *Experiment) record(c *Measured, flags []string) []string {
	set, failed := (&Case{Settings: c.All()}).without(), 0
	line := []string{c.Name, c.Group}
	for _, f := range flags {
		line = append(line, set[f])
	}
	for _, why := range c.Failed {
		if why != "" && why != notRun {
			failed++
		}
	}
	line = append(line, c.Mode, strconv.Itoa(c.Workers), c.Device, strconv.Itoa(c.runs()), strconv.Itoa(failed),
		strconv.FormatInt(c.Parameters, 10), cell(float64(c.Values)), cell(float64(c.Flops)), cell(float64(c.Target)))
	for _, m := range e.metrics() {
		line = append(line, cells(m.list(c))...)
	}
	return append(line, cells(e.SpeedUp(c))...)
}

// cells are the median, the least and the largest of a list.
func cells(list []Number) []string {
	s := Summarize(list)
	return []string{cell(s.Median), cell(s.Low), cell(s.High)}
}

func cell(x float64) string {
	if !human.Finite(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 7, 64)
}
