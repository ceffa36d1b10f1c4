package progress

import (
	"cmp"
	"fmt"
	"slices"

	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
)

// header shows what is about to be trained.
func (a *ability) header(r *core.Run) {
	if r.Options.Dashboard != "" { // quiet or not: nobody can guess the port
		r.Report.Warn("dashboard " + r.Options.Dashboard)
	}
	r.Report.Start(top(r)...)
	lines := r.Job.Header()
	if text := r.Job.MergeText(); text != "" && r.Job.Asked.Workers > 1 {
		lines = append([]string{text}, lines...)
	}
	for _, line := range append(lines, r.Job.Changes()...) {
		r.Report.Say(line)
	}
}

// top returns what the display shows at the top.
func top(r *core.Run) []string {
	c, m := &r.Job.Asked, r.Task.Train.Meta
	what := fmt.Sprintf("%d x %d %s, %s", m.Rows, m.Features, m.Kind, m.ScaleText())
	if n := len(m.Classes); n > 0 {
		what += fmt.Sprintf(", %d classes", n)
	}
	if r.Task.Validation != nil {
		what += fmt.Sprintf("), validation set of %d (%s", r.Task.Validation.Rows, c.Validation)
	}
	on := fmt.Sprintf("%s (%s), test set of %d", c.Data, what, r.Task.Test.Rows)
	if m.OfProgram() {
		on = fmt.Sprintf("its own data of %d examples, test set of %d", m.Rows, c.Layout.TestRows)
	}
	head := []string{fmt.Sprintf("%s on %s", cmp.Or(c.Program, c.Model), on),
		fmt.Sprintf("%s, %s, batch %d, %s, lr %g; run folder %s", c.Mode, rundir.WorkersText(c.Nodes, c.Workers),
			r.Job.Used.Batch, c.Optimizer, c.LR, r.Dir)}
	for _, note := range notes(r) {
		head = append(head, "note: "+note)
	}
	return head
}

// notes are what the user should know of the data, the device and the processor.
func notes(r *core.Run) []string {
	// one that hangs has none
	device, _ := core.CallDevice(r.Mem, r.Mem.CopyTimeout(),
		func() ([]string, error) { return r.Mem.Owner.Notes(), nil })
	notes := slices.Clone(r.Task.Train.Notes)
	for _, note := range r.Task.Test.Notes {
		notes = append(notes, "test set: "+note)
	}
	if r.Task.Validation != nil {
		for _, note := range r.Task.Validation.Notes {
			notes = append(notes, "validation set: "+note)
		}
	}
	return append(notes, device...)
}
