package bench

import (
	"encoding/csv"
	"io"
	"slices"
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

// flags are those that any case sets, in the order in which they come.
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

var metrics = []metric{
	{"examples_per_second", "examples/s", "higher", func(c *Measured) []Number { return c.ExamplesPerSecond }},
	{"seconds", "", "lower", func(c *Measured) []Number { return c.Seconds }}, // ns/op
	{"seconds_to_target", "s-to-target", "lower", func(c *Measured) []Number { return c.SecondsToTarget }},
	{"epochs_to_target", "epochs-to-target", "lower", func(c *Measured) []Number { return c.EpochsToTarget }},
	{"train_loss", "train-loss", "lower", func(c *Measured) []Number { return c.TrainLoss }},
	{"test_loss", "test-loss", "lower", func(c *Measured) []Number { return c.TestLoss }},
	{"test_accuracy", "accuracy", "higher", func(c *Measured) []Number { return c.TestAccuracy }},
	{"test_rmse", "rmse", "lower", func(c *Measured) []Number { return c.TestRMSE }},
	{"test_r2", "r2", "higher", func(c *Measured) []Number { return c.TestR2 }},
	{"staleness_mean", "staleness", "lower", func(c *Measured) []Number { return c.StalenessMean }},
	{"lost_updates", "lost-updates", "lower", func(c *Measured) []Number { return c.LostUpdates }},
	{"conflicts", "conflicts", "lower", func(c *Measured) []Number { return c.Conflicts }},
	{"barrier_wait_seconds", "", "lower", func(c *Measured) []Number { return c.BarrierWait }},
	{"startup_seconds", "", "lower", func(c *Measured) []Number { return c.StartupSeconds }},
	{"lr_used", "", "", func(c *Measured) []Number { return c.LRUsed }},
}

// metrics are those that cases of the experiment may have.
func (e *Experiment) metrics() []metric {
	if slices.ContainsFunc(e.Cases, func(c Measured) bool { return c.Nodes > 1 }) {
		return slices.Concat(metrics, nodeMetrics)
	}
	return metrics
}

// metric is a figure of each repeat, as tables of all figures have it.
type metric struct {
	name   string // with underscores, as in JSON
	unit   string // of Go's benchmark format; "": not written there
	better string // higher or lower
	list   func(*Measured) []Number
}

// nodeMetrics are those of cases with several nodes.
var nodeMetrics = []metric{
	{"node_rounds", "", "", func(c *Measured) []Number { return c.NodeRounds }},
	{"bytes_per_round", "", "", (*Measured).RoundBytes},
	{"sum_seconds", "", "lower", func(c *Measured) []Number { return c.SumSeconds }},
	{"wait_seconds", "", "lower", func(c *Measured) []Number { return c.WaitSeconds }},
	{"communication_share", "", "lower", (*Measured).Communication},
	{"waiting_share", "", "lower", (*Measured).Waiting},
}
