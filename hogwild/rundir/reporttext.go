package rundir

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
	"hogwild/internal/self"
)

// fewClasses is the most classes for a table in the report for people.
const fewClasses = 5

// WriteText writes the result for people: what was trained, how fast, how well, what
// happened to workers on the way, and what to type next.
func (r Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if r.ShownLive {
		r.CPU, r.Merge, r.Auto, r.Rate, r.Events, r.Notes = "", "", "", "", nil, nil
	}
	nodes := 1
	if r.Nodes != nil {
		nodes = r.Nodes.Nodes
	}
	started := ""
	if !r.ShownLive {
		started = fmt.Sprintf("%.3f s", r.StartupSeconds)
		fmt.Fprintf(&b, "%s on %s: %s, %s, batch %d, %s\n\n", cmp.Or(r.Program, r.Model), DataText(r.Data),
			WorkersText(nodes, r.Workers), r.Mode, r.Batch, r.Device)
	}
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s "+format+"\n", append([]any{label}, args...)...)
	}
	known := func(label, text string) {
		if text != "" {
			row(label, "%s", text)
		}
	}

	if r.Init != nil {
		row("init", "%s", r.Init.Text())
	}
	row("epochs", "%d, %s %s", r.Epochs, human.Count(r.Examples), r.unit())
	row("training", "%.2f s, %s %s/s", r.Seconds, human.Rate(r.ExamplesPerSecond), r.unit())
	known("wall", r.wallText())
	if r.Shares != nil {
		row("shares", "%s of the %s", r.sharesText(), r.unit())
	}
	if r.Nodes != nil {
		row("nodes", "%s", r.Nodes.Text())
	}
	known("start-up", started)
	known("cpu", r.CPU)
	known("merge", r.Merge)
	r.scoreRows(row)
	b.WriteString(r.Detail.ScoreLines())
	detail, table := r.Detail.Text(fewClasses), r.Detail != nil && len(r.Classes) > 0 && len(r.Classes) <= fewClasses
	if !table {
		b.WriteString(detail)
	}
	if r.Instruments != nil && r.StalenessSamples > 0 {
		row("staleness", "%s", r.stalenessText())
	}
	list := func(label string, lines []string) {
		for _, line := range lines {
			row(label, "%s", line)
			label = ""
		}
	}
	list("conflicts", r.tableLines())
	known("auto", r.Auto)
	known("rate", r.Rate)
	r.lossRows(row)
	list("events", r.Events)
	known("read", r.Rows.text(r.unit()))
	list("notes", r.Notes)
	list("timing", r.Timing)
	known("warning", r.Warning)
	known("missed", r.Missed)
	if r.Stopped != "" {
		row("stopped", "early: %s", r.Stopped)
	}
	if r.Run != "" {
		row("saved in", "%s", r.Run)
		if table {
			b.WriteString("\n" + detail)
		}
		if r.Stopped != StoppedDiverged { // that may have left no weights
			fmt.Fprintf(&b, "\n%s\n", strings.Join(r.next(), "\n"))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// lossRows tell what was trained and is lost, or scaled.
func (r Result) lossRows(row func(label, format string, args ...any)) {
	if r.Restarts > 0 || r.LostExamples > 0 {
		row("restarts", "%d, %s %s lost", r.Restarts, human.Count(r.LostExamples), r.unit())
	}
	if r.Rollbacks > 0 {
		row("rollbacks", "%d, %s examples discarded, learning rate now %g", r.Rollbacks,
			human.Count(r.DiscardedExamples), r.LRUsed)
	}
}

// unit says what an example is, for people.
func (r Result) unit() string {
	if model.FamilyOf(r.Model).OfWords() {
		return "words"
	}
	return "examples"
}

// wallText returns the speed with the time between epochs; "" before the first step.
func (r Result) wallText() string {
	if r.WallSeconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2f s, %s %s/s with the time between epochs", r.WallSeconds, human.Rate(r.WallRate), r.unit())
	if r.WallSeconds >= 2*r.Seconds {
		text += fmt.Sprintf(": %s of it is not training, but evaluation, saving and pauses",
			human.Share(1-r.Seconds/r.WallSeconds))
	}
	return text
}

// DataText returns the name of the data for people.
func DataText(name string) string {
	if name == data.None {
		return "its own data"
	}
	return name
}

// scoreRows adds the losses and scores to the report.
func (r Result) scoreRows(row func(label, format string, args ...any)) {
	v, train := r.Validation, "train loss "+human.Loss(r.TrainLoss)
	if r.BestEpoch > 0 { // all figures are of its weights
		row("best epoch", "%d, %s, %s", r.BestEpoch, train, v.scores().Text(", "))
	} else if r.Examples > 0 {
		row("train loss", "%s", human.Loss(r.TrainLoss))
	}
	words := model.FamilyOf(r.Model).OfWords()
	if v.ValidationLoss != nil && math.IsNaN(*v.ValidationLoss) && words {
		row("validation", NoPairs)
	}
	names := slices.Sorted(maps.Keys(r.TrainMetrics))
	if m := r.TrainMetrics; slices.Contains(names, control.VirtualTime) {
		row("clock", "virtual time %.6g: %s gradients, %s applied, %s dropped", m[control.VirtualTime],
			human.Count(int64(m[control.Computed])), human.Count(int64(m[control.Applied])),
			human.Count(int64(m[control.Dropped])))
		names = nil // a run of mode clock has no other
	}
	for _, name := range names {
		row("train "+name, "%s", human.Loss(r.TrainMetrics[name]))
	}
	switch {
	case v.ValidationLoss == nil && math.IsNaN(r.TestLoss) && r.interrupted():
		row("test loss", "not evaluated: the run was %s", r.Stopped)
	case v.ValidationLoss == nil && math.IsNaN(r.TestLoss) && r.Model == model.ProgramName && r.Stopped == "":
		row("test loss", "not evaluated: the program has no test data, or no function marked @job.evaluate")
	case math.IsNaN(r.TestLoss) && !math.IsNaN(r.TrainLoss) && words:
		row("test loss", NoPairs)
	case v.ValidationLoss == nil:
		row("test loss", "%s", human.Loss(r.TestLoss))
	case r.BestEpoch == 0: // within the first epoch
		row("validation", "%s", v.scores().Text(", "))
	case math.IsNaN(r.TestLoss):
		row("test loss", "not evaluated: the run did not finish")
	default:
		row("test loss", "%s, with the weights of epoch %d; test rows were used only for this",
			human.Loss(r.TestLoss), r.BestEpoch)
	}
	if r.TestAccuracy != nil {
		row("accuracy", "%s", human.Accuracy(*r.TestAccuracy))
	}
	if r.TestRMSE != nil {
		row("RMSE", "%s", human.Loss(*r.TestRMSE))
	}
	if r.TestR2 != nil {
		row("R2", "%.4f", *r.TestR2)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		row(name, "%s", human.Loss(r.Metrics[name]))
	}
}

// stalenessText returns what the instruments say, in a line.
func (r Result) stalenessText() string {
	text := fmt.Sprintf("mean %.3g, p99 %d, max %d updates by other workers", r.StalenessMean, r.StalenessP99,
		r.StalenessMax)
	if r.InFlightSeen > 0 {
		text += fmt.Sprintf("; %.2g in flight at once by the median, %d expected", r.InFlightSeen, r.InFlight)
	}
	if r.Conflicts > 0 || r.LostSamples > 0 {
		text += fmt.Sprintf("; %s in conflict", human.Share(r.Conflicts))
	}
	if n := r.LostSamples; n > 0 {
		text += fmt.Sprintf(", %s lost (%s looked at: below %s)", human.Share(r.LostUpdates), human.Count(n),
			human.Share(r.LostBelow))
	}
	return text
}

// tableLines returns what the instruments say of each table, a line each.
func (r Result) tableLines() (lines []string) {
	if r.Instruments == nil || r.Workers == 1 { // no other worker writes
		return nil
	}
	for _, t := range r.Tables {
		lines = append(lines, fmt.Sprintf("%s: %s in conflict, %s lost, of %s numbers", t.Table,
			human.Share(t.Conflicts), human.Share(t.LostUpdates), human.Count(t.Samples)))
	}
	return lines
}

// interrupted reports whether a signal has ended the run.
func (r Result) interrupted() bool {
	return slices.Contains([]string{StoppedInterrupted, StoppedTerminated, StoppedHangup}, r.Stopped)
}

// next returns the commands that the user may want to type after the run.
func (r Result) next() []string {
	next := []string{human.Next + self.Name() + " eval " + human.ShellPath(r.Run)} // on the same test rows
	if r.interrupted() {
		next = append(next, human.Next+self.Name()+" train --resume "+human.ShellPath(r.Run))
	}
	return next
}
