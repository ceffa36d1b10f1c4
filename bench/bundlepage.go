package bench

import (
	"fmt"
	"io"
	"strings"

	"hogwild/internal/human"
)

// page is a Markdown text under way.
type page struct {
	strings.Builder
	standIn bool
}

// WriteText writes the results as a page of Markdown.
func (r *Results) WriteText(w io.Writer) error {
	p := &page{standIn: r.StandIn}
	p.head(r)
	p.outcomes(r)
	p.microbench(r)
	p.speed(r)
	p.flight(r)
	p.delays(r)
	p.latency(r)
	p.together(r)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table writes a heading and rows of cells, or nothing if there are none.
func (p *page) table(title, text string, heads []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("\n## %s\n", title)
	if text != "" {
		p.line("%s\n", text)
	}
	p.line("| %s |", strings.Join(heads, " | "))
	p.line("|%s", strings.Repeat("---|", len(heads)))
	for _, row := range rows {
		p.line("| %s |", strings.ReplaceAll(strings.Join(row, " | "), "\n", " "))
	}
}

// timed is a figure that means something on a GPU only.
func (p *page) timed(text string) string {
	if p.standIn {
		return "–"
	}
	return text
}

// ended is how long a run took, and why it ended early.
func (p *page) ended(seconds float64, why string) string {
	text := p.timed(fmt.Sprintf("%.3g", seconds))
	if why != "" {
		text += ", " + why
	}
	return text
}

func (p *page) rate(v float64) string {
	return p.timed(human.Rate(v))
}

func number4(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.4f", *v)
}

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100**v)
}

func (p *page) head(r *Results) {
	p.line("# hogwild on %s\n", r.Device)
	if r.StandIn {
		p.line("**Run through the stand-in driver, without a GPU.** What is computed is right or wrong as it would be there; times are")
		p.line("those of an interpreter and are left out.\n")
	}
	p.line("Commit %s, %s.\n", r.Commit, r.Date)
	if len(r.Machine) > 0 {
		p.line("```\n%s\n```", strings.Join(r.Machine, "\n"))
	}
}

func (p *page) outcomes(r *Results) {
	var rows [][]string
	for _, c := range r.Checks {
		rows = append(rows, []string{c.Section, c.Name, c.Status, c.Text[:min(len(c.Text), 300)]})
	}
	p.table("Checks", "", []string{"section", "check", "", "what it says"}, rows)
	rows = nil
	for _, s := range r.Sections {
		how := "ended"
		switch s.Status {
		case 0:
		case 124, 137:
			how = "cut off: out of time"
		default:
			how = fmt.Sprintf("status %d", s.Status)
		}
		rows = append(rows, []string{s.Name, how, p.timed(fmt.Sprintf("%.1f", s.Seconds)), fmt.Sprintf("%.0f", s.Limit)})
	}
	p.table("Sections", "", []string{"section", "", "seconds", "limit"}, rows)
}

func (p *page) microbench(r *Results) {
	var rows [][]string
	for _, f := range r.Microbench {
		rows = append(rows, []string{f.Name, p.timed(human.Short(f.Value)), f.Unit, f.Means})
	}
	p.table("Microbenchmarks", "What the GPU does at best.", []string{"figure", "value", "unit", "what it decides"}, rows)
}

func (p *page) speed(r *Results) {
	var rows [][]string
	for _, v := range r.group("speed") {
		workload, how, _ := strings.Cut(v.Name, ".")
		rows = append(rows, []string{workload, "hogwild, " + how, fmt.Sprint(v.Batch), p.rate(v.ExamplesPerSecond),
			p.ended(v.Seconds, v.Stopped), number4(v.TrainLoss), number4(v.TestLoss), percent(v.TestAccuracy)})
	}
	for _, v := range r.Rivals {
		rows = append(rows, []string{strings.ReplaceAll(v.Model, ":", ""), "PyTorch " + v.Torch + ", " + v.Way, fmt.Sprint(v.Batch), p.rate(v.ExamplesPerSecond),
			p.ended(v.Seconds, v.Stopped), "–", number4(&v.TestLoss), percent(&v.TestAccuracy)})
	}
	p.table("Speed, and the loss reached", `Seconds of training, without the start; where an accuracy was to be reached, runs end with the first pass that does.
Rows of a workload compare by the loss and the seconds together: examples/s alone says nothing of what was learned. PyTorch
trains on inputs that are not centred.`, []string{"workload", "how", "batch", "examples/s", "seconds", "train loss", "test loss", "accuracy"}, rows)
}

func (p *page) latency(r *Results) {
	var rows [][]string
	for _, v := range r.group("latency") {
		model, _, _ := strings.Cut(v.Name, ".")
		us := v.Seconds / float64(max(v.Examples, 1)) * float64(v.Batch) * 1e6
		rows = append(rows, []string{model, fmt.Sprint(v.Batch), p.timed(human.Short(us))})
	}
	p.table("One step", "With one step in flight: the time of a step, launches and all.", []string{"model", "batch", "us"}, rows)
}

func (p *page) together(r *Results) {
	var rows [][]string
	for _, v := range r.group("mps") {
		how, _, _ := strings.Cut(v.Name, "-")
		rows = append(rows, []string{how, fmt.Sprint(v.Workers), p.rate(v.ExamplesPerSecond), number4(v.TrainLoss), percent(v.TestAccuracy)})
	}
	p.table("Workers on one GPU", "Plain: processes take turns. MPS: they run at the same time.",
		[]string{"", "workers", "examples/s", "train loss", "accuracy"}, rows)
}

// group is the runs of a kind.
func (r *Results) group(name string) (all []Run) {
	for _, v := range r.Runs {
		if v.Group == name {
			all = append(all, v)
		}
	}
	return all
}
