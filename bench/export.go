package bench

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// figures returns the figures that cases of the experiment may have.
func (e *Experiment) figures() []*Figure {
	if slices.ContainsFunc(e.Cases, func(c Measured) bool { return c.Nodes > 1 }) {
		return slices.Concat(caseFigures, nodeFigures)
	}
	return caseFigures
}

// WriteBenchmarks writes results.txt, in Go's benchmark format, which benchstat reads: a
// line each run that has not failed. An operation is a whole run.
func (e *Experiment) WriteBenchmarks(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: hogwild\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, e.Machine.CPU)
	for _, v := range [][2]string{{"kernel", e.Machine.Kernel}, {"go", e.Machine.Go},
		{"gpu", strings.Join(e.Machine.GPUs, ", ")}, {"commit", e.Commit}, {"experiment", e.Name}} {
		if v[1] != "" {
			fmt.Fprintf(b, "%s: %s\n", v[0], v[1])
		}
	}
	for _, f := range caseFigures {
		if f.Unit != "" {
			fmt.Fprintf(b, "Unit %s better=%s\n", f.Unit, f.Better)
		}
	}
	names := e.benchmarks()
	for turn := range e.Seeds { // interleaved, as they ran
		for i := range e.Cases {
			e.Cases[i].benchmark(b, names[i], turn)
		}
	}
	return b.Flush()
}

// benchmark writes the line of one run.
func (c *Measured) benchmark(w io.Writer, name string, turn int) {
	if turn >= len(c.Runs) {
		return
	}
	seconds := Seconds.Of(c)[turn]
	if !human.Finite(seconds) {
		return
	}
	fmt.Fprintf(w, "%s 1 %.0f ns/op", name, 1e9*seconds)
	for _, f := range caseFigures {
		list := f.Of(c)
		missed := slices.Contains(list, math.Inf(1)) // benchstat would take the median of those that did not
		if v := list[turn]; f.Unit != "" && human.Finite(v) && !missed {
			fmt.Fprintf(w, " %.6g %s", v, f.Unit)
		}
	}
	fmt.Fprintln(w)
}

// benchmarks are the names of the cases: data, model, mode and workers, and what else
// varies with the same data and model. Behind the dash stand the cores, as the format has it.
func (e *Experiment) benchmarks() []string {
	names, seen := make([]string, len(e.Cases)), map[string]int{}
	vary := map[[2]string][]string{} // by data and model
	for i := range e.Cases {
		c := &e.Cases[i]
		names[i] = fmt.Sprintf("BenchmarkTrain/data=%s/model=%s/mode=%s/workers=%d",
			word(c.Config.Data), word(c.Config.Model), word(c.Mode), c.Workers)
		key := [2]string{c.Config.Data, c.Config.Model}
		if _, known := vary[key]; !known {
			vary[key] = e.varying(c)
		}
		set := c.without("data", "model", "mode", "workers")
		for _, flag := range vary[key] {
			if v, ok := set[flag]; ok {
				names[i] += "/" + flag + "=" + word(v)
			}
		}
		seen[names[i]]++
	}
	for i := range names {
		if seen[names[i]] > 1 {
			names[i] += "/case=" + word(e.Cases[i].Name)
		}
		names[i] += fmt.Sprintf("-%d", max(1, e.Machine.Cores))
	}
	return names
}

// varying is the flags whose values are not the same in all cases with c's data and model.
func (e *Experiment) varying(c *Measured) []string {
	set := c.without()
	return slices.DeleteFunc(e.flags(), func(flag string) bool {
		value, ok := set[flag]
		return !slices.ContainsFunc(e.Cases, func(other Measured) bool {
			v, is := other.without()[flag]
			return other.Config.Data == c.Config.Data && other.Config.Model == c.Config.Model &&
				(v != value || is != ok)
		})
	})
}

// word is a value as part of a benchmark's name, where spaces and slashes mean something.
func word(text string) string {
	if text == "" {
		return "auto"
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' {
			return '_'
		}
		return r
	}, text)
}

// flags returns the flags that any case sets, in the order in which they come.
func (e *Experiment) flags() (flags []string) {
	seen := map[string]bool{}
	for _, c := range e.Cases {
		for _, s := range c.All() {
			if !seen[s.Flag] {
				seen[s.Flag] = true
				flags = append(flags, s.Flag)
			}
		}
	}
	return flags
}

// WriteCSV writes a line for each case: its settings, then medians and ranges. What does
// not exist is empty.
func (e *Experiment) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	flags := e.flags()
	heads := append([]string{"case", "group"}, flags...)
	heads = append(heads, "used_mode", "used_workers", "device", "runs", "failed", "parameters", "values_per_example",
		"flops_per_example", "target_test_loss")
	for _, f := range e.figures() {
		heads = append(heads, f.Name, f.Name+"_low", f.Name+"_high")
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
	for _, r := range c.Runs {
		if r.Failed != "" && r.Failed != notRun {
			failed++
		}
	}
	last := c.last()
	line = append(line, c.Mode, strconv.Itoa(c.Workers), last.Device, strconv.Itoa(c.runs()), strconv.Itoa(failed),
		strconv.FormatInt(last.Parameters, 10), cell(last.ValuesPerExample), cell(last.FlopsPerExample),
		cell(c.Target()))
	for _, f := range e.figures() {
		line = append(line, cells(f.Of(c))...)
	}
	return append(line, cells(e.SpeedUp(c))...)
}

// cells are the median, the least and the largest of a list.
func cells(list []float64) []string {
	s := Ranked(list)
	return []string{cell(s.Median), cell(s.Low), cell(s.High)}
}

func cell(x float64) string {
	if !human.Finite(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 7, 64)
}
